"""Steps by ``++`` or ``--`` of signed numbers narrower than ``int``.

nvcc (13.0 to 13.5) compiles them as if they never wrapped, though C++ computes in ``int`` and
converts back. What a program does that lets one wrap depends on how its code is optimised, so any
rewriting may change it. ``+= 1``, unsigned numbers and bit-fields are compiled as C++ says.

A step is harmless if declarations in sight say that it is of another type, or if the condition of
its loop keeps it from wrapping. An unknown type counts as narrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.loops import constant_at
from lmemscope.rewrites.purity import kinds_of
from lmemscope.rewrites.reached import callers, running
from lmemscope.rewrites.recursion import is_host
from lmemscope.rewrites.seen import is_library, is_qualified_library
from lmemscope.rewrites.variables import changed_by, number_at
from lmemscope.rewrites.written import in_file
from lmemscope.sources.syntax import FUNCTIONS, around, first_named, is_cast, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_STEP = re.compile(rb"\+\+|--")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_BUILT_IN = frozenset(b"unsigned signed char short int long float double bool __int128".split())
_WIDE = re.compile(
    rb"(?:::)?(?:(?:cuda::)?std::)?(?:u?int(?:32|64|max|ptr)_t|uint(?:_fast|_least)?(?:8|16)_t"
    rb"|uint(?:_fast|_least)(?:32|64)_t|size_t|ptrdiff_t|ssize_t)"
    rb"|uint|uchar|ushort|ulong|char(?:8|16|32)_t|(?:__)?half2?|(?:__)?nv_bfloat162?"
)
"""Names of numbers that are unsigned, no narrower than ``int``, or have operators of their own."""
_VECTOR = re.compile(rb"(?:u(?:char|short)|u?(?:int|long|longlong)|float|double)[1-4]|dim3")
_NARROW = re.compile(
    rb"(?<!unsigned )\b(?:char|short|int(?:_fast|_least)?(?:8|16)_t|(?:char|short)[1-4])\b"
    rb"(?!\s*(?:const\s*)?\*)"
)
"""A type that may be a template's argument, strings aside."""
_CONVERSION = re.compile(rb"\boperator\s+[\w:]{1,40}(?:\s+\w{1,40})?\s*&\s*\(\s*\)")
_DEVICE_LAMBDA = re.compile(rb"\]\s*(?:__host__\s*)?__device__\b")
_OF_VECTOR = frozenset((b"x", b"y", b"z", b"w"))
_OF_THREAD = frozenset((b"threadIdx", b"blockIdx", b"blockDim", b"gridDim"))
_LOADING = re.compile(rb"__ld\w*|(?:tex|surf)\w+|move|forward|swap|clamp")
"""Functions of the language's that return what they are given, or read it."""
_INTS = ("number_literal", "sizeof_expression", "unary_expression", "lambda_expression")
"""Expressions that have type ``int`` at least, or a class type."""
_AROUND = ("parenthesized_expression", "unary_expression")
_FOLLOWED = ("subscript_expression", "pointer_expression")
_MIRRORED = {b"<": b">", b"<=": b">=", b">": b"<", b">=": b"<="}
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class NarrowStep:
    """A step that may be of a narrow number, and may wrap.

    Attributes:
        text: what is stepped, as written; an operator in a macro.
        file: absolute path.
        line: 1-based.
    """

    text: str
    file: str
    line: int


def narrow_step(target: Target) -> NarrowStep | None:
    """The first step in what a target's kernels run that may wrap; None where there is none."""
    if not any(_STEP.search(text) is not None for text in target.meanings.texts):
        return None
    kernels = _kernels(target)
    homes = (in_file(target, file) for file in target.files)
    steps = (step for home in homes if home is not None for step in _steps(home, kernels))
    return next(steps, None)


def _kernels(target: Target) -> frozenset[bytes]:
    """Names of the kernels that run what is to be rewritten, or may."""
    declared = target.declared
    run = running(target, declared.function) if declared is not None else None
    every = (*(target.kernels if run is None else run), *(hit.facts for hit in target.hits))
    return frozenset(plain_name(one.demangled).encode() for one in every)


def _steps(home: Target, kernels: frozenset[bytes]) -> Iterator[NarrowStep]:
    syntax = home.syntax
    for place in _STEP.finditer(syntax.code):
        node = syntax.root.descendant_for_byte_range(*place.span())
        if node is not None and node.type in ("++", "--"):
            node = node.parent
        if node is None or node.type == "operator_name":
            continue
        text = place[0]
        if node.type == "update_expression":
            stepped = node.child_by_field_name("argument")
            if stepped is not None and not _may_wrap(node, stepped, home):
                continue
            text = syntax.text(stepped or node)
        elif node.type == "preproc_arg" and not _may_wrap_in_macro(node, place, home):
            continue
        if _may_run(node, home, kernels):
            line = syntax.code.count(b"\n", 0, place.start()) + 1
            yield NarrowStep(" ".join(text.decode(errors="replace").split()), home.path, line)


def _may_wrap_in_macro(body: Node, place: re.Match[bytes], home: Target) -> bool:
    """Whether a macro may step something but a variable that it declares as a number."""
    text = home.syntax.code
    before = text[body.start_byte : place.start()].rstrip()
    behind = text[place.end() : body.end_byte].lstrip()
    name = re.match(rb"([A-Za-z_]\w*+)(?!\s*+(?:[.\[(]|->))", behind)
    name = name or re.search(rb"(?<![\w.>\]])([A-Za-z_]\w*)\Z", before)
    if name is None:
        return True
    made = re.search(
        rb"(?:^|[;({])\s*([A-Za-z_][\w:]*(?:\s+[A-Za-z_]\w*)*)\s+%b\b\s*=" % name[1],
        home.syntax.code_of(body),
    )
    return made is None or _is_narrow(made[1], home)


def _may_run(node: Node, home: Target, kernels: frozenset[bytes]) -> bool:
    """Whether one of some kernels may run what is at a node, by the names that lead to it."""
    syntax, function = home.syntax, outermost(node, FUNCTIONS)
    if function is None:
        macro = next(around(node, "preproc_function_def", "preproc_def"), None)
        name = macro.child_by_field_name("name") if macro is not None else None
        return name is None or not kernels.isdisjoint(callers(home, syntax.text(name)))
    before = syntax.code[function.start_byte : node.start_byte]
    if _DEVICE_LAMBDA.search(before) is not None or function.type != "function_definition":
        return True
    own = syntax.function_name(function)
    if own in kernels:
        return True
    if is_host(function, syntax, home.meanings.macro_names):
        return False
    if own is None or own in home.meanings.classes:
        return True  # Operators, constructors and destructors run without being named.
    return not kernels.isdisjoint(callers(home, own))


def _may_wrap(step: Node, stepped: Node, home: Target) -> bool:
    return _may_be_narrow(stepped, home, _DEEPEST) and not _is_bounded(step, stepped, home)


def _may_be_narrow(node: Node | None, home: Target, depth: int) -> bool:
    """Whether an expression, which is no temporary, may be of a signed number below ``int``."""
    syntax, is_followed = home.syntax, False
    # To the grammar, `-x--` steps `-x`.
    while node is not None and node.type in (*_FOLLOWED, *_AROUND):
        is_followed |= node.type in _FOLLOWED
        node = node.child_by_field_name("argument") or first_named(node)
    if node is not None and node.type == "qualified_identifier":
        node = node.child_by_field_name("name")
    if node is None or not depth or node.type not in ("identifier", "field_expression", "this"):
        return True
    if node.type == "this":
        return False  # An operator of its class is called.
    name = node if node.type == "identifier" else node.child_by_field_name("field")
    if name is None or syntax.text(name) in home.meanings.macro_names:
        return True
    if node.type == "identifier" and not is_followed:
        number = number_at(syntax.text(name), name, syntax)
        if number is not None:
            return number.is_signed and number.bits < 32
    if syntax.text(name) in _OF_VECTOR and _is_wide_vector(node, home):
        return False
    kinds = tuple(kinds_of(name, home)) if name.type.endswith("identifier") else ()
    return not kinds or any(
        _is_narrow(kind, home, is_followed and not is_pointer)
        if kind.split()[-1:] != [b"auto"]
        else _is_deduced_narrow(name, home, depth, is_followed)
        for kind, is_pointer in kinds
        if is_followed or not is_pointer
    )


def _is_wide_vector(member: Node, home: Target) -> bool:
    """Whether a member is a vector's whose elements are unsigned or no narrower than ``int``."""
    node = member.child_by_field_name("argument") if member.type == "field_expression" else None
    while node is not None and node.type in (*_FOLLOWED, "parenthesized_expression"):
        node = node.child_by_field_name("argument") or first_named(node)
    if node is not None and node.type == "field_expression":
        node = node.child_by_field_name("field")
    kinds = tuple(kinds_of(node, home)) if node is not None else ()
    return bool(kinds) and all(_VECTOR.fullmatch(kind) is not None for kind, _ in kinds)


def _is_narrow(kind: bytes, home: Target, is_element: bool = False, depth: int = _DEEPEST) -> bool:
    """Whether a type as written may be a signed number below ``int``.

    Args:
        kind: the type.
        home: in whose file.
        is_element: whether the number is an element of the type, which is a class then.
        depth: macros that may stand for each other.
    """
    meanings = home.meanings
    kind = b" ".join(one for one in kind.split() if one not in (b"volatile", b"const"))
    words = set(_WORD.findall(kind))
    if words <= _BUILT_IN:
        return not words or (b"unsigned" not in words and bool(words & {b"char", b"short"}))
    if _WIDE.fullmatch(kind) is not None:
        return False
    bodies = [body for _, body in meanings.macros(kind)]
    if bodies:
        return not depth or any(_is_narrow(one, home, is_element, depth - 1) for one in bodies)
    name, _, given = kind.partition(b"<")
    is_class = name.strip() in meanings.classes and not _is_parameter(kind, home)
    if is_class and not is_element:
        return meanings.has(_CONVERSION)
    if is_class or _is_parameter(kind, home):
        return _has_narrow(home) or any(_is_narrow(one, home) for one in _types_in(given))
    if given and is_element and is_qualified_library(kind):
        return any(_is_narrow(one, home) for one in _types_in(given))
    return True


def _is_parameter(kind: bytes, home: Target) -> bool:
    """Whether a type is a parameter of a template."""
    parameter = rb"\b(?:typename|class)\s+%b\s*[,>=]" % re.escape(kind)
    return home.meanings.has(re.compile(parameter))


def _types_in(given: bytes) -> Iterator[bytes]:
    """A template's arguments that are no numbers; what is nested stays in one piece."""
    for one in given.strip().removesuffix(b">").split(b","):
        if one.strip() and re.fullmatch(rb"\s*\d\w*\s*", one) is None:
            yield one.strip()


def _has_narrow(home: Target) -> bool:
    """Whether a template may be made for a narrow number: the files, or a kernel, name one."""
    every = (*(hit.facts for hit in home.hits), *home.kernels)
    return home.meanings.has(_NARROW) or any(
        _NARROW.search(one.demangled.encode()) is not None for one in every
    )


def _is_deduced_narrow(name: Node, home: Target, depth: int, is_followed: bool) -> bool:
    """Whether a variable that is declared as ``auto`` may be narrow, by its initializer."""
    syntax, function = home.syntax, outermost(name, FUNCTIONS)
    if function is None or is_followed:
        return True
    text = syntax.text(name)
    values = [
        one.child_by_field_name("value")
        for one in walk(function)
        if one.type == "init_declarator"
        for declared in [one.child_by_field_name("declarator")]
        if declared is not None and text in _WORD.findall(syntax.text(declared))
    ]
    return not values or any(_is_narrow_value(one, home, depth - 1) for one in values)


def _is_narrow_value(node: Node | None, home: Target, depth: int) -> bool:
    """Whether the value of an expression may be of a narrow type: arithmetic makes it ``int``."""
    syntax = home.syntax
    while node is not None and node.type == "parenthesized_expression":
        node = first_named(node)
    if node is None or not depth:
        return True
    if node.type in _INTS:
        return False
    if node.type == "binary_expression":
        return syntax.text(node.children[1]) == b","
    if node.type == "conditional_expression":
        ways = [node.child_by_field_name(one) for one in ("consequence", "alternative")]
        return any(_is_narrow_value(one, home, depth - 1) for one in ways)
    if node.type in ("cast_expression", "compound_literal_expression"):
        kind = node.child_by_field_name("type")
        return kind is None or _is_narrow(home.meanings.spelled_out(syntax.text(kind)), home)
    if node.type == "call_expression":
        return _returns_narrow(node, home)
    if node.type == "field_expression":
        made_of = node.child_by_field_name("argument")
        if made_of is not None and syntax.text(made_of) in _OF_THREAD:
            return False
    if node.type == "pointer_expression" and node.children[0].type == "&":
        return False
    return _may_be_narrow(node, home, depth - 1)


def _returns_narrow(call: Node, home: Target) -> bool:
    syntax, called = home.syntax, call.child_by_field_name("function")
    if called is None:
        return True
    text = syntax.text(called)
    if is_cast(call):
        kind = text.partition(b"<")[2].rpartition(b">")[0] or text
        return _is_narrow(home.meanings.spelled_out(kind), home)
    name = _WORD.findall(text.partition(b"<")[0])[-1:]
    trees = [home.tree(file) for file in home.files if file != home.path]
    kinds = [
        tree.text(kind)
        for tree in (syntax, *(one for one in trees if one is not None))
        for one in tree.functions(name[0].decode() if name else "")
        for kind in [one.child_by_field_name("type")]
        if kind is not None
    ]
    if kinds:
        return any(_is_narrow(home.meanings.spelled_out(one), home) for one in kinds)
    is_known = is_library(text) and not is_qualified_library(text)
    return not is_known or not name or _LOADING.fullmatch(name[0]) is not None


def _is_bounded(step: Node, stepped: Node, home: Target) -> bool:
    """Whether the condition of the ``for`` that a step updates ends it before it wraps."""
    syntax = home.syntax
    loop = next(around(step, "for_statement"), None)
    update = loop.child_by_field_name("update") if loop is not None else None
    if loop is None or update is None or stepped.type != "identifier":
        return False
    if not update.start_byte <= step.start_byte < update.end_byte:
        return False
    name = syntax.text(stepped)
    if any(one != step and name in changed_by(one, syntax) for one in walk(loop)):
        return False
    alias = re.compile(rb"&\s*\w+\s*[={(]\s*%b\b" % re.escape(name))
    function = outermost(step, FUNCTIONS)
    if function is None or alias.search(syntax.code_of(function)) is not None:
        return False
    signs = (b"<", b"<=") if b"++" in syntax.text(step) else (b">", b">=")
    return any(
        sign in signs and _is_end(sign, stepped, bound, home)
        for sign, bound in _conditions(loop.child_by_field_name("condition"), name, home)
    )


def _conditions(node: Node | None, name: bytes, home: Target) -> Iterator[tuple[bytes, Node]]:
    """What a condition compares a variable with, all of which has to hold."""
    if node is None or node.type != "binary_expression":
        return
    sides = [node.child_by_field_name(one) for one in ("left", "operator", "right")]
    left, operator, right = sides
    if left is None or operator is None or right is None:
        return
    sign = home.syntax.text(operator)
    if sign == b"&&":
        yield from _conditions(left, name, home)
        yield from _conditions(right, name, home)
    elif home.syntax.text(left) == name:
        yield sign, right
    elif home.syntax.text(right) == name and sign in _MIRRORED:
        yield _MIRRORED[sign], left


def _is_end(sign: bytes, stepped: Node, bound: Node, home: Target) -> bool:
    """Whether what is compared with a bound can be stepped once more without wrapping."""
    syntax = home.syntax
    own = number_at(syntax.text(stepped), stepped, syntax)
    most = 1 << ((own.bits if own is not None else 8) - 1)
    constant = constant_at(bound, home)
    if constant is not None:
        ends = {b"<": constant < most, b"<=": constant < most - 1}
        ends |= {b">": constant >= -most, b">=": constant > -most}
        return ends[sign]
    if bound.type != "identifier" or len(sign) > 1:
        return False
    other = number_at(syntax.text(bound), bound, syntax)
    if own is not None and other is not None:
        return other.is_signed and other.bits <= own.bits
    kinds = {*kinds_of(stepped, home), *kinds_of(bound, home)}
    return len(kinds) == 1 and not any(is_pointer for _, is_pointer in kinds)

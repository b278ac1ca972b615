"""Steps by ``++`` or ``--`` of signed numbers narrower than ``int``.

nvcc (13.0 to 13.5) compiles them as if they never wrapped, though C++ computes in ``int`` and
converts back. What a program does that lets one wrap depends on how its code is optimised, so any
rewriting may change it. ``+= 1``, unsigned numbers and bit-fields are compiled as C++ says.

A step is harmless if declarations in sight say that it is of another type. A type by a name that is
not in sight counts as narrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.purity import kinds_of
from lmemscope.rewrites.reached import callers, running
from lmemscope.rewrites.recursion import holds_device_function, is_host
from lmemscope.rewrites.seen import is_qualified_library
from lmemscope.rewrites.variables import number_at
from lmemscope.rewrites.written import homes
from lmemscope.sources.syntax import FUNCTIONS, around, first_named, outermost

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
_NARROW = re.compile(
    rb"(?<!unsigned )\b(?:char|short|int(?:_fast|_least)?(?:8|16)_t|(?:char|short)[1-4])\b"
    rb"(?!\s*(?:const\s*)?\*)"
)
"""A type that may be a template's argument, strings aside."""
_CONVERSION = re.compile(rb"\boperator\s+[\w:]{1,40}(?:\s+\w{1,40})?\s*&\s*\(\s*\)")
_AROUND = ("parenthesized_expression", "unary_expression")
_FOLLOWED = ("subscript_expression", "pointer_expression")
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
    steps = (step for home in homes(target, b"++", b"--") for step in _steps(home, kernels))
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
            if stepped is not None and not _may_be_narrow(stepped, home):
                continue
            # To the grammar, `-x--` steps `-x`.
            while stepped is not None and stepped.type == "unary_expression":
                stepped = stepped.child_by_field_name("argument")
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
    if function.type != "function_definition":
        return True
    own = syntax.function_name(function)
    if own in kernels or holds_device_function(function, syntax, home.meanings):
        return True
    if is_host(function, syntax, home.meanings):
        return False
    if own is None or own in home.meanings.classes:
        return True  # Operators, constructors and destructors run without being named.
    return not kernels.isdisjoint(callers(home, own))


def _may_be_narrow(node: Node | None, home: Target) -> bool:
    """Whether what is stepped may be of a signed number below ``int``.

    What no declaration tells may be where the program names such a type at all.
    """
    syntax, is_followed = home.syntax, False
    # To the grammar, `-x--` steps `-x`.
    while node is not None and node.type in (*_FOLLOWED, *_AROUND):
        is_followed |= node.type in _FOLLOWED
        node = node.child_by_field_name("argument") or first_named(node)
    if node is not None and node.type == "qualified_identifier":
        node = node.child_by_field_name("name")
    if node is not None and node.type == "this":
        return False  # An operator of its class is called.
    name = node.child_by_field_name("field") if node is not None else None
    name = node if name is None else name
    if name is None or not name.type.endswith("identifier"):
        return _has_narrow(home)
    if syntax.text(name) in home.meanings.macro_names:
        return True
    number = number_at(syntax.text(name), name, syntax)
    if name == node and number is not None and not is_followed:
        return number.is_signed and number.bits < 32
    kinds = tuple(kinds_of(name, home))
    if not kinds:
        return _has_narrow(home)
    return any(
        _has_narrow(home)
        if kind.split()[-1:] == [b"auto"]
        else _is_narrow(kind, home, is_followed and not is_pointer)
        for kind, is_pointer in kinds
        if is_followed or not is_pointer
    )


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

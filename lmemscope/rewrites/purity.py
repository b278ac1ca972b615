"""Whether evaluating an expression does more than compute its value.

A rewrite that evaluates something twice, once less, or in another order asks here. Assignments and
calls show themselves; operators, conversions and constructors of classes do not: an operand counts
as harmless if it is known to be a number, a pointer or a vector, or if no operator in sight does
anything but compute.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model.blanked import closed
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.seen import BODY, is_library, is_qualified_library
from lmemscope.rewrites.written import is_own
from lmemscope.sources.syntax import FUNCTIONS, Syntax, around, is_cast, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CHANGING = ("assignment_expression", "update_expression", "new_expression", "delete_expression")
_PURE = re.compile(
    rb"(?:std::|::)?(?:__)?(?:f?abs|sqrt|cbrt|rsqrt|exp|exp2|exp10|expm1|log|log2|log10|log1p|sin"
    rb"|cos|tan|sinpi|cospi|asin|acos|atan|atan2|sinh|cosh|tanh|pow|hypot|fma|fmod|floor|ceil"
    rb"|round|rint|trunc|f?min|f?max|erf|erfc|ldg|isnan|isinf|clz|popc|int_as_float|float_as_int"
    rb"|float2half|half2float|saturate|make_\w+)f?|(?:static|reinterpret|const)_cast"
)
"""Functions that have no effect but their value, and return."""
CHANGED = re.compile(
    rb"(?:\+\+|--)\s*(?:\w+\s*(?:\.|->)\s*)*(\w+)"
    rb"|(?<!\w\.)(?<!\w->)\b(\w+)\s*(?:\[[^\]]{0,500}\]\s*|(?:\.|->)\s*\w+\s*){0,64}"
    rb"(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
)
"""What code changes: a variable, or one that it is reached from."""
_CHANGES = re.compile(rb"\+\+|--|(?<![=<>!])=(?!=)|<<=|>>=|\b(?:asm|__asm__|volatile|new|delete)\b")
_NUMBER = re.compile(
    rb"(?:(?:unsigned|signed|char|short|int|long|float|double|bool|wchar_t|char(?:8|16|32)_t|half2?"
    rb"|__int128|(?:__)?nv_bfloat16[2]?|__half2?|(?:std::)?u?int(?:_fast|_least)?(?:8|16|32|64)_t"
    rb"|(?:std::)?u?int(?:ptr|max)_t|(?:std::)?(?:size_t|ptrdiff_t|ssize_t)|uint|uchar|ushort|ulong"
    rb"|dim3|uint3|(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|void)\s*)+"
)
"""Types of the language and its vectors, whose operators only compute."""
_BUILT_IN = frozenset((b"threadIdx", b"blockIdx", b"blockDim", b"gridDim", b"warpSize"))
_QUALIFIER = re.compile(
    rb"\b(?:const|constexpr|static|register|extern|typename|struct|inline|__\w+__)\b"
)
_OPERATOR = re.compile(rb"\boperator\b\s*(\(\s*\)|[^();{}]{1,200}?)\s*\(")
_CONVERSION = re.compile(rb"\boperator\s+(?!(?:new|delete|co_await)\b)([A-Za-z_][\w:\s]{0,80}+)\(")
_EXPLICIT = re.compile(rb"\(\s*\)|\+\+|--|(?:new|delete)\b.*|\"\".*|(?![=!<>]=)[^=\w]{0,2}=")
"""Operators that a node of the tree calls by itself: calls, assignments, steps and allocations."""
_GIVEN_UP = re.compile(rb"[\w\s]*=\s*(?:default|delete)\b")
_ATOMIC = re.compile(rb"\batomic(?:_ref|_flag|_u?int)?\b\s*[<&*\s]|\bvolatile\b")
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}()]{0,500}>\s*)?\(")
_INTRINSIC = re.compile(
    rb"__(?:h|float|double|half|low|high|bfloat16|int|uint|ll|ull|short|ushort)\w+"
    rb"|__[a-z]+_r[nzud]|__f\w+f|__u?mul(?:hi|24|64hi)|__brevl?|__ffsl?l?"
)
"""More of them, as operators of numbers use them."""
_KEYWORDS = frozenset(
    b"if for while switch return sizeof alignof decltype noexcept int char bool short long float "
    b"double unsigned signed".split()
)
_LOCAL = rb"(?:\b(?!return\b|else\b|do\b|case\b|goto\b)\w+|>)\s+%b\s*[\[({=;,]"
_WORD = re.compile(rb"[A-Za-z_]\w*")
_NAMED = re.compile(rb"\b[A-Za-z_]\w*")
_VECTORS = (b"x", b"y", b"z", b"w")
_DECLARING = ("parameter_declaration", "optional_parameter_declaration", "field_declaration")
_DEEPEST = 4


def is_pure(node: Node, target: Target) -> bool:
    """Whether evaluating an expression changes nothing and ends, so that it may be left out."""
    return all(
        one.type not in _CHANGING
        and one.type != "gnu_asm_expression"
        and (one.type != "call_expression" or is_pure_call(one, target))
        for one in walk(node)
    ) and not may_act(node, target)


def is_pure_call(call: Node, target: Target) -> bool:
    """Whether a call is of a function that only computes."""
    called = call.child_by_field_name("function")
    if called is None:
        return False
    if called.type == "primitive_type":
        return True  # `float(x)`
    name = target.syntax.text(called).partition(b"<")[0].strip()
    return _PURE.fullmatch(name) is not None and not is_own(called, target)


def may_act(node: Node, target: Target) -> bool:
    """Whether an expression may do something by what its text does not show as a call.

    That is a macro, or an operator, a conversion or a constructor of a class; or it reads what is
    volatile.
    """
    return _has_acting_macro(node, target) or any(_acts(one, target) for one in walk(node))


def _has_acting_macro(node: Node, target: Target) -> bool:
    """Whether a macro in an expression, or one that it is made of, does more than compute."""
    meanings, seen = target.meanings, set[bytes]()
    pending = {*_NAMED.findall(target.syntax.text(node))}
    while pending:
        word = pending.pop()
        seen.add(word)
        for _, body in meanings.macros(word):
            if _does(body, meanings, _DEEPEST):
                return True
            pending.update(_NAMED.findall(body))
        pending -= seen
    return False


def _acts(node: Node, target: Target) -> bool:
    acting = operators_act(target.meanings) and not _is_reached_through(node)
    if node.type in ("cast_expression", "compound_literal_expression", "declaration"):
        return _makes(node.child_by_field_name("type"), target, acting=acting)
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        if called is not None and is_cast(node):
            given = called.child_by_field_name("arguments")
            return given is not None and _makes(given, target, acting=acting)
        return acting and not is_pure_call(node, target) and not _returns_number(node, target)
    if node.type in ("this", "user_defined_literal"):
        return acting
    if node.type == "field_identifier":
        return _is_value(node.parent) and _is_risky(node, target)
    return node.type == "identifier" and _is_value(node) and _is_risky(node, target)


def _returns_number(call: Node, target: Target) -> bool:
    """Whether what is called is a library's, or functions of the file that return numbers."""
    called = call.child_by_field_name("function")
    text = b"" if called is None else target.syntax.text(called).partition(b"<")[0]
    if called is not None and is_library(text) and not is_own(called, target):
        return not is_qualified_library(text)
    name = re.split(rb"::|\.|->", text)[-1].strip()
    found = [
        kind
        for one in target.syntax.functions(name.decode(errors="replace"))
        for kind in [one.child_by_field_name("type")]
    ]
    return bool(found) and all(
        kind is not None
        and _NUMBER.fullmatch(_spelled_out((target.syntax.text(kind), False), target)[0])
        for kind in found
    )


def _is_value(node: Node | None) -> bool:
    """Whether a name or a member is an object: not what is called, asked for its address or size,
    or reached through to a member."""
    if node is None or node.parent is None:
        return False
    above = node.parent
    if above.type == "qualified_identifier":
        return _is_value(above)
    if above.type in ("sizeof_expression", "template_argument_list", "lambda_capture_specifier"):
        return False
    if above.type == "call_expression":
        return above.child_by_field_name("function") != node
    return above.type != "pointer_expression" or above.children[0].type != "&"


def _is_reached_through(node: Node) -> bool:
    """Whether an object is only what a member is of."""
    above = node.parent
    if above is None or above.type != "field_expression":
        return False
    return above.child_by_field_name("argument") == node


def _is_risky(name: Node, target: Target) -> bool:
    """Whether what a name stands for may be of a class whose operators do something."""
    text, syntax = target.syntax.text(name), target.syntax
    if text in _BUILT_IN or _is_number_macro(text, name, target):
        return False
    node, is_followed = name if name.type == "identifier" else (name.parent or name), False
    while (above := node.parent) is not None:
        follows = above.type in ("subscript_expression", "pointer_expression")
        if follows and above.child_by_field_name("argument") != node:
            break
        if not follows and above.type not in ("parenthesized_expression", "qualified_identifier"):
            break
        node, is_followed = above, is_followed or follows
    has_member = _is_reached_through(node)
    if has_member and above is not None and not is_followed:
        operator = above.child_by_field_name("operator")
        if operator is None or syntax.text(operator) == b".":
            return False  # The member tells.
    is_argument = above is not None and above.type == "argument_list"
    acting, kinds = operators_act(target.meanings), tuple(kinds_of(name, target))
    if not kinds:
        return acting and text not in _VECTORS
    return any(
        acting or not (is_argument or is_pointer or _is_in_sight(kind, target))
        for kind, is_pointer in kinds
        if _NUMBER.fullmatch(kind) is None and not (has_member and is_pointer)
    )


def _is_number_macro(macro: bytes, place: Node, target: Target, depth: int = _DEEPEST) -> bool:
    """Whether a name is a macro that is made of numbers, and of variables that are."""
    bodies = [body for _, body in target.meanings.macros(macro)]
    words = {word for body in bodies for word in _NAMED.findall(body)}
    return bool(bodies and depth) and all(
        _is_number_macro(word, place, target, depth - 1)
        or {_NUMBER.fullmatch(kind) is not None for kind, _ in _named_so(word, place, target)}
        == {True}
        for word in words
    )


def _is_in_sight(kind: bytes, target: Target) -> bool:
    """Whether a type is a class in sight, a template's parameter, or told by its initializer."""
    words = _WORD.findall(kind.partition(b"<")[0])
    name = words[-1] if words else b""
    return name == b"auto" or name in target.meanings.classes or target.meanings.is_type(name)


def kinds_of(name: Node, target: Target) -> Iterator[tuple[bytes, bool]]:
    """The types of all that a name may be, by its declarations, and whether each is a pointer.

    Of pointers and arrays, the type of what they lead to.

    Nothing of a name without a declaration.
    """
    yield from _named_so(target.syntax.text(name), name, target)


def _named_so(text: bytes, place: Node, target: Target) -> Iterator[tuple[bytes, bool]]:
    """The same of a name at a place, which is a member's where its node is."""
    syntax, function = target.syntax, outermost(place, FUNCTIONS)
    if place.type == "identifier" and function is not None:
        found = _declared(function, syntax).get(text, ())
        if found:
            yield from (_spelled_out(one, target) for one in found)
            return
    for _, tree in target.trees(text):
        own = _declared(tree.root, tree).get(text, ())
        yield from (_spelled_out(one, target) for one in own)


def _spelled_out(one: tuple[bytes, bool], target: Target) -> tuple[bytes, bool]:
    kind = _QUALIFIER.sub(b" ", target.meanings.spelled_out(_QUALIFIER.sub(b" ", one[0])))
    return b" ".join(kind.split()), one[1]


@functools.lru_cache(maxsize=32)
def _declared(scope: Node, syntax: Syntax) -> dict[bytes, list[tuple[bytes, bool]]]:
    """What a function, or a file outside of its functions, declares: types by names."""
    found: dict[bytes, list[tuple[bytes, bool]]] = {}
    pending = [scope]
    while pending:
        node = pending.pop()
        is_outer = node.type in FUNCTIONS and scope.type not in FUNCTIONS
        if not is_outer:
            pending += node.children
        elif node.type == "function_definition":
            continue
        if node.type == "field_identifier":
            is_name = node.parent is not None and (
                node.parent.type.endswith("declarator") or node.parent.type in _DECLARING
            )
        else:
            is_name = node.type == "identifier" and is_declared_name(node)
        if not is_name:
            continue
        above, is_pointer = node.parent, False
        while above is not None and above.child_by_field_name("type") is None:
            is_pointer |= above.type in ("pointer_declarator", "array_declarator")
            above = None if above.type == "function_declarator" else above.parent
        if above is None:
            continue
        kind = above.child_by_field_name("type")
        head = syntax.code[above.start_byte : node.start_byte]
        text = b"auto" if kind is None or kind.type == "enum_specifier" else syntax.text(kind)
        if re.search(rb"\bvolatile\b", head) is not None:
            text = b"volatile " + text
        found.setdefault(syntax.text(node), []).append((text, is_pointer))
    return found


def _makes(kind: Node | None, target: Target, *, acting: bool) -> bool:
    """Whether an object of a type is made by a constructor or a conversion that may act.

    Args:
        kind: the type.
        target: in whose file.
        acting: whether what is done to an object of a class may act.
    """
    if kind is None:
        return True
    text, _ = _spelled_out((target.syntax.text(kind).strip(b"<>"), False), target)
    if b"*" in text or b"&" in text or _NUMBER.fullmatch(text) is not None:
        return False
    words = _WORD.findall(text.partition(b"<")[0])
    return acting or _constructs(words[-1] if words else b"", target.meanings, _DEEPEST)


def _constructs(name: bytes, meanings: Meanings, depth: int) -> bool:
    if name not in meanings.classes:
        return operators_act(meanings) or not meanings.is_type(name)
    if {"mutable", "anything"} & meanings.taking(name):
        return True
    return any(_does(body, meanings, depth - 1) for body in meanings.reached((name,)))


def may_convert(node: Node, target: Target) -> bool:
    """Whether a value may be of a class that is another number as another type.

    A built-in operator asks it for one type, a function's parameter for another.
    """
    if not _convert_variously(target.meanings):
        return False
    for one in walk(node):
        if one.type not in ("identifier", "field_identifier") or _is_reached_through(one):
            continue
        arguments = next(around(one, "argument_list"), None)
        if arguments is not None and arguments.start_byte >= node.start_byte:
            continue
        kinds = kinds_of(one, target)
        if any(not is_pointer and _NUMBER.fullmatch(kind) is None for kind, is_pointer in kinds):
            return True
    return False


@functools.lru_cache(maxsize=8)
def _convert_variously(meanings: Meanings) -> bool:
    """Whether classes in sight have several conversions, or one to what a parameter says."""
    kinds = [kind.strip() for text in meanings.texts for kind in _CONVERSION.findall(text)]
    return len(kinds) > 1 or any(_NUMBER.fullmatch(kind) is None for kind in kinds)


@functools.lru_cache(maxsize=8)
def operators_act(meanings: Meanings) -> bool:
    """Whether operators or conversions that no text calls may do more than compute a value."""
    if meanings.has(_ATOMIC):
        return True
    defined, alone = dict[bytes, list[bytes]](), set[bytes]()
    for text in meanings.texts:
        for found in _OPERATOR.finditer(text):
            sign = b" ".join(found[1].split())
            if _EXPLICIT.fullmatch(sign) is not None:
                continue
            end = closed(text, found.end(), b"()", found.end() + 2000)
            body = BODY.match(text, end)
            if body is not None:
                inside = text[body.end() : closed(text, body.end(), b"{}")]
                defined.setdefault(sign, []).append(inside)
            elif _GIVEN_UP.match(text, end) is None:
                alone.add(sign)
    return not alone <= defined.keys() or any(
        _does(body, meanings, _DEEPEST) for bodies in defined.values() for body in bodies
    )


def _does(body: bytes, meanings: Meanings, depth: int) -> bool:
    """Whether a function's body changes anything but its own variables, or may not return."""
    if not depth:
        return True

    def without(found: re.Match[bytes]) -> bytes:
        name = re.escape(found[1] or found[2])
        is_local = re.search(_LOCAL % name, body) is not None
        return b" " if is_local and b"->" not in found[0] else found[0]

    if _CHANGES.search(CHANGED.sub(without, body)) is not None:
        return True
    if meanings.has_effects(_WORD.findall(body), calls=False):
        return True
    for name in {*_CALLED.findall(body)} - _KEYWORDS:
        if name in meanings.classes:
            if _constructs(name, meanings, depth):
                return True
            continue
        bodies = meanings.reached((name,))
        is_known = _PURE.fullmatch(name) or _INTRINSIC.fullmatch(name)
        if any(_does(one, meanings, depth - 1) for one in bodies) or not (bodies or is_known):
            return True
    return False

"""Compile a version for each number

A kernel whose loops over an array run to a parameter, `for (int i = 0; i < n; ++i)` over 8
elements, becomes a template of that number, with a `switch` over 0 to 8. In each instance trip
counts are constant and the loops unrolled, those in inlined functions included.

Unsafe: with any other number the kernel traps. Declined for templates, if a launch in sight gives
another, if the loop tests its counter before it uses the array, if the body has static variables,
if the parameter may be modified, and above 64 KB of source. It costs the code of all versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.given_numbers import check_given
from lmemscope.rewrites.guards import is_guarded
from lmemscope.rewrites.loops import (
    check_hidden,
    constant_at,
    indexing_loops,
    unroll_edit,
)
from lmemscope.rewrites.settled import is_settled
from lmemscope.rewrites.steady import is_steady
from lmemscope.rewrites.variables import Number, head_of, number_at
from lmemscope.rewrites.written import in_arguments, indent_unit, is_continued, kernels
from lmemscope.rules.indexing import is_counted
from lmemscope.sources.syntax import Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 20
"""Versions: beyond these the code is larger than what it saves."""
_TEXT = 1 << 16
"""Bytes of source that all versions are, as written: beyond these they take long to compile."""
_BITS = 32
_NUMBER = b"lmem_number"
_EXTENT = re.compile(r"\[(\d+)\]")
_OWN = re.compile(
    rb"\b(?:__shared__|static|thread_local|__func__|__FUNCTION__|__PRETTY_FUNCTION__|asm|__asm__"
    rb"|goto|__COUNTER__|__builtin_constant_p)\b"
)
"""What a copy of a function has of its own, or tells it by."""
_VALUE = re.compile(
    rb"(?:(?:const|unsigned|signed|char|short|int|long|float|double|bool)\s*)+"
    rb"|(?:const\s+)?(?:std::)?(?:u?int(?:8|16|32|64)_t|size_t|ptrdiff_t|u(?:char|short|int|long))\s*"
)
_POINTER = re.compile(rb"[\w:\s]+\*(?:\s*(?:const|__restrict__|__restrict)\b)*\s*")


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel that is made a template.

    Attributes:
        function: its definition.
        item: the whole item that it is, what says its linkage included.
        body: of it.
        name: its name.
        parameters: their names, in order, and what declares each.
    """

    function: Node
    item: Node
    body: Node
    name: bytes
    parameters: dict[bytes, bytes]


def propose(target: Target) -> Iterator[Rewriting]:
    """The kernel as a template of the parameter that its loops over the array run up to."""
    declared = target.declared
    if declared is None or declared.array is None:
        raise DeclinedError("its declaration is not read as an array")
    if declared.function.has_error:
        raise DeclinedError("its function is not read completely")
    own = kernels(target)
    if own != (declared.function,):
        raise DeclinedError("its function is not the only kernel that has it")
    if any(True for _ in around(own[0], "template_declaration")):
        raise DeclinedError("its kernel is a template")
    loops = indexing_loops(target)
    found = _largest(target, declared.function, loops)
    if found is None:
        check_hidden(target)
        return
    number, most = found
    if most <= 0:
        return
    if most >= MOST or (most + 1) * (own[0].end_byte - own[0].start_byte) > _TEXT:
        raise DeclinedError(f"{most + 1} versions of its kernel are much code")
    check_given(target.syntax.text(number.name), most, target, least=0)
    kernel = _kernel(target, declared.function)
    made = _versions(target, kernel, number, most)
    unrolled = (unroll_edit(target, one) for one in loops)
    pragmas = dict.fromkeys(one for one in unrolled if one is not None)
    name = target.syntax.text(number.name).decode()
    yield Rewriting(
        "dispatch",
        "unsafe",
        tuple(sorted((*made, *pragmas))),
        f"compile a version of `{kernel.name.decode()}` for each `{name}` from 0 to {most}",
        f"`{name}` is from 0 to {most} (else the kernel stops with an error)",
        version=(kernel.name.decode(), name, most),
    )


def _largest(target: Target, function: Node, loops: Iterable[Node]) -> tuple[Number, int] | None:
    """The parameter that loops run up to, and the largest with which they stay in the array."""
    found: dict[bytes, tuple[Number, list[int]]] = {}
    for loop in loops:
        if function not in around(loop, "function_definition"):
            continue
        bound = _bound(target, loop)
        if bound is None:
            continue
        number, most = bound
        found.setdefault(target.syntax.text(number.name), (number, []))[1].append(most)
    if len(found) != 1:
        return None
    ((number, every),) = found.values()
    return number, min(every)


def _bound(target: Target, loop: Node) -> tuple[Number, int] | None:
    """A parameter, and the largest with which a loop indexes elements of the array alone."""
    head = head_of(loop, target.syntax)
    extents = [] if head is None else _extents(target, loop, head.counter)
    if head is None or not extents:
        return None
    if head.step > 0 and head.sign in (b"<", b"<="):
        found, beyond = _added(head.bound, target), int(head.sign == b"<=")
    elif head.step < 0 and head.sign in (b">", b">=") and head.start is not None:
        found, beyond = _added(head.start, target), 1
    else:
        return None
    return None if found is None else (found[0], min(extents) - beyond - found[1])


def _added(node: Node, target: Target) -> tuple[Number, int] | None:
    """A parameter and what constants add to it."""
    syntax = target.syntax
    if node.type == "identifier":
        number = number_at(syntax.text(node), node, syntax)
        return (number, 0) if number is not None and _is_given(number, target) else None
    if node.type != "binary_expression":
        return None
    left, operator, right = (
        node.child_by_field_name(part) for part in ("left", "operator", "right")
    )
    if left is None or operator is None or right is None:
        return None
    sign = syntax.text(operator)
    for one, other in ((left, right), (right, left)):
        found = _added(one, target) if one.type == "identifier" else None
        constant = constant_at(other, target) if is_settled(other, target) else None
        if found is None or constant is None or sign not in (b"+", b"-"):
            continue
        if sign == b"+" or one == left:
            return found[0], constant if sign == b"+" else -constant
    return None


def _is_given(number: Number, target: Target) -> bool:
    """Whether a number is a parameter of 32 bits that keeps its value."""
    syntax = target.syntax
    parameter = number.name.parent
    if parameter is None or parameter.type != "parameter_declaration":
        return False
    kind, name = parameter.child_by_field_name("type"), syntax.text(number.name)
    if kind is None or number.bits != _BITS or parameter.has_error:
        return False
    if name in syntax.macros or target.meanings.definitions((name,)):
        return False
    return is_steady(number, number.scope, target)


def _extents(target: Target, loop: Node, counter: bytes) -> list[int]:
    """Extents of the array that a loop's counter alone indexes.

    None where it is not known, or where the loop asks its counter before it uses an element: then
    the array's size says nothing of how often it runs.
    """
    declared, found = target.declared, []
    assert declared is not None
    types = {hit.finding.type for hit in target.hits}
    numbers = [int(one) for one in _EXTENT.findall(types.pop() or "")] if len(types) == 1 else []
    for name in target.syntax.uses(declared.name, declared.scope):
        node, position = name, 0
        while node.parent is not None and node.parent.type == "subscript_expression":
            if node.parent.child_by_field_name("argument") != node or position >= len(numbers):
                break
            node = node.parent
            given = node.child_by_field_name("indices")
            is_own = given is not None and target.syntax.text(given)[1:-1].strip() == counter
            is_within = loop.start_byte <= node.start_byte < loop.end_byte
            if is_own and is_within and not is_guarded(node, loop, target.syntax):
                found.append(numbers[position])
            position += 1
    return found


def _kernel(target: Target, function: Node) -> _Kernel:
    """A kernel, of which there can be several versions.

    Raises:
        DeclinedError: there cannot.
    """
    syntax, body = target.syntax, function.child_by_field_name("body")
    item = function
    while item.parent is not None and item.parent.type == "linkage_specification":
        item = item.parent
    name = syntax.function_name(function)
    if body is None or name is None or _is_in_linkage(item):
        raise DeclinedError("its kernel is declared in a form that is not rewritten")
    inside = syntax.text(body)
    known = target.meanings.definitions(words_of([inside]))
    if found := _OWN.search(inside):
        row = body.start_point.row + inside.count(b"\n", 0, found.start())
        raise DeclinedError(
            f"line {row + 1} uses `{found[0].decode()}`, so its kernel is not copied"
        )
    if found := _OWN.search(known):
        raise DeclinedError(f"a macro uses `{found[0].decode()}`, so its kernel is not copied")
    start = syntax.line_start(item.start_byte)
    if syntax.data[start : item.start_byte].strip() or is_continued(target, start):
        raise DeclinedError("something stands before its function on the same line")
    if not _is_first(item, syntax):
        raise DeclinedError("something stands before its function that may belong to it")
    if in_arguments(function, target) or target.path.endswith(".py"):
        raise DeclinedError("its kernel is declared in a form that is not rewritten")
    if {name + b"_lmem", _NUMBER} & target.meanings.words:
        raise DeclinedError(f"the name {name.decode()}_lmem is taken")
    return _Kernel(function, item, body, name, _parameters(function, syntax))


def _is_first(item: Node, syntax: Syntax) -> bool:
    """Whether what stands before an item is whole: a macro of its own line may be part of it."""
    before = item.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    if before is None or before.type.startswith("preproc") or not before.is_named:
        return True
    return syntax.text(before)[-1:] in (b";", b"}")


def _is_in_linkage(item: Node) -> bool:
    """Whether an item is in a block of another linkage, or in a class: no template can be."""
    return any(
        True for _ in around(item, "linkage_specification", "class_specifier", "struct_specifier")
    )


def _parameters(function: Node, syntax: Syntax) -> dict[bytes, bytes]:
    """What declares a kernel's parameters, by their names: numbers and pointers.

    Raises:
        DeclinedError: one is of another form: what copies an object may do something.
    """
    found: dict[bytes, bytes] = {}
    for one in syntax.parameters(function):
        names = [
            node
            for node in walk(one)
            if node.type == "identifier"
            and node.parent is not None
            and node.parent.type in ("parameter_declaration", "pointer_declarator")
        ]
        text = syntax.text(one)
        head = text[: names[0].start_byte - one.start_byte] if len(names) == 1 else b""
        is_plain = _VALUE.fullmatch(head) or _POINTER.fullmatch(head)
        if one.has_error or not is_plain or names[0].end_byte != one.end_byte:
            raise DeclinedError("its kernel has parameters that are not handed on")
        found[syntax.text(names[0])] = b" ".join(text.split())
    return found


def _versions(target: Target, kernel: _Kernel, number: Number, most: int) -> list[Edit]:
    """The kernel's head with a switch, and its body as that of a template."""
    syntax, name = target.syntax, target.syntax.text(number.name)
    parameter = number.name.parent
    assert parameter is not None
    kind = parameter.child_by_field_name("type")
    assert kind is not None
    assert target.declared is not None
    end, unit = syntax.lines_end(), indent_unit(target.declared.function, syntax)
    others = {own: text for own, text in kernel.parameters.items() if own != name}
    made = kernel.name + b"_lmem"
    head = b"template <int %s>" % _NUMBER + end
    taking = made + b"(" + b", ".join(others.values()) + b")"
    given = b"(" + b", ".join(others) + b")"
    cases = b"".join(
        unit + unit + b"case %d: %s<%d>%s; break;" % (case, made, case, given) + end
        for case in range(most + 1)
    )
    switch = b"{" + end + unit + b"switch (" + name + b") {" + end + cases
    switch += unit + unit + b"default: __trap();" + end + unit + b"}" + end + b"}" + end + end
    own = b"const " + syntax.text(kind) + b" " + name + b" = " + _NUMBER + b";"
    first = next((one for one in kernel.body.named_children if one.type != "comment"), None)
    at = kernel.body.start_byte + 1
    is_below = first is not None and first.start_point.row > kernel.body.start_point.row
    indent = end + syntax.indent(first) if first is not None and is_below else b" "
    return [
        target.edit(
            kernel.item.start_byte,
            kernel.item.start_byte,
            head + b"__device__ __forceinline__ void " + taking + b";" + end + end,
        ),
        target.edit(
            kernel.body.start_byte,
            kernel.body.start_byte,
            switch + head + b"__device__ __forceinline__ void " + taking + b" ",
        ),
        target.edit(at, at, indent + own),
    ]


REWRITE = Rewrite(
    "dispatch",
    frozenset({"rolled-loop", "dynamic-index"}),
    propose,
    __name__,
    nothing="no loop that indexes it is read as one that runs up to a parameter of its kernel with "
    "a largest value in sight",
    suits=is_counted,
)

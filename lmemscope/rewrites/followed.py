"""Local pointers into an array: the variables that hold its places, and where places go.

A place is an array's name, a pointer to an element, or what arithmetic makes of them. It is
followed through a function by its form: each use of the array and of each pointer is one of those
that are known here, or the array is declined. So what is found is all that there is: no place is in
a variable, a call or an expression that is not listed, and no pointer of those listed gets anything
but places of this array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import Elements, Use, done_to, elements, is_plain
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.binding import is_taken
from lmemscope.rewrites.places import local_of
from lmemscope.rewrites.pointers import Pointer, bare, pointer_of, points
from lmemscope.rewrites.reaching import is_pointed_to
from lmemscope.sources.syntax import around, is_broken, is_cast

if TYPE_CHECKING:
    from tree_sitter import Node

_OWN_ADDRESS = re.compile(rb"\boperator\s*&\s*\(")
_COMPARED = (b"<", b"<=", b">", b">=", b"==", b"!=")
_SIMPLE = ("expression_statement", "declaration", "condition_clause", "return_statement")


@dataclass(slots=True)
class Places:
    """Where an array's places are in a function.

    Attributes:
        pointers: variables that hold them, in the order in which they are found.
        calls: that get them, each with the positions of such arguments, and how many subscripts
            each argument has until it is an element.
        addresses: edits that turn ``&a[i]`` into ``(a + (i))``.
    """

    pointers: list[Pointer] = field(default_factory=list)
    calls: list[tuple[Node, dict[int, int]]] = field(default_factory=list)
    addresses: list[Edit] = field(default_factory=list)


def places(
    roots: Sequence[Elements], target: Target, element: bytes, *, in_lambdas: bool = False
) -> Places:
    """Follow an array's places.

    Args:
        roots: the names by which a function knows the array, or its parameters that are places.
        target: whose array it is.
        element: the elements' type in the compiled kernels.
        in_lambdas: whether lambdas may use elements by the roots' names.

    Raises:
        DeclinedError: one goes where it is not followed.
    """
    return _Follower(roots, target, element, in_lambdas=in_lambdas).found


class _Follower:
    def __init__(
        self, roots: Sequence[Elements], target: Target, element: bytes, *, in_lambdas: bool
    ) -> None:
        self._path, self._syntax = roots[0].path, roots[0].syntax
        self._target, self._element = target, element
        self._known: set[int] = set()
        """Where uses of the array and of its pointers begin."""
        self._anywhere = set[int]()
        """Uses that may stand in a lambda."""
        self._declared = set[int]()
        self._rooted: list[Node] = []
        """What has to be a place of the array, once all of its pointers are known."""
        self._pending: list[tuple[Use, int]] = []
        self._calls: dict[int, tuple[Node, dict[int, int]]] = {}
        self.found = Places()
        for root in roots:
            if target.meanings.is_in_macro(root.name):
                raise DeclinedError("a macro uses it")
            self._add(root.uses, root.dimensions)
        if in_lambdas:
            self._anywhere |= self._known
        while self._pending:
            use, depth = self._pending.pop(0)
            self._one(use, depth)
        for node in self._rooted:
            if not self._is_place(node):
                raise DeclinedError(
                    f"line {_line(node)} brings it together with what may be another's place"
                )
        self.found.calls = list(self._calls.values())

    def _add(self, uses: Sequence[Use], depth: int) -> None:
        self._known.update(use.name.start_byte for use in uses)
        self._pending += [(use, depth) for use in uses]

    def _one(self, use: Use, depth: int) -> None:
        name = use.name
        if use.kind == "size":
            raise DeclinedError(f"line {_line(name)} asks for the size of a pointer into it")
        for above in around(name, *_SIMPLE):
            if above.has_error:
                raise DeclinedError(f"line {_line(name)} is not read completely")
            break
        if name.start_byte not in self._anywhere:
            self._stays(name)
        self._climb(name, depth)

    def _climb(self, node: Node, depth: int) -> None:
        """Follow a place outwards, to what is done with it.

        Args:
            node: the place.
            depth: how many subscripts it has until it is an element.
        """
        above = node.parent
        kind = "" if above is None else above.type
        if above is None:
            raise self._unknown(node)
        if kind == "parenthesized_expression":
            self._climb(above, depth)
        elif kind == "subscript_expression" and _is(above, "argument", node):
            given = above.child_by_field_name("indices")
            inside = (
                [] if given is None else [n for n in given.named_children if n.type != "comment"]
            )
            if len(inside) != 1:
                raise self._unknown(node)
            if depth > 1:
                self._climb(above, depth - 1)
            else:
                self._reached(above)
        elif kind == "field_expression" and _is(above, "argument", node):
            operator = above.child_by_field_name("operator")
            if depth > 1 or operator is None or self._text(operator) != b"->":
                raise self._unknown(node)
            self._reached(above)
        elif kind in _STEPS and depth == 1:
            _STEPS[kind](self, node, above)
        elif kind == "argument_list" and above.parent is not None:
            self._passed(node, above, depth)
        else:
            raise self._unknown(node)

    def dereference(self, node: Node, above: Node) -> None:
        if self._text(above)[:1] != b"*":
            raise DeclinedError(f"line {_line(node)} takes the address of a pointer into it")
        self._reached(above)

    def update(self, node: Node, above: Node) -> None:
        self._climb(above, 1)

    def assignment(self, node: Node, above: Node) -> None:
        operator, left = above.child_by_field_name("operator"), above.child_by_field_name("left")
        right = above.child_by_field_name("right")
        spelled = b"=" if operator is None else self._text(operator)
        if left is None or right is None:
            raise self._unknown(node)
        if node == left and spelled in (b"+=", b"-="):
            self._climb(above, 1)
        elif node == left and spelled == b"=":
            self._rooted.append(right)
            self._climb(above, 1)
        elif spelled == b"=" and bare(left).type == "identifier":
            self._kept(bare(left))
        else:
            raise self._unknown(node)

    def binary(self, node: Node, above: Node) -> None:
        operator, left = above.child_by_field_name("operator"), above.child_by_field_name("left")
        right = above.child_by_field_name("right")
        spelled = b"" if operator is None else self._text(operator)
        if left is None or right is None:
            raise self._unknown(node)
        other = right if node == left else left
        if spelled in _COMPARED or (
            spelled == b"-" and (node == right or points(right, self._syntax))
        ):
            self._rooted.append(other)
        elif spelled in (b"+", b"-"):
            self._climb(above, 1)
        else:
            raise self._unknown(node)

    def either(self, node: Node, above: Node) -> None:
        if _is(above, "condition", node):
            raise self._unknown(node)
        for side in ("consequence", "alternative"):
            other = above.child_by_field_name(side)
            if other is None:
                raise self._unknown(node)
            if other != node:
                self._rooted.append(other)
        self._climb(above, 1)

    def comma(self, node: Node, above: Node) -> None:
        if _is(above, "right", node):
            self._climb(above, 1)

    def discarded(self, node: Node, above: Node) -> None:
        """A statement of its own: its value is nobody's."""

    def loop(self, node: Node, above: Node) -> None:
        if _is(above, "condition", node):
            raise self._unknown(node)

    def made(self, node: Node, above: Node) -> None:
        declarator = above.child_by_field_name("declarator")
        while declarator is not None and declarator.type == "pointer_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if not _is(above, "value", node) or declarator is None or declarator.type != "identifier":
            raise self._unknown(node)
        self._kept(declarator, is_declared=True)

    def _passed(self, node: Node, given: Node, depth: int) -> None:
        call = given.parent
        called = call.child_by_field_name("function") if call is not None else None
        if call is None or called is None or call.type != "call_expression" or is_cast(call):
            raise self._unknown(node)
        self._stays(node)
        arguments = [one for one in given.named_children if one.type != "comment"]
        position = next(n for n, one in enumerate(arguments) if one == node)
        self._calls.setdefault(call.start_byte, (call, {}))[1][position] = depth

    def _reached(self, element: Node) -> None:
        """An element: only it may be used, or its place taken again."""
        outer = element
        while outer.parent is not None and outer.parent.type == "parenthesized_expression":
            outer = outer.parent
        above = outer.parent
        is_address = (
            above is not None
            and above.type == "pointer_expression"
            and self._text(above)[:1] == b"&"
        )
        if above is not None and is_address and element.type != "field_expression":
            self._stays(element)
            if not is_plain(self._target) and self._target.meanings.has(_OWN_ADDRESS):
                raise DeclinedError(f"line {_line(element)} may ask a class for its address")
            self._address(above, element)
            self._climb(above, 1)
            return
        kind, whole = done_to(element, self._syntax)
        use = Use(element, element, (), kind, whole)
        meanings = self._target.meanings
        if is_pointed_to(use, self._syntax, meanings) or is_taken(
            whole, self._syntax, meanings, self._element, by_address=True
        ):
            raise DeclinedError(f"line {_line(element)} may take the address of an element")

    def _address(self, taken: Node, element: Node) -> None:
        """``&a[i]`` as ``(a + (i))``, ``&*p`` as ``p``: marks alone, so that others may nest."""
        edits = self.found.addresses
        if any(one.start == taken.start_byte for one in edits):
            return
        start = taken.start_byte
        if element.type == "pointer_expression":
            edits.append(Edit(self._path, start, start + 1, b""))
            edits.append(Edit(self._path, element.start_byte, element.start_byte + 1, b""))
            return
        given = element.child_by_field_name("indices")
        if given is None or self._text(given)[:1] != b"[" or self._text(given)[-1:] != b"]":
            raise self._unknown(element)
        edits.append(Edit(self._path, start, start + 1, b"("))
        edits.append(Edit(self._path, given.start_byte, given.start_byte + 1, b" + ("))
        edits.append(Edit(self._path, given.end_byte - 1, given.end_byte, b"))"))

    def _kept(self, name: Node, *, is_declared: bool = False) -> None:
        """A variable gets a place."""
        self._stays(name)
        if name.start_byte in self._known and not is_declared:
            return
        line, text = _line(name), self._text(name).decode(errors="replace")
        declared = local_of(name, self._syntax)
        if declared is None or (is_declared and declared.name != name):
            raise DeclinedError(f"line {line} keeps a place of it in what is no local pointer")
        if declared.name.start_byte in self._declared:
            return
        self._declared.add(declared.name.start_byte)
        self.found.pointers.append(pointer_of(declared, self._syntax))
        own = elements(self._path, self._syntax, declared.name, declared.scope, 1, is_const=False)
        is_hidden = self._target.meanings.is_in_macro(self._text(name))
        if is_hidden or is_broken(declared.function, self._text(name)):
            raise DeclinedError(f"`{text}` (line {line}) is not read completely, or in a macro")
        if declared.value is not None:
            self._rooted.append(declared.value)
        self._add(own.uses, 1)
        if not is_declared and name.start_byte not in self._known:
            raise DeclinedError(f"line {line} keeps a place of it in what is no local pointer")

    def _stays(self, node: Node) -> None:
        if any(True for _ in around(node, "lambda_expression")):
            raise DeclinedError(f"line {_line(node)} keeps a place of it in a lambda")

    def _is_place(self, node: Node) -> bool:
        """Whether an expression's value is a place of the array, whatever it is."""
        node = bare(node)
        if node.type == "identifier":
            return node.start_byte in self._known
        if node.type in ("update_expression", "subscript_expression"):
            inner = node.child_by_field_name("argument")
            return inner is not None and self._is_place(inner)
        if node.type == "conditional_expression":
            sides = [node.child_by_field_name(one) for one in ("consequence", "alternative")]
            return all(one is not None and self._is_place(one) for one in sides)
        if node.type == "pointer_expression":
            inner = node.child_by_field_name("argument")
            return inner is not None and self._is_place(inner)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return False
        if node.type == "comma_expression":
            return self._is_place(right)
        if node.type in ("assignment_expression", "binary_expression"):
            return self._is_place(left) or (
                node.type == "binary_expression" and self._is_place(right)
            )
        return False

    def _unknown(self, node: Node) -> DeclinedError:
        return DeclinedError(f"line {_line(node)} does something else with a place of it")

    def _text(self, node: Node) -> bytes:
        return self._syntax.text(node)


_STEPS: dict[str, Callable[[_Follower, Node, Node], None]] = {
    "pointer_expression": _Follower.dereference,
    "update_expression": _Follower.update,
    "assignment_expression": _Follower.assignment,
    "binary_expression": _Follower.binary,
    "conditional_expression": _Follower.either,
    "comma_expression": _Follower.comma,
    "expression_statement": _Follower.discarded,
    "for_statement": _Follower.loop,
    "init_declarator": _Follower.made,
}
"""What is done with a place of an element, by the expression around it."""


def _is(above: Node, name: str, node: Node) -> bool:
    return above.child_by_field_name(name) == node


def _line(node: Node) -> int:
    return node.start_point.row + 1

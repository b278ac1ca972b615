"""Loops that step an index through local arrays, one element at a time, until a comparison fails.

Insertion moves elements and leaves a gap behind them::

    while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; --j; }
    a[j] = v;

Such a loop is read into its parts, whatever way it is spelled: what it asks before a step, and what
a step does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.loops import LOOPS
from lmemscope.rewrites.variables import changed_by, step_of
from lmemscope.sources.syntax import Syntax, first_named, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SIMPLE = ("expression_statement", "if_statement", "declaration", "compound_statement", "comment")
_LEAVING = (
    "continue_statement",
    "return_statement",
    "goto_statement",
    "labeled_statement",
    "switch_statement",
    "case_statement",
    "lambda_expression",
    "gnu_asm_expression",
    "co_await_expression",
    "co_yield_statement",
    "throw_statement",
    "try_statement",
    *LOOPS,
)
_FARTHEST = 3
"""Statements behind a loop that what is done at its end may be among."""


@dataclass(frozen=True)
class Stepped:
    """A loop in its parts.

    Attributes:
        loop: the whole statement.
        counter: the variable that is stepped.
        step: 1 or -1.
        start: what the head of a ``for`` does first, or None.
        owns: whether that declares the counter.
        bound: what the head asks before a step, or None.
        leaves: what the body asks first, to leave the loop; or None.
        body: statements of a step, in order; the step is among them, but for a ``for``.
        update: the step.
    """

    loop: Node
    counter: bytes
    step: int
    start: Node | None
    owns: bool
    bound: Node | None
    leaves: Node | None
    body: tuple[Node, ...]
    update: Node

    @property
    def conditions(self) -> tuple[Node, ...]:
        """The expressions that are asked, in order."""
        return tuple(one for one in (self.bound, self.leaves) if one is not None)

    @property
    def is_in_head(self) -> bool:
        """Whether the step is the head's."""
        return self.loop.type == "for_statement" and self.update == self.loop.child_by_field_name(
            "update"
        )

    def offset(self, index: Node, syntax: Syntax) -> int | None:
        """How far an index is from the counter, as it was when the step began; None: not fixed."""
        found = distance(index, self.counter, syntax)
        if found is None:
            return None
        is_behind = not self.is_in_head and index.start_byte > self.update.start_byte
        is_own = any(one.start_byte <= index.start_byte < one.end_byte for one in self.body)
        return found + self.step if is_behind and is_own else found


def stepped(loop: Node, syntax: Syntax) -> Stepped | None:
    """A loop in its parts; None where it is no such loop.

    Raises:
        DeclinedError: it is one, but does more than can be told to mean the same.
    """
    body, line = loop.child_by_field_name("body"), loop.start_point.row + 1
    if body is None or loop.type == "do_statement" or loop.has_error:
        return None
    head = loop.child_by_field_name("update") if loop.type == "for_statement" else None
    statements = _statements(body)
    made = _parted(statements)
    if made is None:
        return None
    asked, moves = made
    step = None if head is None else step_of(head, syntax)
    update = head
    if head is None:
        found = [(one, step_of(one, syntax)) for one in _expressions(moves)]
        steps = [(one, step) for one, step in found if step is not None]
        bounds = _names(loop.child_by_field_name("condition"), syntax) | (
            _names(asked, syntax) if asked is not None else set()
        )
        steps = [(one, step) for one, step in steps if step[0] in bounds]
        if len(steps) != 1:
            return None
        update, step = steps[0]
    if step is None or update is None:
        return None
    counter, by = step
    if not moves:
        return None
    parts = [*moves, *([asked] if asked is not None else [])]
    bound = _bound(loop)
    parts += [bound] if bound is not None else []
    for node in (one for part in parts for one in walk(part)):
        if node.type in _LEAVING or node.type.startswith("preproc") or node.type == "ERROR":
            return None
        if node != update and counter in changed_by(node, syntax):
            raise DeclinedError(f"line {line} may change `{counter.decode()}` in another way, too")
    start = loop.child_by_field_name("initializer")
    return Stepped(
        loop,
        counter,
        by,
        start,
        start is not None and start.type == "declaration",
        bound,
        asked,
        moves,
        update,
    )


def behind(loop: Node) -> Iterator[Node]:
    """The statements behind a loop in its block, a few, as far as they only compute something."""
    node, found = loop.next_named_sibling, 0
    if loop.parent is None or loop.parent.type not in ("compound_statement", "case_statement"):
        return
    while node is not None and found < _FARTHEST:
        if node.type == "comment":
            node = node.next_named_sibling
            continue
        if node.type not in ("expression_statement", "if_statement"):
            return
        if any(one.type in _LEAVING or one.type == "break_statement" for one in walk(node)):
            return
        yield node
        node, found = node.next_named_sibling, found + 1


def distance(index: Node, counter: bytes, syntax: Syntax) -> int | None:
    """How far an index is from a counter: 0 of ``j``, -1 of ``j - 1``; None of anything else."""
    node: Node | None = index
    while node is not None and node.type == "parenthesized_expression":
        node = first_named(node)
    if node is None:
        return None
    if node.type == "identifier":
        return 0 if syntax.text(node) == counter else None
    if node.type != "binary_expression":
        return None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return None
    sign = {b"+": 1, b"-": -1}.get(syntax.text(operator))
    if sign is None:
        return None
    if left.type == "number_literal" and sign == 1:
        left, right = right, left
    inner = distance(left, counter, syntax)
    text = syntax.text(right)
    if inner is None or right.type != "number_literal" or not text.isdigit():
        return None
    return inner + sign * int(text) if text == b"0" or text[:1] != b"0" else None


def _parted(statements: tuple[Node, ...]) -> tuple[Node | None, tuple[Node, ...]] | None:
    """What a body asks before it goes on, and does in a step."""
    if any(one.type not in _SIMPLE for one in statements):
        return None
    breaks = [n for one in statements for n in walk(one) if n.type == "break_statement"]
    if not breaks:
        return None, statements
    first = next(one for one in statements if one.type != "comment")
    parts = [first.child_by_field_name(one) for one in ("condition", "consequence", "alternative")]
    clause, then, other = parts
    asked = None if clause is None else clause.child_by_field_name("value")
    if asked is None or then is None or asked.type == "declaration" or other is not None:
        return None
    if [one for one in _statements(then) if one.type != "comment"] != breaks:
        return None
    return asked, statements[statements.index(first) + 1 :]


def _bound(loop: Node) -> Node | None:
    condition = loop.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        return condition.child_by_field_name("value")
    return condition


def _statements(body: Node) -> tuple[Node, ...]:
    """A block's statements, or the only one where there is no block."""
    return tuple(body.named_children) if body.type == "compound_statement" else (body,)


def _expressions(statements: tuple[Node, ...]) -> Iterator[Node]:
    """The expressions that statements evaluate whatever happens, in order."""
    for one in statements:
        if one.type != "expression_statement":
            continue
        pending: list[Node | None] = [first_named(one)]
        while pending:
            node = pending.pop()
            if node is None:
                continue
            if node.type == "comma_expression":
                pending += [node.child_by_field_name("right"), node.child_by_field_name("left")]
            else:
                yield node


def _names(node: Node | None, syntax: Syntax) -> set[bytes]:
    found = () if node is None else walk(node)
    return {syntax.text(one) for one in found if one.type == "identifier"}

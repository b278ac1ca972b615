"""Loops that wait for other blocks: a barrier of the grid that the program has written itself.

A loop waits if what ends it depends on memory that other threads change, and not on anything that
the loop itself steps: read as ``volatile``, by an atomic load or assembly, or plainly where the
loop has a fence. What it depends on is followed through variables, branches and functions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.formats.statements import parts_of
from lmemscope.model.blanked import closed
from lmemscope.rewrites.atomic_reads import is_atomic_read
from lmemscope.rewrites.meanings import Meanings
from lmemscope.sources.syntax import FUNCTIONS, Syntax, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS = ("while_statement", "do_statement", "for_statement")
_BRANCHES = ("if_statement", "switch_statement", *_LOOPS)
_LEAVING = ("break_statement", "return_statement", "goto_statement")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_POLLING = re.compile(
    rb"(?<!asm )(?<!asm)(?<!__asm__ )(?<!__asm__)\bvolatile\b|\b__ld(?:cv|cg|cs|lu|ca)\b"
    rb"|(?:\.|->)\s*(?:load|test)\s*\(|acquire|relaxed|\b__(?:nv_)?atomic_load"
    rb"|\batomicCAS\w*\s*\([^;]{0,200},\s*([^,;()]{1,80}?)\s*,\s*\1\s*\)"
    rb"|\batomicExch\w*\s*\(|(?:\.|->)\s*(?:exchange|test_and_set)\s*\(|\batomic_exchange\w*"
    rb"|\batomic_flag_test_and_set\w*|\b__(?:nv_)?atomic_(?:exchange|test_and_set)\w*"
    rb"|\b__sync_lock_test_and_set"
)
"""Reads of what other threads change, atomic functions that may change nothing among them."""
_COMPARING = re.compile(
    rb"\b(?:atomicCAS|__sync_(?:bool|val)_compare_and_swap)\w*\s*\("
    rb"|(?P<member>(?:\.|->)\s*compare_exchange_\w+\s*\()"
    rb"|(?P<free>\b(?:__(?:nv_)?)?atomic_compare_exchange\w*\s*\()"
)
"""Atomic functions that change something only where it has an expected value."""
_LONGEST = 2000
_LOAD = re.compile(rb"\b(?:ld|atom)(?![\w:.]*(?:\.(?:param|const|local|nc)\b|\.shared))\b")
"""A load by assembly, but of what only the block or the thread has."""
_ASSEMBLY = re.compile(rb"\b(?:asm|__asm__|__asm)\b")
_FENCE = re.compile(
    rb"\b(?:__threadfence\w*|__syncthreads\w*|__syncwarp|__nanosleep|\w*fence\w*)\b"
)
_CLOBBER = re.compile(rb"\"memory\"")
_VOLATILE = re.compile(rb"\bvolatile\b")
_ATOMIC = re.compile(rb"\batomic(?:_ref|_flag|_u?int)?\b\s*[<&*\s]")
_WAITING = re.compile(rb"(?:\.|->)\s*wait\s*\(|\batomic_wait\w*\s*\(")
_MEETING = re.compile(
    rb"\b(?:barrier|latch|(?:counting|binary)_semaphore)\s*<(?!\s*(?:cuda\s*::\s*)?"
    rb"thread_scope_(?:block|thread)\b)|\bcuda\s*::\s*std\s*::\s*(?:barrier|latch|\w+_semaphore)\b"
)
"""What threads of several blocks may meet at: not of the scope of a block alone."""
_ARRIVING = re.compile(
    rb"(?:\.|->)\s*(?:arrive_and_wait|(?:try_)?wait\w*|(?:try_)?acquire\w*)\s*\("
)
_LOOPING = re.compile(rb"\b(?:while|for|do|goto)\b")
_SHARED = re.compile(rb"\b__shared__\b")
_REACHING = re.compile(rb"[*&]|\b(?:static|extern|__device__|__managed__|\w*atomic_ref)\b")
"""What says that a variable of a function is not the thread's own, or leads to what is not."""
_DECLARING = ("declaration", "parameter_declaration", "field_declaration", "type_definition")
_POINTING = ("pointer_expression", "subscript_expression", "field_expression")


@functools.lru_cache(maxsize=8)
def may_wait(files: tuple[Syntax, ...], meanings: Meanings) -> bool:
    """Whether a loop in some files, or in a macro, may wait for other blocks."""
    polled = frozenset(name for one in files for name in _polled_names(one)[0])
    if any(
        _may_read(body, meanings) and _LOOPING.search(body) is not None
        for body in meanings.definitions(meanings.words).splitlines()
    ):
        return True
    if meanings.has(_ATOMIC) and meanings.has(_WAITING):
        return True
    if meanings.has(_MEETING) and meanings.has(_ARRIVING):
        return True
    known = _Known(meanings, polled, meanings.has(_LOAD, in_quotes=True))
    is_read = any(_may_read(text, meanings) for text in meanings.texts)
    if not (polled or known.loads or is_read or meanings.has(_FENCE)):
        return False
    return any(
        _Loop(region, syntax, known).waits(condition)
        for syntax in files
        for region, conditions in _loops(syntax)
        for condition in conditions
    )


@dataclass(frozen=True)
class _Known:
    """What all files say.

    Attributes:
        meanings: of names.
        polled: variables and types that are volatile or atomic, but those that a thread or a block
            has for itself, and functions that have some.
        loads: whether assembly anywhere loads from memory that others write.
    """

    meanings: Meanings
    polled: frozenset[bytes]
    loads: bool

    def is_polling(self, text: bytes, own: frozenset[bytes]) -> bool:
        """Whether code reads what other threads change: itself, or in what it calls.

        Args:
            text: of it.
            own: variables of its function that are volatile or atomic.
        """
        words = {*_WORD.findall(text)}
        return (
            _reads_others(text, self.meanings)
            or not words.isdisjoint(self.polled | own)
            or any(
                _may_read(body, self.meanings)
                or not self.polled.isdisjoint(_WORD.findall(body))
                or (self.loads and _ASSEMBLY.search(body) is not None)
                for body in self.meanings.reached(words)
            )
        )


def _reads_others(text: bytes, meanings: Meanings) -> bool:
    """Whether code itself reads what other threads change."""
    return _POLLING.search(text) is not None or is_atomic_read(text, meanings)


def _may_read(text: bytes, meanings: Meanings) -> bool:
    """The same, where nothing is known of the loop that it is in."""
    return _reads_others(text, meanings) or _COMPARING.search(text) is not None


@functools.lru_cache(maxsize=16)
def _polled_names(syntax: Syntax) -> tuple[frozenset[bytes], dict[int, frozenset[bytes]]]:
    """What a file declares volatile or atomic.

    Returns:
        Variables, members and types of the file, and functions that have variables of their own
        that are; these, by where their function begins.
    """
    found: set[bytes] = set()
    own: dict[int, set[bytes]] = {}
    for node in walk(syntax.root):
        if node.type not in _DECLARING:
            continue
        head = syntax.code_of(node).partition(b"=")[0]
        is_known = not found.isdisjoint(_WORD.findall(head))
        if not (is_known or _VOLATILE.search(head) or _ATOMIC.search(head)):
            continue
        function = outermost(node, FUNCTIONS)
        is_automatic = node.type == "declaration" and _REACHING.search(head) is None
        if _SHARED.search(head) is not None or (function is not None and is_automatic):
            continue
        names = set[bytes]()
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            end = declarator.end_byte if value is None else value.start_byte
            named = (one for one in walk(declarator) if one.type.endswith("identifier"))
            names.update(syntax.text(one) for one in named if one.end_byte <= end)
        if function is None:
            found |= names
            continue
        own.setdefault(function.start_byte, set()).update(names)
        name = syntax.function_name(function)
        if name is not None:
            found.add(name)
    return frozenset(found), {at: frozenset(names) for at, names in own.items()}


def _loops(syntax: Syntax) -> Iterator[tuple[Node, Iterable[Node]]]:
    """Loops, and the conditions that each ends by: its own, and those of branches that leave it."""
    for node in walk(syntax.root):
        if node.type in _LOOPS:
            yield node, _ends(node)
        elif node.type == "goto_statement":
            function = outermost(node, FUNCTIONS)
            label = syntax.text(node).removeprefix(b"goto").strip(b" ;")
            if function is None:
                continue
            for one in walk(function):
                named = (
                    one.child_by_field_name("label") if one.type == "labeled_statement" else None
                )
                if named is None or syntax.text(named) != label:
                    continue
                if one.start_byte < node.start_byte:
                    yield function, [*_conditions(node, function), *_leaving(function)]


def _ends(loop: Node) -> Iterator[Node]:
    own = loop.child_by_field_name("condition")
    if own is not None:
        yield own
    yield from _leaving(loop)


def _leaving(loop: Node) -> Iterator[Node]:
    for node in walk(loop):
        if node.type in _LEAVING:
            yield from _conditions(node, loop)


def _conditions(node: Node, loop: Node) -> Iterator[Node]:
    """The conditions of branches around a node, within a loop."""
    for above in around(node, *_BRANCHES):
        if above.start_byte <= loop.start_byte:
            return
        condition = above.child_by_field_name("condition")
        if condition is not None:
            yield condition


class _Loop:
    """What ends a loop, and what that depends on."""

    def __init__(self, loop: Node, syntax: Syntax, known: _Known) -> None:
        self._loop, self._syntax, self._known = loop, syntax, known
        self._changes: dict[bytes, list[Node]] = {}
        changing: list[tuple[bytes, Node]] = []
        self._through: set[bytes] = set()
        function = outermost(loop, FUNCTIONS) or loop
        self._own = _polled_names(syntax)[1].get(function.start_byte, frozenset())
        for node in walk(loop):
            names = {*self._changed(node)}
            changing += ((name, node) for name in names)
            for name in names:
                sources = self._changes.setdefault(name, [])
                sources += [node, *_conditions(node, loop)]
        self._reset = {name for name, node in changing if self._is_reset(node)}
        self._has_fence = (
            _FENCE.search(syntax.code_of(loop)) is not None
            or _CLOBBER.search(syntax.text(loop)) is not None
        )

    def waits(self, condition: Node) -> bool:
        """Whether a condition is met only when another thread has changed something."""
        return any(self._is_waited_for(one) for one in self._operands(condition))

    def _operands(self, node: Node) -> Iterator[Node]:
        """What a condition joins by `&&`, `||` and `!`."""
        sign = node.child_by_field_name("operator")
        text = b"" if sign is None else self._syntax.text(sign)
        is_joined = text in (b"&&", b"||", b"!")
        if is_joined or node.type in ("condition_clause", "parenthesized_expression"):
            for one in node.named_children:
                yield from self._operands(one)
        else:
            yield node

    def _is_waited_for(self, operand: Node) -> bool:
        reached = self._closure(operand)
        is_polled = any(map(self._polls, reached))
        names = self._names(operand) & self._changes.keys()
        if any(self._is_stepped(name) for name in names):
            return False  # `i < *end`
        if is_polled:
            return True
        return self._has_fence and self._is_plain_poll(reached)

    def _closure(self, node: Node) -> list[Node]:
        """An expression, and what changes the variables in it, and those in that."""
        found, seen, pending = [node], set[bytes](), [*self._names(node)]
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            for one in self._changes.get(name, ()):
                found.append(one)
                pending += self._names(one)
        return found

    def _is_stepped(self, name: bytes) -> bool:
        """Whether a loop goes on by a variable: from its last value, whatever others do."""
        sources = self._changes.get(name, ())
        reached = [other for one in sources for other in self._closure(one)]
        is_own = any(
            one.type == "update_expression" or name in self._names_read(one) for one in sources
        )
        return is_own and not any(map(self._polls, reached))

    def _is_plain_poll(self, reached: Iterable[Node]) -> bool:
        """Whether memory that the loop does not write is read, by an address that stays."""
        for node in (inside for one in reached for inside in walk(one)):
            if node.type not in _POINTING:
                continue
            names = self._names(node)
            if not names or names & self._changes.keys() or names & self._through:
                continue
            operator = node.child_by_field_name("operator")
            sign = b"" if operator is None else self._syntax.text(operator)
            if sign in (b"&", b".") or not self._is_outside(node):
                continue
            return True
        return False

    def _is_outside(self, node: Node) -> bool:
        """Whether a place is not the thread's or the block's own, by what declares its name."""
        root = _root(node)
        if root is None or root.type != "identifier":
            return False
        name, function = self._syntax.text(root), outermost(self._loop, FUNCTIONS)
        own = re.compile(rb"\b%b\s*\[[^\]]*\]\s*[^;(){}]*[;=]" % re.escape(name))
        for scope in (function, self._syntax.root):
            for one in walk(scope) if scope is not None else ():
                if one.type not in ("declaration", "parameter_declaration"):
                    continue
                text = self._syntax.code_of(one)
                head = text.partition(b"=")[0]
                if name not in _WORD.findall(head):
                    continue
                if _SHARED.search(head) is not None:
                    return False
                is_local = scope == function and one.type == "declaration"
                return not (is_local and own.search(text) is not None)
        return False

    def _polls(self, node: Node) -> bool:
        return any(
            one.type == "gnu_asm_expression" and _LOAD.search(self._syntax.text(one)) is not None
            for one in walk(node)
        ) or self._is_polling(self._syntax.code_of(node))

    def _is_polling(self, text: bytes) -> bool:
        return self._known.is_polling(text, self._own) or self._compares(text)

    def _compares(self, text: bytes) -> bool:
        """Whether code waits for a value: it compares with one that the loop does not read anew.

        Who compares with what another thread has just written goes on as soon as none is quicker.
        """
        for found in _COMPARING.finditer(text):
            end = closed(text, found.end(), b"()", found.end() + _LONGEST)
            given = list(parts_of(text[found.end() : end - 1].decode("latin-1")))
            at = 0 if found["member"] else 1
            words = {*_WORD.findall(given[at].encode("latin-1"))} if at < len(given) else set()
            is_given = found["member"] is not None or found["free"] is not None
            known = words if is_given else words & self._changes.keys()
            if not known or known & self._reset:
                return True
        return False

    def _is_reset(self, node: Node) -> bool:
        """Whether a change gives a variable a value that follows from nothing in the loop."""
        field = {"assignment_expression": "right", "init_declarator": "value"}.get(node.type)
        value = node.child_by_field_name(field) if field is not None else None
        return value is not None and not (
            self._names(value) & self._changes.keys()
            or any(one.type in (*_POINTING, "call_expression") for one in walk(value))
        )

    def _names(self, node: Node) -> set[bytes]:
        return {self._syntax.text(one) for one in walk(node) if one.type == "identifier"}

    def _names_read(self, node: Node) -> set[bytes]:
        """The variables that a change takes, but the one that it gives a value."""
        if node.type == "assignment_expression":
            operator = node.child_by_field_name("operator")
            right = node.child_by_field_name("right")
            is_plain = operator is None or self._syntax.text(operator) == b"="
            if is_plain and right is not None:
                return self._names(right)
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        return self._names(node if value is None else value)

    def _changed(self, node: Node) -> Iterator[bytes]:
        """Variables that an expression or a declaration gives a value."""
        if node.type == "assignment_expression":
            yield from self._written(node.child_by_field_name("left"))
        elif node.type == "update_expression":
            yield from self._written(node.child_by_field_name("argument"))
        elif node.type in ("init_declarator", "declaration"):
            declarator, value = (node.child_by_field_name(one) for one in ("declarator", "value"))
            if declarator is not None and value is not None:
                yield from self._names(declarator)
        elif node.type == "gnu_asm_output_operand":
            return
        elif node.type == "gnu_asm_expression":
            for one in walk(node):
                if one.type == "gnu_asm_output_operand":
                    yield from self._written(one.child_by_field_name("value"))
        elif node.type == "call_expression":
            yield from self._given(node)

    def _given(self, call: Node) -> Iterator[bytes]:
        """Variables that a function may change: it gets their address, or a reference."""
        called, list_ = (call.child_by_field_name(one) for one in ("function", "arguments"))
        if called is None or list_ is None:
            return
        if called.type == "field_expression":
            yield from self._written(called.child_by_field_name("argument"))
        words = _WORD.findall(self._syntax.code_of(called).partition(b"<")[0])
        taking = self._known.meanings.taking(words[-1]) if words else frozenset()
        is_bound = bool({"mutable", "anything"} & taking)
        for one in list_.named_children:
            if self._syntax.code_of(one)[:1] == b"&":
                yield from self._written(one.child_by_field_name("argument"))
            elif is_bound or self._known.meanings.definitions(words[-1:]):
                yield from self._written(one)
            elif one.type == "identifier":
                self._through.add(self._syntax.text(one))

    def _written(self, place: Node | None) -> Iterator[bytes]:
        """The variable that a place is, or is in; what a pointer leads to is no variable's value,
        but is written, too."""
        root = None if place is None else _root(place)
        if root is not None and root.type == "identifier":
            yield self._syntax.text(root)


def _root(place: Node) -> Node | None:
    """The name that a place begins with."""
    node: Node | None = place
    while node is not None and node.type != "identifier":
        inner = node.child_by_field_name("argument") or node.child_by_field_name("value")
        node = inner or next(iter(node.named_children), None)
    return node

"""Loops that may wait for other blocks: a barrier of the grid that the program has written itself.

A loop that no counter of its own ends may wait if it reads memory that other threads change: as
``volatile``, by an atomic function that may change nothing, by assembly, or beside a fence. What a
function that it calls reads counts as well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.formats.statements import parts_of
from lmemscope.model.blanked import closed
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.recursion import is_host
from lmemscope.sources.syntax import FUNCTIONS, Syntax, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS = ("while_statement", "do_statement", "for_statement")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_POLLING = re.compile(
    rb"(?<!asm )(?<!asm)(?<!__asm__ )(?<!__asm__)\bvolatile\b|\b__ld(?:cv|cg|cs|lu|ca)\b"
    rb"|(?:\.|->)\s*(?:load|test)\s*\(|acquire|relaxed|\b__(?:nv_)?atomic_load"
    rb"|(?:\.|->)\s*(?:exchange|test_and_set)\s*\(|\batomic_exchange\w*"
    rb"|\batomic_flag_test_and_set\w*|\b__(?:nv_)?atomic_(?:exchange|test_and_set)\w*"
    rb"|\b__sync_lock_test_and_set"
)
"""Reads of what other threads change, atomic functions that may change nothing among them."""
_ATOMIC_CALL = re.compile(
    rb"\b(?:(?P<own>atomic)|fetch_)(?P<what>(?i:add|sub|or|xor|max|min|and|inc|dec|exch))"
    rb"(?:_(?:block|system))?\s*\("
)
_COMPARING = re.compile(
    rb"\b(?:atomicCAS|__sync_(?:bool|val)_compare_and_swap)\w*\s*\("
    rb"|(?P<member>(?:\.|->)\s*compare_exchange_\w+\s*\()"
    rb"|(?P<free>\b(?:__(?:nv_)?)?atomic_compare_exchange\w*\s*\()"
)
"""Atomic functions that change something only where it has an expected value."""
_LONGEST = 2000
_CAST = re.compile(rb"\(\s*[A-Za-z_][\w\s]*\)\s*|\b(?:int|unsigned|long|float|double)\b\s*(?=\()")
_CHANGING = re.compile(
    rb"(?:(?!0+[uUlLfF]*(?!\w|\.))\d[\w.]*|(?:blockDim|gridDim)\s*\.\s*[xyz]|warpSize)"
)
"""A number that is not zero, nor, of a launch, all ones."""
_CONST = re.compile(rb"\bconst(?:expr)?\b[^;(){}=]*?\b(\w+)\s*=\s*([^;,{}]*)")
_LOAD = re.compile(rb"\b(?:ld|atom)(?![\w:.]*(?:\.(?:param|const|local|nc)\b|\.shared))\b")
"""A load by assembly, but of what only the block or the thread has."""
_ASSEMBLY = re.compile(rb"\b(?:asm|__asm__|__asm)\b")
_FENCE = re.compile(rb"\b(?:__threadfence\w*|__nanosleep|\w*fence\w*)\b|\"memory\"")
_SYNCING = re.compile(rb"\b__sync(?:threads|warp)\w*")
_VOLATILE = re.compile(rb"\bvolatile\b|\batomic(?:_ref|_flag|_u?int)?\b\s*[<&*\s]")
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


@dataclass(frozen=True, slots=True)
class Waiting:
    """What may wait for other blocks.

    Attributes:
        file: number of the file, among those that were asked about; None: not one place's.
        line: of it, 1-based.
    """

    file: int | None = None
    line: int | None = None


@functools.lru_cache(maxsize=8)
def may_wait(
    files: tuple[Syntax, ...], unparsed: tuple[bytes, ...], meanings: Meanings
) -> Waiting | None:
    """The first loop in some files, or in a macro, that may wait for other blocks; None: none.

    Args:
        files: these, in which what only the host runs waits for no block.
        unparsed: texts of others, blanked.
        meanings: of the names in all of them.
    """
    hosts = [_of_host(one, meanings) for one in files]
    texts = [*unparsed, *(_without(*one) for one in zip(files, hosts, strict=True))]
    for what, how in ((_VOLATILE, _WAITING), (_MEETING, _ARRIVING)):
        # The variable may be declared where the host's functions stand.
        if meanings.has(what) and any(map(how.search, texts)):
            return Waiting()
    waiting = _Waiting(files, meanings)
    bodies = meanings.definitions(meanings.words).splitlines()
    if any(_LOOPING.search(body) and waiting.polls(body, b"") for body in bodies):
        return Waiting()
    for number, (syntax, own) in enumerate(zip(files, hosts, strict=True)):
        for loop in _endless(syntax):
            if any(one.start_byte <= loop.start_byte < one.end_byte for one in own):
                continue
            if waiting.polls(syntax.code_of(loop), syntax.text(loop)) or _rereads(loop, syntax):
                return Waiting(number, loop.start_point.row + 1)
    return None


def _of_host(syntax: Syntax, meanings: Meanings) -> tuple[Node, ...]:
    """The functions of a file that only the host runs: members of a class in another follow it."""
    return tuple(
        one
        for one in walk(syntax.root)
        if one.type == "function_definition"
        and outermost(one, FUNCTIONS) is None
        and is_host(one, syntax, meanings)
    )


def _without(syntax: Syntax, functions: Iterable[Node]) -> bytes:
    """A file's code without some functions."""
    code = bytearray(syntax.code)
    for one in functions:
        code[one.start_byte : one.end_byte] = b" " * (one.end_byte - one.start_byte)
    return bytes(code)


def _endless(syntax: Syntax) -> Iterator[Node]:
    """Loops that no counter of their own ends, and functions with a `goto` back."""
    for node in walk(syntax.root):
        if node.type in _LOOPS and not _is_counted(node, syntax):
            yield node
        elif node.type == "goto_statement":
            function = outermost(node, FUNCTIONS)
            label = syntax.text(node).removeprefix(b"goto").strip(b" ;")
            back = re.compile(rb"\b%b\s*:" % re.escape(label))
            if function is not None and back.search(
                syntax.code, function.start_byte, node.start_byte
            ):
                yield function


def _rereads(loop: Node, syntax: Syntax) -> bool:
    """Whether a loop with a barrier of the block ends by memory that it does not write itself."""
    asked, code = loop.child_by_field_name("condition"), syntax.code_of(loop)
    if asked is None or _SYNCING.search(code) is None:
        return False
    for node in walk(asked):
        if node.type in ("pointer_expression", "subscript_expression", "field_expression"):
            name = (*_WORD.findall(syntax.code_of(node)), b"")[0]
            own = re.compile(rb"\b%b\b[^;=]*(?<![<>=!])=(?!=)|__shared__[^;]*\b%b\b" % (name, name))
            is_index = b"Idx" in name or b"Dim" in name
            if not is_index and own.search(code) is None and _is_shared(name, syntax) is None:
                return True
    return False


def _is_shared(name: bytes, syntax: Syntax) -> re.Match[bytes] | None:
    """Where a file declares a name in shared memory, or as an array of a thread's own."""
    declared = rb"__shared__[^;]*\b%b\b|\b(?:int|float|double|bool|char)\s+%b\s*\[" % (name, name)
    return re.search(declared, syntax.code)


def _is_counted(loop: Node, syntax: Syntax) -> bool:
    """Whether a `for` ends by what its head steps."""
    asked, update = (loop.child_by_field_name(one) for one in ("condition", "update"))
    if loop.type != "for_statement" or asked is None or update is None:
        return False
    own = _WORD.findall(syntax.code_of(update))[:1]
    return bool(own) and own[0] in _WORD.findall(syntax.code_of(asked))


class _Waiting:
    """What some files read that other threads change."""

    def __init__(self, files: tuple[Syntax, ...], meanings: Meanings) -> None:
        self._meanings = meanings
        self._polled = frozenset(name for one in files for name in _polled_names(one))
        self._constants = {
            name: value for text in meanings.texts for name, value in _CONST.findall(text)
        }

    def polls(self, code: bytes, quoted: bytes) -> bool:
        """Whether a loop may wait.

        Args:
            code: of the loop, strings and comments blanked.
            quoted: the same with strings.
        """
        if _FENCE.search(code) is not None or b'"memory"' in quoted:
            return True
        is_loaded = _ASSEMBLY.search(code) is not None and _LOAD.search(quoted) is not None
        if is_loaded or self._reads(code) or any(map(self._waits, self._compared(code))):
            return True
        words = {*_WORD.findall(code)}
        return any(
            self._reads(body)
            or _COMPARING.search(body) is not None
            or (_ASSEMBLY.search(body) is not None and self._meanings.has(_LOAD, in_quotes=True))
            for body in self._meanings.reached(words)
        )

    def _reads(self, code: bytes) -> bool:
        """Whether code itself reads what other threads change."""
        return (
            _POLLING.search(code) is not None
            or not self._polled.isdisjoint(_WORD.findall(code))
            or any(map(self._may_keep, self._atomics(code)))
        )

    def _atomics(self, code: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Atomic functions whose results are used: what each does, and with what."""
        for found in _ATOMIC_CALL.finditer(code):
            begins = code[: found.start()].rstrip()[-1:] in (b"", b";", b"{", b"}", b")")
            end = closed(code, found.end(), b"()", found.end() + _LONGEST)
            if not (begins and code[end:].lstrip()[:1] == b";"):
                given = _given(code, found.end())
                at = 1 if found["own"] else 0
                yield found["what"].lower(), given[at] if at < len(given) else b""

    def _may_keep(self, call: tuple[bytes, bytes]) -> bool:
        """Whether an atomic function may leave a value as it is."""
        what, operand = call
        if what in (b"exch", b"and", b"min"):
            return True
        return not all(self._changes(one) for one in operand.split(b"*"))

    def _changes(self, operand: bytes) -> bool:
        bare = _CAST.sub(b"", operand).strip(b" (){}")
        macros = [body for _, body in self._meanings.macros(bare)]
        bare = self._constants.get(bare, macros[0] if len(macros) == 1 else bare)
        return _CHANGING.fullmatch(bare.strip()) is not None

    def _compared(self, code: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
        """Compared exchanges: the loop, the expected value, whether it is set to what was there."""
        for found in _COMPARING.finditer(code):
            given = _given(code, found.end())
            at = 0 if found["member"] else 1
            is_set = found["member"] is not None or found["free"] is not None
            yield code, given[at].strip(b"& ") if at < len(given) else b"", is_set

    def _waits(self, compared: tuple[bytes, bytes, bool]) -> bool:
        """Whether an exchange waits for a value, and does not go on from what it has read."""
        code, expected, is_set = compared
        if _WORD.fullmatch(expected) is None:
            return True
        given = re.findall(rb"(?<![\w.>])%b\s*=(?!=)\s*([^;]*)" % re.escape(expected), code)
        if is_set:
            return bool(given)
        return not given or any(_WORD.fullmatch(one.strip()) is None for one in given)


def _given(code: bytes, start: int) -> list[bytes]:
    """A call's arguments, from behind its parenthesis on."""
    end = closed(code, start, b"()", start + _LONGEST)
    return [one.encode("latin-1") for one in parts_of(code[start : end - 1].decode("latin-1"))]


@functools.lru_cache(maxsize=16)
def _polled_names(syntax: Syntax) -> frozenset[bytes]:
    """Variables, members and types of a file that are volatile or atomic, and functions with some.

    Not what a thread or a block has for itself.
    """
    found: set[bytes] = set()
    for node in walk(syntax.root):
        if node.type not in _DECLARING:
            continue
        head = syntax.code_of(node).partition(b"=")[0]
        if found.isdisjoint(_WORD.findall(head)) and _VOLATILE.search(head) is None:
            continue
        function = outermost(node, FUNCTIONS)
        is_automatic = node.type == "declaration" and _REACHING.search(head) is None
        if _SHARED.search(head) is not None or (function is not None and is_automatic):
            continue
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            end = declarator.end_byte if value is None else value.start_byte
            named = (one for one in walk(declarator) if one.type.endswith("identifier"))
            found.update(syntax.text(one) for one in named if one.end_byte <= end)
        name = syntax.function_name(function) if function is not None else None
        found.update((name,) if name is not None else ())
    return frozenset(found)

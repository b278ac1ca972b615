"""Programs whose grids have to be on the device all at once: occupancy decides whether they run."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.formats.words import last_word
from lmemscope.model import Rewriting
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.reached import running
from lmemscope.rewrites.seen import is_library
from lmemscope.sources.syntax import Syntax, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CODE = re.compile(
    rb"(?i:cooperative(?!_groups))|\bthis_(?:multi_)?grid\b|\b(?:multi_)?grid_group\b|\bcudaCG"
    rb"|\benable_cooperative_groups\b"
)
"""Grids that wait for themselves, and launches of such; the groups' namespace alone is none."""
_QUOTED = re.compile(rb"(?i:(?<=\w)cooperative(?!_groups)|cooperative(?!_groups)(?=\w))")
"""The same in quotes, where functions are looked up by name; the bare word is prose there."""
_OF_RUNTIME = re.compile(r"cu[A-Zd]\w*|[A-Z_0-9]+|")
"""Functions that hand no kernel on to another file: the runtime's, and macros."""
_GIVEN = 300
"""Characters of a statement in front of a kernel's name that are looked through."""
_LOOPS = ("while_statement", "do_statement", "for_statement")
_LEAVING = ("break_statement", "return_statement", "goto_statement")
_POLLING = re.compile(
    rb"\bvolatile\b|\b(?:asm|__asm__|__asm)\b|\b__ld(?:cv|cg)\b|\.\s*load\s*\(|acquire|\b__nv_atomic_load"
    rb"|\batomic(?:Add|Sub|Or|Xor|Max)\w*\s*\([^;]{0,200},\s*0[xuUlL0]*\s*\)"
    rb"|\batomicCAS\w*\s*\([^;]{0,200},\s*([^,;()]{1,80}?)\s*,\s*\1\s*\)"
)
"""Reads of what other threads change: atomic functions that change nothing and assembly, too."""
_STATEMENTS = re.compile(rb"[;{}]")
_ASSIGNED = re.compile(rb"\b(\w+)\s*(?:\[[^\[\]=]{0,80}\]\s*)?[-+*/%&|^]?=(?!=)|&\s*(\w+)")
"""A variable that is assigned to, or whose address is given to a function."""
_STATEMENT_WORDS = frozenset((b"for", b"while", b"do", b"if", b"switch", b"return", b"asm"))
_ASSEMBLY = re.compile(rb"\b(?:asm|__asm__|__asm)\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_VOLATILE = re.compile(rb"\bvolatile\b[^;(){}]{0,200}?\b(\w+)\s*(?=[;=,)\[])")
_CAVEAT = "the grids that are launched still fit the device if fewer blocks fit a multiprocessor"


def promised(rewriting: Rewriting, target: Target) -> Rewriting:
    """A rewriting, unsafe where a grid that just fits the device may fit no more.

    Any rewrite may take registers or shared memory of a multiprocessor.
    """
    if not _may_wait(target):
        return rewriting
    caveat = f"{rewriting.caveat}; {_CAVEAT}" if rewriting.caveat else _CAVEAT
    return replace(rewriting, applicability="unsafe", caveat=caveat, promises=())


def _may_wait(target: Target) -> bool:
    """Whether blocks may wait for others: by a group of the grid, or in a loop of the program's.

    The files that launch one of the kernels are looked through, too.
    """
    sources, meanings = target.hits[0].case.sources, target.meanings
    return (
        meanings.has(_CODE)
        or meanings.has(_QUOTED, in_quotes=True)
        or any(
            _CODE.search(sources.code(file).encode()) is not None
            or _QUOTED.search(sources.uncommented(file).encode()) is not None
            for file in (*target.files, *_launching(target))
        )
        or (meanings.has(_POLLING) and any(_waits(target, one) for one in target.files))
    )


def _launching(target: Target) -> Iterator[str]:
    """The other files of the project that may launch one of the kernels, with their headers.

    Those that name it, and those that define a function which gets it as an argument.
    """
    sources, own = target.hits[0].case.sources, {*map(os.path.abspath, target.files)}
    declared = target.declared
    run = running(target, declared.function) if declared is not None else None
    kernels = {
        (one.home, plain_name(one.demangled))
        for one in (*(hit.facts for hit in target.hits), *(run or ()))
        if one.kind == "entry" and one.home is not None
    }
    for home, kernel in kernels:
        naming = [file for file in sources.mentioning(home, kernel) if file not in own]
        texts = [sources.code(file) for file in (*target.files, *naming)]
        found = dict.fromkeys(naming)
        for function in {name for text in texts for name in _getting(kernel, text)}:
            defined = re.compile(rf"\b{function}\s*+\([^;{{}}]{{0,600}}\)\s*+\{{")
            others = (file for file in sources.mentioning(home, function) if file not in own)
            found.update((one, None) for one in others if defined.search(sources.code(one)))
        for file in found:
            yield from (file, *sources.quoted(file, searched=True))


def _getting(kernel: str, text: str) -> Iterator[str]:
    """Functions of the program that a text gives a kernel to."""
    for named in re.finditer(rf"(?<!\w){re.escape(kernel)}(?!\w)", text):
        depth = 0
        for at in range(named.start() - 1, max(-1, named.start() - _GIVEN), -1):
            if text[at] in ";{}":
                break
            depth += (text[at] == ")") - (text[at] == "(")
            if depth < 0:
                depth, function = 0, last_word(text, at)
                if _OF_RUNTIME.fullmatch(function) is None and not is_library(function.encode()):
                    yield function


def _waits(target: Target, file: str) -> bool:
    """Whether a loop of a file goes on until another thread has changed something."""
    syntax = target.tree(file)
    if syntax is None:
        return False
    known = frozenset(_VOLATILE.findall(syntax.code))
    return any(
        _polls(condition, loop, syntax, target, known)
        for loop in walk(syntax.root)
        if loop.type in _LOOPS
        for condition in _ends(loop)
    )


def _ends(loop: Node) -> Iterator[Node]:
    """The conditions that a loop ends by: its own, and those of branches that leave it."""
    own = loop.child_by_field_name("condition")
    if own is not None:
        yield own
    for node in walk(loop):
        condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
        if condition is not None and any(one.type in _LEAVING for one in walk(node)):
            yield condition


def _polls(
    condition: Node, loop: Node, syntax: Syntax, target: Target, volatile: frozenset[bytes]
) -> bool:
    """Whether a condition depends on what other threads change.

    What a loop reads of it may go through variables and functions before it is asked.
    """
    statements = [*_STATEMENTS.split(syntax.code_of(loop))]
    polled, before = volatile, None
    while polled != before:
        before = polled
        polled |= {
            name for text in statements if _reads(text, polled, target) for name in _assigned(text)
        }
    return _reads(syntax.code_of(condition), polled, target)


def _assigned(text: bytes) -> Iterable[bytes]:
    if _ASSEMBLY.search(text) is not None:
        return _WORD.findall(text)  # An operand is no assignment by its form.
    return filter(None, itertools.chain(*_ASSIGNED.findall(text)))


def _reads(text: bytes, polled: frozenset[bytes], target: Target) -> bool:
    words = {*_WORD.findall(text)}
    return (
        _POLLING.search(text) is not None
        or not words.isdisjoint(polled)
        or any(
            _POLLING.search(body) is not None or not polled.isdisjoint(_WORD.findall(body))
            for body in target.meanings.reached(words - _STATEMENT_WORDS)
        )
    )

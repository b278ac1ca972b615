"""Programs whose grids have to be on the device all at once: occupancy decides whether they run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.model import Rewriting
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.reached import running
from lmemscope.sources.syntax import Syntax, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CODE = re.compile(
    r"(?i:cooperative(?!_groups))|\bthis_(?:multi_)?grid\b|\b(?:multi_)?grid_group\b|\bcudaCG"
)
"""Grids that wait for themselves, and launches of such; the groups' namespace alone is none."""
_QUOTED = re.compile(r"(?i:(?<=\w)cooperative(?!_groups)|cooperative(?!_groups)(?=\w))")
"""The same in quotes, where functions are looked up by name; the bare word is prose there."""
_LOOPS = ("while_statement", "do_statement", "for_statement")
_LEAVING = ("break_statement", "return_statement", "goto_statement")
_POLLS = (
    rb"\bvolatile\b|\b__ld(?:cv|cg)\b|\.\s*load\s*\(|acquire|\b__nv_atomic_load"
    rb"|\batomic(?:Add|Sub|Or|Xor|Max)\w*\s*\([^;]{0,200},\s*0[xuUlL0]*\s*\)"
    rb"|\batomicCAS\w*\s*\([^;]{0,200},\s*([^,;()]{1,80}?)\s*,\s*\1\s*\)"
)
"""Reads of what other threads change, atomic functions that change nothing among them."""
_POLLING = re.compile(_POLLS)
_POLLED = re.compile(rb"\b(\w+)\s*=(?!=)[^;]{0,200}?(?:" + _POLLS.replace(rb"\1", rb"\2") + rb")")
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
    sources = target.hits[0].case.sources
    return any(
        _CODE.search(sources.code(file)) is not None
        or _QUOTED.search(sources.uncommented(file)) is not None
        for file in (*target.files, *_launching(target))
    ) or (target.meanings.has(_POLLING) and any(_waits(target, one) for one in target.files))


def _launching(target: Target) -> Iterator[str]:
    """The other files of the project that name one of the kernels, and the headers of these."""
    sources, own = target.hits[0].case.sources, {*map(os.path.abspath, target.files)}
    declared = target.declared
    run = running(target, declared.function) if declared is not None else None
    for one in (*(hit.facts for hit in target.hits), *(run or ())):
        if one.kind != "entry" or one.home is None:
            continue
        for file in sources.mentioning(one.home, plain_name(one.demangled)):
            if file not in own:
                yield from (file, *sources.quoted(file, searched=True))


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
    condition: Node, loop: Node, syntax: Syntax, target: Target, known: frozenset[bytes]
) -> bool:
    """Whether a condition reads what other threads change: itself, before, or in what it calls."""
    text = syntax.code_of(condition)
    words = set(re.findall(rb"[A-Za-z_]\w*", text))
    assigned = {found[1] for found in _POLLED.finditer(syntax.code_of(loop))}
    return (
        _POLLING.search(text) is not None
        or bool(words & (known | assigned))
        or any(_POLLING.search(body) is not None for body in target.meanings.reached(words))
    )

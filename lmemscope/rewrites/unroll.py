"""Unroll the loops

`#pragma unroll` before the loops whose counters index the array; a second variant adds every loop
of constant trip count around them. Each index is then a constant. An existing pragma (`unroll 1`,
`unroll 4`, `nounroll`) is replaced.

Safe: the iterations are unchanged. It costs code and registers, and gains nothing if a trip
count is not constant or the loop is left early. Arrays up to 4 KB are tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.loops import (
    check_hidden,
    indexing_loops,
    surrounding_loops,
    unroll_edit,
    why_as_it_is,
)
from lmemscope.rewrites.written import files_of
from lmemscope.rules.indexing import can_be_unrolled

if TYPE_CHECKING:
    from tree_sitter import Node


_LARGEST = 4096
"""Bytes of an array up to which unrolling is tried though no thread has registers for all of it:
four times what a thread can hold, of which a part may be in use at a time."""


def propose(target: Target) -> Iterator[Rewriting]:
    """The loops whose counters index it; those and the constant ones around them."""
    if target.cause == "large-array" and _size(target) > _LARGEST:
        raise DeclinedError(f"more than {_LARGEST} bytes fit no registers")
    loops = [(one, indexing_loops(one)) for one in files_of(target)]
    first = _edits(loops)
    if first:
        yield _rewriting(target, first)
    every = _edits([(one, surrounding_loops(one, own)) for one, own in loops])
    if len(every) > len(first):
        yield _rewriting(target, every)
    if not every:
        check_hidden(target)
        for place, own in loops:
            for loop in own:
                raise DeclinedError(why_as_it_is(place, loop, target.path))


def _edits(loops: Iterable[tuple[Target, Sequence[Node]]]) -> tuple[Edit, ...]:
    made = (unroll_edit(place, loop) for place, own in loops for loop in own)
    return tuple(dict.fromkeys(edit for edit in made if edit is not None))


def _rewriting(target: Target, edits: tuple[Edit, ...]) -> Rewriting:
    where = ", ".join(dict.fromkeys(_line(target, edit) for edit in edits))
    over = f" over `{target.name}`" if target.name is not None else ""
    text = f"unroll {count(len(edits), 'loop')}{over} ({where})"
    return Rewriting("unroll", "safe", edits, text)


def _line(target: Target, edit: Edit) -> str:
    if edit.file != target.path:
        return os.path.basename(edit.file)
    number = target.syntax.data.count(b"\n", 0, edit.end) + 1
    return f"line {number}"


def _size(target: Target) -> int:
    return max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)


REWRITE = Rewrite(
    "unroll",
    frozenset({"rolled-loop", "dynamic-index", "large-array"}),
    propose,
    __name__,
    nothing="no loop is read as one whose counter indexes it",
    suits=can_be_unrolled,
)

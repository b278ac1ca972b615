"""Unroll the loops

`#pragma unroll` before the loops whose counters index the array, and in a second proposal before
every loop of a constant trip count around them: then each index is a constant, and the elements can
be in registers. A pragma that says otherwise (`unroll 1`, `unroll 4`, `nounroll`) gives way.

It is safe: a pragma changes no meaning. It costs code, and registers where more is in flight at a
time; a loop whose trip count is not constant, or that is left early, keeps its index, and then
nothing is won.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.loops import indexing_loops, surrounding_loops, unroll_edit

if TYPE_CHECKING:
    from tree_sitter import Node


def propose(target: Target) -> Iterator[Rewriting]:
    """The loops whose counters index it; those and the constant ones around them."""
    own = indexing_loops(target)
    first = _edits(target, own)
    if first:
        yield _rewriting(target, first)
    every = _edits(target, surrounding_loops(target, own))
    if len(every) > len(first):
        yield _rewriting(target, every)


def _edits(target: Target, loops: Sequence[Node]) -> tuple[Edit, ...]:
    return tuple(
        dict.fromkeys(
            edit for edit in (unroll_edit(target, loop) for loop in loops) if edit is not None
        )
    )


def _rewriting(target: Target, edits: tuple[Edit, ...]) -> Rewriting:
    lines = [target.syntax.data.count(b"\n", 0, edit.end) + 1 for edit in edits]
    where = ", ".join(map(str, lines))
    over = f" over `{target.name}`" if target.name is not None else ""
    text = f"unroll {count(len(edits), 'loop')}{over} (line {where})"
    return Rewriting("unroll", "safe", edits, text)


REWRITE = Rewrite("unroll", frozenset({"rolled-loop", "dynamic-index"}), propose, __name__)

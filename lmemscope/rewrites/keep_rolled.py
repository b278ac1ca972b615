"""Keep loops rolled

`#pragma unroll 1` before the loops around the spilled values: the innermost ones, those one and two
levels further out, all of them, and each alone, as separate variants. Then the values of only one
iteration are live at a time.

Safe: the iterations are unchanged. It costs loop overhead, and an array whose index is no
longer constant goes to local memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.loops import LOOPS, kept_rolled
from lmemscope.rewrites.written import files_of, lines_of
from lmemscope.sources.syntax import FUNCTIONS, around

if TYPE_CHECKING:
    from tree_sitter import Node

_LEVELS = 3
_ALONE = 8
"""Loops that are tried by themselves."""


def propose(target: Target) -> Iterator[Rewriting]:
    """The innermost loops around each spill; those a level further out; all of them; each alone.

    Raises:
        DeclinedError: no loop around one can be kept from being unrolled.
    """
    if b"__builtin_constant_p" in target.meanings.words:
        raise DeclinedError("the program asks what is a constant, which a turn's number may be")
    around_spills = [(one, list(_nests(one))) for one in files_of(target)]
    deepest = max((len(nest) for _, nests in around_spills for nest in nests), default=0)
    tried: set[frozenset[Edit]] = set()
    for level in range(min(deepest, _LEVELS)):
        edits = _edits(
            (one, [nest[min(level, len(nest) - 1)] for nest in nests])
            for one, nests in around_spills
        )
        if edits and frozenset(edits) not in tried:
            tried.add(frozenset(edits))
            yield _rewriting(edits)
    every = _edits((one, [loop for nest in nests for loop in nest]) for one, nests in around_spills)
    if deepest and not every:
        raise DeclinedError(
            "its loops are kept rolled already, stand in a macro, or have a pragma between "
            "`#if` and `#endif`"
        )
    alone = [(edit,) for edit in every[:_ALONE]]
    for edits in (every, *alone):
        if edits and frozenset(edits) not in tried:
            tried.add(frozenset(edits))
            yield _rewriting(edits)


def _nests(target: Target) -> Iterator[Sequence[Node]]:
    """The loops around each line with a spill, the innermost first."""
    for line in sorted(lines_of(target)):
        loops: dict[int, Node] = {}
        for node in target.syntax.on_line(line):
            for one in around(node, *LOOPS, *FUNCTIONS):
                if one.type in FUNCTIONS:
                    break
                if not one.has_error:
                    loops.setdefault(one.start_byte, one)
        if loops:
            yield [one for _, one in sorted(loops.items(), reverse=True)]


def _edits(loops: Iterable[tuple[Target, Sequence[Node]]]) -> tuple[Edit, ...]:
    made = (kept_rolled(place, loop) for place, own in loops for loop in own)
    return tuple(dict.fromkeys(edit for edit in made if edit is not None))


def _rewriting(edits: tuple[Edit, ...]) -> Rewriting:
    text = f"keep {count(len(edits), 'loop')} rolled around what is spilled"
    return Rewriting("keep-rolled", "safe", edits, text)


REWRITE = Rewrite(
    "keep-rolled",
    frozenset({"register-spill"}),
    propose,
    __name__,
    nothing="no loop around the spills is unrolled by the compiler",
)

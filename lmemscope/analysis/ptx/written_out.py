"""Loops of the source that NVVM has written out, although data decides when they end.

NVVM unrolls a loop of few iterations at most; each copy of its body keeps the branches to what
follows the loop. A rewriting may leave the same loop as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.graph import ControlFlow
from lmemscope.formats.ptx_body import Loc

_FEWEST = 6
"""Branches of a line that leave to one place, from which on they are taken for a loop's."""


class WrittenOut(NamedTuple):
    """A loop that is written out.

    Attributes:
        loc: where its tests are in the source.
        iterations: copies of its body.
        block: that its first test is in.
    """

    loc: Loc
    iterations: int
    block: int


def written_out(flow: ControlFlow, control: Control) -> Iterator[WrittenOut]:
    """The loops of a function that are written out.

    Args:
        flow: its control flow.
        control: what decides which of its blocks run.
    """
    leaving: dict[tuple[int, int, Loc | None, int], list[int]] = defaultdict(list)
    instructions = flow.body.instructions
    for number, block in enumerate(flow.blocks):
        last = instructions[block.end - 1] if block.end > block.start else None
        if last is None or last.loc is None or len(set(block.successors)) != 2:
            continue
        for way in block.successors:
            leaving[last.loc.file, last.loc.line, last.loc.inlined_at, way].append(number)
    made = {one.operands[0]: one.opcode for one in instructions if one.operation == "setp"}
    for blocks in leaving.values():
        if len(blocks) >= _FEWEST and _stand_behind_each_other(blocks, control):
            branches = [instructions[flow.blocks[one].end - 1] for one in blocks]
            # A copy of the body may make several tests, each in its way.
            kinds = Counter(made.get((one.predicate or "").lstrip("!")) for one in branches)
            loc = branches[0].loc
            assert loc is not None
            yield WrittenOut(loc, max(kinds.values()), blocks[0])


def _stand_behind_each_other(blocks: list[int], control: Control) -> bool:
    """Whether each block is come to by way of the one before, and none of them again."""
    return not control.deciding(blocks[0]).intersection(blocks) and all(
        one in control.deciding(other) for one, other in pairwise(blocks)
    )

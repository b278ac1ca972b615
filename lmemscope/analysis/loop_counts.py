"""How often a kernel's loops run, as its arrays show it, or as the original of a rewriting has it.

A rewriting moves lines, and may take away the array that shows how far its loops run. So the loops
of an original are known by the text of the line that ends them, and by its place among the heads
of loops; the body of one runs as often in a rewriting, in all, where that does not show it: NVVM
may have made several loops of it in the one, and none, or one within another, in the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from lmemscope.analysis.layout import dimensions
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.rooms import Walks
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.written_out import written_out
from lmemscope.formats.ptx_body import Loc
from lmemscope.model import KernelFacts, LocalObject, LoopCounts, LoopTurns

_LOOP = re.compile(r"\b(?:for|while)\s*\(")
LinesOf = Callable[[str], Sequence[str]]
"""The lines of a source file."""


def bound_loops(flow: ModuleFlow, facts: KernelFacts) -> None:
    """Take a kernel's loops to run no further than its own arrays let them."""
    if flow.dataflow(facts.name) is not None:
        counts_in(flow, facts.name, None, facts.objects, None)


def counts_in(
    flow: ModuleFlow,
    kernel: str,
    told: LoopCounts | None,
    arrays: Iterable[LocalObject],
    lines_of: LinesOf | None,
) -> LoopCounts:
    """Say how often a kernel's loops run, for what its data flow weights by them from then on.

    Args:
        flow: of the module.
        kernel: mangled name of a function of it.
        told: of the original, by names of this kernel; None of an original.
        arrays: objects with their types, as far as these are known.
        lines_of: the source's text; None where loops are not to be told to another version.

    Returns:
        What another version can be told.
    """
    dataflow, objects = flow.dataflow(kernel), flow.objects(kernel)
    if dataflow is None or objects is None:
        return LoopCounts(kernel)
    own = (one for one in arrays if one.function == kernel)
    extents = {one.offset: dimensions(one.type) for one in own if one.type is not None}
    walks = Walks(objects, extents)
    largest = dict(told.largest) if told is not None else walks.largest_parameters()
    within = {loop.header: float(turns) for loop, turns in walks.turns.items()}
    dataflow.bound(largest, within)
    if lines_of is None:
        return LoopCounts(kernel, tuple(sorted(largest.items())))
    heads = _Heads(flow, lines_of)
    written = [*written_out(dataflow.flow, dataflow.control)]
    placed = heads.placed(
        [_ended_at(dataflow, loop) for loop in dataflow.flow.loops] + [one.loc for one in written]
    )
    loops: dict[int, list[Loop]] = defaultdict(list)
    for loop, at in zip(dataflow.flow.loops, placed, strict=False):
        if at is not None:
            loops[at].append(loop)
    if told is not None:
        known = _aligned(told, heads.texts)
        factors: dict[int, float] = {}
        for at in sorted(loops.keys() & known.keys(), key=lambda one: _depth(loops[one], dataflow)):
            factors |= _factors(loops[at], known[at], dataflow)
            dataflow.bound(largest, within, factors)
        return LoopCounts(kernel, tuple(sorted(largest.items())), told.loops, told.heads)
    made = {
        at: LoopTurns(
            sum(runs for _, runs in _in_a_row(dataflow, own)),
            max(map(dataflow.trips.exits, own)),
            at,
        )
        for at, own in loops.items()
    }
    for one, at in zip(written, placed[len(dataflow.flow.loops) :], strict=True):
        if at is not None and at not in made:
            start = dataflow.flow.blocks[one.block].start
            made[at] = LoopTurns(one.iterations * dataflow.weight(start), 1, at)
    found = tuple(made[at] for at in sorted(made))
    return LoopCounts(kernel, tuple(sorted(largest.items())), found, heads.texts)


class _Heads:
    """The heads of the loops in the source files of a module's code, in their order.

    Attributes:
        texts: what the heads say, without spaces.

    Args:
        flow: of the module.
        lines_of: the source's text.
    """

    def __init__(self, flow: ModuleFlow, lines_of: LinesOf) -> None:
        self._files, self._lines_of = flow.ptx.files, lines_of
        self.texts: tuple[str, ...] = ()

    def placed(self, locs: Sequence[Loc | None]) -> list[int | None]:
        """The number, among all heads, of the line of each of some loops; None where not known."""
        asked: dict[int, set[int]] = defaultdict(set)
        for loc in locs:
            if loc is not None:
                asked[loc.file].add(loc.line)
        numbers: dict[tuple[int, int], int] = {}
        texts: list[str] = []
        for file, own in sorted(asked.items()):
            for line, text in enumerate(self._lines_of(self._files.get(file, "")), 1):
                if (line in own or _LOOP.search(text)) and (head := _head(text)):
                    numbers[file, line] = len(texts)
                    texts.append(head)
        self.texts = tuple(texts)
        return [None if loc is None else numbers.get((loc.file, loc.line)) for loc in locs]


def _aligned(told: LoopCounts, heads: Sequence[str]) -> dict[int, LoopTurns]:
    """What is told of loops, by the numbers of their heads among those of another version."""
    same = SequenceMatcher(None, told.heads, heads, autojunk=False).get_matching_blocks()
    number = {one.a + n: one.b + n for one in same for n in range(one.size)}
    return {number[one.nth]: one for one in told.loops if one.nth in number}


def _depth(loops: Iterable[Loop], dataflow: Dataflow) -> int:
    """How many loops are around the outermost of some, which counts as well."""
    blocks = (dataflow.flow.block_of(one.header) for one in loops)
    return min(len(dataflow.control.loops_of.get(one, ())) for one in blocks)


def _body_runs(dataflow: Dataflow, loop: Loop, original: LoopTurns | None = None) -> float:
    """How often the body of a loop of the source runs, in all, for one loop made of it.

    Args:
        dataflow: of the function.
        loop: which.
        original: the same loop before a rewriting, whose ways out tell how often its body stands in
            this.
    """
    trips = dataflow.trips
    copies = trips.unrolled(loop) * (_copies(original, trips.exits(loop)) if original else 1.0)
    return dataflow.weight(loop.header) * copies


def _factors(loops: Sequence[Loop], original: LoopTurns, dataflow: Dataflow) -> dict[int, float]:
    """How many times as often loops run, by header, so that their body runs as in the original."""
    fixed = free = 0.0
    for loop, runs in _in_a_row(dataflow, loops, original):
        if dataflow.trips.is_told(loop):
            free += runs
        else:
            fixed += runs
    factor = max(0.0, original.turns - fixed) / free if free else 1.0
    return {loop.header: factor for loop in loops if dataflow.trips.is_told(loop)}


def _in_a_row(
    dataflow: Dataflow, loops: Sequence[Loop], original: LoopTurns | None = None
) -> list[tuple[Loop, float]]:
    """Those of some loops that one thread may come to, with how often their bodies run.

    Of loops that exclude each other, as of both ways of a branch, those on the way that does most.
    """
    runs = {loop: _body_runs(dataflow, loop, original) for loop in loops}
    rows: dict[Loop, list[Loop]] = {}
    behind = {loop: _behind(dataflow, loop) for loop in loops} if len(loops) > 1 else {}
    for loop in sorted(loops, key=lambda one: one.header):
        start = dataflow.flow.block_of(loop.header)
        before = [rows[one] for one in rows if start in behind[one]]
        most = max(before, key=lambda row: sum(runs[one] for one in row), default=[])
        rows[loop] = [*most, loop]
    best = max(rows.values(), key=lambda row: sum(runs[one] for one in row))
    return [(loop, runs[loop]) for loop in best]


def _behind(dataflow: Dataflow, loop: Loop) -> frozenset[int]:
    """Blocks that a loop leads to in the same turn of the loops around it."""
    flow = dataflow.flow
    back = {
        (flow.block_of(latch), flow.block_of(one.header))
        for one in flow.loops
        for latch in one.latches
    }

    def onwards(block: int) -> Iterator[int]:
        return (one for one in flow.blocks[block].successors if (block, one) not in back)

    return frozenset(reached([flow.block_of(loop.header)], onwards))


def _ended_at(dataflow: Dataflow, loop: Loop) -> Loc | None:
    """The line that a loop's branch back is of."""
    return dataflow.body.instructions[min(loop.latches)].loc


def _copies(original: LoopTurns, exits: int) -> float:
    """How many times the body of a loop stands in that of a rewriting, by the ways out of both."""
    if not original.exits or exits % original.exits:
        return 1.0
    return max(1.0, exits / original.exits)


def _head(line: str) -> str:
    """A line without its spaces; of a loop's head, what it says between its parentheses."""
    text = "".join(line.split())
    begin = _LOOP.search(text)
    if begin is None:
        return text
    depth = 0
    for at in range(begin.start(), len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if text[at] == ")" and depth == 0:
            return text[begin.start() : at + 1]
    return text[begin.start() :]

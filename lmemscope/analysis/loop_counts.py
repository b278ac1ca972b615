"""How often a kernel's loops run, as its arrays show it, or as the original of a rewriting has it.

A rewriting moves lines, and may take away the array that shows how far its loops run. So the loops
of an original are known by the text of the line that ends them, and those of a rewriting run as
often where they do not show it themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lmemscope.analysis.layout import dimensions
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.rooms import Walks
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.written_out import written_out
from lmemscope.formats.ptx_body import Loc
from lmemscope.model import KernelFacts, LocalObject, LoopCounts, LoopTurns

_LOOP = re.compile(r"\b(?:for|while)\(")
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
    lines = _lines(flow, dataflow, lines_of) if lines_of is not None else {}
    made = {one.head: one for one in _longest(dataflow, lines)}
    if lines_of is not None:
        made = {one.head: one for one in _written_out(flow, dataflow, lines_of)} | made
    known: dict[str, LoopTurns] = {one.head: one for one in told.loops} if told is not None else {}
    factors = {
        loop.header: known[head].turns / (made[head].turns * _copies(known[head], made[head]))
        for loop, head in lines.items()
        if head in known
    }
    dataflow.bound(largest, within, factors)
    loops = sorted((made | known).values(), key=lambda one: one.head)
    return LoopCounts(kernel, tuple(sorted(largest.items())), tuple(loops))


def _copies(original: LoopTurns, changed: LoopTurns) -> float:
    """How many times the body of a loop stands in that of a rewriting, by the ways out of both."""
    if not original.exits or changed.exits % original.exits:
        return 1.0
    return max(1.0, changed.exits / original.exits)


def _lines(flow: ModuleFlow, dataflow: Dataflow, lines_of: LinesOf) -> dict[Loop, str]:
    """The head in the source of each loop, by the line that its branch back is of."""
    found: dict[Loop, str] = {}
    for loop in dataflow.flow.loops:
        loc = dataflow.body.instructions[min(loop.latches)].loc
        head = _head_at(flow, loc, lines_of)
        if head:
            found[loop] = head
    return found


def _written_out(flow: ModuleFlow, dataflow: Dataflow, lines_of: LinesOf) -> Iterator[LoopTurns]:
    """The loops that are written out, which are taken to run to their ends."""
    for loop in written_out(dataflow.flow, dataflow.control):
        head = _head_at(flow, loop.loc, lines_of)
        if head:
            yield LoopTurns(head, float(loop.iterations), 1)


def _head_at(flow: ModuleFlow, loc: Loc | None, lines_of: LinesOf) -> str:
    """The head of the loop whose way back is of a line; empty where the line is not known."""
    lines = lines_of(flow.ptx.files.get(loc.file, "")) if loc is not None else ()
    return _head(lines[loc.line - 1]) if loc is not None and 0 < loc.line <= len(lines) else ""


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


def _longest(dataflow: Dataflow, lines: Mapping[Loop, str]) -> list[LoopTurns]:
    """The loop of each line that is taken to run most often."""
    found: dict[str, LoopTurns] = {}
    for loop, head in lines.items():
        own = LoopTurns(head, dataflow.trips.source_count(loop), dataflow.trips.exits(loop))
        if head not in found or found[head].turns < own.turns:
            found[head] = own
    return [*found.values()]

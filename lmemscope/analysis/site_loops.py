"""Which loops are around an access: the program's own, and those inside what a line calls.

A reader is sent to a line of the program. A loop in a library's function that this line calls, such
as the range reduction of ``sin``, is none of the line's: it is counted apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from lmemscope.analysis.layers import Layers
from lmemscope.analysis.machine_loops import MachineLoops, machine_loops
from lmemscope.analysis.origin import Origin, on_line_of
from lmemscope.analysis.ptx.dominance import NaturalLoop
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.line_table import InlinedLine
from lmemscope.formats.sites import Site
from lmemscope.model import InlineFrame, is_library


class Depth(NamedTuple):
    """How many loops are around an access.

    Attributes:
        own: of the program's; None where neither the code nor PTX tells.
        library: inside a library's function that the access's line calls.
    """

    own: int | None
    library: int = 0


_Depths: TypeAlias = dict[tuple[int, tuple[InlineFrame, ...]], Depth]
"""By an access's basic block and source location."""


class SiteLoops:
    """Loops around the accesses of one kernel's code.

    Args:
        layers: the unit's.
        kernel: whose code section holds the accesses.
    """

    def __init__(self, layers: Layers, kernel: CubinFunction) -> None:
        self._layers, self._kernel = layers, kernel
        self._machine: dict[str, tuple[MachineLoops | None, _Depths]] = {}
        self._called: dict[str, int] = {}
        self._levels: dict[tuple[MachineLoops, int], int | None] = {}

    def of(
        self, body: CubinFunction, site: Site, origin: Origin, chain: tuple[InlineFrame, ...]
    ) -> Depth:
        """The loops around an access.

        Args:
            body: the function that holds it.
            site: the access.
            origin: where it comes from.
            chain: its source location, innermost first.
        """
        loops, depths = self._machine.get(body.name) or self._found_in(body)
        block = loops.block(site.pc) if loops is not None else None
        if loops is None or block is None:
            return self._in_ptx(origin)
        depth = depths.get((block, chain))
        if depth is None:
            depth = depths[block, chain] = self._depth(loops, body, block, chain)
        return depth

    def depths(self, body: CubinFunction) -> list[int | None]:
        """How many loops of the machine code are around each access of a function; None as `of`."""
        loops, _ = self._found_in(body)
        places = [site.pc for site in body.sites]
        return loops.depths(places) if loops is not None else [None] * len(places)

    def _depth(
        self, loops: MachineLoops, body: CubinFunction, block: int, chain: Sequence[InlineFrame]
    ) -> Depth:
        around = loops.around(block)
        if self._is_called_by_line(body):
            return Depth(self._around_calls(body), len(around))
        inside = sum(self._is_library(loops, loop, chain) for loop in around) if chain else 0
        return Depth(len(around) - inside, inside)

    def _found_in(self, body: CubinFunction) -> tuple[MachineLoops | None, _Depths]:
        """The loops of a function, and the depths that are known of its accesses."""
        if body.name not in self._machine:
            branches = self._layers.cubin.branches(body)
            found = machine_loops(branches, body.start, body.end) if branches is not None else None
            self._machine[body.name] = found, {}
        return self._machine[body.name]

    def _is_called_by_line(self, body: CubinFunction) -> bool:
        """Whether a function has no lines of its own: its accesses have the line of a call."""
        return body is not self._kernel and bool(self._layers.lines.of_calls(self._kernel, body))

    def _around_calls(self, body: CubinFunction) -> int:
        """The program's loops around a call of a function without lines; of several, the most."""
        if body.name not in self._called:
            self._called[body.name] = 0  # A function that calls itself adds nothing.
            calls = self._layers.cubin.calls(self._kernel).get(body.start, ())
            self._called[body.name] = max(map(self._around_call, calls), default=0)
        return self._called[body.name]

    def _around_call(self, pc: int) -> int:
        kernel = self._kernel
        caller = kernel.body_at(pc)
        if self._is_called_by_line(caller):
            return self._around_calls(caller)
        loops, _ = self._found_in(caller)
        return (loops.depth(pc) or 0) if loops is not None else 0

    def _in_ptx(self, origin: Origin) -> Depth:
        """The loops around an access's PTX line, where the code does not tell."""
        found = on_line_of(self._layers.flow, origin)
        depths = (dataflow.flow.depth(index) for dataflow, index in found)
        return Depth(max(depths, default=None))

    def _is_library(
        self, loops: MachineLoops, loop: NaturalLoop, chain: Sequence[InlineFrame]
    ) -> bool:
        """Whether a loop is a library's, inside what the access's line calls."""
        level = _level_of_user(chain)
        if level is None or level == len(chain):
            return False
        key = (loops, loop.header)
        if key not in self._levels:
            self._levels[key] = self._level(loops, loop)
        shallowest = self._levels[key]
        return shallowest is not None and shallowest > level

    def _level(self, loops: MachineLoops, loop: NaturalLoop) -> int | None:
        """The fewest frames that a loop's instructions are inlined through; None without lines."""
        table = self._layers.cubin.source_lines.get(self._kernel.section, [])
        levels: list[int] = []
        for start, end in loops.extents(loop):
            first, last = (bisect_left(table, pc, key=_pc_of) for pc in (start + 1, end))
            entries = table[max(first - 1, 0) : last]
            levels += [len(entry.chain) for entry in entries if entry.line > 0]
        return min(levels, default=None)


def _pc_of(entry: InlinedLine) -> int:
    return entry.pc


def _level_of_user(chain: Sequence[InlineFrame]) -> int | None:
    """How many frames there are from the innermost one of the user's outwards."""
    for number, frame in enumerate(chain):
        if frame.location.line > 0 and not is_library(frame.location.file):
            return len(chain) - number
    return None

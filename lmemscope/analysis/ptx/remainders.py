"""Where the iterations stand that an unrolled loop leaves over: they are that loop's own still.

A loop unrolled ``2^k`` times runs ``n & (2^k - 1)`` iterations behind its main part, or ahead of
it: as a loop, or as a row of branches. What comes out of the one part and is used in the other has
not left the loop of the source.
"""

from __future__ import annotations

from functools import cached_property

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.iterations import ROUNDING, Iterations
from lmemscope.analysis.ptx.origins import Origin
from lmemscope.analysis.ptx.values import Value

_NOWHERE: frozenset[int] = frozenset()


class Remainders:
    """The second parts of one function's unrolled loops.

    Args:
        analyses: of the function.
        iterations: of its loops.
    """

    def __init__(self, analyses: Analyses, iterations: Iterations) -> None:
        self._code, self._values, self._control = analyses.code, analyses.values, analyses.control
        self._iterations = iterations
        self._zones: dict[int, frozenset[int]] = {}

    def zone(self, loop: Loop) -> frozenset[int]:
        """Blocks behind a loop that run other iterations of the same loop of the source.

        With the blocks that lead to them alone. Empty where nothing shows that there are any.
        """
        if loop.header not in self._zones:
            self._zones[loop.header] = self._find(loop)
        return self._zones[loop.header]

    def holding(self, block: int) -> tuple[Loop, ...]:
        """Loops that a block runs other iterations of."""
        return self._holding.get(block, ())

    def is_start(self, index: int) -> bool:
        """Whether an instruction computes where the second part of an unrolled loop begins."""
        return self._code.body.instructions[index].operation in ROUNDING and any(
            self.zone(loop) for loop in self._iterations.rounded(index)
        )

    @cached_property
    def _holding(self) -> dict[int, tuple[Loop, ...]]:
        found: dict[int, tuple[Loop, ...]] = {}
        for loop in self._code.flow.loops:
            for block in self.zone(loop):
                found[block] = (*found.get(block, ()), loop)
        return found

    def _find(self, loop: Loop) -> frozenset[int]:
        members, blocks = self._control.blocks_of(loop), self._code.flow.blocks
        for block in self._control.leaving(loop):
            if not self._iterations.counts(block, loop):
                continue
            for successor in blocks[block].successors:
                if successor not in members:
                    found = self._behind(loop, successor)
                    if found:
                        return found
        return _NOWHERE

    def _behind(self, loop: Loop, block: int) -> frozenset[int]:
        """The zone that begins where a loop is left."""
        blocks = self._code.flow.blocks
        passed = [block]
        while len(blocks[block].successors) == 1:
            (block,) = blocks[block].successors
            if block in passed:
                return _NOWHERE
            passed.append(block)
        tested, bound = self._iterations.tested(block), self._iterations.bound(loop)
        region = self._skipped(block, bound)
        if not tested or not region:
            return _NOWHERE
        counted = [self._iterations.remaining(value) for value in self._tests(block)]
        remains = any(count and count <= bound for count in counted)
        goes_on = self._is_remainder(loop, tested) and any(
            tested <= self._iterations.bound(other)
            for inner in region
            for other in self._control.loops_of.get(inner, ())
            if self._control.blocks_of(other) <= region
        )
        return region.union(passed) if remains or goes_on else _NOWHERE

    def _is_remainder(self, loop: Loop, count: frozenset[Origin]) -> bool:
        """Whether a loop runs as many iterations as steps leave over of a count."""
        members = self._control.blocks_of(loop)
        tests = [
            value
            for block in self._control.leaving(loop)
            if self._iterations.counts(block, loop)
            for value in self._tests(block)
        ]

        def onwards(value: Value) -> tuple[Value, ...]:
            is_inside = self._values.block_of(value) in members
            return self._values.operands(value) if is_inside else ()

        return any(self._iterations.left_over(one) == count for one in reached(tests, onwards))

    def _tests(self, block: int) -> tuple[Value, ...]:
        return self._values.reads(*self._control.condition(block))

    def _skipped(self, block: int, bound: frozenset[Origin]) -> frozenset[int]:
        """The blocks that a branch skips, where both its ways meet behind them.

        What is entered from elsewhere, too, is so only where a count decides that the first part
        has nothing to run.
        """
        flow = self._code.flow
        successors = flow.blocks[block].successors
        if len(successors) != 2:
            return _NOWHERE
        for first, second in (successors, successors[::-1]):
            start = flow.blocks[first].start
            region = frozenset(
                number
                for number in flow.dominators
                if flow.dominates(start, flow.blocks[number].start)
            )
            entries = {self._decided_at(one) for one in flow.blocks[first].predecessors}
            counted = all(
                entry in region or entry == block or self._is_counted(entry, bound)
                for entry in entries
            )
            leads = any(second in flow.blocks[one].successors for one in region)
            if counted and leads and second not in region:
                return region
        return _NOWHERE

    def _decided_at(self, block: int) -> int:
        """The last block with a choice, from a block that may have none upwards."""
        blocks = self._code.flow.blocks
        while len(blocks[block].successors) == 1 and len(blocks[block].predecessors) == 1:
            (block,) = blocks[block].predecessors
        return block

    def _is_counted(self, block: int, bound: frozenset[Origin]) -> bool:
        tested = self._iterations.tested(block)
        return bool(tested) and tested <= bound

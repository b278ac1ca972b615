"""Which branches decide whether a block runs, and which of several values a join receives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.dominance import frontiers, immediate_dominators
from lmemscope.analysis.ptx.graph import ControlFlow, Loop
from lmemscope.formats.ptx_operands import registers_of


class Control:
    """Control dependence of one function.

    Args:
        flow: its control flow.
    """

    def __init__(self, flow: ControlFlow) -> None:
        self._flow = flow
        self._blocks = flow.blocks
        self._exits: dict[int, frozenset[int]] = {}
        self._reached: dict[tuple[int, int], frozenset[int]] = {}
        self._members: dict[int, frozenset[int]] = {}

    def condition(self, block: int) -> tuple[int, tuple[str, ...]]:
        """The instruction that ends a block, and the registers that choose where it goes."""
        index = self._blocks[block].end - 1
        last = self._flow.body.instructions[index]
        found = registers_of(last.predicate) if last.predicate is not None else []
        if last.isa.control == "branch":
            found = [*found, *registers_of(last.operands[0])]
        return index, tuple(found)

    def deciding(self, block: int, inside: Collection[int] | None = None) -> set[int]:
        """Blocks whose branches decide whether a block runs, directly or through others.

        Args:
            block: the block.
            inside: only branches of these blocks are followed; None follows all.
        """
        return self._closure(self._dependences.get(block, ()), inside)

    def exits(self, loop: Loop) -> frozenset[int]:
        """Blocks of a loop whose branches decide in which iteration it is left."""
        known = self._exits.get(loop.header)
        if known is None:
            members = self.blocks_of(loop)
            found: set[int] = set()
            for block in self.leaving(loop):
                found |= {block, *self.deciding(block, members)}
            known = self._exits[loop.header] = frozenset(found)
        return known

    def leaving(self, loop: Loop) -> list[int]:
        """Blocks of a loop with a way out of it, ascending."""
        members = self.blocks_of(loop)
        return [b for b in sorted(members) if not members.issuperset(self._blocks[b].successors)]

    def endings(self, loop: Loop) -> Iterator[tuple[int, str, bool]]:
        """Conditional branches that every iteration of a loop comes to and that can leave it.

        Each is the branch's instruction, the predicate it asks, and the value with which it leaves.
        """
        flow = self._flow
        for block in self.leaving(loop):
            index = self._blocks[block].end - 1
            branch = flow.body.instructions[index]
            if branch.operation != "bra" or branch.predicate is None:
                continue
            if all(flow.dominates(index, latch) for latch in loop.latches):
                target = flow.body.labels.get(str(branch.operands[0]))
                taken = target is None or target not in loop.members
                (register,) = registers_of(branch.predicate) or ("",)
                yield index, register, taken != branch.predicate.startswith("!")

    def passes_by(self, leaving: int, loop: Loop, block: int) -> bool:
        """Whether a way out of a loop leads past a block, unless the loop begins anew.

        Args:
            leaving: the block of the loop whose branch is asked about; one that only leads to
                others that leave passes nothing by.
            loop: the loop.
            block: a block behind it.
        """
        members = self.blocks_of(loop)
        ways = [one for one in self._blocks[leaving].successors if one not in members]
        key = (leaving, loop.header)
        if key not in self._reached:
            run = reached(
                ways, lambda one: self._blocks[one].successors, lambda one: one not in members
            )
            self._reached[key] = frozenset((*members, *run))
        return leaving in self.leaving(loop) and block not in self._reached[key]

    def blocks_of(self, loop: Loop) -> frozenset[int]:
        """The blocks of a loop."""
        known = self._members.get(loop.header)
        if known is None:
            block_of = self._flow.block_of
            known = frozenset({block_of(index) for index in loop.members})
            self._members[loop.header] = known
        return known

    @cached_property
    def loops_of(self) -> Mapping[int, tuple[Loop, ...]]:
        """The loops that each block is in."""
        found: dict[int, list[Loop]] = defaultdict(list)
        for loop in self._flow.loops:
            for block in self.blocks_of(loop):
                found[block].append(loop)
        return {block: tuple(loops) for block, loops in found.items()}

    @cached_property
    def loop_at(self) -> Mapping[int, Loop]:
        """The loop that each header block begins."""
        return {self._flow.block_of(loop.header): loop for loop in self._flow.loops}

    def choosing(
        self, join: int, incoming: Mapping[int, int | None], inside: Collection[int] | None
    ) -> set[int]:
        """Blocks whose branches choose between different values that reach a join.

        A branch chooses if at least two of its ways lead to the join, with different values.

        Args:
            join: the block where the values meet.
            incoming: the value from each predecessor that counts.
            inside: only these blocks are looked at: a loop's, for what its latches bring. None
                looks at what the join's immediate dominator dominates.
        """
        if len(set(incoming.values())) < 2:
            return set()
        region = self._between(join, incoming) if inside is None else inside
        reaching: dict[int, set[int | None]] = {}
        work: list[int] = []
        for before, value in incoming.items():
            reaching.setdefault(before, set()).add(value)
            work.append(before)
        while work:
            block = work.pop()
            if block == join:
                continue
            for before in self._blocks[block].predecessors:
                if before not in region:
                    continue
                values = reaching.setdefault(before, set())
                if not reaching[block] <= values:
                    values |= reaching[block]
                    work.append(before)

        def leads(block: int, successor: int) -> bool:
            if successor == join:
                return block in incoming
            return successor in reaching

        seeds: set[int] = set()
        for before in incoming:
            if len(self._blocks[before].successors) > 1:
                seeds.add(before)
            seeds |= self._dependences.get(before, set())
        return {
            block
            for block in self._closure(seeds, region)
            if len(reaching.get(block, ())) > 1
            and sum(leads(block, successor) for successor in self._blocks[block].successors) > 1
        }

    def _between(self, join: int, incoming: Iterable[int]) -> set[int]:
        """Blocks on the ways from a join's immediate dominator to it."""
        top = self._flow.dominators.get(join, join)
        ends = (top, join)
        between = reached(
            incoming, lambda one: self._blocks[one].predecessors, lambda one: one not in ends
        )
        return {top, *between}

    def _closure(self, seeds: Iterable[int], inside: Collection[int] | None) -> set[int]:
        is_inside = inside.__contains__ if inside is not None else None
        return {*reached(seeds, lambda one: self._dependences.get(one, ()), is_inside)}

    @cached_property
    def _dependences(self) -> dict[int, set[int]]:
        """Blocks whose branches each block is control-dependent on."""
        count = len(self._blocks)
        if not count:
            return {}
        # Reversed, with one node more: where every path ends.
        reversed_edges: list[list[int]] = [list(block.predecessors) for block in self._blocks]
        ends = [number for number, block in enumerate(self._blocks) if not block.successors]
        reversed_edges.append(ends)
        self._end_endless_loops(reversed_edges)
        dominators = immediate_dominators(reversed_edges, count)
        return frontiers(reversed_edges, dominators)

    def _end_endless_loops(self, reversed_edges: list[list[int]]) -> None:
        """Let every block reach the end: those that cannot are taken to leave from their last."""
        end = len(self._blocks)
        ending = {*reached([end], reversed_edges.__getitem__)}
        for number in reversed(range(end)):
            if number not in ending and self._blocks[number].predecessors:
                reversed_edges[end].append(number)
                ending.update(
                    reached([number], reversed_edges.__getitem__, lambda one: one not in ending)
                )

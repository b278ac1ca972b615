"""Backward slices through PTX values: what an address is made of, and whether lanes share it.

Both walk one graph of dependences, of values and not of register names. Uniformity is the standard
divergence analysis (LLVM's uniformity analysis is the reference): a value diverges if anything it
depends on does, its controlling branches included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lmemscope.analysis.ptx.blocks import UNKNOWN, Blocks
from lmemscope.analysis.ptx.cases import Cases
from lmemscope.analysis.ptx.components import reached, strong_components
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.dependences import Dependences
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.inputs import Inputs
from lmemscope.analysis.ptx.leaves import Leaf, special, worst
from lmemscope.analysis.ptx.library import Library
from lmemscope.analysis.ptx.points_to import Told
from lmemscope.analysis.ptx.reach import Reach
from lmemscope.analysis.ptx.trips import Trips
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx import PtxFunction
from lmemscope.model import Uniformity


class Dataflow(Definitions):
    """Slices of one PTX function, beside its definitions.

    Attributes:
        values: what its registers hold where they are read.
        control: which branches decide what runs.
        affine: its addresses and indices as linear forms.
        conditions: its predicates as trees.
        points_to: what its addresses point into.
        products: that the library's range reductions compute.

    Args:
        function: the function.
        given: how uniform what callers give for a parameter is; None where nothing is known of
            them. Parameters of kernels are uniform.
        library: what of the module is the mathematical library's; None where that is not known.
        told: what names tell of loads and stores of the depot, by the index of the instruction.
        blocks: that run it.
    """

    def __init__(
        self,
        function: PtxFunction,
        given: Callable[[str], Uniformity] | None = None,
        library: Library | None = None,
        told: Mapping[int, Told] | None = None,
        blocks: Blocks = UNKNOWN,
    ) -> None:
        super().__init__(function, blocks)
        given = given or (lambda name: "unknown")
        self._graph = graph = Dependences(self, given, library, told)
        self.values, self.control = graph.values, graph.control
        self.affine, self.conditions = graph.affine, graph.analyses.conditions
        self.points_to, self.products = graph.points_to, graph.products
        self._leaves: dict[Value, frozenset[Leaf]] = {}
        self._levels: dict[Value, Uniformity] = {}
        self._asking: set[Value] = set()
        self._in_order = False
        self._counts: Trips | None = None
        self._largest: Mapping[str, int] = {}
        self._limits: Mapping[int, float] | None = None
        self._factors: Mapping[int, float] | None = None
        self._cases: Cases | None = None

    @property
    def trips(self) -> Trips:
        """How often its loops run."""
        if self._counts is None:
            of = self._graph.analyses
            self._counts = Trips(of, self._largest, limits=self._limits, factors=self._factors)
        return self._counts

    def bound(
        self,
        largest: Mapping[str, int],
        limits: Mapping[int, float] | None = None,
        factors: Mapping[int, float] | None = None,
    ) -> None:
        """Say how often loops run that do not show it; the arguments are those of `Trips`."""
        self._largest, self._limits, self._factors = dict(largest), limits, factors
        self._counts = self._cases = None

    def weight(self, index: int) -> float:
        """How often an instruction is executed for each call, in the case that does most."""
        if self._cases is None:
            self._cases = Cases(self._graph.analyses, self.trips)
        runs = self._cases.runs(self.flow.block_of(index))
        return self.trips.weight(index) if runs else 0.0

    def written_out(self, header: int) -> int | None:
        """Instructions of the loop that begins somewhere if each iteration stood for itself."""
        loop = next((one for one in self.flow.loops if one.header == header), None)
        return self.trips.written_out(loop) if loop is not None else None

    def leaves(self, register: str, at: int | None = None) -> frozenset[Leaf]:
        """Everything a register's value is made of.

        Args:
            register: its PTX name.
            at: the instruction that reads it; None for whatever is ever written to it.
        """
        found: frozenset[Leaf] = frozenset()
        for value in self._read(register, at).values:
            if value not in self._leaves:
                self._find_leaves(value)
            found |= self._leaves[value]
        known = special(register)
        return found | {known[0]} if known is not None else found

    def uniformity(self, register: str, at: int | None = None) -> Uniformity:
        """Whether the lanes of a warp hold one value; arguments as for `leaves`."""
        read = self._read(register, at)
        levels = [self._level(value) for value in (*read.values, *read.lanes)]
        known = self.special(register)
        return worst([*levels, known[1]] if known is not None else levels)

    def loads(self, register: str, at: int) -> frozenset[int]:
        """Indices of the loads that a register's value, read by an instruction, is made of."""
        behind = reached(self._read(register, at).values, self._made_of)
        computed = range(len(self.body.instructions))
        return frozenset(
            one
            for one in behind
            if one in computed and self.body.instructions[one].isa.access == "load"
        )

    def is_one_of_constants(self, register: str, at: int, *, once: bool = False) -> bool:
        """Whether a register holds one of several constants where an instruction reads it.

        Args:
            register: which.
            at: index of the instruction.
            once: whether a choice may not be made of another.
        """
        return self._graph.is_one_of_constants(at, register, once=once)

    def definition(self, register: str, at: int) -> int | None:
        """The instruction that wrote what another one reads; None where several may have."""
        value = self.values.read(at, register)
        is_one = value is not None and 0 <= value < len(self.body.instructions)
        return value if is_one else None

    def exit_tests(self, loop: Loop) -> list[tuple[int, str]]:
        """Branches out of a loop, with each register that they read."""
        control = self.control
        tests = (control.condition(block) for block in control.leaving(loop))
        return [(index, register) for index, registers in tests for register in registers]

    def parting(self, loop: Loop) -> frozenset[Leaf]:
        """What lanes may differ in that decides in which iteration they leave a loop."""
        tests = {
            value
            for index, register in self.exit_tests(loop)
            for value in self._read(register, index).values
        }
        apart = reached(tests, self._made_of, lambda one: self._level(one) != "uniform")
        found = {leaf for value in apart for leaf in self._graph.node(value).leaves}
        return frozenset(leaf for leaf in found if _may_differ(leaf))

    def is_of_module(self, index: int) -> bool:
        """Whether an instruction's address points into variables of the module, whatever indexes
        them."""
        pointees = self.points_to.address(index)
        return bool(pointees) and all(
            one.kind in ("variable", "shared") and one.name is not None for one in pointees
        )

    def addresses(self, index: int) -> float | None:
        """How many addresses an instruction may use in all threads together; None: not bounded."""
        loops = {loop.header: loop for loop in self.flow.loops}

        def count(header: int) -> float | None:
            return self.trips.count(loops[header]) if header in loops else None

        return Reach(self._graph.analyses, count).addresses(index)

    def _made_of(self, value: Value) -> tuple[Value, ...]:
        return self._graph.node(value).values

    def _read(self, register: str, at: int | None) -> Inputs:
        if at is not None:
            return self._graph.read(at, register)
        return Inputs(dict.fromkeys(self.definitions.get(register, ())))

    def _find_leaves(self, value: Value) -> None:
        graph = self._graph
        for group in strong_components([value], self._made_of, self._leaves):
            leaves: set[Leaf] = set()
            for member in group:
                node = graph.node(member)
                leaves |= node.leaves
                for other in node.values:
                    if other not in group:
                        leaves |= self._leaves[other]
            counter = self._counter(group)
            if counter is not None:
                leaves.add(counter)
            self._leaves |= dict.fromkeys(group, frozenset(leaves))

    def _level(self, value: Value) -> Uniformity:
        if not self._in_order:
            # Shuffles first, as they stand: which lane one names may be what another gives, and
            # through hundreds of them no question could be asked at once.
            self._in_order = True
            for index, instruction in enumerate(self.body.instructions):
                if instruction.operation == "shfl":
                    self._lanes(index)
        if value not in self._levels:
            for group in strong_components([value], self._lanes, self._levels):
                self._levels |= dict.fromkeys(group, self._level_of(group))
        return self._levels[value]

    def _level_of(self, group: set[Value]) -> Uniformity:
        """The level of a component, when those of all it depends on are known."""
        levels: list[Uniformity] = []
        loaded = False
        for member in group:
            node = self._graph.node(member)
            levels.append(node.level)
            loaded = loaded or node.loaded
            levels += [self._levels[one] for one in self._lanes(member) if one not in group]
        level = worst(levels)
        return "data-dependent" if loaded and level == "lane-varying" else level

    def _lanes(self, value: Value) -> tuple[Value, ...]:
        """What a value can differ between lanes with."""
        node = self._graph.node(value)
        if node.broadcast is not None and self._is_broadcast(value):
            return ()
        return self._graph.lane_bits.between(value)

    def _is_broadcast(self, value: Value) -> bool:
        """Whether a shuffle gives all lanes the value of one: they all name the same."""
        named = self._graph.node(value).broadcast or ()
        if value in self._asking:
            return False  # which lane depends on the shuffle's own result
        self._asking.add(value)
        try:
            return all(self._level(one) == "uniform" for one in named)
        finally:
            self._asking.discard(value)

    def _counter(self, group: set[Value]) -> Leaf | None:
        """The loop counter that a cycle of values is: one that passes a loop's header."""
        graph = self._graph
        if len(group) == 1 and not group <= set(graph.node(next(iter(group))).values):
            return None
        loops: list[Loop] = []
        for value in group:
            join = self.values.join(value)
            loop = self.control.loop_at.get(join.block) if join is not None else None
            if loop is not None:
                loops.append(loop)
        if not loops:
            inside = self.flow.innermost(frozenset(value for value in group if value >= 0))
            if inside is None:
                return Leaf("other", None)
            loops.append(inside)
        outermost = max(loops, key=lambda loop: len(loop.members))
        constant = all(self.trips.is_constant(loop) for loop in loops)
        return Leaf("loop-counter", None, constant, outermost.header)


def _may_differ(leaf: Leaf) -> bool:
    """Whether lanes may find different values in what a divergent value is made of."""
    if leaf.kind in ("loop-counter", "symbol", "block-id"):
        return False
    known = special(leaf.name) if leaf.name is not None and leaf.kind != "memory" else None
    return known is None or known[1] != "uniform"

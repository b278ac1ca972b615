"""Backward slices through PTX registers: what a value is made of, down to its leaves.

A leaf is where a value enters the function: a parameter, a thread or block id, memory, a call, a
loop counter. Values joined from several paths also depend on what chose the path, so branch
predicates belong to the slice; a counter that advances under a condition is no plain counter.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.flow import written
from lmemscope.analysis.ptx.graph import ControlFlow, Loop, registers_of
from lmemscope.formats.ptx import PtxFunction
from lmemscope.formats.ptx_body import Address
from lmemscope.model import SourceKind, Uniformity

ARITHMETIC = frozenset(
    "mov add sub mul mad mul24 shl shr and or xor not neg abs min max rem div cvt cvta "
    "selp bfe bfi lea sad prmt shf cnot setp set slct addc subc madc fma".split()
)
_LANE_REGISTERS = ("%tid", "%laneid", "%lanemask")
_BLOCK_REGISTERS = ("%ctaid", "%clusterid", "%cluster_ctaid")
_LAUNCH_REGISTERS = ("%ntid", "%nctaid", "%nclusterid", "%cluster_nctaid", "%gridid", "%warpid")
_ORDER: tuple[Uniformity, ...] = ("uniform", "unknown", "lane-varying", "data-dependent")


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """Where a value comes from.

    Attributes:
        kind: as in the contract, plus ``symbol`` for the address of a named variable.
        name: the PTX name: a parameter, a special register, a called function, a symbol.
        constant_trip: of a loop counter: whether the loop's trip count is a constant.
        header: of a loop counter: index of the loop's first instruction.
        uniformity: what this leaf alone makes of the value.
    """

    kind: SourceKind
    name: str | None = None
    constant_trip: bool = False
    header: int = -1
    uniformity: Uniformity = "uniform"


def worst(values: list[Uniformity]) -> Uniformity:
    """The least uniform of several."""
    return max(values, key=_ORDER.index, default="uniform")


class Dataflow:
    """Definitions and slices of one PTX function."""

    def __init__(self, function: PtxFunction) -> None:
        self.function = function
        self.body = function.body
        self.flow = ControlFlow(self.body)
        self.definitions: dict[str, list[int]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            for register in written(instruction):
                self.definitions[register].append(index)
        self._parameters = {name for name, _, _ in function.parameters}

    @cached_property
    def by_line(self) -> dict[int, list[int]]:
        """Instruction indices by PTX line."""
        result: dict[int, list[int]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            result[instruction.line].append(index)
        return result

    def leaves(self, register: str) -> frozenset[Leaf]:
        """Everything a register's value is made of."""
        found = self._all_leaves.get(register)
        if found is not None:
            return found
        leaf = _special(register)
        return frozenset() if leaf is None else frozenset({leaf})

    def parameter_of(self, register: str) -> str | None:
        """The parameter that a register is loaded from and nothing else, or None."""
        found = {leaf for leaf in self.leaves(register) if leaf.kind != "symbol"}
        if len(found) == 1:
            (leaf,) = found
            return leaf.name if leaf.kind == "parameter" else None
        return None

    def depends_on(self, index: int) -> tuple[str, ...]:
        """Registers that an instruction reads, its predicate included."""
        instruction = self.body.instructions[index]
        found: list[str] = []
        if instruction.predicate is not None:
            found += registers_of(instruction.predicate)
        destinations = set(written(instruction))
        for position, operand in enumerate(instruction.operands):
            if position == 0 and destinations and not isinstance(operand, Address):
                continue
            found += registers_of(operand)
        return tuple(found)

    @cached_property
    def _all_leaves(self) -> dict[str, frozenset[Leaf]]:
        """Leaves of every defined register, in one linear pass over strong components.

        Values flow along operands; along the address of a load only its uniformity does, for
        what memory holds is not what its address is made of.
        """
        values, addresses, direct = self._dependences()
        counters = self._counters(values)
        both = {register: [*values[register], *addresses[register]] for register in values}
        result: dict[str, frozenset[Leaf]] = {}
        for group in _components(both):
            leaves: set[Leaf] = set()
            loads: list[str] = []
            for register in group:
                leaves |= direct[register]
                leaves |= counters.get(register, set())
                loads += addresses[register]
                for source in values[register]:
                    if source not in group:
                        leaves |= self._known(result, source)
            for address in loads:
                leaves.add(self._memory(result, address, inside=address in group))
            shared = frozenset(leaves)
            for register in group:
                result[register] = shared
        return result

    def _known(self, result: dict[str, frozenset[Leaf]], register: str) -> frozenset[Leaf]:
        if register in result:
            return result[register]
        leaf = _special(register)
        return frozenset() if leaf is None else frozenset({leaf})

    def _dependences(
        self,
    ) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, set[Leaf]]]:
        """Per register: registers its value comes from, addresses it is loaded from, own leaves."""
        values: dict[str, list[str]] = {}
        addresses: dict[str, list[str]] = {}
        direct: dict[str, set[Leaf]] = {}
        for register, indices in self.definitions.items():
            values[register], addresses[register], direct[register] = [], [], set()
            for index in indices:
                address = self._loaded_from(index)
                if address is not None:
                    addresses[register].append(address)
                    continue
                entered = self._entering(index)
                if entered is not None:
                    direct[register].add(entered)
                    continue
                values[register] += self.depends_on(index)
                direct[register] |= self._symbols(index)
            values[register] += self._path_predicates(register)
        return values, addresses, direct

    def _loaded_from(self, index: int) -> str | None:
        """The address register of a load from memory, or None for everything else."""
        instruction = self.body.instructions[index]
        parts = instruction.modifiers
        if parts[0] not in ("ld", "ldu") or "param" in parts:
            return None
        address = next((o for o in instruction.operands if isinstance(o, Address)), None)
        if address is None or address.base is None or not address.base.startswith("%"):
            return None
        return address.base

    def _entering(self, index: int) -> Leaf | None:
        """The leaf that an instruction is, or None for arithmetic."""
        instruction = self.body.instructions[index]
        parts = instruction.modifiers
        operation = parts[0]
        if operation in ("ld", "ldu"):
            address = next((o for o in instruction.operands if isinstance(o, Address)), None)
            if "param" in parts and address is not None:
                if address.base in self._parameters:
                    plain = self.function.kind == "entry"
                    return Leaf(
                        "parameter", address.base, uniformity="uniform" if plain else "unknown"
                    )
                return Leaf("call", self._returning(index), uniformity="unknown")
            # A load from a named variable: one address for all lanes.
            return Leaf("memory", address.base if address is not None else None)
        if operation in ARITHMETIC:
            return None
        if operation in ("tex", "suld", "atom", "tld4", "ldmatrix"):
            return Leaf("memory", uniformity="data-dependent")
        # shfl, vote, inline assembly and whatever else: not followed.
        return Leaf("other", operation, uniformity="unknown")

    def _memory(self, result: dict[str, frozenset[Leaf]], address: str, *, inside: bool) -> Leaf:
        """A load: as uniform as its address; one that computes its own address never is."""
        if inside:
            return Leaf("memory", None, uniformity="data-dependent")
        made_of = self._known(result, address)
        uniform = worst([leaf.uniformity for leaf in made_of]) == "uniform"
        names = sorted(
            leaf.name for leaf in made_of if leaf.kind in ("parameter", "symbol") and leaf.name
        )
        return Leaf(
            "memory",
            names[0] if names else None,
            uniformity="uniform" if uniform else "data-dependent",
        )

    def _returning(self, index: int) -> str | None:
        before = [call for call in self.flow.calls if call.index < index]
        return before[-1].callee if before else None

    def _symbols(self, index: int) -> set[Leaf]:
        """Addresses of named variables that an instruction takes."""
        instruction = self.body.instructions[index]
        if instruction.modifiers[0] not in ("mov", "cvta"):
            return set()
        own = {declaration.name for declaration in self.body.locals}
        return {
            Leaf("symbol", operand)
            for operand in instruction.operands[1:]
            if isinstance(operand, str) and operand[:1] in "$_" + _LETTERS and operand not in own
        }

    def _path_predicates(self, register: str) -> list[str]:
        """Registers that choose between the definitions of a joined value."""
        indices = self.definitions[register]
        if len(indices) < 2:
            return []
        predicates: list[str] = []
        loop = self.flow.innermost(frozenset(indices[-1:]))
        for index in indices:
            if loop is not None and index not in loop.members:
                continue  # the value a loop begins with
            if (
                loop is not None
                and len([i for i in indices if i in loop.members]) == 1
                and all(self.flow.dominates(index, latch) for latch in loop.latches)
            ):
                continue  # advances once in every iteration
            block = self.flow.immediate_dominator(self.flow.block_of(index))
            if block is None:
                continue
            last = self.body.instructions[self.flow.blocks[block].end - 1]
            if last.predicate is not None:
                predicates += registers_of(last.predicate)
        return predicates

    def _counters(self, values: dict[str, list[str]]) -> dict[str, set[Leaf]]:
        """Loop counters: cycles of values, by each register that takes part."""
        result: dict[str, set[Leaf]] = {}
        for group in _components(values):
            first = next(iter(group))
            if len(group) == 1 and first not in values[first]:
                continue
            indices = frozenset(i for register in group for i in self.definitions[register])
            loop = self._loop_of_cycle(frozenset(i for i in indices if self.flow.depth(i)))
            leaf = Leaf("other", None, uniformity="unknown")
            if loop is not None:
                leaf = Leaf("loop-counter", None, self.constant_trip(loop), loop.header)
            for register in group:
                result[register] = {leaf}
        return result

    def _loop_of_cycle(self, indices: frozenset[int]) -> Loop | None:
        """The loop whose header the cycle passes: the smallest one that holds an advancing step."""
        candidates = [
            loop for loop in self.flow.loops if any(index in loop.members for index in indices)
        ]
        # Of nested loops, the one that holds most of the cycle's steps; the smallest among those.
        return min(
            candidates,
            key=lambda loop: (
                -sum(index in loop.members for index in indices),
                len(loop.members),
            ),
            default=None,
        )

    def constant_trip(self, loop: Loop) -> bool:
        """Whether an exit of the loop compares a counter with constants only."""
        return self._trips.setdefault(loop.header, self._has_constant_trip(loop))

    @cached_property
    def _trips(self) -> dict[int, bool]:
        return {}

    def _has_constant_trip(self, loop: Loop) -> bool:
        for index in sorted(loop.members):
            branch = self.body.instructions[index]
            if branch.modifiers[0] != "bra" or branch.predicate is None:
                continue
            target = self.body.labels.get(str(branch.operands[0]))
            leaves_loop = target not in loop.members or index + 1 not in loop.members
            if not leaves_loop:
                continue
            for register in registers_of(branch.predicate):
                if self._only_counts(register, loop):
                    return True
        return False

    def _only_counts(self, predicate: str, loop: Loop) -> bool:
        """Whether a predicate is made of constants and registers that only count in this loop."""
        reached: set[str] = set()
        work = [predicate]
        counts = False
        while work:
            register = work.pop()
            if register in reached:
                counts = counts or register != predicate
                continue
            reached.add(register)
            indices = self.definitions.get(register)
            if not indices:
                return False
            for index in indices:
                instruction = self.body.instructions[index]
                if self._entering(index) is not None or instruction.predicate is not None:
                    return False
                work += self.depends_on(index)
        return counts and any(
            len(self.definitions[r]) > 1 and any(i in loop.members for i in self.definitions[r])
            for r in reached
        )


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _special(register: str) -> Leaf | None:
    if register.startswith(_LANE_REGISTERS):
        return Leaf("thread-id", register, uniformity="lane-varying")
    if register.startswith(_BLOCK_REGISTERS):
        return Leaf("block-id", register)
    if register.startswith(_LAUNCH_REGISTERS):
        return Leaf("other", register)
    if register.startswith(("%SP", "%SPL")):
        return None
    return Leaf("other", register, uniformity="unknown") if "." in register else None


def _components(graph: dict[str, list[str]]) -> list[set[str]]:
    """Strong components, each after those it depends on (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: set[str] = set()
    stack: list[str] = []
    result: list[set[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for successor in rest:
                if successor not in graph:
                    continue
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(graph[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: set[str] = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == node:
                            break
                    result.append(component)
    return result

"""Backward slices through PTX registers: what a value is made of, down to its leaves.

A leaf is where a value enters the function: a parameter, a thread or block id, memory, a call, a
loop counter. Values joined from several paths also depend on what chose the path, so branch
predicates belong to the slice; a counter that advances under a condition is no plain counter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.counters import loop_counters
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.graph import registers_of
from lmemscope.analysis.ptx.leaves import Leaf, entering, special, symbols, worst


@dataclass(slots=True)
class _Dependence:
    """What a register depends on.

    Attributes:
        values: registers that its value comes from.
        addresses: registers that hold the addresses it is loaded from.
        leaves: those that its own definitions are.
    """

    values: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    leaves: set[Leaf] = field(default_factory=set)


class Dataflow(Definitions):
    """Slices of one PTX function, beside its definitions."""

    def leaves(self, register: str) -> frozenset[Leaf]:
        """Everything a register's value is made of."""
        return _known(self._all_leaves, register)

    @cached_property
    def _all_leaves(self) -> dict[str, frozenset[Leaf]]:
        """Leaves of every defined register, in one linear pass over strong components.

        Values flow along operands; along the address of a load only its uniformity does, for
        what memory holds is not what its address is made of.
        """
        found = {register: self._dependence(register) for register in self.definitions}
        counters = loop_counters(self, {register: one.values for register, one in found.items()})
        both = {register: [*one.values, *one.addresses] for register, one in found.items()}
        result: dict[str, frozenset[Leaf]] = {}
        for group in strong_components(both):
            leaves: set[Leaf] = set()
            loads: list[str] = []
            for register in group:
                leaves |= found[register].leaves
                if register in counters:
                    leaves.add(counters[register])
                loads += found[register].addresses
                for source in found[register].values:
                    if source not in group:
                        leaves |= _known(result, source)
            for address in loads:
                leaves.add(_memory(result, address, inside=address in group))
            result |= dict.fromkeys(group, frozenset(leaves))
        return result

    def _dependence(self, register: str) -> _Dependence:
        result = _Dependence()
        for index in self.definitions[register]:
            address = self._loaded_from(index)
            if address is not None:
                result.addresses.append(address)
                continue
            leaf = entering(self, index)
            if leaf is not None:
                result.leaves.add(leaf)
                continue
            result.values += self.depends_on(index)
            result.leaves |= symbols(self, index)
        result.values += self._path_predicates(register)
        return result

    def _loaded_from(self, index: int) -> str | None:
        """The address register of a load from memory, or None for everything else."""
        instruction = self.body.instructions[index]
        if instruction.operation not in ("ld", "ldu") or "param" in instruction.modifiers:
            return None
        base = instruction.address.base if instruction.address is not None else None
        return base if base is not None and base.startswith("%") else None

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


def _known(found: dict[str, frozenset[Leaf]], register: str) -> frozenset[Leaf]:
    if register in found:
        return found[register]
    leaf = special(register)
    return frozenset() if leaf is None else frozenset({leaf})


def _memory(found: dict[str, frozenset[Leaf]], address: str, *, inside: bool) -> Leaf:
    """A load: as uniform as its address; one that computes its own address never is."""
    if inside:
        return Leaf("memory", None, uniformity="data-dependent")
    made_of = _known(found, address)
    uniform = worst(leaf.uniformity for leaf in made_of) == "uniform"
    names = sorted(
        leaf.name for leaf in made_of if leaf.kind in ("parameter", "symbol") and leaf.name
    )
    return Leaf(
        "memory",
        names[0] if names else None,
        uniformity="uniform" if uniform else "data-dependent",
    )

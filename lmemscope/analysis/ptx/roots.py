"""Which pointer an address was computed from: the base that is dereferenced, not its indices."""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.leaves import Leaf, is_symbol
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_operands import pointers

NAMED = 3
"""The rank of what a name tells."""


@dataclass(frozen=True, slots=True, order=True)
class Root:
    """What a pointer points into.

    Attributes:
        rank: how surely it is a pointer: a named variable or a parameter that is made one of a
            state space (3), a parameter of 64 bits (2), a loaded value of 64 bits (1).
        name: PTX name of the variable or parameter; None for a pointer out of memory.
        offset: of the function's own stack: byte of the depot at which the object begins; else -1.
        is_parameter: the parameter itself lies there, which was passed by value.
    """

    rank: int
    name: str | None
    offset: int = -1
    is_parameter: bool = False

    def loaded(self) -> Leaf:
        """What a value that is loaded from there comes from."""
        if self.offset >= 0:
            return Leaf("memory", None, offset=self.offset)
        return Leaf("parameter" if self.is_parameter else "memory", self.name)


class Roots:
    """Roots of one function's addresses.

    Args:
        code: the function.
        values: its values.
    """

    def __init__(self, code: Definitions, values: Values) -> None:
        self._code, self._values = code, values
        self._known: dict[Value, frozenset[Root]] = {}
        self._depot = code.depot

    def of_address(self, index: int) -> frozenset[Root]:
        """What a memory instruction's address points into; empty where nothing tells."""
        address = self._code.body.instructions[index].address
        if address is None or address.base is None:
            return frozenset()
        base = address.base
        if not base.startswith("%"):
            return frozenset({self._named(base, address.offset)})
        if base in self._depot.bases:
            return frozenset({self._in_depot(address.offset)})
        value = self._values.read(index, base)
        if value is None:
            return frozenset()
        return self.of_value(value)

    def of_value(self, value: Value) -> frozenset[Root]:
        """What a pointer points into."""
        if value not in self._known:
            self._known[value] = self._follow(value)
        return self._known[value]

    def _named(self, name: str, offset: int) -> Root:
        if name in self._depot.names:
            return self._in_depot(offset)
        return Root(NAMED, name, is_parameter=name in self._code.parameters)

    def _in_depot(self, offset: int) -> Root:
        return Root(NAMED, min(self._depot.names), self._depot.object_at(offset))

    def _follow(self, value: Value) -> frozenset[Root]:
        code, values = self._code, self._values
        found: dict[Root, bool] = {}
        seen: set[Value] = set()
        # With each value: whether a conversion of address spaces lies between it and the address,
        # which makes a parameter a pointer; and whether a sum's other operand may be the pointer.
        work: list[tuple[Value, bool, bool]] = [(value, False, False)]
        while work:
            current, converted, doubted = work.pop()
            if current in seen:
                continue
            seen.add(current)
            join = values.join(current)
            if join is not None:
                incoming = values.incoming(join).values()
                work += [(one, converted, doubted) for one in incoming if one is not None]
                continue
            if current in self._depot.copies or current in self._depot.starts:
                found[self._in_depot(self._depot.starts.get(current, 0))] = False
                continue
            instruction = code.body.instructions[current]
            if instruction.isa.access == "load":
                root = self._loaded(instruction, converted)
                if root is not None:
                    found[root] = found.get(root, True) and doubted
                continue
            if instruction.operation == "cvta":
                converted = True
            sources = pointers(instruction)
            doubted = doubted or (instruction.isa.kind == "sum" and len(sources) > 1)
            for operand in sources:
                if is_symbol(operand):
                    found[self._named(operand, 0)] = False
                    continue
                before = values.read(current, operand)
                if before is not None:
                    work.append((before, converted, doubted))
        best = max((root.rank for root in found), default=0)
        return frozenset(
            root for root, doubted in found.items() if not doubted or root.rank == best
        )

    def _loaded(self, instruction: Instruction, converted: bool) -> Root | None:
        if not instruction.opcode.endswith("64"):
            return None
        address = instruction.address
        if "param" not in instruction.modifiers or address is None:
            return Root(1, None)
        if address.base not in self._code.parameters:
            return Root(1, None)  # what a function returned
        return Root(NAMED if converted else 2, address.base)

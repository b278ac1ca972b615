"""Pointers to a thread's local, or a block's shared, memory among the arguments of a launch.

Parent and child share neither (CUDA C++ Programming Guide, "Dynamic Parallelism", "Memory Coherence
and Consistency"): such a pointer means something else in the child. NVVM warns where it sees one
stored into the parameter buffer of the same function; here it is followed through the values of
PTX, through what is kept on the stack, and through the calls that a kernel makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.depot import Depot
from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access
from lmemscope.analysis.ptx.sources import Sources, ValueSource
from lmemscope.analysis.ptx.transfers import position_in, stored_values
from lmemscope.formats.ptx_body import Instruction, number_of

_DEEPEST = 120
"""Steps from a value back to the address that it is made of."""
_Seen = set[tuple[str, str]]
"""Functions and registers that a question has come by."""


@dataclass(frozen=True, slots=True, order=True)
class Pointed:
    """Memory that a pointer leads to.

    Attributes:
        space: whose.
        function: that owns it.
        offset: of the object in the function's depot; 0 of shared memory.
        through: functions that the pointer was passed to, outermost first.
    """

    space: Literal["local", "shared"]
    function: str
    offset: int
    through: tuple[str, ...] = ()


class Pointers:
    """What addresses lead to, in the functions that a kernel reaches.

    Args:
        module: that they belong to.
        kernel: whose calls count.
    """

    def __init__(self, module: ModuleFlow, kernel: str) -> None:
        self._module, self._sources = module, Sources(module, kernel)
        self._depots: dict[str, Depot] = {}
        self._known: dict[tuple[str, str], frozenset[Pointed]] = {}

    def of(self, function: str, value: str) -> frozenset[Pointed]:
        """Local and shared memory that a register may point into."""
        key = (function, value)
        if key not in self._known:
            self._known[key] = frozenset()  # of a value that is made of itself
            self._known[key] = frozenset(self._of(function, value, set(), 0))
        return self._known[key]

    def _of(self, function: str, value: str, seen: _Seen, depth: int) -> Iterator[Pointed]:
        code = self._module.dataflow(function)
        key = (function, value)
        if code is None or key in seen or depth > _DEEPEST:
            return
        seen.add(key)
        depot = self._depot(function, code)
        for index in code.definitions.get(value, ()):
            instruction = code.body.instructions[index]
            if index in depot.starts:
                yield Pointed("local", function, depot.starts[index])
            elif value in depot.bases:
                yield Pointed("local", function, 0)
            elif instruction.opcode.startswith("cvta.shared"):
                yield Pointed("shared", function, 0)
            elif instruction.operation == "ld":
                yield from self._loaded(function, code, index, value, seen, depth)
            else:
                for operand in self._leading(function, instruction):
                    yield from self._of(function, operand, seen, depth + 1)

    def _leading(self, function: str, instruction: Instruction) -> list[str]:
        """The operands that the result points where they do."""
        operands = [one for one in instruction.operands[1:] if isinstance(one, str)]
        match instruction.operation:
            case "mov" | "cvta" | "add":
                return operands
            case "selp":
                return operands[:2]
            case "sub":
                # The distance between two addresses is none.
                return [] if self.of(function, operands[1]) else operands[:1]
            case "mad":
                return operands[2:]
        return []

    def _loaded(
        self,
        function: str,
        code: Definitions,
        index: int,
        value: str,
        seen: _Seen,
        depth: int,
    ) -> Iterator[Pointed]:
        """What was passed as a parameter, or stored at the byte of the stack that is loaded."""
        instruction = code.body.instructions[index]
        address = instruction.address
        if address is None or address.base is None:
            return
        if instruction.modifiers[:2] == ["ld", "param"]:
            if address.base in code.parameters:
                place = address.offset + position_in(instruction, value)
                source = ValueSource("parameter", function, address.base, place)
                for caller, passed in self._sources.given(source):
                    for found in self._of(caller, passed, seen, depth + 1):
                        yield replace(found, through=(*found.through, function))
            return
        if not (is_local_access(instruction.opcode) or is_generic_access(instruction.opcode)):
            return
        further = address.offset + position_in(instruction, value)
        for owner, place, through in self._slots(function, address.base, further, set(), 0):
            for stored in self._stored_at(owner, place):
                for found in self._of(owner, stored, seen, depth + 1):
                    yield replace(found, through=(*found.through, *through))

    def _slots(
        self, function: str, register: str, further: int, seen: _Seen, depth: int
    ) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        """Bytes of stacks that an address is, where it is one known place: owner, byte, calls."""
        code = self._module.dataflow(function)
        key = (function, register)
        if code is None or key in seen or depth > _DEEPEST:
            return
        seen.add(key)
        depot = self._depot(function, code)
        if register in depot.bases or register in depot.names:
            yield function, further, ()
            return
        for index in code.definitions.get(register, ()):
            instruction = code.body.instructions[index]
            operands = instruction.operands
            address = instruction.address
            if index in depot.starts:
                yield function, depot.starts[index] + further, ()
            elif instruction.operation in ("mov", "cvta") and isinstance(operands[1], str):
                yield from self._slots(function, operands[1], further, seen, depth + 1)
            elif instruction.operation == "add" and isinstance(operands[1], str):
                more = number_of(operands[2])
                if more is not None:
                    yield from self._slots(function, operands[1], further + more, seen, depth + 1)
            elif instruction.modifiers[:2] == ["ld", "param"] and address is not None:
                place = address.offset + position_in(instruction, register)
                source = ValueSource("parameter", function, address.base, place)
                for caller, passed in self._sources.given(source):
                    for owner, byte, through in self._slots(
                        caller, passed, further, seen, depth + 1
                    ):
                        yield owner, byte, (*through, function)

    def _stored_at(self, function: str, place: int) -> Iterator[str]:
        """Registers that a function stores, as addresses, at a byte of its own depot."""
        code = self._module.dataflow(function)
        assert code is not None
        for instruction in code.body.instructions:
            address = instruction.address
            if instruction.operation != "st" or address is None or address.base is None:
                continue
            if not instruction.opcode.endswith("64") or "param" in instruction.modifiers:
                continue
            slots = list(self._slots(function, address.base, address.offset, set(), 0))
            for value, further in stored_values(instruction):
                if any((owner, byte + further) == (function, place) for owner, byte, _ in slots):
                    yield value

    def _depot(self, function: str, code: Definitions) -> Depot:
        if function not in self._depots:
            self._depots[function] = Depot(code.body)
        return self._depots[function]

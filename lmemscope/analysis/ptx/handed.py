"""Pointers to a thread's local, or a block's shared, memory among the arguments of a launch.

Parent and child share neither (CUDA C++ Programming Guide, "Dynamic Parallelism", "Memory Coherence
and Consistency"): such a pointer means something else in the child. NVVM warns where it sees one
stored into the parameter buffer of the same function; here it is followed through the values of
PTX, through what is kept on the stack, and through the calls that a kernel makes. What a call
returns is followed into the callee with that call's arguments alone: a function that returns one of
its parameters returns a local address to some of its callers, and not to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access
from lmemscope.analysis.ptx.sources import Sources, loaded
from lmemscope.analysis.ptx.transfers import position_in, stored_values
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_operands import displaced, pointers

_DEEPEST = 120
"""Steps from a value back to the address that it is made of."""
_MOST_RETURNS = 4
"""Calls, one in the other, whose results are followed; each call has an analysis of its own."""
_Calls = tuple[tuple[str, int], ...]
"""Calls whose result is being followed, outermost first: each one's function and instruction."""
_Seen = set[tuple[str, str, _Calls]]
"""Functions and registers that a question has come by, in which calls."""


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
        self._known: dict[tuple[str, str], frozenset[Pointed]] = {}

    def of(self, function: str, value: str) -> frozenset[Pointed]:
        """Local and shared memory that a register may point into."""
        key = (function, value)
        if key not in self._known:
            self._known[key] = frozenset()  # of a value that is made of itself
            self._known[key] = frozenset(self._of(function, value, (), set(), 0))
        return self._known[key]

    def _of(
        self, function: str, value: str, calls: _Calls, seen: _Seen, depth: int
    ) -> Iterator[Pointed]:
        code = self._module.dataflow(function)
        key = (function, value, calls)
        if code is None or key in seen or depth > _DEEPEST:
            return
        seen.add(key)
        depot = code.depot
        for index in code.definitions.get(value, ()):
            instruction = code.body.instructions[index]
            if index in depot.starts:
                yield Pointed("local", function, depot.starts[index])
            elif value in depot.bases:
                yield Pointed("local", function, 0)
            elif instruction.opcode.startswith("cvta.shared"):
                yield Pointed("shared", function, 0)
            elif instruction.isa.access == "load":
                yield from self._loaded(function, code, index, value, calls, seen, depth)
            else:
                for operand in self._leading(function, instruction):
                    yield from self._of(function, operand, calls, seen, depth + 1)

    def _leading(self, function: str, instruction: Instruction) -> list[str]:
        """The operands that the result points where they do."""
        subtracted = instruction.operands[2] if instruction.operation == "sub" else None
        if isinstance(subtracted, str) and self.of(function, subtracted):
            return []  # The distance between two addresses is none.
        return pointers(instruction)

    def _loaded(
        self,
        function: str,
        code: Definitions,
        index: int,
        value: str,
        calls: _Calls,
        seen: _Seen,
        depth: int,
    ) -> Iterator[Pointed]:
        """What crosses a call, or is stored at the byte of the stack that is loaded."""
        instruction = code.body.instructions[index]
        address = instruction.address
        if address is None or address.base is None:
            return
        for other, register, there, through in self._across(code, index, value, calls):
            for found in self._of(other, register, there, seen, depth + 1):
                yield replace(found, through=(*found.through, *through))
        if not (is_local_access(instruction.opcode) or is_generic_access(instruction.opcode)):
            return
        further = address.offset + position_in(instruction, value)
        for owner, place, there, through in self._slots(
            function, address.base, further, calls, set(), 0
        ):
            for stored in self._stored_at(owner, place):
                for found in self._of(owner, stored, there, seen, depth + 1):
                    yield replace(found, through=(*found.through, *through))

    def _across(
        self, code: Definitions, index: int, register: str, calls: _Calls
    ) -> Iterator[tuple[str, str, _Calls, tuple[str, ...]]]:
        """What a loaded parameter or result is on the other side of the call.

        The function there, its register, the calls that are followed from there on, and the callee
        where the value was passed to it.
        """
        source = loaded(code, index, register)
        if source is None:
            return
        if source.kind == "parameter":
            at = calls[-1] if calls else None
            for caller, passed in self._sources.given(source, at):
                yield caller, passed, calls[:-1], (source.function,)
        elif source.name is not None and len(calls) < _MOST_RETURNS:
            for value in self._sources.returned(source):
                yield source.name, value, (*calls, (source.function, source.index)), ()

    def _slots(
        self,
        function: str,
        register: str,
        further: int,
        calls: _Calls,
        seen: _Seen,
        depth: int,
    ) -> Iterator[tuple[str, int, _Calls, tuple[str, ...]]]:
        """Bytes of stacks that an address is, where it is one known place.

        Owner, byte, the calls that are followed from there on, and functions it was passed to.
        """
        code = self._module.dataflow(function)
        key = (function, register, calls)
        if code is None or key in seen or depth > _DEEPEST:
            return
        seen.add(key)
        depot = code.depot
        if register in depot.bases or register in depot.names:
            yield function, further, calls, ()
            return
        for index in code.definitions.get(register, ()):
            instruction = code.body.instructions[index]
            on: list[tuple[str, str, int, _Calls, tuple[str, ...]]] = []
            if index in depot.starts:
                yield function, depot.starts[index] + further, calls, ()
            elif (moved := displaced(instruction)) is not None:
                on = [(function, moved[0], further + moved[1], calls, ())]
            else:
                on = [
                    (other, value, further, there, through)
                    for other, value, there, through in self._across(code, index, register, calls)
                ]
            for other, value, place, there, through in on:
                for owner, byte, last, before in self._slots(
                    other, value, place, there, seen, depth + 1
                ):
                    yield owner, byte, last, (*before, *through)

    def _stored_at(self, function: str, place: int) -> Iterator[str]:
        """Registers that a function stores, as addresses, at a byte of its own depot."""
        code = self._module.dataflow(function)
        assert code is not None
        for instruction in code.body.instructions:
            address = instruction.address
            if instruction.isa.access != "store" or address is None or address.base is None:
                continue
            if not instruction.opcode.endswith("64") or "param" in instruction.modifiers:
                continue
            slots = list(self._slots(function, address.base, address.offset, (), set(), 0))
            for value, further in stored_values(instruction):
                if any((owner, byte + further) == (function, place) for owner, byte, *_ in slots):
                    yield value

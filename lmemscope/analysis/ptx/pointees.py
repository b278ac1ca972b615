"""What registers may point into: objects of the stack, what a caller passed, ``alloca``.

Every register has all that is ever written to it. Pointers that a program keeps in a local array
are followed through it, if nothing else is kept there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access
from lmemscope.analysis.ptx.transfers import is_pointer_load, stored_values
from lmemscope.formats.ptx_body import Address, Instruction
from lmemscope.formats.ptx_operands import defined, pointers


@dataclass(frozen=True, slots=True, order=True)
class Pointee:
    """What an address points into.

    ``depot`` with the object's offset, ``parameter`` with a function's parameter name (a pointer
    of the caller's), ``argument`` with the name of one that is itself in memory (the caller's
    stack), or ``alloca`` with an instruction index.
    """

    kind: Literal["depot", "parameter", "argument", "alloca"]
    offset: int = 0
    name: str | None = None


class Pointees:
    """What each register of a function may point into.

    Attributes:
        depot: the function's local memory.
        holders: offsets of the objects that get nothing but addresses of stack objects.

    Args:
        code: the function.
    """

    def __init__(self, code: Definitions) -> None:
        self._code, self._body = code, code.body
        self._is_entry = code.function.kind == "entry"
        self.depot = code.depot
        self.holders: frozenset[int] = frozenset()
        self._known = self._propagate()

    @property
    def all(self) -> list[frozenset[Pointee]]:
        """What the registers point into that point into something."""
        return list(self._known.values())

    def of(self, register: str) -> frozenset[Pointee]:
        """What a register may point into, other than the start of the function's memory."""
        return self._known.get(register, frozenset())

    def of_address(self, address: Address) -> frozenset[Pointee]:
        """What an address points into."""
        base = address.base
        if base is None:
            return frozenset()
        if self.is_start(base):
            return frozenset({Pointee("depot", self.depot.object_at(address.offset))})
        return self.of(base)

    def is_start(self, register: str) -> bool:
        """Whether a register, or a name, is the start of the function's local memory."""
        return register in self.depot.bases or register in self.depot.names

    def _propagate(self) -> dict[str, frozenset[Pointee]]:
        pointees: dict[str, set[Pointee]] = defaultdict(set)
        seeds: set[str] = set()
        starts = self.depot.starts
        for index, instruction in enumerate(self._body.instructions):
            if not instruction.operands or not isinstance(instruction.operands[0], str):
                continue
            target = instruction.operands[0]
            if index in starts:
                pointees[target].add(Pointee("depot", starts[index]))
                seeds.add(target)
            elif instruction.operation == "alloca":
                pointees[target].add(Pointee("alloca", instruction.line))
                seeds.add(target)
            elif instruction.operation == "mov" and not self._is_entry:
                source = instruction.operands[1] if len(instruction.operands) > 1 else None
                if isinstance(source, str) and source in self._code.parameters:
                    pointees[target].add(Pointee("argument", 0, source))
                    seeds.add(target)
            elif instruction.modifiers[:2] == ("ld", "param") and not self._is_entry:
                address = instruction.address
                if address is not None and address.base in self._code.parameters:
                    pointees[target].add(Pointee("parameter", 0, address.base))
                    seeds.add(target)
        users: dict[str, list[str]] = defaultdict(list)
        for index, instruction in enumerate(self._body.instructions):
            if index in starts or not instruction.isa.pointers:
                continue
            if not isinstance(instruction.operands[0], str):
                continue
            for source in pointers(instruction):
                if source in self.depot.bases:
                    pointees[instruction.operands[0]].add(Pointee("depot", 0))
                    seeds.add(instruction.operands[0])
                users[source].append(instruction.operands[0])
        for base in self.depot.bases:
            pointees.pop(base, None)
        work = list(seeds)
        while work:
            while work:
                register = work.pop()
                for user in users[register]:
                    if user not in self.depot.bases and not pointees[register] <= pointees[user]:
                        pointees[user] |= pointees[register]
                        work.append(user)
            work = self._load_pointers(pointees)
        return {register: frozenset(found) for register, found in pointees.items()}

    def _load_pointers(self, pointees: dict[str, set[Pointee]]) -> list[str]:
        """Give what loads from objects of addresses may point into; the registers that changed."""
        held = self._held(pointees)
        self.holders = frozenset(held)
        changed = []
        for instruction in self._body.instructions if held else ():
            if not is_pointer_load(instruction):
                continue
            found = {
                pointee
                for holder in self._targets(instruction, pointees)
                for pointee in held.get(holder, ())
            }
            for register in defined(instruction):
                if not found <= pointees[register]:
                    pointees[register] |= found
                    changed.append(register)
        return changed

    def _held(self, pointees: dict[str, set[Pointee]]) -> dict[int, set[Pointee]]:
        """What the objects that only get addresses of stack objects may hold, by their offsets."""
        held: dict[int, set[Pointee]] = {}
        others: set[int] = set()
        for instruction in self._stores:
            targets = self._targets(instruction, pointees)
            found: set[Pointee] = set()
            for value, _ in stored_values(instruction) if targets else ():
                into = pointees.get(value, set())
                if value in self.depot.bases:
                    into = {Pointee("depot", 0)}
                if not into or not instruction.opcode.endswith("64"):
                    others |= targets
                found |= into
            for target in targets:
                held.setdefault(target, set()).update(found)
        return {offset: found for offset, found in held.items() if offset not in others}

    def _targets(self, instruction: Instruction, pointees: dict[str, set[Pointee]]) -> set[int]:
        """Offsets of the objects that an instruction's address may point into."""
        address = instruction.address
        if address is None or address.base is None:
            return set()
        if self.is_start(address.base):
            return {p.offset for p in self.of_address(address)}
        return {p.offset for p in pointees.get(address.base, ()) if p.kind == "depot"}

    @cached_property
    def _stores(self) -> list[Instruction]:
        """Stores that may be to a stack object."""
        return [
            instruction
            for instruction in self._body.instructions
            if instruction.isa.access == "store"
            and (is_local_access(instruction.opcode) or is_generic_access(instruction.opcode))
        ]

"""Stack objects of a PTX function: where they lie, who touches them, where their addresses go."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access, local_addresses
from lmemscope.analysis.ptx.graph import Call, registers_of
from lmemscope.analysis.ptx.slicing import ARITHMETIC, Dataflow, Leaf
from lmemscope.formats.ptx_body import Address, Instruction, Vector

_POINTERARITHMETIC = frozenset({"mov", "add", "sub", "cvta", "selp", "and", "or", "mad", "min"})
_MEMORY = frozenset({"ld", "ldu", "st"})
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """What an address points into.

    ``depot`` with the object's offset, ``parameter`` with a function's parameter name (a pointer
    of the caller's), or ``alloca`` with an instruction index.
    """

    kind: Literal["depot", "parameter", "alloca"]
    offset: int = 0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PtxAccess:
    """A ``ld``/``st`` of local memory in PTX.

    Attributes:
        index: of the instruction.
        is_store, width: direction; bytes per thread, vectors whole.
        origins: what its address may point into; empty where it cannot be followed.
        leaves: what its address is computed from beside the object; empty for a constant index.
        offset: constant byte offset in the depot, where it is constant.
    """

    index: int
    is_store: bool
    width: int
    origins: frozenset[Origin]
    leaves: frozenset[Leaf]
    offset: int | None


@dataclass(slots=True)
class StackObject:
    """A stack object as PTX delimits it.

    Attributes:
        offset, size: bytes in the depot.
        accesses: direct ones, in this function.
        passed_to: calls that get its address, with the position of the argument.
        stored_at: instructions that store its address or use it in another way.
    """

    offset: int
    size: int
    accesses: list[PtxAccess] = field(default_factory=list)
    passed_to: list[tuple[Call, int]] = field(default_factory=list)
    stored_at: list[int] = field(default_factory=list)


class FunctionObjects:
    """Origins of a function's addresses and the objects they delimit."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.dataflow = dataflow
        self.body = dataflow.body
        self._depots = {declaration.name: declaration for declaration in self.body.locals}
        self._bases = self._find_bases()
        self._parameters = {name for name, _, _ in dataflow.function.parameters}
        self._origins = self._propagate()

    @cached_property
    def objects(self) -> dict[int, StackObject]:
        """Objects by depot offset, ascending, with their accesses and escapes."""
        total = max((d.size for d in self.body.locals), default=0)
        offsets = {o.offset for found in self._origins.values() for o in found if o.kind == "depot"}
        for access in self.accesses:
            offsets |= {o.offset for o in access.origins if o.kind == "depot"}
        starts = sorted(offset for offset in offsets if offset < total)
        ends = [*starts[1:], total] if starts else []
        result = {
            start: StackObject(start, end - start) for start, end in zip(starts, ends, strict=True)
        }
        for access in self.accesses:
            for origin in access.origins:
                if origin.kind == "depot" and origin.offset in result:
                    result[origin.offset].accesses.append(access)
        for call in self.dataflow.flow.calls:
            for position, registers in enumerate(call.arguments):
                for offset in self._depot_offsets(registers):
                    result[offset].passed_to.append((call, position))
        for index, instruction in enumerate(self.body.instructions):
            for offset in self._depot_offsets(self._escaping(instruction)):
                result[offset].stored_at.append(index)
        return result

    @cached_property
    def accesses(self) -> list[PtxAccess]:
        """Every access of local memory, and of pointers that the caller passed."""
        result = []
        for index, instruction in enumerate(self.body.instructions):
            if not (is_local_access(instruction.opcode) or is_generic_access(instruction.opcode)):
                continue
            address = next((o for o in instruction.operands if isinstance(o, Address)), None)
            if address is None or address.base is None:
                continue
            origins = self.origins_of(address)
            if not origins and is_generic_access(instruction.opcode):
                continue
            result.append(
                PtxAccess(
                    index,
                    instruction.opcode.startswith("st"),
                    access_width(instruction),
                    origins,
                    self._index_leaves(address.base),
                    self._constant(address),
                )
            )
        return result

    @cached_property
    def access_at(self) -> dict[int, PtxAccess]:
        """Accesses by instruction index."""
        return {access.index: access for access in self.accesses}

    def is_local(self, index: int) -> bool:
        """Whether an instruction's address is a local one on every path, in this function."""
        access = self.access_at.get(index)
        if access is None:
            return False
        operands = self.body.instructions[index].operands
        address = next(o for o in operands if isinstance(o, Address))
        return address.base in self._must_be_local

    @cached_property
    def _must_be_local(self) -> frozenset[str]:
        return local_addresses(self.body)

    def origins_of(self, address: Address) -> frozenset[Origin]:
        """What an address points into."""
        base = address.base
        if base is None:
            return frozenset()
        if base in self._bases or base in self._depots:
            inside = [o for o in self._taken_offsets if o <= address.offset]
            return frozenset({Origin("depot", max(inside, default=0))})
        return self._origins.get(base, frozenset())

    def argument_origins(self, call: Call, position: int) -> frozenset[Origin]:
        """What a call's argument points into."""
        if position >= len(call.arguments):
            return frozenset()
        found: set[Origin] = set()
        for register in call.arguments[position]:
            found |= self._origins.get(register, frozenset())
        return frozenset(found)

    @cached_property
    def _taken_offsets(self) -> list[int]:
        found = {
            int(str(instruction.operands[2]))
            for instruction in self.body.instructions
            if self._is_object_address(instruction)
        }
        return sorted(found)

    def _find_bases(self) -> set[str]:
        """Registers that hold the start of the depot."""
        bases: set[str] = set()
        for instruction in self.body.instructions:
            if instruction.modifiers[0] in ("mov", "cvta") and len(instruction.operands) == 2:
                source = instruction.operands[1]
                if isinstance(source, str) and (source in self._depots or source in bases):
                    bases.add(str(instruction.operands[0]))
        return bases

    def _is_object_address(self, instruction: Instruction) -> bool:
        operands = instruction.operands
        return (
            instruction.modifiers[0] == "add"
            and len(operands) == 3
            and operands[1] in self._bases
            and isinstance(operands[2], str)
            and operands[2].isdigit()
        )

    def _propagate(self) -> dict[str, frozenset[Origin]]:
        origins: dict[str, set[Origin]] = defaultdict(set)
        seeds: set[str] = set()
        for instruction in self.body.instructions:
            parts = instruction.modifiers
            if not instruction.operands or not isinstance(instruction.operands[0], str):
                continue
            target = instruction.operands[0]
            if self._is_object_address(instruction):
                origins[target].add(Origin("depot", int(str(instruction.operands[2]))))
                seeds.add(target)
            elif parts[0] == "alloca":
                origins[target].add(Origin("alloca", instruction.line))
                seeds.add(target)
            elif parts[:2] == ["ld", "param"] and self.dataflow.function.kind == "function":
                address = instruction.operands[1]
                if isinstance(address, Address) and address.base in self._parameters:
                    origins[target].add(Origin("parameter", 0, address.base))
                    seeds.add(target)
        users: dict[str, list[str]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            if instruction.modifiers[0] not in _POINTERARITHMETIC:
                continue
            if self._is_object_address(instruction) or not isinstance(instruction.operands[0], str):
                continue
            for source in self.dataflow.depends_on(index):
                if source in self._bases:
                    origins[instruction.operands[0]].add(Origin("depot", 0))
                    seeds.add(instruction.operands[0])
                users[source].append(instruction.operands[0])
        for base in self._bases:
            origins.pop(base, None)
        work = list(seeds)
        while work:
            register = work.pop()
            for user in users[register]:
                if user not in self._bases and not origins[register] <= origins[user]:
                    origins[user] |= origins[register]
                    work.append(user)
        return {register: frozenset(found) for register, found in origins.items()}

    def _depot_offsets(self, registers: tuple[str, ...] | list[str]) -> set[int]:
        return {
            origin.offset
            for register in registers
            for origin in self._origins.get(register, ())
            if origin.kind == "depot" and origin.offset in self.objects_starts
        }

    @cached_property
    def objects_starts(self) -> set[int]:
        """Offsets at which objects begin."""
        total = max((d.size for d in self.body.locals), default=0)
        starts = {o.offset for found in self._origins.values() for o in found if o.kind == "depot"}
        for access in self.accesses:
            starts |= {o.offset for o in access.origins if o.kind == "depot"}
        return {start for start in starts if start < total}

    def _escaping(self, instruction: Instruction) -> list[str]:
        """Registers whose value leaves our sight in an instruction: stored, or used by others."""
        parts = instruction.modifiers
        if parts[0] == "st":
            if "param" in parts:
                return []
            return [r for operand in instruction.operands[1:] for r in registers_of(operand)]
        if parts[0] in _MEMORY or parts[0] in ("call", "bra", "setp", "ret"):
            return []
        if parts[0] in ("atom", "red", "cp", "prefetch", "discard") or not _known(parts[0]):
            return [r for operand in instruction.operands for r in registers_of(operand)]
        return []

    def _index_leaves(self, register: str) -> frozenset[Leaf]:
        """What an address is made of, the object's own base and pointer parameters aside."""
        leaves = self.dataflow.leaves(register)
        pointers = {o.name for o in self._origins.get(register, ()) if o.kind == "parameter"}
        return frozenset(
            leaf
            for leaf in leaves
            if leaf.kind != "symbol" and not (leaf.kind == "parameter" and leaf.name in pointers)
        )

    def _constant(self, address: Address) -> int | None:
        """Depot offset of an address that is one object's start plus constants."""
        base, offset = address.base, address.offset
        for _ in range(8):
            if base is None:
                return None
            if base in self._bases or base in self._depots:
                return offset
            indices = self.dataflow.definitions.get(base, [])
            if len(indices) != 1:
                return None
            instruction = self.body.instructions[indices[0]]
            parts, operands = instruction.modifiers, instruction.operands
            if parts[0] == "add" and len(operands) == 3 and _is_number(operands[2]):
                base, offset = str(operands[1]), offset + int(str(operands[2]), 0)
            elif parts[0] in ("mov", "cvta") and len(operands) == 2:
                base = str(operands[1])
            else:
                return None
        return None


def access_width(instruction: Instruction) -> int:
    """Bytes per thread that a ``ld``/``st`` moves."""
    lanes, width = 1, 0
    for part in instruction.modifiers[1:]:
        if part in ("v2", "v4", "v8"):
            lanes = int(part[1:])
        elif part[:1] in "busf" and part[1:] in _WIDTHS:
            width = _WIDTHS[part[1:]]
    if not width:
        vector = next((o for o in instruction.operands if isinstance(o, Vector)), None)
        width, lanes = 4, len(vector.items) if vector is not None else 1
    return lanes * width


def _is_number(operand: object) -> bool:
    return isinstance(operand, str) and operand.lstrip("-").isdigit()


def _known(operation: str) -> bool:
    return operation in ARITHMETIC or operation in ("brx", "bar", "exit", "membar", "fence")

"""Stack objects of a PTX function: where they lie, who touches them, where their addresses go."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access, local_addresses
from lmemscope.analysis.ptx.graph import Call, registers_of
from lmemscope.analysis.ptx.leaves import ARITHMETIC, Leaf
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.formats.ptx_body import Address, Instruction, Vector
from lmemscope.model import Uniformity

_POINTER_ARITHMETIC = frozenset({"mov", "add", "sub", "cvta", "selp", "and", "or", "mad", "min"})
_MEMORY = frozenset({"ld", "ldu", "st"})
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


@dataclass(frozen=True, slots=True, order=True)
class Pointee:
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
        pointees: what its address may point into; empty where it cannot be followed.
        leaves: what its address is computed from beside the object; empty for a constant index.
        offset: constant byte offset in the depot, where it is constant.
        uniformity: of its address across the lanes of a warp.
    """

    index: int
    is_store: bool
    width: int
    pointees: frozenset[Pointee]
    leaves: frozenset[Leaf]
    offset: int | None
    uniformity: Uniformity = "uniform"


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
    """What a function's addresses point into, and the objects they delimit."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.dataflow = dataflow
        self.body = dataflow.body
        self._depots = {declaration.name: declaration for declaration in self.body.locals}
        self._bases = self._find_bases()
        self._is_entry = dataflow.function.kind == "entry"
        self._pointees = self._propagate()
        self._chosen: dict[str, bool] = {}

    @cached_property
    def objects(self) -> dict[int, StackObject]:
        """Objects by depot offset, ascending, with their accesses and escapes."""
        starts = sorted(self._starts)
        ends = [*starts[1:], self._depot_size] if starts else []
        result = {
            start: StackObject(start, end - start) for start, end in zip(starts, ends, strict=True)
        }
        for access in self.accesses:
            for pointee in access.pointees:
                if pointee.kind == "depot" and pointee.offset in result:
                    result[pointee.offset].accesses.append(access)
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
            address = instruction.address
            if address is None or address.base is None:
                continue
            pointees = self.pointees_of(address)
            if not pointees and is_generic_access(instruction.opcode):
                continue
            result.append(
                PtxAccess(
                    index,
                    instruction.operation == "st",
                    access_width(instruction),
                    pointees,
                    self._index_leaves(index, address.base),
                    self._constant(address),
                    self.dataflow.uniformity(address.base, index),
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
        address = self.body.instructions[index].address
        return address is not None and address.base in self._must_be_local

    def alternates(self, access: PtxAccess) -> bool:
        """Whether an access in a loop takes one of several constant addresses.

        A loop of few iterations may have no counter: a constant takes another one's place.
        """
        address = self.body.instructions[access.index].address
        if access.leaves or access.offset is not None or address is None:
            return False
        if not self.dataflow.flow.depth(access.index):
            return False
        work, seen = [address.base], set()
        while work:
            register = work.pop()
            if register is None or register in seen:
                continue
            seen.add(register)
            definitions = self.dataflow.definitions.get(register, [])
            if len(definitions) > 1:
                return True
            work += [one for index in definitions for one in self.dataflow.depends_on(index)]
        return False

    def is_chosen(self, index: int) -> bool:
        """Whether an access's generic address is a local one on some paths, another on others."""
        address = self.body.instructions[index].address
        if address is None or address.base is None:
            return False
        if not is_generic_access(self.body.instructions[index].opcode):
            return False
        if address.base not in self._chosen:
            self._chosen[address.base] = self._is_mixed(address.base)
        return self._chosen[address.base]

    def _is_mixed(self, pointer: str) -> bool:
        """Whether a register that may point into an object may point elsewhere too."""
        work, seen = [pointer], set()
        while work:
            register = work.pop()
            if register in seen or register in self._bases:
                continue
            seen.add(register)
            for definition in self.dataflow.definitions.get(register, ()):
                instruction = self.body.instructions[definition]
                if self._takes_address(instruction):
                    continue
                read = [str(o) for o in instruction.operands[1:] if str(o).startswith("%")]
                if instruction.operation == "selp":
                    read = read[:2]
                pointers = [one for one in read if one in self._bases or self._pointees.get(one)]
                if not pointers or (instruction.operation == "selp" and pointers != read):
                    return True
                work += pointers
        return False

    @cached_property
    def _must_be_local(self) -> frozenset[str]:
        return local_addresses(self.body)

    def pointees_of(self, address: Address) -> frozenset[Pointee]:
        """What an address points into."""
        base = address.base
        if base is None:
            return frozenset()
        if base in self._bases or base in self._depots:
            inside = [o for o in self._taken_offsets if o <= address.offset]
            return frozenset({Pointee("depot", max(inside, default=0))})
        return self._pointees.get(base, frozenset())

    def is_pointer(self, value: str) -> bool:
        """Whether a register may point into an object, the caller's included."""
        return value in self._bases or bool(self._pointees.get(value))

    def is_object_address(self, value: str) -> bool:
        """Whether a register holds the address of a stack object of this function."""
        found = self._pointees.get(value, ())
        return value in self._bases or any(pointee.kind != "parameter" for pointee in found)

    def argument_pointees(self, call: Call, position: int) -> frozenset[Pointee]:
        """What a call's argument points into."""
        if position >= len(call.arguments):
            return frozenset()
        found: set[Pointee] = set()
        for register in call.arguments[position]:
            found |= self._pointees.get(register, frozenset())
        return frozenset(found)

    @cached_property
    def _taken_offsets(self) -> list[int]:
        found = {
            int(str(instruction.operands[2]))
            for instruction in self.body.instructions
            if self._takes_address(instruction)
        }
        return sorted(found)

    def _find_bases(self) -> set[str]:
        """Registers that hold the start of the depot."""
        bases: set[str] = set()
        for instruction in self.body.instructions:
            if instruction.operation in ("mov", "cvta") and len(instruction.operands) == 2:
                source = instruction.operands[1]
                if isinstance(source, str) and (source in self._depots or source in bases):
                    bases.add(str(instruction.operands[0]))
        return bases

    def _takes_address(self, instruction: Instruction) -> bool:
        operands = instruction.operands
        return (
            instruction.operation == "add"
            and len(operands) == 3
            and operands[1] in self._bases
            and isinstance(operands[2], str)
            and operands[2].isdigit()
        )

    def _propagate(self) -> dict[str, frozenset[Pointee]]:
        pointees: dict[str, set[Pointee]] = defaultdict(set)
        seeds: set[str] = set()
        for instruction in self.body.instructions:
            if not instruction.operands or not isinstance(instruction.operands[0], str):
                continue
            target = instruction.operands[0]
            if self._takes_address(instruction):
                pointees[target].add(Pointee("depot", int(str(instruction.operands[2]))))
                seeds.add(target)
            elif instruction.operation == "alloca":
                pointees[target].add(Pointee("alloca", instruction.line))
                seeds.add(target)
            elif instruction.modifiers[:2] == ["ld", "param"] and not self._is_entry:
                address = instruction.address
                if address is not None and address.base in self.dataflow.parameters:
                    pointees[target].add(Pointee("parameter", 0, address.base))
                    seeds.add(target)
        users: dict[str, list[str]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            if instruction.operation not in _POINTER_ARITHMETIC:
                continue
            if self._takes_address(instruction) or not isinstance(instruction.operands[0], str):
                continue
            for source in self.dataflow.depends_on(index):
                if source in self._bases:
                    pointees[instruction.operands[0]].add(Pointee("depot", 0))
                    seeds.add(instruction.operands[0])
                users[source].append(instruction.operands[0])
        for base in self._bases:
            pointees.pop(base, None)
        work = list(seeds)
        while work:
            register = work.pop()
            for user in users[register]:
                if user not in self._bases and not pointees[register] <= pointees[user]:
                    pointees[user] |= pointees[register]
                    work.append(user)
        return {register: frozenset(found) for register, found in pointees.items()}

    def _depot_offsets(self, registers: tuple[str, ...] | list[str]) -> set[int]:
        return {
            pointee.offset
            for register in registers
            for pointee in self._pointees.get(register, ())
            if pointee.kind == "depot" and pointee.offset in self._starts
        }

    @cached_property
    def _starts(self) -> set[int]:
        """Offsets at which objects begin."""
        found = [*self._pointees.values(), *(access.pointees for access in self.accesses)]
        starts = {p.offset for pointees in found for p in pointees if p.kind == "depot"}
        return {start for start in starts if start < self._depot_size}

    @property
    def _depot_size(self) -> int:
        return max((declaration.size for declaration in self.body.locals), default=0)

    def _escaping(self, instruction: Instruction) -> list[str]:
        """Registers whose value leaves our sight in an instruction: stored, or used by others."""
        operation = instruction.operation
        if operation == "st":
            if "param" in instruction.modifiers:
                return []
            return [r for operand in instruction.operands[1:] for r in registers_of(operand)]
        if operation in _MEMORY or operation in ("call", "bra", "setp", "ret"):
            return []
        if operation in ("atom", "red", "cp", "prefetch", "discard") or not _known(operation):
            return [r for operand in instruction.operands for r in registers_of(operand)]
        return []

    def _index_leaves(self, index: int, register: str) -> frozenset[Leaf]:
        """What an address is made of, the object's own base and pointer parameters aside."""
        leaves = self.dataflow.leaves(register, index)
        pointers = {o.name for o in self._pointees.get(register, ()) if o.kind == "parameter"}
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
            operation, operands = instruction.operation, instruction.operands
            if operation == "add" and len(operands) == 3 and _is_number(operands[2]):
                base, offset = str(operands[1]), offset + int(str(operands[2]), 0)
            elif operation in ("mov", "cvta") and len(operands) == 2:
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


def stored_values(instruction: Instruction) -> list[tuple[str, int]]:
    """Registers and constants that an instruction reads by value, its first operand aside.

    Each has its position in bytes from where a ``st`` begins to write: vectors whole.
    """
    result: list[tuple[str, int]] = []
    for operand in instruction.operands[1:]:
        if isinstance(operand, Vector):
            size = access_width(instruction) // max(len(operand.items), 1)
            result += [(item, number * size) for number, item in enumerate(operand.items)]
        elif isinstance(operand, str):
            result.append((operand, 0))
    return result


def position_in(instruction: Instruction, register: str) -> int:
    """Bytes from where a load begins to read to what it puts into a register."""
    target = instruction.operands[0]
    if not isinstance(target, Vector) or register not in target.items:
        return 0
    return target.items.index(register) * access_width(instruction) // len(target.items)


def _is_number(operand: object) -> bool:
    return isinstance(operand, str) and operand.lstrip("-").isdigit()


def _known(operation: str) -> bool:
    return operation in ARITHMETIC or operation in ("brx", "bar", "exit", "membar", "fence")

"""Stack objects of a PTX function: where they lie, who touches them, where their addresses go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from msgspec import Struct, field

from lmemscope.analysis.ptx.choices import Choices
from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access, local_addresses
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.local_tests import LocalTests
from lmemscope.analysis.ptx.pointees import Pointee, Pointees
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.transfers import access_width, is_pointer_load
from lmemscope.formats.ptx_body import Address, Instruction
from lmemscope.formats.ptx_operands import registers_of
from lmemscope.model import Uniformity


class PtxAccess(Struct, frozen=True):
    """A ``ld``/``st`` of local memory in PTX.

    Attributes:
        index: of the instruction.
        is_store, width: direction; bytes per thread, vectors whole.
        pointees: what its address may point into; empty where it cannot be followed.
        leaves: what its address is computed from beside the object; empty for a constant index.
        offset: constant byte offset in the depot, where it is constant.
        uniformity: of its address across the lanes of a warp.
        is_choice: whether it is a load, and its address one of several constants, which the control
            flow chooses once. Compilers take such loads apart, unless the object is in memory for
            another's sake.
    """

    index: int
    is_store: bool
    width: int
    pointees: frozenset[Pointee]
    leaves: frozenset[Leaf]
    offset: int | None
    uniformity: Uniformity = "uniform"
    is_choice: bool = False


class StackObject(Struct):
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


def computed(accesses: Sequence[PtxAccess]) -> Sequence[PtxAccess]:
    """Those whose index is computed, if any is; else all: what chooses says nothing beside them."""
    return [one for one in accesses if one.leaves and not one.is_choice] or accesses


class FunctionObjects:
    """What a function's addresses point into, and the objects they delimit."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.dataflow = dataflow
        self.body = dataflow.body
        self._pointees = Pointees(dataflow)
        self._local: dict[frozenset[str], frozenset[str]] = {}

    @cached_property
    def choices(self) -> Choices:
        """What its accesses' pointers are chosen between."""
        return Choices(self)

    @cached_property
    def tests(self) -> LocalTests:
        """What it asks at run time of where pointers lead."""
        return LocalTests(self.dataflow)

    def foreign_test(self, index: int) -> Instruction | None:
        """The test that has found a pointer of unknown origin to be local, before an instruction.

        None where there is none, or where it asks of an address of this function's own memory.
        """
        test = self.tests.of(index)
        asked = registers_of(test.operands[1]) if test is not None else []
        return None if any(self.is_object_address(one) for one in asked) else test

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
            pointees = self._pointed_at(index, address)
            if not pointees and is_generic_access(instruction.opcode):
                continue
            leaves = self._index_leaves(index, address.base, pointees)
            result.append(
                PtxAccess(
                    index,
                    instruction.isa.access == "store",
                    access_width(instruction),
                    pointees,
                    leaves,
                    self.dataflow.affine.depot_offset(index),
                    self.dataflow.uniformity(address.base, index),
                    bool(leaves)
                    and instruction.isa.access == "load"
                    and self.dataflow.is_one_of_constants(address.base, index, once=True),
                )
            )
        return result

    def _pointed_at(self, index: int, address: Address) -> frozenset[Pointee]:
        """What an instruction's address may point into: what its register holds there."""
        found = self.pointees_of(address)
        if len(found) < 2 or self._pointees.holders:
            return found
        offsets = self.dataflow.depot_offsets(index)
        narrowed = frozenset(p for p in found if p.kind == "depot" and p.offset in offsets)
        return narrowed or found

    @cached_property
    def access_at(self) -> dict[int, PtxAccess]:
        """Accesses by instruction index."""
        return {access.index: access for access in self.accesses}

    def is_local(self, index: int, parameters: frozenset[str] = frozenset()) -> bool:
        """Whether an instruction's address is a local one on every path, in this function.

        Args:
            index: of the instruction.
            parameters: names of those that are known to hold local addresses.
        """
        if index not in self.access_at:
            return False
        address = self.body.instructions[index].address
        return address is not None and address.base in self._must_be_local(parameters)

    def passes_local(self, call: Call, position: int, parameters: frozenset[str]) -> bool:
        """Whether every pointer in a call's argument is a local address; not without a pointer.

        Args:
            call: in this function.
            position: of the argument.
            parameters: names of this function's own that are known to hold local addresses.
        """
        pointers: set[str] = set()
        for index in range(call.index - 1, -1, -1):
            instruction = self.body.instructions[index]
            if instruction.isa.control == "call":
                break
            if instruction.modifiers[:2] == ("st", "param") and instruction.opcode.endswith("64"):
                pointers |= {r for o in instruction.operands[1:] for r in registers_of(o)}
        pointers &= set(call.arguments[position])
        return bool(pointers) and pointers <= self._must_be_local(parameters)

    def passed_indices(self, found: StackObject) -> list[frozenset[Leaf]]:
        """What the indices of elements are made of whose addresses go to functions: ``&a[i]``."""
        made = []
        for call, position in found.passed_to:
            for register in call.arguments[position]:
                pointees = self._pointees.of(register)
                if any(p.kind == "depot" and p.offset == found.offset for p in pointees) and (
                    not self.dataflow.is_one_of_constants(register, call.index)
                ):
                    made.append(self._index_leaves(call.index, register, pointees))
        return [leaves for leaves in made if leaves]

    def comparisons(self, found: StackObject) -> list[int]:
        """Instructions that compare an address in the object, as an assignment with itself does."""
        return [
            index
            for index, instruction in enumerate(self.body.instructions)
            if instruction.operation == "setp"
            and found.offset
            in self._depot_offsets([r for o in instruction.operands for r in registers_of(o)])
        ]

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

    def _must_be_local(self, parameters: frozenset[str] = frozenset()) -> frozenset[str]:
        if parameters not in self._local:
            passed = {
                index
                for index, instruction in enumerate(self.body.instructions if parameters else ())
                if instruction.modifiers[:2] == ("ld", "param")
                and instruction.address is not None
                and instruction.address.base in parameters
            }
            self._local[parameters] = local_addresses(self.body, passed | self._local_loads)
        return self._local[parameters]

    def _base(self, index: int) -> str | None:
        """The register or symbol of an instruction's address."""
        address = self.body.instructions[index].address
        return address.base if address is not None else None

    @cached_property
    def _local_loads(self) -> frozenset[int]:
        """Loads of pointers out of objects that hold, for sure, nothing but local addresses."""
        if not self._pointees.holders:
            return frozenset()
        seen = {
            offset
            for offset in self._pointees.holders
            if (holder := self.objects.get(offset)) is not None
            and not (holder.passed_to or holder.stored_at)
        }
        local = local_addresses(self.body)
        return frozenset(
            access.index
            for access in self.accesses
            if is_pointer_load(self.body.instructions[access.index])
            and {p.offset if p.kind == "depot" else -1 for p in access.pointees} <= seen
            and self._base(access.index) in local
        )

    def pointees_of(self, address: Address) -> frozenset[Pointee]:
        """What an address points into."""
        return self._pointees.of_address(address)

    def is_pointer(self, value: str) -> bool:
        """Whether a register may point into an object, the caller's included."""
        return value in self._pointees.depot.bases or bool(self._pointees.of(value))

    @property
    def bases(self) -> Collection[str]:
        """Registers that hold the address of the depot."""
        return self._pointees.depot.bases

    def is_local_pointer(self, definition: int) -> bool:
        """Whether an instruction makes an object's address, or loads one that was kept."""
        return definition in self._pointees.depot.starts or definition in self._local_loads

    def is_object_address(self, value: str) -> bool:
        """Whether a register holds the address of a stack object of this function."""
        found = self._pointees.of(value)
        return value in self._pointees.depot.bases or any(p.kind != "parameter" for p in found)

    def points_only_into(self, value: str, offset: int) -> bool:
        """Whether a register holds an address of one object of this function, on every path."""
        if self._pointees.is_start(value):
            return offset == self._pointees.depot.object_at(0)
        found = self._pointees.of(value)
        return bool(found) and all((p.kind, p.offset) == ("depot", offset) for p in found)

    def argument_pointees(self, call: Call, position: int) -> frozenset[Pointee]:
        """What a call's argument points into."""
        if position >= len(call.arguments):
            return frozenset()
        found: set[Pointee] = set()
        for register in call.arguments[position]:
            found |= self._pointees.of(register)
        return frozenset(found)

    def _depot_offsets(self, registers: tuple[str, ...] | list[str]) -> set[int]:
        return {
            pointee.offset
            for register in registers
            for pointee in self._pointees.of(register)
            if pointee.kind == "depot" and pointee.offset in self._starts
        }

    @cached_property
    def _starts(self) -> set[int]:
        """Offsets at which objects begin."""
        found = [*self._pointees.all, *(access.pointees for access in self.accesses)]
        starts = {p.offset for pointees in found for p in pointees if p.kind == "depot"}
        return {start for start in starts if start < self._depot_size}

    @property
    def _depot_size(self) -> int:
        return max((declaration.size for declaration in self.body.locals), default=0)

    def _escaping(self, instruction: Instruction) -> list[str]:
        """Registers whose value leaves our sight in an instruction: stored, or used by others."""
        row = instruction.isa
        if row.access == "store":
            if "param" in instruction.modifiers and not self._returns(instruction):
                return []
            return [r for operand in instruction.operands[1:] for r in registers_of(operand)]
        if row.is_pure or row.access == "load" or row.control is not None:
            return []
        return [r for operand in instruction.operands for r in registers_of(operand)]

    def _returns(self, instruction: Instruction) -> bool:
        """Whether an instruction stores what the function returns."""
        address = instruction.address
        results = {name for name, _, _ in self.dataflow.function.results}
        return address is not None and address.base in results

    def _index_leaves(
        self, index: int, register: str, pointees: frozenset[Pointee]
    ) -> frozenset[Leaf]:
        """What an address is made of, the object's own base and pointer parameters aside."""
        if len(pointees) > 1 and self.dataflow.is_one_of_constants(register, index):
            return frozenset()  # of several objects one, at a constant place
        leaves = self.dataflow.leaves(register, index)
        pointers = {o.name for o in self._pointees.of(register) if o.kind == "parameter"}
        return frozenset(
            leaf
            for leaf in leaves
            if leaf.kind != "symbol"
            and not (leaf.kind == "parameter" and leaf.name in pointers)
            and not (leaf.kind == "memory" and leaf.offset in self._pointees.holders)
        )

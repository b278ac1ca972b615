"""Stack objects of a PTX function: where they lie, who touches them, where their addresses go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from msgspec import Struct, field

from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.flow import is_generic_access, is_local_access
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.local_tests import LocalTests
from lmemscope.analysis.ptx.points_to import OBJECTS, Pointee, Pointees
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.transfers import access_width, moves_pointers
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_operands import pointers, registers_of
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
        chosen_by: what decides which of several objects its address is of, and no place in any.
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
    chosen_by: frozenset[Leaf] = frozenset()

    @property
    def is_of_data(self) -> bool:
        """Whether its index depends on more than counters and parameters."""
        return any(leaf.kind not in ("loop-counter", "parameter") for leaf in self.leaves)

    @property
    def counted_by(self) -> list[int]:
        """Headers of the loops whose counters its index is made of; none where it is of more."""
        leaves = [leaf for leaf in self.leaves if leaf.kind != "symbol"]
        is_counted = all(leaf.kind == "loop-counter" for leaf in leaves)
        return sorted({leaf.header for leaf in leaves}) if is_counted else []


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

    @property
    def reached(self) -> int | None:
        """Bytes up to the last that is accessed at a constant place: what is behind may be padding.

        None without such an access.
        """
        ends = (
            access.offset + access.width - self.offset
            for access in self.accesses
            if access.offset is not None
        )
        return max((end for end in ends if 0 < end <= self.size), default=None)


def computed(accesses: Sequence[PtxAccess]) -> Sequence[PtxAccess]:
    """Those whose index is computed, if any is; else all: what chooses says nothing beside them."""
    return [one for one in accesses if one.leaves and not one.is_choice] or accesses


class FunctionObjects:
    """What a function's addresses point into, and the objects they delimit."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.dataflow = dataflow
        self.body = dataflow.body
        self._points_to = dataflow.points_to

    @cached_property
    def tests(self) -> LocalTests:
        """What it asks at run time of where pointers lead."""
        return LocalTests(self.dataflow)

    def foreign_test(self, index: int) -> Instruction | None:
        """The test that has found a pointer of unknown origin to be local, before an instruction.

        None where there is none, or where it asks of an address of this function's own memory.
        """
        at = self.tests.of(index)
        if at is None:
            return None
        test = self.body.instructions[at]
        asked = registers_of(test.operands[1])
        return None if any(self.is_object_address(at, one) for one in asked) else test

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
                for offset in self._depot_offsets(call.index, registers):
                    result[offset].passed_to.append((call, position))
        for index, instruction in enumerate(self.body.instructions):
            escaping = self._escaping(instruction) if result else []
            for offset in self._depot_offsets(index, escaping) if escaping else ():
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
            pointees = self._points_to.own(self._points_to.address(index))
            if not pointees and is_generic_access(instruction.opcode):
                continue
            leaves = self._index_leaves(index, address.base, pointees)
            added, chosen_by = self._beside_choice(index, address.base, pointees)
            result.append(
                PtxAccess(
                    index,
                    instruction.isa.access == "store",
                    access_width(instruction),
                    pointees,
                    added or leaves,
                    self.dataflow.affine.depot_offset(index),
                    self.dataflow.uniformity(address.base, index),
                    bool(leaves)
                    and instruction.isa.access == "load"
                    and self.dataflow.is_one_of_constants(address.base, index, once=True),
                    chosen_by if added else frozenset(),
                )
            )
        return result

    @property
    def generic_local(self) -> int:
        """How many loads and stores through generic addresses are of local memory for sure."""
        return sum(
            is_generic_access(one.opcode) and _are_local(self._base(index)[1], frozenset())
            for index, one in enumerate(self.body.instructions)
        )

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
        return index in self.access_at and _are_local(self._base(index)[1], parameters)

    def passes_local(self, call: Call, position: int, parameters: frozenset[str]) -> bool:
        """Whether every pointer in a call's argument is a local address; not without a pointer.

        Args:
            call: in this function.
            position: of the argument.
            parameters: names of this function's own that are known to hold local addresses.
        """
        passed = {
            one.value
            for one in call.passed[position]
            if one.value[:1] == "%" and moves_pointers(self.body.instructions[one.store])
        }
        return bool(passed) and all(
            _are_local(self._points_to.at(call.index, one), parameters) for one in passed
        )

    def passed_indices(self, found: StackObject) -> list[frozenset[Leaf]]:
        """What the indices of elements are made of whose addresses go to functions: ``&a[i]``."""
        made = []
        for call, position in found.passed_to:
            for register in call.arguments[position]:
                pointees = self._points_to.objects(call.index, register)
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
            in self._depot_offsets(
                index, [r for o in instruction.operands for r in registers_of(o)]
            )
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
        definitions, read = self.dataflow.definitions, self.dataflow.depends_on
        behind = reached(
            registers_of(address),
            lambda one: [other for index in definitions.get(one, ()) for other in read(index)],
        )
        return any(len(definitions.get(one, ())) > 1 for one in behind)

    def volatile_access(self, found: StackObject) -> PtxAccess | None:
        """The first volatile access of an object; None without one."""
        instructions = self.body.instructions
        volatile = (a for a in found.accesses if "volatile" in instructions[a.index].modifiers)
        return next(volatile, None)

    def is_object_address(self, index: int, value: str) -> bool:
        """Whether what an instruction reads may be the address of a stack object."""
        found = self._points_to.objects(index, value)
        return any(p.kind in OBJECTS for p in found)

    def is_chosen(self, index: int) -> bool:
        """Whether an access's address is an object's on some paths, and null or others' on others.

        As of ``flag ? &value : nullptr``, and of any generic address that may be another memory's.
        """
        base, pointees = self._base(index)
        if is_generic_access(self.body.instructions[index].opcode):
            return pointees != self._points_to.own(pointees)
        is_null = any(one.kind == "null" for one in pointees)
        return is_null and self.dataflow.is_one_of_constants(base, index)

    def is_it_or_null(self, index: int) -> bool:
        """Whether an access's pointer can be null, and is wherever it is no object's address."""
        _, pointees = self._base(index)
        return {one.kind for one in pointees - self._points_to.own(pointees)} == {"null"}

    def is_between_places(self, index: int) -> bool:
        """Whether an access's pointer is chosen between addresses of constant places.

        As of ``flag ? one.a : one.b``, which C++ makes of addresses. An index that is chosen
        (``a[flag ? 0 : 3]``) is a number, to which the address of the object is added behind it.
        """
        base, _ = self._base(index)
        # Few addresses are chosen, and that is seen at once; the other question walks far.
        return any(
            instruction.isa.is_either
            and all(self.is_object_address(at, str(one)) for one in instruction.operands[1:3])
            for at, instruction in self._passed(index, base)
        ) and self.dataflow.is_one_of_constants(base, index)

    def is_indexed(self, index: int) -> bool:
        """Whether an object's address that an access's pointer is chosen from has an index added.

        As of ``flag ? array + i : other``; in ``flag ? &value : other`` nothing is computed.
        """
        base, _ = self._base(index)
        walks = any(leaf.kind == "loop-counter" for leaf in self.access_at[index].leaves)
        for at, instruction in self._passed(index, base):
            read = [r for one in instruction.operands[1:] for r in registers_of(one)]
            leading = [one for one in pointers(instruction) if self._points_to.objects(at, one)]
            # A number is added, or a pointer moves on with each iteration.
            adds = instruction.isa.kind == "product" or (
                instruction.isa.kind == "sum"
                and (len(read) > len(leading) or (walks and self.dataflow.flow.depth(at) > 0))
            )
            if leading and adds:
                return True
        return False

    def _base(self, index: int) -> tuple[str, Pointees]:
        """The register or symbol of an access's address, and what it points into."""
        address = self.body.instructions[index].address
        base = address.base if address is not None else None
        return (base, self._points_to.at(index, base)) if base else ("", frozenset())

    def _passed(self, index: int, base: str) -> Iterable[tuple[int, Instruction]]:
        """What an address comes through, from where it is an object's."""
        depot = self.dataflow.depot
        for at in self._points_to.passed(index, base):
            if at not in depot.starts and at not in depot.copies:
                yield at, self.body.instructions[at]

    def argument_pointees(self, call: Call, position: int) -> frozenset[Pointee]:
        """What a call's argument points into."""
        if position >= len(call.arguments):
            return frozenset()
        found: set[Pointee] = set()
        for register in call.arguments[position]:
            found |= self._points_to.objects(call.index, register)
        return frozenset(found)

    def _depot_offsets(self, index: int, registers: Iterable[str]) -> set[int]:
        """Objects whose addresses an instruction reads from registers."""
        return {
            pointee.offset
            for register in registers
            for pointee in self._points_to.at(index, register)
            if pointee.kind == "depot" and pointee.offset in self._starts
        }

    @cached_property
    def _starts(self) -> set[int]:
        """Offsets at which objects begin."""
        found = [access.pointees for access in self.accesses]
        starts = {p.offset for pointees in found for p in pointees if p.kind == "depot"}
        starts |= self.dataflow.depot.begun
        return {start for start in starts if start < self._depot_size}

    @property
    def _depot_size(self) -> int:
        return max((declaration.size for declaration in self.body.locals), default=0)

    def _escaping(self, instruction: Instruction) -> list[str]:
        """Registers whose value leaves our sight in an instruction: stored, or used by others."""
        row = instruction.isa
        if row.access == "store":
            is_passed = "param" in instruction.modifiers and not self._returns(instruction)
            if is_passed or not moves_pointers(instruction):
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

    def _beside_choice(
        self, index: int, register: str, pointees: frozenset[Pointee]
    ) -> tuple[frozenset[Leaf], frozenset[Leaf]]:
        """Of ``(flag ? a : b)[i]``, what ``i`` is made of, and what ``flag`` is.

        Nothing where other addresses than those of whole objects are chosen from.
        """
        added: set[Leaf] = set()
        while len(pointees) > 1:
            if all(one.isa.kind in ("copy", "choice") for _, one in self._passed(index, register)):
                chosen = self.dataflow.leaves(register, index)
                return frozenset(added), frozenset(one for one in chosen if one.kind != "symbol")
            at = self.dataflow.values.read(index, register)
            instruction = self.body.instructions[at] if at is not None and at >= 0 else None
            if at is None or instruction is None or instruction.isa.kind not in ("copy", "sum"):
                break
            read = [r for one in instruction.operands[1:] for r in registers_of(one)]
            leading = [one for one in read if self._points_to.objects(at, one)]
            if len(leading) != 1 or instruction.predicate is not None:
                break
            (index, register) = at, leading[0]
            for one in read:
                added |= self.dataflow.leaves(one, at) if one != register else frozenset()
        return frozenset(), frozenset()

    def _index_leaves(
        self, index: int, register: str, pointees: frozenset[Pointee]
    ) -> frozenset[Leaf]:
        """What an address is made of, the object's own base and pointer parameters aside."""
        if len(pointees) > 1 and self.dataflow.is_one_of_constants(register, index):
            return frozenset()  # of several objects one, at a constant place
        leaves = self.dataflow.leaves(register, index)
        passed = {one.name for one in pointees if one.kind == "parameter"}
        kept = self._points_to.holders(index, register)
        return frozenset(
            leaf
            for leaf in leaves
            if leaf.kind != "symbol"
            and not (leaf.kind == "parameter" and leaf.name in passed)
            and not (leaf.kind == "memory" and leaf.offset in kept)
        )


def _are_local(pointees: Pointees, parameters: frozenset[str]) -> bool:
    """Whether pointees are a thread's own memory for sure, some parameters' among them."""
    return bool(pointees) and all(
        one.kind in ("depot", "alloca") or (one.kind == "parameter" and one.name in parameters)
        for one in pointees
    )

"""What a stack object is filled with: a parameter, constants, addresses of other objects."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.forms import is_base
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.transfers import access_width, position_in, stored_values
from lmemscope.formats.cubin import LARGEST_FRAME
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_body import Vector

_SCALAR = 8
"""Bytes of the largest parameter that is no structure."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """Bytes of an object that come from a parameter; ``before`` it are so many of the object's."""

    parameter: str
    before: int
    bytes: range


@dataclass(frozen=True, slots=True)
class _Piece:
    """Neighbouring bytes of a parameter."""

    parameter: str
    bytes: range


class Contents:
    """What the stores of a function put into one of its objects.

    Args:
        module: that the function belongs to.
        objects: of the function.
        found: the object.
    """

    def __init__(self, module: PtxModule, objects: FunctionObjects, found: StackObject) -> None:
        self._module, self._objects, self._found = module, objects, found
        self._dataflow, self._instructions = objects.dataflow, objects.body.instructions
        self._stores = [access for access in found.accesses if access.is_store]
        self._loads = [access for access in found.accesses if not access.is_store]

    @cached_property
    def are_addresses(self) -> bool:
        """Whether every value stored in it is the address of a stack object."""
        values = [
            (access.index, value)
            for access in self._stores
            for value, _ in stored_values(self._instructions[access.index])
        ]
        return bool(values) and all(self._objects.is_object_address(*one) for one in values)

    @cached_property
    def is_alike(self) -> bool:
        """Whether each store puts the same value there in all lanes of a warp."""
        return bool(self._stores) and all(
            self._dataflow.uniformity(value, access.index) == "uniform"
            for access in self._stores
            for value, _ in stored_values(self._instructions[access.index])
            if value.startswith("%")
        )

    @cached_property
    def is_table(self) -> bool:
        """Whether it holds the same constants on every call, whenever it is read.

        A value computed from counters of loops with constant trip counts is such a constant; one
        that is stored under a condition, or after a read, is not.
        """
        if not self._stores or not self._loads:
            return False
        if any(leaf.is_dynamic for access in self._stores for leaf in access.leaves):
            return False
        if not self._is_filled_first:
            return False
        different: set[str] = set()
        for access in self._stores:
            for value, _ in stored_values(self._instructions[access.index]):
                constants = self._constants(value, access.index)
                if constants is None:
                    return False
                different |= constants
        # All zeros is an initialised array, not a table.
        return len(different) > 1

    @cached_property
    def copied_parameter(self) -> str | None:
        """The by-value parameter that it is a copy of, or of a part of.

        Most of its bytes come from there; all that are ever stored, where a pointer is chosen
        between it and other memory: the rest is then in registers. They lie in the parameter's
        order, and nothing lies before its first byte.
        """
        return self._copied[0] if self._copied is not None else None

    @property
    def _copied(self) -> tuple[str, int] | None:
        """The parameter, and the object's bytes before its first one, less than 1."""
        return next(iter(self._fillers), None)

    @cached_property
    def _fillers(self) -> tuple[tuple[str, int], ...]:
        """All parameters that the object is a copy of, in turn: as `_copied`."""
        if self._dataflow.function.kind != "entry":
            return ()
        copied: dict[tuple[str, int], set[int]] = defaultdict(set)
        for _, copies in self._copies:
            for copy in copies:
                if copy is not None:
                    copied[copy.parameter, copy.before].update(copy.bytes)
        sizes = {name: size for name, _, size in self._dataflow.function.parameters}
        return tuple(
            (name, before)
            for (name, before), found in sorted(copied.items())
            if sizes.get(name, 0) > _SCALAR and before <= 0 and self._is_what_it_holds(found)
        )

    @cached_property
    def changes(self) -> int | None:
        """The first store of something else than the parameters that it is a copy of, or None.

        A function that is inlined several times has its own copy filled again for each.
        """
        for access, copies in self._copies:
            for copy in copies:
                if copy is None or (copy.parameter, copy.before) not in self._fillers:
                    return access.index
        return None

    @cached_property
    def _copies(self) -> list[tuple[PtxAccess, list[_Copy | None]]]:
        """What each store copies."""
        return [(access, self._copies_by(access)) for access in self._stores]

    def _copies_by(self, access: PtxAccess) -> list[_Copy | None]:
        """What a store copies of parameters, value by value; None for what is of none."""
        values = stored_values(self._instructions[access.index])
        found: list[_Copy | None] = []
        for value, position in values:
            copy = None
            if access.offset is None:
                name = self._copied_by_loop(access, value)
                if name is not None and self._found.size <= LARGEST_FRAME:
                    copy = _Copy(name, 0, range(self._found.size))
            else:
                start = access.offset - self._found.offset + position
                end = start + access.width // len(values)
                piece = self._piece(value)
                if piece is not None and len(piece.bytes) == end - start:
                    copy = _Copy(piece.parameter, start - piece.bytes[0], range(start, end))
            found.append(copy)
        return found

    def _is_what_it_holds(self, copied: set[int]) -> bool:
        """Whether copied bytes are most of an object, or all that is stored in a chosen one."""
        if len(copied) * 2 > self._found.size:
            return True
        if not any(self._objects.is_chosen(one.index) for one in self._found.accesses):
            return False
        # A store at a place that is not known may be anywhere.
        return all(
            store.offset is not None
            and copied.issuperset(range(at := store.offset - self._found.offset, at + store.width))
            for store in self._stores
        )

    def _constants(self, value: str, index: int) -> frozenset[str] | None:
        """Names of the constants that a value at an instruction may be, or None if it is none."""
        if self._objects.is_object_address(index, value):
            return None
        if not value.startswith("%"):
            return frozenset({value})
        made_of = self._dataflow.leaves(value, index)
        if any(leaf.kind == "symbol" and leaf.name in self._module.shared for leaf in made_of):
            return None  # Each block has its own place: no initialiser can say where.
        leaves = [leaf for leaf in made_of if leaf.kind != "symbol"]
        if any(leaf.is_dynamic for leaf in leaves):
            return None
        # What counts is another one in each iteration.
        return frozenset({value, f"{value}, next"} if leaves else {self._immediate(value, index)})

    def _immediate(self, register: str, at: int) -> str:
        """The number that a register holds at an instruction, else its own name."""
        index = self._dataflow.definition(register, at)
        instruction = self._instructions[index] if index is not None else None
        if instruction is None or instruction.operation != "mov":
            return register
        return next((source for source, _ in stored_values(instruction)), register)

    @cached_property
    def _is_filled_first(self) -> bool:
        """Whether every store is always made before every load; one of each block stands for it."""
        block_of = self._dataflow.flow.block_of
        last: dict[int, int] = {}
        first: dict[int, int] = {}
        for access in self._stores:
            block = block_of(access.index)
            last[block] = max(last.get(block, access.index), access.index)
        for access in self._loads:
            block = block_of(access.index)
            first[block] = min(first.get(block, access.index), access.index)
        return all(
            self._is_always_before(store, load)
            for store in last.values()
            for load in first.values()
        )

    def _is_always_before(self, store: int, load: int) -> bool:
        """Whether a store, or the loop that makes it in every iteration, precedes a load."""
        flow = self._dataflow.flow
        return flow.dominates(store, load) or any(
            store in loop.members
            and load not in loop.members
            and flow.dominates(loop.header, load)
            and all(flow.dominates(store, latch) for latch in loop.latches)
            for loop in flow.loops
        )

    def _piece(self, value: str) -> _Piece | None:
        """The bytes of one parameter that a value is packed from, if it is nothing else."""
        found: set[tuple[str, int]] = set()
        seen: set[str] = set()
        work = [value]
        while work:
            register = work.pop()
            if register in seen or not register.startswith("%"):
                continue
            seen.add(register)
            indices = self._dataflow.definitions.get(register, [])
            instruction = self._instructions[indices[0]] if len(indices) == 1 else None
            if instruction is None:
                return None
            if instruction.modifiers[:2] == ("ld", "param"):
                found |= self._loaded(indices[0], register)
            elif instruction.isa.packs:
                work += [source for source, _ in stored_values(instruction)]
            else:
                return None
        names = {name for name, _ in found}
        places = sorted(place for _, place in found)
        if len(names) != 1 or places != list(range(places[0], places[0] + len(places))):
            return None
        return _Piece(names.pop(), range(places[0], places[-1] + 1))

    def _loaded(self, index: int, register: str) -> set[tuple[str, int]]:
        """Bytes of a parameter that a load puts into a register."""
        load = self._instructions[index]
        name, offset = self._dataflow.affine.place(index) or ("", 0)
        if name not in self._dataflow.parameters:
            return set()
        target = load.operands[0]
        lanes = len(target.items) if isinstance(target, Vector) else 1
        start = offset + position_in(load, register)
        return {(name, at) for at in range(start, start + access_width(load) // lanes)}

    def _copied_by_loop(self, access: PtxAccess, value: str) -> str | None:
        """The parameter that a loop copies: both addresses advance by the same constant."""
        affine, load = self._dataflow.affine, self._dataflow.definition(value, access.index)
        if load is None or self._instructions[load].modifiers[:2] != ("ld", "param"):
            return None
        loop = self._dataflow.flow.innermost(frozenset({access.index}))
        written, read = affine.address(access.index), affine.address(load)
        if loop is None or written is None or read is None:
            return None
        step = affine.change(written, loop)
        if not step or step != affine.change(read, loop):
            return None
        found = [term for term in read.terms if is_base(term) and term in self._dataflow.parameters]
        return found[0] if len(found) == 1 else None

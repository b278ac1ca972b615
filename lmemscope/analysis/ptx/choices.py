"""Pointers that are chosen at run time: between objects, an object and null, or its own places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from lmemscope.analysis.ptx.flow import is_generic_access
from lmemscope.formats.ptx_operands import displaced, registers_of
from lmemscope.formats.ptx_operands import read as registers_read

if TYPE_CHECKING:
    from lmemscope.analysis.ptx.objects import FunctionObjects


class Choices:
    """What accesses' pointers are chosen between, in one function.

    Args:
        objects: of the function.
    """

    def __init__(self, objects: FunctionObjects) -> None:
        self._objects = objects
        self._instructions = objects.body.instructions
        self._chosen: dict[tuple[str, bool], bool] = {}

    def is_any(self, index: int) -> bool:
        """Whether an access's address is chosen between addresses of whatever kind."""
        return self.is_chosen(index) or self.is_between_places(index)

    def is_chosen(self, index: int) -> bool:
        """Whether an access's address is an object's on some paths, and null or others' on others.

        As of ``flag ? &value : nullptr``, and of any generic address that may be another memory's.
        """
        instruction = self._instructions[index]
        base = instruction.address.base if instruction.address is not None else None
        if base is None:
            return False
        is_generic = is_generic_access(instruction.opcode)
        key = base, is_generic
        if key not in self._chosen:
            self._chosen[key] = self._reaches(base, self._mixed if is_generic else self._nulled)
        return self._chosen[key] and (
            is_generic or self._objects.dataflow.is_one_of_constants(base, index)
        )

    def is_between_places(self, index: int) -> bool:
        """Whether an access's pointer is chosen between addresses of constant places.

        As of ``flag ? one.a : one.b``, which C++ makes of addresses. An index that is chosen
        (``a[flag ? 0 : 3]``) is a number, to which the address of the object is added behind it.
        """
        base = self._base(index)
        # Few addresses are chosen, and that is seen at once; the other question walks far.
        if base is None or not self._reaches(base, self._between):
            return False
        return self._objects.dataflow.is_one_of_constants(base, index)

    def is_indexed(self, index: int) -> bool:
        """Whether an object's address that an access's pointer is chosen from has an index added.

        As of ``flag ? array + i : other``; in ``flag ? &value : other`` nothing is computed.
        """
        base = self._base(index)
        return base is not None and self._reaches(base, partial(self._added, index))

    def is_it_or_null(self, index: int) -> bool:
        """Whether an access's pointer can be null, and is wherever it is no object's address."""
        base = self._base(index)
        if base is None or self._reaches(base, self._foreign):
            return False
        return self._reaches(base, self._zero)

    def _reaches(self, pointer: str, step: Callable[[int], list[str] | None]) -> bool:
        """Whether a definition behind a register is what a question looks for.

        Args:
            pointer: the register; starts of objects are not looked behind.
            step: of a definition, the registers to go on with; None where it is found.
        """
        work, seen = [pointer], set()
        while work:
            register = work.pop()
            if register in seen or register in self._objects.bases:
                continue
            seen.add(register)
            for definition in self._objects.dataflow.definitions.get(register, ()):
                behind = step(definition)
                if behind is None:
                    return True
                work += behind
        return False

    def _mixed(self, definition: int) -> list[str] | None:
        """Pointers that a definition is made of; None where it may point to no object."""
        instruction = self._instructions[definition]
        if self._objects.is_local_pointer(definition):
            return []
        read = [str(o) for o in instruction.operands[1:] if str(o).startswith("%")]
        is_either = instruction.isa.is_either
        if is_either:
            read = read[:2]
        pointers = [one for one in read if self._objects.is_pointer(one)]
        if not pointers or (is_either and pointers != read):
            return None
        return pointers

    def _between(self, definition: int) -> list[str] | None:
        """Registers that a definition moves on; None where it chooses between addresses."""
        instruction = self._instructions[definition]
        read = [str(operand) for operand in instruction.operands[1:]]
        if instruction.isa.is_either:
            return None if all(self._objects.is_object_address(one) for one in read[:2]) else []
        moved = displaced(instruction)
        return [moved[0]] if moved is not None and moved[0].startswith("%") else []

    def _added(self, access: int, definition: int) -> list[str] | None:
        """Object pointers that a definition is made of; None where a computed number is added."""
        if self._objects.is_local_pointer(definition):
            return []
        instruction = self._instructions[definition]
        read = registers_read(instruction)
        pointers = [one for one in read if self._objects.is_pointer(one)]
        if instruction.isa.kind in ("sum", "product") and pointers:
            if len(read) > len(pointers) or instruction.isa.kind == "product":
                return None
            leaves = self._objects.access_at[access].leaves
            is_walked = any(leaf.kind == "loop-counter" for leaf in leaves)
            if is_walked and self._objects.dataflow.flow.depth(definition):
                return None  # A pointer that moves on with each iteration.
        return pointers

    def _foreign(self, definition: int) -> list[str] | None:
        """Pointers that a definition is made of; None where it may be one to other memory."""
        given = self._given(definition)
        if given is None or any(not one.startswith("%") and one != "0" for one in given):
            return self._mixed(definition)
        return [one for one in given if one.startswith("%")]

    def _nulled(self, definition: int) -> list[str] | None:
        """Registers that a definition moves or chooses between; None where one is 0."""
        given = self._given(definition) or []
        return None if "0" in given else [one for one in given if one.startswith("%")]

    def _given(self, definition: int) -> list[str] | None:
        """What a definition moves or chooses between; None of any other, conversions among them."""
        instruction = self._instructions[definition]
        if instruction.operation != "mov" and instruction.isa.kind != "choice":
            return None
        return [str(instruction.operands[position]) for position in instruction.isa.pointers]

    def _zero(self, definition: int) -> list[str] | None:
        """As `_nulled`, through conversions of address spaces."""
        instruction = self._instructions[definition]
        if instruction.operation != "cvta":
            return self._nulled(definition)
        return [r for operand in instruction.operands[1:] for r in registers_of(operand)]

    def _base(self, index: int) -> str | None:
        """The register or symbol of an instruction's address."""
        address = self._instructions[index].address
        return address.base if address is not None else None

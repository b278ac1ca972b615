"""Accesses of an object through pointers to it that are kept in memory of the stack.

A structure with ``buffer = elements;`` in its constructor keeps one to itself. What such a place
holds is the object's address wherever nothing else is stored there, so what is accessed through a
pointer loaded from there is the object.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.transfers import is_pointer_load
from lmemscope.formats.ptx_operands import defined, pointers, registers_of

_POINTER_BYTES = 8


def kept_indices(objects: FunctionObjects, found: StackObject) -> list[frozenset[Leaf]]:
    """What the indices of accesses through kept pointers are made of; constant ones left out.

    Args:
        objects: of the function.
        found: one of them.
    """
    places = _places(objects, found) if found.stored_at else set()
    instructions, definitions = objects.body.instructions, objects.dataflow.definitions
    loaded = {
        register
        for access in (objects.accesses if places else ())
        if access.offset in places and is_pointer_load(instructions[access.index])
        for register in defined(instructions[access.index])[:1]
        if len(definitions.get(register, ())) == 1
    }
    made = _made_of(objects, loaded)
    result = []
    for instruction in instructions if loaded else ():
        address = instruction.address
        if instruction.isa.may_be_local and address is not None and address.base in made:
            leaves = _added(objects, address.base, made)
            if leaves:
                result.append(leaves)
    return result


def _places(objects: FunctionObjects, found: StackObject) -> set[int]:
    """Bytes of the depot where the object's address is kept, and nothing else at any time."""
    stores = [a for a in objects.accesses if a.is_store and a.offset is not None]
    kept = {
        access.offset
        for access in stores
        if access.index in found.stored_at and _stores_address(objects, found, access)
    }
    return {
        place
        for place in kept
        if place is not None
        and all(
            access.offset == place and _stores_address(objects, found, access)
            for access in stores
            if access.offset is not None
            and access.offset < place + _POINTER_BYTES
            and place < access.offset + access.width
        )
    }


def _stores_address(objects: FunctionObjects, found: StackObject, access: PtxAccess) -> bool:
    """Whether a store writes one address of the object, and nothing else."""
    values = objects.body.instructions[access.index].operands[1:]
    registers = [register for value in values for register in registers_of(value)]
    return (
        access.width == _POINTER_BYTES
        and len(registers) == 1
        and objects.points_only_into(registers[0], found.offset)
    )


def _made_of(objects: FunctionObjects, loaded: set[str]) -> set[str]:
    """Some pointers, and registers that are made by adding to one of them."""
    made, is_more = set(loaded), bool(loaded)
    while is_more:
        is_more = False
        for instruction in objects.body.instructions:
            if not made.isdisjoint(pointers(instruction)):
                more = {*defined(instruction)} - made
                made |= more
                is_more = is_more or bool(more)
    return made


def _added(objects: FunctionObjects, base: str, made: set[str]) -> frozenset[Leaf]:
    """What is added on the way from a pointer to an address; empty where that is constant."""
    dataflow, instructions = objects.dataflow, objects.body.instructions
    added: set[Leaf] = set()
    work, seen = [base], {base}
    while work:
        for index in dataflow.definitions.get(work.pop(), ()):
            instruction = instructions[index]
            if not instruction.isa.pointers:
                continue
            for operand in map(str, instruction.operands[1:]):
                if operand in made and operand not in seen:
                    seen.add(operand)
                    work.append(operand)
                elif operand not in made and operand.startswith("%"):
                    added |= dataflow.leaves(operand, index)
    return frozenset(added)

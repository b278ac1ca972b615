"""Where PTX registers come from, as far as addresses of local memory are concerned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import lru_cache

from lmemscope.formats.ptx_body import Body, Instruction
from lmemscope.formats.ptx_isa import GENERIC, opcodes_in, operations, row_of, space_of
from lmemscope.formats.ptx_operands import defined, pointers

_MAY_BE_LOCAL = operations(lambda row: row.may_be_local)


@lru_cache(maxsize=1 << 12)
def is_local_access(opcode: str) -> bool:
    """``ld.local``/``st.local`` of any width, vector and qualifier."""
    return row_of(opcode).may_be_local and space_of(opcode) == "local"


@lru_cache(maxsize=1 << 12)
def is_generic_access(opcode: str) -> bool:
    """``ld``/``st`` without a state space: its address is a generic one."""
    return row_of(opcode).may_be_local and space_of(opcode) == GENERIC


def mentions_local_access(text: bytes) -> bool:
    """Whether a function's text holds an opcode of a local or a generic access, written anyhow."""
    opcodes = opcodes_in(text, _MAY_BE_LOCAL)
    return any(is_local_access(one) or is_generic_access(one) for one in opcodes)


def may_become(opcode: str, is_store: bool) -> bool:
    """Whether a PTX instruction can be where an ``LDL`` (or, a store, an ``STL``) comes from.

    Scheduling gives saves and restores of registers the lines of their neighbours, so the
    direction has to agree: an ``LDL`` on the line of a ``st`` restores a register.
    """
    return row_of(opcode).access == ("store" if is_store else "load") and (
        is_local_access(opcode) or is_generic_access(opcode)
    )


def local_addresses(body: Body, loads: Collection[int] = ()) -> frozenset[str]:
    """Registers that hold an address of local memory on every path.

    A register counts when each of its definitions is a copy of, or arithmetic on, such an address
    (greatest fixed point, so that a loop's ``add %rd1, %rd1, 4`` keeps what it began with).

    Args:
        body: of a function.
        loads: indices of loads that are known to load such an address.
    """
    symbols = {declaration.name for declaration in body.locals}
    definitions: dict[str, list[tuple[int, Instruction]]] = defaultdict(list)
    for index, instruction in enumerate(body.instructions):
        for register in defined(instruction):
            definitions[register].append((index, instruction))
    users: dict[str, list[str]] = defaultdict(list)
    for register, sources in definitions.items():
        for _, instruction in sources:
            for pointer in pointers(instruction):
                users[pointer].append(register)
    loaded = {register for index in loads for register in defined(body.instructions[index])}
    candidates = symbols | loaded
    work = list(candidates)
    while work:
        for user in users[work.pop()]:
            if user not in candidates and any(
                _derives(instruction, candidates) for _, instruction in definitions[user]
            ):
                candidates.add(user)
                work.append(user)
    work = list(candidates - symbols)
    while work:
        register = work.pop()
        if register in candidates and not all(
            index in loads or _derives(instruction, candidates)
            for index, instruction in definitions[register]
        ):
            candidates.discard(register)
            work += [user for user in users[register] if user in candidates]
    return frozenset(candidates)


def generic_local_accesses(body: Body) -> list[Instruction]:
    """Generic ``ld``/``st`` whose address provably derives from a local one."""
    local = local_addresses(body)
    return [
        instruction
        for instruction in body.instructions
        if is_generic_access(instruction.opcode)
        and instruction.address is not None
        and instruction.address.base in local
    ]


def _derives(instruction: Instruction, local: set[str]) -> bool:
    sources = pointers(instruction)
    if instruction.isa.is_either:
        return len(sources) > 1 and local.issuperset(sources)
    return not local.isdisjoint(sources)

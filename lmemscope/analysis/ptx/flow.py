"""Which opcodes of PTX access memory that may be local."""

from __future__ import annotations

from functools import lru_cache

from lmemscope.formats.ptx_isa import GENERIC, opcodes_in, operations, row_of, space_of

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

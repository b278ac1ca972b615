"""Find stack accesses by which a function saves its caller's convergence barrier registers.

``BSSY`` and ``BSYNC`` reconverge lanes through the registers B0 to B15. A function that needs those
of its caller moves them to registers and stores these on entry. ptxas marks the stores, and the
loads before the return, as spills, although the function has registers left.

The instructions, measured against nvdisasm on sm_75 to sm_120: opcode (bits 0-11) 0x355 is ``BMOV
R, B`` (R in bits 16-23, B in 24-31), 0x356 is ``BMOV B, R`` (B in bits 24-31, R in 32-39), 0x945 is
``BSSY B`` (B in bits 16-23).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmemscope.formats.instructions import INSTRUCTION_BYTES
from lmemscope.formats.sites import Site

_FROM_BARRIER, _TO_BARRIER, _BSSY = 0x355, 0x356, 0x945
_OPCODE = 0xFFF
_NEAR = 64
"""Maximum number of instructions between such a move and its store or load."""
_WIDTH = 4


def callers_barriers(code: memoryview, begin: int, sites: Iterable[Site]) -> frozenset[int]:
    """The marked sites that save or restore the caller's barrier registers.

    Args:
        code: of the section.
        begin: byte offset of the function's body in it.
        sites: the body's.

    Returns:
        Their byte offsets: stores on entry, before the function has used the barrier itself, and
            the loads that restore them.
    """
    marked = [one for one in sites if one.spill_refill and one.width == _WIDTH]
    if not marked:
        return frozenset()
    first = begin // INSTRUCTION_BYTES
    last = max(one.pc for one in marked) // INSTRUCTION_BYTES + _NEAR
    words = code[first * INSTRUCTION_BYTES : (last + 1) * INSTRUCTION_BYTES]
    low = words[: len(words) // INSTRUCTION_BYTES * INSTRUCTION_BYTES].cast("Q").tolist()[::2]
    used = _first_uses(low)
    kept: dict[int, int] = {}
    found: set[int] = set()
    for one in marked:
        at = one.pc // INSTRUCTION_BYTES - first
        if one.is_store:
            moved = _moved_from(low, at, one.register)
            if moved is None:
                continue
            barrier = low[moved] >> 24 & 0xFF
            if used.get(barrier, len(low)) > moved:
                kept[one.displacement] = barrier
                found.add(one.pc)
    for one in marked:
        at = one.pc // INSTRUCTION_BYTES - first
        saved = None if one.is_store else kept.get(one.displacement)
        if saved is not None and _moved_to(low, at, one.register) == saved:
            found.add(one.pc)
    return frozenset(found)


def _first_uses(low: Sequence[int]) -> dict[int, int]:
    """Where a body first sets each barrier register."""
    found: dict[int, int] = {}
    for at, word in enumerate(low):
        opcode = word & _OPCODE
        if opcode == _BSSY:
            found.setdefault(word >> 16 & 0xFF, at)
        elif opcode == _TO_BARRIER:
            found.setdefault(word >> 24 & 0xFF, at)
    return found


def _moved_from(low: Sequence[int], at: int, register: int) -> int | None:
    """Where a stored register received a barrier register's value, just before the store."""
    for before in range(at - 1, max(at - _NEAR, 0) - 1, -1):
        word = low[before]
        if word & _OPCODE == _FROM_BARRIER and word >> 16 & 0xFF == register:
            return before
        if word & _OPCODE == low[at] & _OPCODE and word >> 32 & 0xFF == register:
            return None  # it belongs to an earlier store; this store has another value
    return None


def _moved_to(low: Sequence[int], at: int, register: int) -> int | None:
    """The barrier register to which a loaded register is moved, just after the load."""
    for behind in range(at + 1, min(at + _NEAR, len(low))):
        word = low[behind]
        if word & _OPCODE == _TO_BARRIER and word >> 32 & 0xFF == register:
            return word >> 24 & 0xFF
        if word & _OPCODE == low[at] & _OPCODE and word >> 16 & 0xFF == register:
            return None
    return None

"""Start programs without address space layout randomization."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_ADDR_NO_RANDOMIZE, _QUERY = 0x0040000, 0xFFFFFFFF
"""See personality(2)."""


@contextmanager
def fixed_addresses() -> Iterator[bool]:
    """Disable address randomization for programs that this thread starts.

    Yields whether it is disabled: the system may refuse, as some containers do.
    """
    try:
        set_personality = ctypes.CDLL(None).personality
    except (AttributeError, OSError):
        yield False
        return
    set_personality.argtypes = [ctypes.c_ulong]
    before = set_personality(_QUERY)
    changed = before >= 0 and set_personality(before | _ADDR_NO_RANDOMIZE) >= 0
    try:
        yield changed
    finally:
        if changed:
            set_personality(before)

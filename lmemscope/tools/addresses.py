"""Programs whose memory lies at the same addresses in every run."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_NO_RANDOMIZATION, _ASK = 0x0040000, 0xFFFFFFFF
"""``ADDR_NO_RANDOMIZE`` of personality(2), and what only asks."""


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Let programs that this thread starts have their memory where they always have it.

    Where the system refuses, as containers may, they are started as ever.
    """
    try:
        set_personality = ctypes.CDLL(None).personality
    except (AttributeError, OSError):
        yield
        return
    set_personality.argtypes = [ctypes.c_ulong]
    before = set_personality(_ASK)
    changed = before >= 0 and set_personality(before | _NO_RANDOMIZATION) >= 0
    try:
        yield
    finally:
        if changed:
            set_personality(before)

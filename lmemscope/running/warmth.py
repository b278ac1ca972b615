"""Where the cache is, and whether the last command like this one was served from it.

Loading NVRTC takes longer than everything a cached run does, and is worth starting before the
program knows what it was asked (see `lmemscope.running.preload`). So each run leaves a mark that
says whether it needed a compiler at all. A wrong mark costs time, never correctness. This module is
imported before everything else and imports next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib


def default_directory() -> str:
    """``LMEMSCOPE_CACHE_DIR``, else ``lmemscope`` in the user's cache directory (XDG)."""
    chosen = os.environ.get("LMEMSCOPE_CACHE_DIR")
    if chosen:
        return os.path.abspath(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lmemscope")


def expected_units() -> int:
    """How many units the cache is expected to answer, if this very command ran here before.

    0 means that a compiler will be needed.
    """
    if "--no-cache" in sys.argv:
        return 0
    try:
        with open(_mark(), encoding="utf-8") as stream:
            return int(stream.read())
    except (OSError, ValueError):
        return 0


def note(units: int) -> None:
    """Leave the mark for the next run, or with 0 take it away."""
    mark = _mark()
    with contextlib.suppress(OSError):
        if not units:
            os.unlink(mark)
        elif units != expected_units():
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            with open(mark, "w", encoding="utf-8") as stream:
                stream.write(str(units))


def _mark() -> str:
    command = "\0".join([os.getcwd(), *sys.argv[1:]]).encode("utf-8", "surrogateescape")
    return os.path.join(default_directory(), "warm", f"{zlib.crc32(command):08x}")

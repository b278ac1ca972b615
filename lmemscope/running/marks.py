"""Whether the last command like this one was answered by the cache alone.

Loading NVRTC takes longer than all that a cached run does, and an uncached one waits for it; it is
worth starting before the program knows what it was asked. So each run leaves a mark for its own
command line. A wrong mark costs time, never correctness. This module imports next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import zlib

from lmemscope.config.cache_directory import default_directory
from lmemscope.running.launch import COMPILED_UNITS, NVCC_UNITS, UNITS

_LOOKED_AT = 1 << 16
_HOSTS = re.compile(
    rb"^[ \t]*#[ \t]*include[ \t]*<(?:iostream|vector|string|chrono|c?(?:stdio|stdlib)(?:\.h)?)>",
    re.MULTILINE,
)
"""The headers that most files with host code include."""


def expects_compiler() -> bool:
    """Whether this very command needed a compiler when it last ran here, or never ran."""
    mark = _mark()
    return "--no-cache" in sys.argv or mark is None or not os.path.exists(mark)


def preload(toolkit_named: bool) -> str:
    """What this command's workers call before their first unit.

    A toolkit that the user names brings another NVRTC than the one that could be loaded by now.
    """
    if toolkit_named or not expects_compiler():
        return UNITS
    return NVCC_UNITS if _goes_to_nvcc() else COMPILED_UNITS


def _goes_to_nvcc() -> bool:
    """Whether the sources that the command names look as if NVRTC would refuse them all."""
    named = [argument for argument in sys.argv[2:] if argument.endswith(".cu")]
    try:
        return bool(named) and all(map(_includes_hosts, named))
    except OSError:
        return False


def _includes_hosts(path: str) -> bool:
    # Where it is a pipe the program says so later; opening one may never end.
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return _HOSTS.search(stream.read(_LOOKED_AT)) is not None


def note(cached: bool) -> None:
    """Leave the mark for the next run, or take it away."""
    mark = _mark()
    if mark is None:
        return
    with contextlib.suppress(OSError):
        if not cached:
            os.unlink(mark)
        elif not os.path.exists(mark):
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            with open(mark, "wb"):
                pass


def _mark() -> str | None:
    directory = default_directory()
    if directory is None:
        return None
    command = "\0".join([os.getcwd(), *sys.argv[1:]]).encode("utf-8", "surrogateescape")
    return os.path.join(directory, "warm", f"{zlib.crc32(command):08x}")

"""Detect toolkit macros in a unit whose definition may differ between nvcc and NVRTC."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.errors import CompileError, ToolMissingError
from lmemscope.lowering import store
from lmemscope.model import Unit
from lmemscope.sources.compiler_macros import ALWAYS, MEASURED, SAME
from lmemscope.sources.includes import closure
from lmemscope.sources.toolkit_macros import (
    is_alike,
    macros_of,
    named_headers,
    words_at_risk,
    words_of,
)
from lmemscope.tools import nvrtc
from lmemscope.tools.toolchain import Toolchain

_STAGE = "macros"


def of_other_version(unit: Unit, toolchain: Toolchain) -> str | None:
    """A macro that a unit uses and that NVRTC of another version does not define."""
    try:
        if nvrtc.version(toolchain) == MEASURED:
            return None
        words = {word for path in closure(unit.path, unit.options).files for word in words_of(path)}
        names = sorted(name.decode() for name in (SAME - ALWAYS) & words)
        if not names:
            return None
        flags = nvrtc.options_for(unit.arch, unit.options, toolchain)
        known = nvrtc.defined(names, flags, toolchain)
    except (OSError, CompileError, ToolMissingError):
        return None  # Compiling will fail on it too, with a message.
    return next((name for name in names if name not in known), None)


def named(unit: Unit, directories: Sequence[str], cache_directory: str | None) -> str | None:
    """The macro's name, or None if there is none.

    Args:
        unit: what is compiled.
        directories: of the toolkit's headers.
        cache_directory: where the names defined by a header are stored, or None.
    """
    try:
        read = closure(unit.path, unit.options)
    except OSError:
        return None
    headers = tuple(named_headers(read.missing, directories))
    words = words_at_risk(read.files) if headers else frozenset()
    if not words:
        return None
    stamps = [(path, store.stamp(path)) for path in directories]
    for header in headers:
        slot = store.slot_by(cache_directory, header, stamps, store.installed_wheels())
        known = slot.load(_STAGE, tuple[bytes, ...]) if slot is not None else None
        names = known[0] if known is not None else sorted(macros_of(header, directories))
        if slot is not None and known is None:
            slot.store(_STAGE, names, [], ())
        for name in sorted(words.intersection(names)):
            if not is_alike(name, header, directories):
                return name.decode("utf-8", "replace")
    return None

"""``compile_commands.json``: which CUDA files a project compiles, and how.

Format: "JSON Compilation Database Format Specification" of the Clang documentation. ``command`` is
split into words as a POSIX shell would, and nothing is ever given to a shell.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmemscope.discover.build_flags import BuildFlags, read_flags
from lmemscope.errors import InputError
from lmemscope.lowering.kinds import kind_of

_CUDA_LANGUAGES = ("cu", "cuda")


@dataclass(frozen=True, slots=True)
class Entry:
    """One CUDA compilation of a project.

    Attributes:
        path: the source, absolute.
        output: what it is compiled to, as the database says, or an empty string.
        flags: how.
    """

    path: str
    output: str
    flags: BuildFlags


@dataclass(frozen=True, slots=True)
class BuildDatabase:
    """A database's CUDA entries.

    Attributes:
        path: of the database.
        entries: in its order; of those that compile a file in the same way, the first.
        broken: entries that cannot be used, each with the reason.
        unknown: options that are in no table, over all entries.
    """

    path: str
    entries: tuple[Entry, ...]
    broken: tuple[str, ...]
    unknown: tuple[str, ...]


def read_database(path: str) -> BuildDatabase:
    """Read the CUDA entries of a database.

    Raises:
        InputError: it cannot be read, or is no compilation database.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("plan", f"{path} cannot be read: {error}", hint=_HINT) from error
    if not isinstance(document, list):
        raise InputError("plan", f"{path} is no list of commands", hint=_HINT)
    entries: list[Entry] = []
    seen: set[tuple[str, Any, tuple[str, ...]]] = set()
    broken: list[str] = []
    unknown: dict[str, None] = {}
    for number, record in enumerate(document, start=1):
        try:
            entry = _entry(record, os.path.dirname(os.path.abspath(path)))
        except (InputError, KeyError, TypeError, ValueError) as error:
            said = error.message if isinstance(error, InputError) else repr(error)
            broken.append(f"entry {number}: {said}")
            continue
        if entry is None:
            continue
        unknown.update(dict.fromkeys(entry.flags.unknown))
        key = (entry.path, entry.flags.options, entry.flags.archs)
        if key not in seen:
            seen.add(key)
            entries.append(entry)
    return BuildDatabase(path, tuple(entries), tuple(broken), tuple(unknown))


_HINT = "write one with: cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"


def _entry(record: dict[str, Any], base: str) -> Entry | None:
    """The entry, or None where it compiles no CUDA."""
    directory = os.path.normpath(os.path.join(base, record["directory"]))
    path = os.path.normpath(os.path.join(directory, record["file"]))
    words = record.get("arguments")
    if words is None:
        words = shlex.split(record["command"])
    kind = kind_of(path)
    is_cuda = kind is not None and kind.is_cuda
    if not is_cuda and not any(language in words for language in _CUDA_LANGUAGES):
        return None
    flags = read_flags(_without_launchers([str(word) for word in words]), directory)
    if not is_cuda and flags.language not in _CUDA_LANGUAGES:
        return None
    return Entry(path, str(record.get("output", "")), flags)


def _without_launchers(words: list[str]) -> list[str]:
    """The arguments after the compiler, which ``ccache`` and its like may precede."""
    position = 1
    while position < len(words) and os.path.basename(words[position - 1]) in _LAUNCHERS:
        position += 1
    return words[position:]


_LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "env"})

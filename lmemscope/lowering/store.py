"""A content-addressed store of compiler outputs and of reports derived from them.

An entry's name is a hash of everything that its contents depend on: every byte of the source and of
the user's headers, the options, the architecture, the installed toolkit and this program's version.
Entries are never invalidated: a changed input has another name. An entry also records the size and
time of the tools that made it, which detects a toolkit that was changed in place.

The store is safe between processes: an entry is written to a temporary file and moved into place
atomically, and its first line is a checksum of the rest. A damaged entry is a miss, and an unusable
directory means no cache; neither is an error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from lmemscope import __version__, files, whole
from lmemscope.errors import FormatError
from lmemscope.formats import codec
from lmemscope.formats.hlo import hlo_beside
from lmemscope.model import Frontend, Gap, Moved, Tool, Unit
from lmemscope.sources import includes

R = TypeVar("R")

FORMAT = 6
"""Increase when the layout of an entry, or the way units are compiled, changes."""

LIMIT = 2 << 30
"""Maximum bytes in the store after a run; the least recently used entries are removed first."""

_ENVIRONMENT = (
    "CUDA_HOME",
    "CUDA_PATH",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "NVCC_APPEND_FLAGS",
    "NVCC_PREPEND_FLAGS",
    "NVCC_CCBIN",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
)
_WHEEL = re.compile(r"(?:nvidia|cupy)[\w.]*-[\w.+!]+\.dist-info")
_NOT_READ = re.compile(r"nvidia_(?:nvjitlink|ml_py)\b", re.IGNORECASE)
"""Wheels that contain neither a compiler nor headers for device code."""
_ENTRY = ".entry"


class Outputs(Struct, frozen=True):
    """Compiler output for a unit, stored beside its PTX and cubin.

    Attributes:
        frontend, options, gaps, instantiated: as in `Artifacts`.
        log: the compiler's log that contains the ptxas report, or None.
    """

    frontend: Frontend
    options: tuple[str, ...]
    instantiated: tuple[str, ...]
    log: str | None
    gaps: tuple[Gap, ...]


class Slot(Struct, frozen=True):
    """The place of one unit's outputs in the store: a directory and a key."""

    directory: str
    key: str

    def load(
        self, stage: str, record: type[R], blobs: int = 0
    ) -> tuple[R, tuple[bytes, ...], tuple[Tool, ...]] | None:
        """Load the entry of a stage; None if it is absent, damaged, or made by other tools.

        Args:
            stage: name of the entry.
            record: its type; an entry of another type is a miss.
            blobs: the number of blobs it must have.

        Returns:
            The record, the blobs, and the tools that made them.
        """
        path = self.path(stage)
        try:
            content = files.read_input(path)
            head, line, found = _decode(content)
            if len(found) != blobs or head.stamps != tuple(_stamp_of(tool) for tool in head.tools):
                return None
            entry = codec.decode(line, record), found, head.tools
            os.utime(path)
        except (OSError, FormatError, zlib.error):
            return None
        return entry

    def store(
        self, stage: str, record: object, blobs: Sequence[bytes], tools: Iterable[Tool]
    ) -> None:
        """Store a stage's outputs; if the directory cannot be written, do nothing."""
        path = self.path(stage)
        with contextlib.suppress(OSError):
            content = _encode(record, blobs, tools)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            whole.write(path, content, own=True)

    def path(self, stage: str) -> str:
        """The file of a stage's entry, whether or not it is there."""
        return os.path.join(self.directory, "entries", self.key[:2], f"{self.key}.{stage}{_ENTRY}")


def slot_for(directory: str | None, unit: Unit, moved: Moved | None = None) -> Slot | None:
    """The slot for a unit's outputs, or None if it cannot be determined.

    None without a directory, for an unreadable source, and for one that includes a header whose
    name comes from a macro.

    Args:
        directory: of the store.
        unit: to look up.
        moved: for a unit of another revision, the mapping to working-tree paths.
    """
    if directory is None:
        return None
    try:
        read = includes.closure(unit.path, unit.options)
        found = None if read.computed else _follows(unit, read)
        hlo = hlo_beside(unit.path)
        if found is not None and hlo is not None:
            found["hlo"] = includes.digest(hlo)
    except OSError:
        return None
    return None if found is None else _slot(directory, found, moved)


def slot_of_text(
    directory: str | None,
    unit: Unit,
    text: str,
    own: Sequence[str],
    flags: Sequence[str],
    names: Sequence[str],
) -> Slot | None:
    """The slot for a program embedded in another file's text, or None as for `slot_for`.

    Args:
        directory: of the store.
        unit: whose file contains the program; quoted includes are resolved beside that file.
        text: of the program.
        own: the program's own options.
        flags: all flags passed to the compiler.
        names: of instances.
    """
    if directory is None:
        return None
    options = replace(unit.options, nvrtc_args=(*own, *unit.options.nvrtc_args))
    try:
        with tempfile.NamedTemporaryFile(prefix="lmemscope-") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            read = includes.closure(file.name, options, beside=os.path.dirname(unit.path))
        if read.computed:
            return None
        found = _follows(unit, dataclasses.replace(read, files=read.files[1:]))
    except OSError:
        return None
    return _slot(directory, {**found, "text": [text, list(flags), list(names), os.getcwd()]}, None)


def _follows(unit: Unit, read: includes.Closure) -> dict[str, object]:
    """Everything that a unit's outputs depend on.

    Raises:
        OSError: a file that it reads cannot be read.
    """
    follows: dict[str, object] = {
        "format": FORMAT,
        "version": __version__,
        "path": unit.path,
        "arch": unit.arch,
        "frontend": unit.frontend,
        # Time and size limits do not change the output.
        "options": asdict(replace(unit.options, time_limit=None, max_file_size=None)),
        "files": [(path, includes.digest(path)) for path in read.files],
        "system": [(path, stamp(path)) for path in read.system],
        "missing": sorted(read.missing),
        "toolkit": unit.toolkit,
        "launched": unit.launched,
        "one of several": unit.one_of_archs,
        "named as built": unit.is_named_as_built,
        "program": unit.program,
        "environment": {name: os.environ.get(name) for name in _ENVIRONMENT},
        "wheels": installed_wheels(),
        "host": _host_compiler(),
    }
    if unit.options.nvcc_args or unit.options.nvrtc_args or unit.options.ptxas_args:
        follows["directory"] = os.getcwd()
    return follows


def _slot(directory: str, follows: dict[str, object], moved: Moved | None) -> Slot:
    text = json.dumps(follows, sort_keys=True, ensure_ascii=True)
    if moved is not None:
        tree, live = (json.dumps(path)[1:-1] for path in (moved.tree, moved.live))
        text = text.replace(tree, live)
    return Slot(directory, hashlib.sha256(text.encode()).hexdigest())


def slot_by(directory: str | None, *follows: object) -> Slot | None:
    """The slot for outputs that depend only on the given values, or None without a directory."""
    if directory is None:
        return None
    return Slot(directory, hashlib.sha256(codec.encode((FORMAT, __version__, follows))).hexdigest())


def slot_at(directory: str | None, key: str | None) -> Slot | None:
    """The slot for a key from an earlier `slot_for`, or None without a key."""
    return None if directory is None or key is None else Slot(directory, key)


class Contents(Struct, frozen=True):
    """The size of a store: number of entries, and their bytes on disk."""

    entries: int
    bytes: int


def contents(directory: str) -> Contents:
    """Count a store's entries; zero if there is no store."""
    sizes = [size for _, size, _ in _entries(directory)]
    return Contents(len(sizes), sum(sizes))


def clear(directory: str) -> Contents:
    """Remove every entry, and nothing else in the directory.

    Returns:
        What was removed.

    Raises:
        OSError: an entry cannot be removed.
    """
    removed = contents(directory)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(os.path.join(directory, "entries"))
    return removed


def trim(directory: str, limit: int = LIMIT) -> None:
    """Remove the least recently used entries until the rest fits the limit."""
    found = sorted(_entries(directory))
    total = sum(size for _, size, _ in found)
    for _, size, path in found:
        if total <= limit:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


class _Head(Struct, frozen=True):
    """The first line of an entry's body, followed by the record and then the blobs.

    Attributes:
        tools: that made the contents.
        stamps: size and time in ns of each tool's file; None for a tool without a file.
        lengths: of the blobs, in bytes.
    """

    tools: tuple[Tool, ...]
    stamps: tuple[tuple[int, int] | None, ...]
    lengths: tuple[int, ...]


def _encode(record: object, blobs: Sequence[bytes], tools: Iterable[Tool]) -> bytes:
    made_by = tuple(tools)
    stamps = tuple(_stamp_of(tool) for tool in made_by)
    head = _Head(made_by, stamps, tuple(len(blob) for blob in blobs))
    lines = b"".join(codec.encode(part) + b"\n" for part in (head, record))
    body = zlib.compress(lines + b"".join(blobs), 1)
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _decode(content: bytes) -> tuple[_Head, bytes, tuple[bytes, ...]]:
    """The head, the record's JSON, and the blobs."""
    checksum, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise FormatError("cache", "damaged entry")
    first, _, rest = zlib.decompress(body).partition(b"\n")
    head = codec.decode(first, _Head)
    line, _, rest = rest.partition(b"\n")
    blobs, start = [], 0
    for length in head.lengths:
        blobs.append(rest[start : start + length])
        start += length
    if start != len(rest) or any(length < 0 for length in head.lengths):
        raise FormatError("cache", "the blobs do not fill the entry")
    return head, line, tuple(blobs)


def _stamp_of(tool: Tool) -> tuple[int, int] | None:
    return None if tool.path is None else stamp(tool.path)


def stamp(path: str) -> tuple[int, int]:
    """Size in bytes and modification time in ns.

    Raises:
        OSError: there is no such file.
    """
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


@functools.cache
def installed_wheels() -> list[str]:
    """Installed wheels that may affect results, with versions, from their metadata directories.

    They contain compilers or headers; CuPy's has both the headers of its programs and their
    options. Output of Numba and Triton is not stored.
    """
    found: set[str] = set()
    for directory in sys.path:
        with contextlib.suppress(OSError):
            found.update(name for name in os.listdir(directory or ".") if _WHEEL.fullmatch(name))
    found = {name for name in found if _NOT_READ.match(name) is None}
    return sorted(found)


def _host_compiler() -> tuple[str, int, int] | None:
    path = shutil.which("g++")
    return (os.path.realpath(path), *stamp(path)) if path is not None else None


def _entries(directory: str) -> Iterator[tuple[int, int, str]]:
    """(time of last use in ns, bytes, path) of every entry and of leftovers of interrupted runs."""
    for root, _, names in os.walk(os.path.join(directory, "entries")):
        for name in names:
            path = os.path.join(root, name)
            with contextlib.suppress(OSError):
                stat = os.stat(path)
                yield stat.st_mtime_ns, stat.st_size, path

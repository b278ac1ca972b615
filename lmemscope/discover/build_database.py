"""``compile_commands.json``: which CUDA files a project compiles, and how.

Format: "JSON Compilation Database Format Specification" of the Clang documentation, as CMake's
Makefile and Ninja generators and Bear write it. ``command`` is split into words as a POSIX shell
would, and nothing is ever given to a shell.
"""

from __future__ import annotations

import functools
import json
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmemscope.discover.build_flags import BuildFlags, read_flags
from lmemscope.errors import InputError
from lmemscope.files import read_input
from lmemscope.formats.shell_words import shell_words
from lmemscope.lowering.kinds import kind_of

_CUDA_LANGUAGES = ("cu", "cuda")
_CUDA_WORD = re.compile(r"(?:-x|--language)[ =]?\s*[\"']?cu(?:da)?\b")
_TARGET = re.compile(r"(?:^|/)CMakeFiles/([^/]+)\.dir/")
_LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Compiler:
    """The compiler of an entry; it is never run.

    Attributes:
        path: absolute where the command names a directory, else the name alone.
        database: that names it.
    """

    path: str
    database: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One CUDA compilation of a project.

    Attributes:
        path: the source, absolute.
        output: what tells this compilation from others of the source: CMake's target, else what
            it is compiled to, as the database says; maybe an empty string.
        flags: how.
        compiler: by which.
    """

    path: str
    output: str
    flags: BuildFlags
    compiler: Compiler


@dataclass(frozen=True, slots=True)
class BuildDatabase:
    """A database's CUDA entries.

    Attributes:
        path: of the database.
        entries: in its order; of those that compile a file in the same way, the first.
        notes: what of it is not used, in sentences that do not repeat its name.
    """

    path: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    @property
    def compilers(self) -> tuple[Compiler, ...]:
        """Those of the entries, each once."""
        return tuple(dict.fromkeys(entry.compiler for entry in self.entries))


@dataclass(frozen=True, slots=True)
class _Records:
    """Entries as they are written: those that may compile CUDA, by absolute path of the source."""

    by_path: Mapping[str, Sequence[tuple[int, Mapping[str, Any]]]]
    broken: tuple[tuple[int, str], ...]


def read_database(
    path: str, wanted: Callable[[str], bool] = lambda _: True, *, trust: bool = False
) -> BuildDatabase:
    """Read the CUDA entries of a database.

    Args:
        path: of the database.
        wanted: told the absolute path of each source; the others' commands are not looked at.
        trust: take options that could run a program, load a library or write a file as well.

    Raises:
        InputError: it cannot be read, or is no compilation database.
    """
    records = _records_of(path)
    entries: list[tuple[int, Entry]] = []
    seen: set[tuple[Any, ...]] = set()
    broken = list(records.broken)
    for source, numbered in records.by_path.items():
        if not wanted(source):
            continue
        for number, record in numbered:
            try:
                entry = _entry(source, record, path, trust)
            except (InputError, KeyError, TypeError, ValueError) as error:
                broken.append(
                    (number, error.message if isinstance(error, InputError) else repr(error))
                )
                continue
            if entry is None:
                continue
            key = (entry.path, entry.flags.options, entry.flags.archs)
            if key not in seen:
                seen.add(key)
                entries.append((number, entry))
    entries.sort(key=lambda item: item[0])
    found = tuple(entry for _, entry in entries)
    notes = [f"entry {number}: {why}" for number, why in sorted(broken)]
    return BuildDatabase(path, found, (*notes, *_left_out(found, trust)))


def sources(path: str) -> frozenset[str]:
    """Absolute paths of the sources that a database may compile as CUDA.

    Raises:
        InputError: as `read_database`.
    """
    return frozenset(_records_of(path).by_path)


def _left_out(entries: Sequence[Entry], trust: bool) -> list[str]:
    """Sentences on the options that were not taken, each option once."""
    flags = [entry.flags for entry in entries]
    unknown = dict.fromkeys(word for found in flags for word in found.unknown)
    refused = dict.fromkeys(word for found in flags for word in found.refused)
    linked = dict.fromkeys(word for found in flags for word in found.linked)
    notes = []
    if refused:
        listed = ", ".join(refused)
        said = "they could run a program, load a library or write a file"
        notes.append(f"options of the build left out, because {said}: {listed}")
        if any(word.startswith(("-ccbin", "-compiler-bindir")) for word in refused):
            notes[-1] += "; the host compiler on PATH is used"
        if not trust:
            notes[-1] += "; --trust-build takes them"
    if linked:
        listed = ", ".join(linked)
        notes.append(f"device code is not optimised while linking, as the build asks by {listed}")
    if unknown:
        notes.append(f"options not understood and left out: {', '.join(unknown)}")
    return notes


_HINT = "write one with: cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"


def _records_of(path: str) -> _Records:
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise InputError("plan", f"{path} is no regular file", hint=_HINT)
        if found.st_size > _LARGEST:
            raise InputError("plan", f"{path} is larger than {_LARGEST >> 30} GiB", hint=_HINT)
        return _parsed(os.path.abspath(path), found.st_size, found.st_mtime_ns)
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("plan", f"{path} cannot be read: {error}", hint=_HINT) from error


@functools.lru_cache(maxsize=4)
def _parsed(path: str, _size: int, _mtime_ns: int) -> _Records:
    """A database's entries; large ones are parsed once per command."""
    document = json.loads(read_input(path).decode("utf-8", "surrogateescape"))
    if not isinstance(document, list):
        raise InputError("plan", f"{path} is no list of commands", hint=_HINT)
    by_path: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    broken: list[tuple[int, str]] = []
    for number, record in enumerate(document, start=1):
        try:
            source = os.path.normpath(os.path.join(_directory(record, path), record["file"]))
            maybe = _may_be_cuda(source, record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            broken.append((number, repr(error)))
            continue
        if maybe:
            by_path.setdefault(source, []).append((number, record))
    return _Records(by_path, tuple(broken))


def _directory(record: Mapping[str, Any], database: str) -> str:
    base = os.path.dirname(os.path.abspath(database))
    return os.path.normpath(os.path.join(base, record["directory"]))


def _may_be_cuda(source: str, record: Mapping[str, Any]) -> bool:
    """Whether an entry is worth taking apart: splitting thousands of commands takes seconds."""
    kind = kind_of(source)
    if kind is not None and kind.is_cuda:
        return True
    words = record.get("arguments")
    if words is not None:
        return any(language in words for language in (*_CUDA_LANGUAGES, "-xcu", "-xcuda"))
    return _CUDA_WORD.search(record["command"]) is not None


def _entry(source: str, record: Mapping[str, Any], database: str, trust: bool) -> Entry | None:
    """The entry, or None where it compiles no CUDA."""
    directory = _directory(record, database)
    words = record.get("arguments")
    if words is None:
        command = record["command"]
        if not isinstance(command, str):
            raise TypeError(f"command is {type(command).__name__}, not a string")
        words = _split(command)
    elif not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TypeError("arguments are no list of strings")
    program, arguments = _taken_apart(words)
    flags = read_flags(arguments, directory, trust=trust)
    kind = kind_of(source)
    is_cuda = kind is not None and kind.is_cuda and flags.language is None
    if not is_cuda and flags.language not in _CUDA_LANGUAGES:
        return None
    output = str(record.get("output", "")) or flags.output
    target = _TARGET.search(output)
    if os.sep in program:
        program = os.path.normpath(os.path.join(directory, program))
    compiler = Compiler(program, os.path.abspath(database))
    return Entry(source, target.group(1) if target else output, flags, compiler)


def _split(command: str) -> list[str]:
    """The words of a command as a POSIX shell splits them; most commands quote nothing."""
    quotes = any(mark in command for mark in "'\"\\")
    return shell_words(command) if quotes else command.split()


def compiler_arguments(words: Sequence[str]) -> list[str]:
    """The arguments of the compiler in a command, which ``ccache``, ``env`` and others may precede.

    What ``env`` sets in nvcc's own variables counts as arguments, as it does for nvcc.
    """
    return _taken_apart(words)[1]


def _taken_apart(words: Sequence[str]) -> tuple[str, list[str]]:
    """The compiler, or an empty string, and its arguments."""
    position, before, after = 0, [], []
    while position < len(words) and _program(words[position]) in _LAUNCHERS:
        valued = _LAUNCHERS[_program(words[position])]
        position += 1
        while position < len(words) and (
            words[position].startswith("-") or _ASSIGNMENT.match(words[position])
        ):
            name, _, value = words[position].partition("=")
            if name == "NVCC_PREPEND_FLAGS":
                before += shell_words(value)
            elif name == "NVCC_APPEND_FLAGS":
                after += shell_words(value)
            position += 2 if words[position] in valued else 1
    program = words[position] if position < len(words) else ""
    return program, [*before, *words[position + 1 :], *after]


def _program(word: str) -> str:
    return os.path.basename(word).removesuffix(".exe")


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_LAUNCHERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ccache", "sccache", "distcc", "icecc", "buildcache", "fccache", "time"), ()),
    "env": ("-u", "--unset", "-C", "--chdir"),
    "nice": ("-n", "--adjustment"),
    "cmake": (),
}
"""Programs that start a compiler, with their options that take a value."""

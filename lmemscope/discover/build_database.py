"""Read ``compile_commands.json``: which CUDA files a project compiles, and how.

Format: "JSON Compilation Database Format Specification" of the Clang documentation, as written by
CMake's Makefile and Ninja generators and by Bear. ``command`` is split into words as a POSIX shell
would, but is never passed to a shell.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmemscope.discover.bazel import commands_of_aquery
from lmemscope.discover.build_command import split_command, taken_apart
from lmemscope.discover.build_doubts import (
    asks_host_compiler,
    doubts,
    may_define,
    others_than_ours,
    program_name,
    without_host_words,
)
from lmemscope.discover.build_flags import CUDA_LANGUAGES, BuildFlags, read_flags
from lmemscope.discover.cpp_files import may_be_included
from lmemscope.discover.locate import NINJA, is_aquery
from lmemscope.discover.ninja_file import read_ninja
from lmemscope.errors import InputError
from lmemscope.files import cached_while_unchanged, read_input
from lmemscope.formats.repeated_keys import Repeating, telling_repeated
from lmemscope.model import kind_of

_HOST_LANGUAGES = ("c", "c++", "c-header", "c++-header", "cpp-output", "c++-cpp-output")
"""Languages in which a file cannot define a kernel."""
_CUDA_WORD = re.compile(r"(?:-x|-language)[ =]?\s*cu(?:da)?\b|(?:^|\s)-{1,2}cuda(?:[\s=]|$)")
_RESPONSE = re.compile(r"(?:^|\s)(?:@|-{1,2}(?:options-file|optf)[ =]\s*)(\S+)")
_QUOTES = str.maketrans("", "", "\"'\\")
_TARGET = re.compile(r"(?:^|/)CMakeFiles/([^/]+)\.dir/")
_LARGEST = 1 << 30
_MOST_NAMED = 10
"""Maximum number of files, and of directories, considered in an entry that names several."""


RELATIVE = "lmemscope-relative"
"""Key in rewritten entries: whether the build passed relative paths to the compiler."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """The compiler named in an entry, which is never run.

    Attributes:
        path: absolute if the command names a directory, else the name alone.
        database: the database that names it.
    """

    path: str
    database: str


@dataclass(frozen=True, slots=True)
class ObjectCommand:
    """The command that makes an object.

    Attributes:
        object: absolute path; an empty string if the command names none.
        directory: absolute path of the command's working directory.
        words: of the command.
        launchers: names of the programs that start the compiler.
        left_out: ignored options, except those of a host compiler.
        relocatable: whether the object is linked with other device code.
    """

    object: str
    directory: str
    words: tuple[str, ...]
    launchers: tuple[str, ...]
    left_out: tuple[str, ...]
    relocatable: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One CUDA compilation in a project.

    Attributes:
        path: absolute path of the source.
        output: distinguishes compilations of one source: CMake's target, else the output as the
            database names it; may be empty.
        flags: the compiler flags.
        compiler: the compiler.
        command: the command as written.
    """

    path: str
    output: str
    flags: BuildFlags
    compiler: Compiler
    command: ObjectCommand


@dataclass(frozen=True, slots=True)
class BuildDatabase:
    """A database's CUDA entries.

    Attributes:
        path: of the database.
        entries: in its order; of identical compilations, only the first.
        notes: sentences about unused parts, without the database's name.
        unclear: absolute paths of sources whose compilation is uncertain, each with the reason.
    """

    path: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]
    unclear: tuple[tuple[str, str], ...] = ()

    @property
    def compilers(self) -> tuple[Compiler, ...]:
        """The compilers of the entries, each once."""
        return tuple(dict.fromkeys(entry.compiler for entry in self.entries))


@dataclass(frozen=True, slots=True)
class _Records:
    """The raw entries that may compile CUDA, by absolute path of the source."""

    by_path: Mapping[str, Sequence[tuple[int, Mapping[str, Any]]]]
    broken: tuple[tuple[int, str, str | None], ...]
    """Number of each invalid entry, the problem, and the source if known."""


def read_database(
    path: str, wanted: Callable[[str], bool] = lambda _: True, *, trust: bool = False
) -> BuildDatabase:
    """Read the CUDA entries of a database.

    Args:
        path: of the database.
        wanted: called with each source's absolute path; entries of other sources are skipped.
        trust: also accept options that could run a program, load a library or write a file.

    Raises:
        InputError: it cannot be read, or is not a compilation database.
    """
    records = _records_of(path)
    entries: list[tuple[int, Entry]] = []
    # Ignored options are reported even for an entry that duplicates an earlier one.
    flags: list[tuple[int, BuildFlags]] = []
    seen: dict[tuple[Any, ...], set[tuple[str, ...]]] = {}
    broken: dict[tuple[int, str], str | None] = {
        (number, why): source
        for number, why, source in records.broken
        if source is None or wanted(source)
    }
    unsure: list[tuple[str, str]] = []
    for source, numbered in records.by_path.items():
        if not wanted(source):
            continue
        for number, record in numbered:
            try:
                entry = _entry(source, record, path, trust)
            except InputError as error:
                if _is_cuda(source) or may_be_included(source):
                    broken[number, error.message] = source
                continue
            if entry is None:
                continue
            found_doubts = doubts(source, entry.compiler.path, entry.flags)
            unsure += ((source, why) for why in found_doubts)
            for other in filter(_is_cuda, entry.flags.inputs):
                if other != source and os.path.isfile(other) and wanted(other):
                    unsure.append((other, f"it is compiled with {source}"))
            flags.append((number, entry.flags))
            options, words = without_host_words(entry.flags.options)
            compiled = seen.setdefault((entry.path, options, entry.flags.archs), set())
            if compiled and (words in compiled or not asks_host_compiler(source, options)):
                continue
            compiled.add(words)
            entries.append((number, entry))
    entries.sort(key=lambda item: item[0])
    found = tuple(entry for _, entry in entries)
    notes = [f"entry {number}: {why}" for number, why in sorted(broken)]
    flags.sort(key=lambda item: item[0])
    unclear = tuple(
        (source, f"entry {number}: {why}")
        for (number, why), source in sorted(broken.items())
        if source is not None
    )
    unclear += tuple(dict.fromkeys(unsure))
    left_out = _left_out([one for _, one in flags], trust)
    return BuildDatabase(path, found, (*notes, *left_out), unclear)


def sources(path: str) -> frozenset[str]:
    """Absolute paths of the sources that a database may compile as CUDA.

    Raises:
        InputError: as `read_database`.
    """
    records = _records_of(path)
    unread = (source for _, _, source in records.broken if source is not None)
    return frozenset((*records.by_path, *unread))


def _left_out(flags: Sequence[BuildFlags], trust: bool) -> list[str]:
    """Sentences about the options that were not used, each option once."""
    unknown = dict.fromkeys(word for found in flags for word in (*found.unknown, *found.stray))
    refused = dict.fromkeys(word for found in flags for word in found.refused)
    linked = dict.fromkeys(word for found in flags for word in found.linked)
    trusted = dict.fromkeys(word for found in flags for word in found.trusted)
    notes = []
    said = "options of the build left out, because they could run a program, load a library or "
    for words, why in ((trusted, "write a file"), (refused, "write a file, trusted or not")):
        left = [word for word in words if words is trusted or word not in trusted]
        if not left:
            continue
        notes.append(f"{said}{why}: {', '.join(left)}")
        if any(word.startswith(("-ccbin", "-compiler-bindir")) for word in left):
            notes[-1] += "; the host compiler on PATH is used"
        if words is trusted and not trust:
            notes[-1] += "; --trust-build takes them"
    if linked:
        listed = ", ".join(linked)
        notes.append(f"device code is not optimised while linking, as the build asks by {listed}")
    if unknown:
        notes.append(f"options not understood and left out: {', '.join(unknown)}")
    return notes


def _how_to_write(path: str) -> str:
    if is_aquery(path):
        return f"write one with: bazel aquery 'deps(//...)' --output=jsonproto >{path}"
    return "write one with: cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"


def _records_of(path: str) -> _Records:
    hint = _how_to_write(path)
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise InputError("plan", f"{path} is no regular file", hint=hint)
        if found.st_size > _LARGEST:
            raise InputError("plan", f"{path} is larger than {_LARGEST >> 30} GiB", hint=hint)
        return _parsed(os.path.abspath(path))
    except InputError:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        why = f"{path} cannot be read: it is no JSON ({where})"
        raise InputError("plan", why, hint=hint) from error
    except RecursionError as error:
        raise InputError("plan", f"{path} is nested too deeply", hint=hint) from error
    except (OSError, ValueError) as error:
        raise InputError("plan", f"{path} cannot be read: {error}", hint=hint) from error


def commands_of(path: str) -> Any:
    """The unchecked content of a database: its entries, or other commands converted to entries.

    Raises:
        InputError, OSError, ValueError: the file cannot be read.
    """
    text = read_input(path).decode("utf-8", "surrogateescape")
    # A checkout's copy of a Ninja or Bazel file contains entries in JSON.
    if os.path.basename(path) == NINJA and not text.startswith("["):
        return [*_commands_of_ninja(path)]
    if is_aquery(path) and not text.startswith("["):
        return [*commands_of_aquery(path, text)]
    return json.loads(text, object_pairs_hook=telling_repeated)


def _commands_of_ninja(path: str) -> Iterator[dict[str, str]]:
    """Ninja runs commands in the directory where it is started, that of its build file."""
    directory = os.path.dirname(os.path.abspath(path))
    ninja = read_ninja(directory)
    for output, edge in ninja.edges.items():
        if output != edge.outputs[0] or not edge.inputs:
            continue
        command = ninja.command(output, with_response=False)
        if command is not None:
            names = {"directory": directory, "file": edge.inputs[0], "output": output}
            yield {**names, "command": command}


@cached_while_unchanged(4)
def _parsed(path: str) -> _Records:
    """A database's entries; large databases are parsed once per command."""
    document = commands_of(path)
    if not isinstance(document, list):
        raise InputError("plan", f"{path} is no list of commands", hint=_how_to_write(path))
    by_path: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    broken: list[tuple[int, str, str | None]] = []
    for number, record in enumerate(document, start=1):
        try:
            _check(record)
        except InputError as error:
            broken.append((number, error.message, _cuda_source(record, path)))
            for other in _other_sources(record, path):
                broken.append((number, f"{error.message}, and may be of {other}", other))
            continue
        source = os.path.normpath(os.path.join(_directory(record, path), record["file"]))
        if _may_be_cuda(source, record, _directory(record, path)):
            by_path.setdefault(source, []).append((number, record))
    return _Records(by_path, tuple(broken))


def _is_cuda(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind.is_cuda


def _other_sources(record: object, database: str) -> Iterator[str]:
    """CUDA sources that an entry with repeated keys may name, besides its last."""
    if not isinstance(record, Repeating):
        return
    last = _cuda_source(record, database)
    files = [value for name, value in record.pairs if name == "file"]
    directories = [value for name, value in record.pairs if name == "directory"]
    for file, directory in itertools.product(files[:_MOST_NAMED], directories[:_MOST_NAMED]):
        source = _cuda_source({"file": file, "directory": directory}, database)
        if source is not None and source != last:
            yield source


def _cuda_source(record: object, database: str) -> str | None:
    """The source named in an invalid entry, if its name says it is CUDA."""
    if not isinstance(record, dict) or not isinstance(record.get("file"), str):
        return None
    kind = kind_of(record["file"])
    if kind is None or not kind.is_cuda:
        return None
    directory = record.get("directory")
    named = {"directory": directory if isinstance(directory, str) else ""}
    return os.path.normpath(os.path.join(_directory(named, database), record["file"]))


def _check(record: object) -> None:
    """Check an entry's structure.

    Raises:
        InputError: names the key, its value, and what is expected.
    """
    if not isinstance(record, dict):
        raise InputError("plan", f"it is {_json_kind(record)}, not an object")
    if isinstance(record, Repeating):
        raise InputError("plan", f"it has {record.repeated} more than once")
    for key in ("directory", "file"):
        if key not in record:
            raise InputError("plan", f"it has no {key}")
        if not isinstance(record[key], str):
            raise InputError("plan", f"{key} is {_json_kind(record[key])}, not a string")
    words = record.get("arguments")
    if words is not None:
        if not isinstance(words, list):
            raise InputError("plan", f"arguments is {_json_kind(words)}, not a list of strings")
        odd = next((word for word in words if not isinstance(word, str)), "")
        if not isinstance(odd, str):
            raise InputError("plan", f"arguments holds {_json_kind(odd)}, not only strings")
    elif "command" not in record:
        raise InputError("plan", "it has neither arguments nor a command")
    elif not isinstance(record["command"], str):
        raise InputError("plan", f"command is {_json_kind(record['command'])}, not a string")


def _json_kind(value: object) -> str:
    """The JSON name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def _directory(record: Mapping[str, Any], database: str) -> str:
    base = os.path.dirname(os.path.abspath(database))
    return os.path.normpath(os.path.join(base, record["directory"]))


def _may_be_cuda(source: str, record: Mapping[str, Any], directory: str) -> bool:
    """A cheap test before splitting a command, which takes seconds for thousands of entries."""
    if _is_cuda(source):
        return True
    words = record.get("arguments")
    text = (" ".join(words) if words is not None else record["command"]).translate(_QUOTES)
    if _CUDA_WORD.search(text) is not None:
        return True
    names = (name for found in _RESPONSE.findall(text) for name in found.split(","))
    return any(_names_cuda(os.path.join(directory, name), directory) for name in names)


def _names_cuda(path: str, directory: str) -> bool:
    """Whether an option file may select CUDA; cached, since many entries name the same file."""
    try:
        return _names_cuda_in(path, directory)
    except (OSError, InputError):
        return True


@cached_while_unchanged(4096)
def _names_cuda_in(path: str, directory: str) -> bool:
    flags = read_flags((f"@{path}",), directory)
    return flags.language in CUDA_LANGUAGES or flags.names_cuda


def _entry(source: str, record: Mapping[str, Any], database: str, trust: bool) -> Entry | None:
    """The entry, or None if it does not compile CUDA."""
    directory = _directory(record, database)
    words = record.get("arguments")
    command = record.get("command")
    if words is None:
        words = split_command(record["command"])
    elif isinstance(command, str) and split_command(command) != words:
        raise InputError("plan", "its arguments and its command are not the same")
    taken = taken_apart(words)
    program = taken.program
    flags = read_flags(taken.arguments, directory, trust=trust)
    stray = _stray(source, directory, (*taken.before, *flags.stray))
    left_out = (*taken.before, *flags.unknown, *flags.refused, *flags.unsaid)
    is_relative = flags.is_relative or record.get(RELATIVE) is True
    defining = may_define(left_out, stray)
    flags = replace(flags, stray=stray, may_define=defining, is_relative=is_relative)
    is_cuda = _is_cuda(source)
    if flags.language is None and flags.names_cuda and "nvc++" in program_name(program):
        flags = replace(flags, language="cuda")
    if flags.language not in ((None, *CUDA_LANGUAGES) if is_cuda else CUDA_LANGUAGES):
        if not is_cuda or flags.language in _HOST_LANGUAGES:
            return None
        raise InputError("plan", f"{program} compiles it as {flags.language}, which is not CUDA")
    named = record.get("output")
    output = named if isinstance(named, str) and named else flags.output
    target = _TARGET.search(output)
    if os.sep in program:
        program = os.path.normpath(os.path.join(directory, program))
    compiler = Compiler(program, os.path.abspath(database))
    made = ObjectCommand(
        os.path.normpath(os.path.join(directory, flags.output)) if flags.output else "",
        directory,
        tuple(words),
        taken.launchers,
        (*others_than_ours(flags), *flags.unknown, *flags.stray, *flags.may_define),
        flags.options.is_relocatable or bool(flags.linked),
    )
    return Entry(source, target.group(1) if target else output, flags, compiler, made)


def _stray(source: str, directory: str, words: Sequence[str]) -> tuple[str, ...]:
    """Words that are not compiler arguments, except the source, which may have any name."""
    return tuple(
        word for word in words if os.path.normpath(os.path.join(directory, word)) != source
    )

"""From what a user typed to input files: directories walked, build databases read.

A file is taken once for each way it is compiled. What a build says of a file's options comes with
it; what cannot be used becomes an error or a note, never a silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from lmemscope.errors import InputError
from lmemscope.lowering.kinds import ENDINGS, STANDARD_INPUT, kind_of, kind_of_content
from lmemscope.model import CompileOptions

DATABASE = "compile_commands.json"
_SKIPPED = frozenset({"CMakeFiles", "__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class Found:
    """An input and how it is to be compiled.

    Attributes:
        file: as shown to the user.
        path: absolute.
        options: of its build, or None where no build speaks of it.
        archs: of its build; empty where it names none.
        variant: tells a file apart that its build compiles in several ways.
        walked: a directory stood for it; nobody named it.
    """

    file: str
    path: str
    options: CompileOptions | None = None
    archs: tuple[str, ...] = ()
    variant: str = ""
    walked: bool = False


@dataclass(slots=True)
class Discovery:
    """What was found.

    Attributes:
        inputs: in the order of the paths, each once.
        errors: a typed path, or an entry's file, and what is wrong with it.
        notes: what was left out, in sentences.
    """

    inputs: list[Found] = field(default_factory=list)
    errors: list[tuple[str, InputError]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Globs:
    """Which files a directory or a build stands for; named files are not subject to it.

    Attributes:
        root: directory that the globs are relative to, absolute.
        include: at least one must match, where there are any.
        exclude: none may match.
    """

    root: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def admit(self, path: str) -> bool:
        """Whether an absolute path is wanted; ``*`` also matches ``/``."""
        name = os.path.relpath(path, self.root).replace(os.sep, "/")
        if any(fnmatchcase(name, glob) for glob in self.exclude):
            return False
        return not self.include or any(fnmatchcase(name, glob) for glob in self.include)


def discover(paths: Sequence[str], globs: Globs) -> Discovery:
    """Turn the user's paths into inputs and, for each bad path, an error beside the others.

    Directories are walked in sorted order for ``.cu``, ``.ptx`` and ``.cubin`` files, and for
    ``.py`` files that hold kernels. A ``compile_commands.json`` in a directory or in its ``build``
    says how its files are compiled.
    """
    result = Discovery()
    for path in paths:
        if os.path.basename(path) == DATABASE:
            _add_database(result, path, globs, None)
        elif path == STANDARD_INPUT:
            result.inputs.append(Found(path, path))
        elif os.path.isdir(path):
            _add_directory(result, path, globs)
        elif not os.path.exists(path):
            missing = InputError("plan", f"{path} does not exist", hint="check the path")
            result.errors.append((path, missing))
        elif kind_of(path) is None and kind_of_content(path) is None:
            result.errors.append((path, _unreadable_kind(path)))
        else:
            result.inputs.append(Found(os.path.normpath(path), os.path.abspath(path)))
    result.inputs = _once(result.inputs)
    result.notes = list(dict.fromkeys(result.notes))
    return result


def _once(inputs: Sequence[Found]) -> list[Found]:
    """Each way of compiling each file once; what somebody named counts as named."""
    kept: dict[tuple[object, ...], Found] = {}
    for found in inputs:
        key = (found.path, found.options, found.archs)
        first = kept.setdefault(key, found)
        if first.walked and not found.walked:
            kept[key] = replace(first, walked=False)
    return list(kept.values())


def _add_directory(result: Discovery, directory: str, globs: Globs) -> None:
    before = len(result.inputs) + len(result.errors)
    base = os.path.abspath(directory)
    built: set[str] = set()
    database = _find_database(directory)
    if database is not None:
        built = _add_database(result, database, globs, base)
    for file in _walk(directory):
        path = os.path.abspath(file)
        if path not in built and globs.admit(path):
            result.inputs.append(Found(os.path.normpath(file), path, walked=True))
    if len(result.inputs) + len(result.errors) == before:
        result.errors.append((directory, _nothing_in(directory)))


def _find_database(directory: str) -> str | None:
    """The database of a source directory: in it, or in its ``build``."""
    for candidate in (directory, os.path.join(directory, "build")):
        if os.path.isfile(os.path.join(candidate, DATABASE)):
            return os.path.join(candidate, DATABASE)
    return None


def _add_database(result: Discovery, path: str, globs: Globs, below: str | None) -> set[str]:
    """Add the entries of a database, those below a directory if one is given."""
    from lmemscope.discover.build_database import read_database

    try:
        database = read_database(path)
    except InputError as error:
        result.errors.append((path, error))
        return set()
    wanted = [
        entry
        for entry in database.entries
        if globs.admit(entry.path) and (below is None or _is_below(entry.path, below))
    ]
    paths = [entry.path for entry in wanted]
    for number, entry in enumerate(wanted):
        name = _shown(entry.path)
        if os.path.isfile(entry.path):
            nth = paths[: number + 1].count(entry.path)
            variant = (entry.output or f"{nth}") if nth > 1 else ""
            flags = entry.flags
            result.inputs.append(Found(name, entry.path, flags.options, flags.archs, variant))
        else:
            gone = InputError(
                "plan", f"{name} does not exist, though {path} names it", hint="configure again"
            )
            result.errors.append((name, gone))
    result.notes += [f"{path}: {reason}" for reason in database.broken]
    if database.unknown:
        listed = ", ".join(database.unknown)
        result.notes.append(f"{path}: options not understood and left out: {listed}")
    if not wanted and below is None:
        nothing = InputError("plan", f"{path} compiles no CUDA file", hint="name the files instead")
        result.errors.append((path, nothing))
    return {entry.path for entry in wanted}


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _is_below(path: str, directory: str) -> bool:
    return os.path.commonpath([path, directory]) == directory


def _walk(directory: str) -> Iterator[str]:
    for root, names, files in os.walk(directory):
        names[:] = sorted(
            name
            for name in names
            if not name.startswith(".")
            and name not in _SKIPPED
            and not os.path.exists(os.path.join(root, name, "pyvenv.cfg"))
        )
        beside = frozenset(name.lower() for name in files)
        for name in sorted(files):
            path = os.path.join(root, name)
            kind = kind_of(path)
            if kind is not None and kind.route.is_walked(path, beside):
                yield path


def _nothing_in(directory: str) -> InputError:
    return InputError(
        "plan",
        f"{directory} holds no .cu, .ptx or .cubin file, and no .py file with kernels",
        hint="name the files, or a directory above them; "
        "include and exclude of the configuration may leave some out",
    )


def _unreadable_kind(path: str) -> InputError:
    return InputError(
        "plan",
        f"{path} is not a kind of file that lmemscope reads",
        hint=f"it reads {', '.join(ENDINGS)} files, directories of them, and {DATABASE}",
    )

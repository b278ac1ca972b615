"""Find a project's build database: beside its sources, or in one of its build directories.

A database applies to a file only if it names it, so a stray one further up has no effect.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator

from lmemscope.errors import InputError
from lmemscope.files import open_regular
from lmemscope.model import BUILD_LOG, kind_of

DATABASE = "compile_commands.json"
NINJA = "build.ninja"
"""Ninja's build file, which contains the same commands; read if it or its directory is named."""
_AQUERY = re.compile(
    r"(?:.*[._-])?aquery(?:[._-].*)?\.(?:json|txt|text|textproto|jsonproto)|.*\.aquery"
)
_BUILD_NAME = re.compile(r"_?build(?:$|dir$|[-_.\d].*)|.*[-_]build$|cmake-build-.*|out$", re.I)
_HOME = re.compile(rb"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", re.MULTILINE)
_CACHE = "CMakeCache.txt"


def databases_in(directory: str) -> Iterator[str]:
    """Databases for a source directory: in it, then in its build directories, ``build`` first.

    These are ``build``, ``build-*``, ``cmake-build-*``, ``out`` and the like, with their direct
    subdirectories and those of their ``build`` (``build/release``, ``out/build/x64``).
    """
    for candidate in (directory, *_build_directories(directory)):
        path = os.path.join(candidate, DATABASE)
        if os.path.isfile(path):
            yield path


class Search:
    """A command's search for databases, which caches listings and parsed files.

    Attributes:
        broken: unreadable databases, with the reason; an error only if one is named.
    """

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self._beside: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, frozenset[str]] = {}
        self._real: dict[str, dict[str, list[str]]] = {}

    def database_for(self, path: str) -> str | None:
        """The nearest database upwards that names a source, or sources below a directory."""
        below = os.path.isdir(path)
        for database in self.above(path):
            if below:
                sources = self.sources(database)
                if any(is_below(one, path) for one in (*sources, *self._by_real_path(database))):
                    return database
            elif self.spellings(database, path):
                return database
        return None

    def above(self, path: str) -> Iterator[str]:
        """All databases from the directory of a path upwards, nearest first."""
        parent = path if os.path.isdir(path) else os.path.dirname(path)
        while True:
            if parent not in self._beside:
                self._beside[parent] = tuple(databases_in(parent))
            yield from self._beside[parent]
            if parent == os.path.dirname(parent):
                return
            parent = os.path.dirname(parent)

    def sources(self, database: str) -> frozenset[str]:
        """Absolute paths of the sources that a database may compile as CUDA; empty if broken."""
        if database not in self._sources:
            from lmemscope.discover import build_database

            try:
                self._sources[database] = build_database.sources(database)
            except InputError as error:
                self._sources[database] = frozenset()
                self.broken[database] = error.message
        return self._sources[database]

    def spellings(self, database: str, path: str) -> frozenset[str]:
        """The paths by which a database names a file; symbolic links are resolved on both sides."""
        found = frozenset(self._by_real_path(database).get(os.path.realpath(path), ()))
        return found | {path} if path in self.sources(database) else found

    def _by_real_path(self, database: str) -> dict[str, list[str]]:
        """A database's sources, by their paths without symbolic links."""
        if database not in self._real:
            real = functools.cache(os.path.realpath)
            by_path: dict[str, list[str]] = {}
            for source in self.sources(database):
                parent, name = os.path.split(source)
                own = os.path.join(real(parent), name)
                own = os.path.realpath(own) if os.path.islink(own) else own
                by_path.setdefault(own, []).append(source)
            self._real[database] = by_path
        return self._real[database]


def is_database(path: str) -> bool:
    """Whether a path has the name of a file with build commands."""
    return os.path.basename(path) in (DATABASE, NINJA) or is_aquery(path)


def is_aquery(path: str) -> bool:
    """Whether a path is named like ``bazel aquery`` output: ``aquery.json``, ``gpu.aquery``.

    It is read only if named: in a found file, nothing says which targets it covers.
    """
    return _AQUERY.fullmatch(os.path.basename(path)) is not None


def database_in(directory: str) -> str | None:
    """The file in a build directory that lists its commands, or None."""
    paths = (os.path.join(directory, name) for name in (DATABASE, NINJA))
    return next(filter(os.path.isfile, paths), None)


def is_saved(path: str) -> bool:
    """Whether a path is a saved report, by its ending."""
    return path.endswith(".json") and not is_database(path)


def is_build(path: str) -> bool:
    """Whether a path stands for a whole build: a database, its directory, or a log."""
    if os.path.isdir(path):
        return database_in(path) is not None
    return is_database(path) or kind_of(path) is BUILD_LOG


def is_build_name(directory: str) -> bool:
    """Whether a directory has the usual name of a build directory."""
    return _BUILD_NAME.fullmatch(os.path.basename(directory)) is not None


def is_build_tree(directory: str) -> bool:
    """Whether a directory is a CMake build directory outside its source tree."""
    try:
        with open_regular(os.path.join(directory, _CACHE)) as stream:
            home = _HOME.search(stream.read(16 << 20))
    except OSError:
        return False
    return home is not None and os.path.realpath(os.fsdecode(home.group(1).rstrip())) != (
        os.path.realpath(directory)
    )


def shown_path(path: str) -> str:
    """A path for display: relative if it is below the working directory."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def own_place(path: str) -> str:
    """An absolute path with symbolic links resolved, except in its last component."""
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(parent), name)


def is_below(path: str, directory: str) -> bool:
    """Whether an absolute path is in a directory, with or without symbolic links resolved."""
    return any(
        path.startswith(os.path.join(base, "")) for base in (directory, os.path.realpath(directory))
    )


def _build_directories(directory: str) -> Iterator[str]:
    names = sorted(_directories(directory), key=lambda name: (name != "build", name))
    for name in names:
        if not _BUILD_NAME.fullmatch(name):
            continue
        outer = os.path.join(directory, name)
        yield outer
        for inner in sorted(_directories(outer)):
            yield os.path.join(outer, inner)
        nested = os.path.join(outer, "build")
        for inner in sorted(_directories(nested)):
            yield os.path.join(nested, inner)


def _directories(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []

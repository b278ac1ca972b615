"""Read what a build system recorded about an object: its command, time and inputs.

Ninja logs a hash of each output's command, and the files it read. CMake's Makefiles have the
command in files that are rewritten only when it changes, and keep the compiler's depfile.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from msgspec import Struct

from lmemscope.discover.build_database import ObjectCommand
from lmemscope.discover.locate import NINJA, shown_path
from lmemscope.discover.ninja_file import read_ninja
from lmemscope.files import read_beside, read_input
from lmemscope.formats import cmake_makefiles
from lmemscope.formats.depfile import parse_depfile, without_depfile
from lmemscope.formats.ninja_commands import NinjaFile
from lmemscope.formats.ninja_log import (
    Dependencies,
    NinjaLog,
    parse_ninja_deps,
    parse_ninja_log,
)
from lmemscope.formats.shell_words import shell_words
from lmemscope.model import ObjectState

_TARGET = ".dir"


Doubt = tuple[ObjectState, str]
"""The state of an object that is not known to be current, and the reason."""
_UNSHOWN: Doubt = ("unknown", "nothing shows which command made it")


_UNREADABLE = (OSError, ValueError, RecursionError)


class Record(Struct, frozen=True):
    """The record of an object.

    Attributes:
        doubt: why it is not proven that the command made it; None if it is.
        since: time in ns; an input that changed later is newer than the object. None: the object's
            own time.
        written: when the build wrote the object, in ns; None if not recorded.
        reads: absolute paths of the command's inputs, and of the files that list them.
    """

    doubt: Doubt | None = _UNSHOWN
    since: int | None = None
    written: int | None = None
    reads: tuple[str, ...] = ()


class Records:
    """The records of builds during one command; each file is read once."""

    def __init__(self) -> None:
        self._ninja = cache(_read_ninja)
        self._recipes = cache(_read_recipes)

    def of(self, command: ObjectCommand, build: str) -> Record:
        """What the command's build system recorded about its object.

        Args:
            command: from a build database.
            build: absolute path of the database's directory.
        """
        try:
            if os.path.isfile(os.path.join(build, NINJA)):
                ninja = self._ninja(build)
                return ninja if isinstance(ninja, Record) else _of_ninja(command, build, ninja)
            target = _target_directory(command.object)
            return Record() if target is None else self._of_makefiles(command, target)
        except _UNREADABLE as error:
            return _unread(error)

    def _of_makefiles(self, command: ObjectCommand, target: str) -> Record:
        stating = (os.path.join(target, "build.make"), os.path.join(target, "flags.make"))
        for made_by in self._recipes(*stating):
            if command.words[-1] not in made_by:
                continue
            words, depfile = without_depfile(shell_words(made_by))
            if words == without_depfile(command.words)[0]:
                rule = _text(os.path.join(command.directory, depfile)) if depfile else ""
                reads = (os.path.join(command.directory, path) for path in parse_depfile(rule))
                return Record(None, reads=(*stating, *reads))
        return Record(("unknown", f"{shown_path(stating[0])} has no such command"))


def _of_ninja(command: ObjectCommand, build: str, ninja: _Ninja) -> Record:
    output = os.path.relpath(command.object, build)
    run, dependencies = ninja.log.runs.get(output), ninja.dependencies.get(output)
    made_by = ninja.file.command(output)
    if run is None or dependencies is None or made_by is None:
        return Record()
    if without_depfile(shell_words(made_by))[0] != without_depfile(command.words)[0]:
        return Record(("unknown", "build.ninja has another command than the database"))
    shown = ninja.log.shows(output, made_by)
    if not shown:
        return Record(("stale", "another command made it")) if shown is False else Record()
    reads = tuple(os.path.join(build, path) for path in dependencies.files)
    return Record(None, run.time, dependencies.time, reads)


@dataclass(frozen=True, slots=True)
class _Ninja:
    """Ninja's files in a build directory."""

    file: NinjaFile
    log: NinjaLog
    dependencies: Mapping[str, Dependencies]


def _unread(error: BaseException) -> Record:
    return Record(("unknown", f"the record of its build cannot be read ({error})"))


def _read_ninja(build: str) -> _Ninja | Record:
    try:
        return _ninja_in(build)
    except _UNREADABLE as error:
        return _unread(error)


def _ninja_in(build: str) -> _Ninja:
    log, dependencies = (
        read_input(os.path.join(build, name)) for name in (".ninja_log", ".ninja_deps")
    )
    return _Ninja(read_ninja(build), parse_ninja_log(log), parse_ninja_deps(dependencies))


def _read_recipes(build: str, flags: str) -> tuple[str, ...]:
    return cmake_makefiles.commands(_text(build), _text(flags))


def _target_directory(path: str) -> str | None:
    """CMake's directory for the target of an object: ``CMakeFiles/app.dir``."""
    directory = os.path.dirname(path)
    while os.path.dirname(directory) != directory:
        parent, name = os.path.split(directory)
        if name.endswith(_TARGET) and os.path.basename(parent) == "CMakeFiles":
            return directory
        directory = parent
    return None


def _text(path: str) -> str:
    return read_beside(path).decode("utf-8", "surrogateescape")

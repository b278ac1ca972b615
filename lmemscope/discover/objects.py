"""Decide whether a build's object is current: made by its command from the present sources.

Only then may it replace a compilation. Three conditions apply: the build system has recorded that
this very command made it, nothing that the command reads has changed since, and git does not track
it (the origin of a committed object is unknown). Without proof, the object is not used. Whoever
controls the build also controls its commands; so, like the database, the build's files are assumed
to be what its compiler wrote.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.discover.build_doubts import names_gcc
from lmemscope.discover.checkouts import is_top, upwards
from lmemscope.discover.locate import shown_path
from lmemscope.discover.object_record import Doubt, Record, Records
from lmemscope.errors import LmemscopeError
from lmemscope.model import BuiltObject, CompileOptions, Unit
from lmemscope.sources.includes import closure
from lmemscope.tools.git import Repository

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.discover.build_database import Entry
    from lmemscope.discover.walk import Found

_HARMLESS = frozenset(("cmake", "env", "nice", "time"))
"""Launchers that never take a compiler's output from elsewhere."""
_DEBUG = frozenset(("-G", "--device-debug", "-g", "--g"))
_ENVIRONMENT = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN")

Times = Callable[[str], int | None]
"""A file's last modification time in ns; None if it does not exist."""


def with_objects(
    units: Sequence[Unit], inputs: Iterable[Found], settings: Settings
) -> tuple[Unit, ...]:
    """The units, each with the object that its build made, if any.

    Args:
        units: of the inputs.
        inputs: with the data from their builds.
        settings: of the command.
    """
    entries = {(one.path, one.variant): one.entry for one in inputs if one.entry is not None}
    elsewhere = settings.executor is not None or settings.moved is not None
    is_linked = settings.linked or bool(settings.link)
    if not settings.objects or not entries or elsewhere or is_linked:
        return tuple(units)
    judge = _Judge(settings)
    return tuple(
        replace(unit, built=judge.of(entry))
        if (entry := entries.get((unit.path, unit.variant))) is not None
        else unit
        for unit in units
    )


class _Judge:
    """Decides about objects during one command; each file is examined once."""

    def __init__(self, settings: Settings) -> None:
        self._of_command = command_doubt(settings, os.environ)
        self._known: dict[str, BuiltObject | None] = {}
        self._records = Records()
        self._times: Times = cache(_changed)
        self._tracked = cache(_index_around)
        self._now = time.time_ns()

    def of(self, entry: Entry) -> BuiltObject | None:
        """The object of an entry; None if it does not exist."""
        path = entry.command.object
        if path not in self._known:
            self._known[path] = self._judged(entry, path)
        return self._known[path]

    def _judged(self, entry: Entry, path: str) -> BuiltObject | None:
        try:
            made = os.stat(path).st_mtime_ns if path else None
        except (OSError, ValueError):
            made = None
        if made is None:
            return None
        doubt = self._of_command or entry_doubt(entry) or self._doubt_of_git(path)
        doubt = doubt or self._doubt_of_record(entry, made)
        return BuiltObject(path) if doubt is None else BuiltObject(path, *doubt)

    def _doubt_of_record(self, entry: Entry, made: int) -> Doubt | None:
        record = self._records.of(entry.command, os.path.dirname(entry.compiler.database))
        try:
            read = closure(entry.path, entry.flags.options)
        except OSError:
            return "unknown", "its source cannot be read"
        if read.computed:
            return "unknown", "what its source reads, or when, is in macros"
        # A depfile lists what the host compilation read; `read` covers every branch.
        every = (*read.files, *read.system, *entry.flags.responses, *record.reads)
        record = replace(record, reads=tuple(dict.fromkeys(every)))
        return why_stale(record, made, self._times, self._now)

    def _doubt_of_git(self, path: str) -> Doubt | None:
        for spelled in dict.fromkeys((path, os.path.realpath(path))):
            index = self._tracked(os.path.dirname(spelled))
            if isinstance(index, str):
                return "unknown", f"whether git tracks it is not known: {index}"
            while spelled != os.path.dirname(spelled):
                if spelled in index:
                    return "unknown", "git tracks it"
                spelled = os.path.dirname(spelled)
        return None


def why_stale(record: Record, made: int, times: Times, now: int) -> Doubt | None:
    """Why an object is stale; None if it is current.

    Args:
        record: of its build, with all files that the command may read.
        made: when the object was last written, in ns.
        times: of files.
        now: in ns.
    """
    if record.doubt is not None:
        return record.doubt
    if made > now:
        return "unknown", "its time is in the future"
    if record.written is not None and made > record.written:
        return "stale", "it was changed after it was built"
    since = made if record.since is None else min(made, record.since)
    for path in record.reads:
        changed = times(path)
        if changed is None:
            return "stale", f"{shown_path(path)} is gone"
        if changed >= since:
            return "stale", f"{shown_path(path)} has changed since"
    return None


def entry_doubt(entry: Entry) -> Doubt | None:
    """Why an entry's object is never used; None if it may be."""
    command, given = entry.command, entry.flags.options
    caching = [name for name in command.launchers if name not in _HARMLESS]
    program = shutil.which(entry.compiler.path) or entry.compiler.path
    names = {os.path.basename(path) for path in (entry.compiler.path, os.path.realpath(program))}
    if names != {"nvcc"}:
        return "unknown", f"it was made by {', '.join(sorted(names - {'nvcc'}))}"
    if caching:
        return "unknown", f"{caching[0]} may have it from another build"
    # The object was made with that GCC, whatever the source asks about it.
    left = tuple(word for word in command.left_out if not names_gcc(word))
    if left:
        return "compiled", f"its command has {left[0]}, which is left out"
    if command.relocatable:
        return "compiled", "its device code is linked later"
    if not _DEBUG.isdisjoint((*given.nvcc_args, *given.ptxas_args)):
        return "compiled", "it is a debug build"
    return None


def command_doubt(settings: Settings, environment: Container[str]) -> Doubt | None:
    """Why a command's settings differ from those of any object; None if they do not.

    Args:
        settings: of the command.
        environment: names of the variables that are set.
    """
    own = replace(settings.options, time_limit=None, max_file_size=None)
    if replace(own, run_python=False, signatures=()) != CompileOptions():
        return "compiled", "compiler options are added to the build's"
    if settings.frontend != "auto":
        return "compiled", f"--frontend {settings.frontend}"
    variable = next((name for name in _ENVIRONMENT if name in environment), None)
    return None if variable is None else ("compiled", f"{variable} is set")


def _changed(path: str) -> int | None:
    """The later of a file's two times: a copy may keep the first, but nobody can set the second."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return max(found.st_mtime_ns, found.st_ctime_ns)


def _index_around(directory: str) -> frozenset[str] | str:
    """Absolute paths that git tracks around a directory, or why they are unknown."""
    tops = [above for above in upwards(directory) if is_top(above)]
    if not tops:
        return frozenset()
    try:
        repository, why = Repository.around(directory)
        if repository is None:
            return why
        if repository.top != os.path.realpath(tops[0]):
            return f"its working tree is {repository.top}"
        return frozenset(os.path.join(tops[0], path) for path in repository.indexed())
    except LmemscopeError as error:
        return error.message

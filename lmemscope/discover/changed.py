"""Select the inputs that may have changed since a git revision: text, headers or options.

When in doubt, an input counts as changed: if it is not in the revision or is outside the
repository, if it reads such a file, or if it names a header by a macro. Every input counts as
changed if something that affects all of them has, such as the configuration.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from lmemscope.config.settings import Settings
from lmemscope.discover.build_change import BUILD_FILE, BuildChange, build_change
from lmemscope.discover.locate import is_below, is_database
from lmemscope.discover.plan import combined
from lmemscope.discover.revision import (
    Revision,
    configuration_differs,
    findings_differ,
    read_revision,
)
from lmemscope.discover.walk import Discovery, Found
from lmemscope.errors import InputError
from lmemscope.files import read_input
from lmemscope.model import CUDA, STANDARD_INPUT, CompileOptions, count, is_part_of, kind_of
from lmemscope.sources.arguments import named as named_by
from lmemscope.sources.includes import closure
from lmemscope.sources.python import read_file
from lmemscope.sources.python_modules import local_modules
from lmemscope.sources.python_words import may_hold_kernels

_NAMED = 5
_UNFOLLOWED = "what it reads beside itself is not followed"


@dataclass(frozen=True, slots=True)
class Grounds:
    """Reasons to check inputs that do not depend on their own files.

    Attributes:
        all: reasons to check every input, as text; empty if there are none.
        inputs: absolute names of inputs to check because their baseline entries changed, relative
            to each directory that the names may start from.
        notes: information for the reader.
    """

    all: tuple[str, ...] = ()
    inputs: frozenset[str] = frozenset()
    notes: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The selected inputs.

    Attributes:
        inputs: as discovered.
        elsewhere: absolute paths read by the other inputs; statements about what is not compiled
            take them into account.
    """

    inputs: tuple[Found, ...]
    elsewhere: frozenset[str]


@dataclass(slots=True)
class Selection:
    """The inputs of one command that are checked.

    Attributes:
        revision: the comparison with the revision.
        settings: how inputs are compiled.
        grounds: reasons other than their files.
        unchanged: files that are not checked, for display; set by `narrow`.
        notes: information for the reader, the number of files first; set by `narrow`.
        build: a changed file that determines how inputs are built, or None; set by `narrow`.
    """

    revision: Revision
    settings: Settings
    grounds: Grounds = Grounds()
    unchanged: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    build: str | None = None
    _whys: Whys | None = None
    _chosen: tuple[Found, ...] = ()

    def narrow(self, discovery: Discovery) -> Narrowed:
        """The inputs that may have changed.

        If there are none, and no header changed and no file was deleted, then nothing changed in
        what is not compiled either: no note is made of it.
        """
        inputs = [found for found in discovery.inputs if found.path != STANDARD_INPUT]
        whys = Whys(self.revision, self.settings, inputs)
        of_all = whys.of_all()
        everything = (*self.grounds.all, *of_all)
        names = self.grounds.inputs
        known_otherwise = {
            one.path for one in inputs if any(is_part_of(n, {one.path}) for n in names)
        }
        looked: dict[str, None] = {}
        unsure: dict[str, str] = {}
        for found in inputs:
            if everything or found.path in known_otherwise:
                looked[found.path] = None
                continue
            why = whys.of(found)
            if why is not None:
                looked[found.path] = None
                if why:
                    unsure.setdefault(found.file, why)
        chosen = tuple(
            found
            for found in discovery.inputs
            if found.path == STANDARD_INPUT or found.path in looked
        )
        self._whys, self._chosen = (None if of_all else whys), chosen
        left = dict.fromkeys(found.file for found in inputs if found.path not in looked)
        self.unchanged = tuple(left)
        headers_differ = any(self.revision.why(path) is not None for path in discovery.headers)
        if not (chosen or self.revision.deleted or headers_differ):
            discovery.headers.clear()
        self.notes = tuple(_notes(self.revision.name, chosen, left, everything, unsure))
        if any(found.options is not None for found in chosen):
            self.build = whys.build_file
        if any(found.options is not None and found.path not in looked for found in inputs):
            self.notes += tuple(_about_builds(self.revision))
        self.notes += self.grounds.notes
        unchanged = (found for found in inputs if found.path not in looked)
        elsewhere = frozenset(path for found in unchanged for path in whys.reads(found))
        return Narrowed(chosen, elsewhere)

    def untouched(self, files: Collection[str]) -> frozenset[str]:
        """The given files that are checked although no change to them is known.

        Nothing that they read has changed either, nor how they are built. Headers without any known
        change are included.

        Args:
            files: for display.
        """
        whys = self._whys
        if whys is None:
            return frozenset()
        own = [found for found in self._chosen if found.file in files]
        touched = {found.file for found in own if not whys.is_untouched(found)}
        inputs = {*self.unchanged, *(found.file for found in self._chosen)}
        headers = frozenset(files) - inputs
        same = (name for name in headers if not self.revision.has_changed(name))
        return frozenset((*(found.file for found in own), *same)) - touched


def since(
    revision: str,
    paths: Sequence[str],
    baseline: str | None,
    configuration: str | None,
    settings: Settings,
    *,
    name: str | None = None,
) -> Selection:
    """The selection of a command's inputs.

    Args:
        revision: as typed.
        paths: as typed.
        baseline: its path, or None.
        configuration: path of the configuration file, or None.
        settings: how inputs are compiled.
        name: the revision's display name; by default as typed.

    Raises:
        UsageError: git, the repository or the revision does not exist.
    """
    found = read_revision(revision, paths)
    found = replace(found, name=name or revision)
    grounds = []
    differs = configuration_differs(found)
    if differs is not None:
        grounds.append(f"{differs} changed")
    elif configuration is not None and not is_below(os.path.realpath(configuration), found.top):
        grounds.append(f"{configuration} is outside of the repository {found.top}")
    names: frozenset[str] | None = frozenset()
    starts: tuple[str, ...] = ()
    if baseline is not None:
        starts = (os.getcwd(), os.path.dirname(os.path.abspath(baseline)), settings.root)
        names = findings_differ(found, baseline)
        if names is None:
            grounds.append(f"{baseline} is not that of {found.name}")
    inputs = frozenset(os.path.join(start, name) for start in starts for name in names or ())
    notes: tuple[str, ...] = ()
    if names:
        listed = ", ".join(sorted(names)[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        notes = (f"the baseline differs from that of {found.name}, on {listed}",)
    return Selection(found, settings, Grounds(tuple(grounds), inputs, notes))


class Whys:
    """Reasons to check an input: text if uncertain, an empty string if it has certainly changed."""

    def __init__(self, revision: Revision, settings: Settings, inputs: Sequence[Found]) -> None:
        self._revision, self._settings = revision, settings
        self._reads: dict[tuple[str, CompileOptions], tuple[str, ...]] = {}
        self._build = sorted(
            os.path.relpath(path, revision.top)
            for path in revision.changed
            if BUILD_FILE.fullmatch(os.path.basename(path))
        )
        self._has_database = _knows_database(revision)
        self._deleted = {os.path.basename(path) for path in revision.deleted}
        # Launches in CUDA files determine which instances of a header's templates are compiled.
        self._launches_differ = any(_is_cuda(path) for path in revision.changed) or any(
            _is_cuda(found.path, unnamed=True) and revision.why(found.path) is not None
            for found in inputs
        )

    def of_all(self) -> tuple[str, ...]:
        """Reasons to check every input."""
        changed = {os.path.relpath(path, self._revision.top) for path in self._revision.changed}
        databases = sorted(filter(is_database, changed))
        found = [f"{path} changed" for path in databases[:1]]
        written = CompileOptions(nvcc_args=self._settings.arguments_as_written)
        named = (path for path in named_by(written).files if self._revision.why(path) is not None)
        found += [f"{os.path.relpath(path)}, which arguments name, changed" for path in named]
        if self._revision.links:
            link = os.path.relpath(min(self._revision.links), self._revision.top)
            found.append(f"the symbolic link {link} changed")
        if self._revision.modules:
            module = os.path.relpath(min(self._revision.modules), self._revision.top)
            found.append(f"git does not know what {self._revision.name} has of submodule {module}")
        return tuple(found)

    def reads(self, found: Found) -> tuple[str, ...]:
        """The files read by compiling an input, if `of` needed them."""
        return self._reads.get((found.path, combined(found.options, self._settings.options)), ())

    def of(self, found: Found) -> str | None:
        """The reason to check an input, or None if it is unchanged."""
        own = self._revision.why(found.path)
        if own is not None:
            return own
        if found.options is not None and self._build:
            return f"{self._build[0]}, which says how it is built, changed"
        why = self._of_command(found)
        if why is not None:
            return why
        kind = kind_of(found.path) or CUDA
        if kind.reads == "imports":
            return self._of_python(found)
        if kind.reads == "neighbours":
            return self._of_neighbours(found.path)
        if kind.reads is None:
            return "the files that it names are not followed"
        if kind.is_header and self._launches_differ:
            return ""
        return self._of_closure(found)

    def is_untouched(self, found: Found) -> bool:
        """Whether no change is known to an input, to what it reads, or to how it is built."""
        is_built_otherwise = found.options is not None and bool(self._build)
        if is_built_otherwise or self._of_command(found) is not None:
            return False
        kind = kind_of(found.path) or CUDA
        own = self._revision.why(found.path)
        # A launch elsewhere is not a change to the header.
        of_header = own is None and kind.is_header
        why = self._of_closure(found) if of_header else self.of(found)
        reads = self.reads(found) if kind.is_cuda else self._read_by_python(found)
        return "" not in (why, *map(self._revision.why, reads))

    def _read_by_python(self, found: Found) -> tuple[str, ...]:
        """The files that a Python file is known to import or read."""
        if (kind_of(found.path) or CUDA).reads != "imports":
            return ()
        try:
            read = read_file(found.path, found.file).files
        except InputError:
            read = ()
        return (*local_modules(found.path), *filter(os.path.lexists, read))

    @property
    def build_file(self) -> str | None:
        """A changed file that determines how inputs are built, or None."""
        return next(iter(self._build), None)

    @cached_property
    def _change(self) -> BuildChange | None:
        return build_change(self._revision)

    def _of_command(self, found: Found) -> str | None:
        """As `of`, for the input's build command and what the command is made from."""
        words = found.entry.command.words if found.entry is not None else ()
        change = self._change if words else None
        if change is not None and change.may_change(words):
            return f"{change.files[0]}, which may give options to its build, changed"
        whys = map(self._of_response, found.responses)
        return next((why for why in whys if why is not None), None)

    def _of_response(self, path: str) -> str | None:
        """As `of`, for an option file named in the build command.

        If git tracks neither it nor the database, it counts as unchanged: both are written when the
        build is configured.
        """
        real = os.path.realpath(path)
        if real not in self._revision.known | self._revision.changed and not self._has_database:
            return None
        why = self._revision.why(path)
        return why if why is None else f"its build's command names {path}, which {why or 'changed'}"

    def _of_closure(self, found: Found) -> str | None:
        options = combined(found.options, self._settings.options)
        try:
            read = closure(found.path, options)
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        self._reads[found.path, options] = read.files
        if read.computed:
            return "what it reads is not all known: a macro may name a header, or the time is in it"
        read_by_name = (*read.files, *read.system, *read.missing)
        if self._deleted & {os.path.basename(name) for name in read_by_name}:
            return ""
        if any(map(self._revision.may_have_come_or_gone, read.crossed)):
            return ""
        return self._of_files("reads", read.files)

    def _of_files(self, verb: str, paths: Iterable[str]) -> str | None:
        """As `of`, for files that an input reads or imports."""
        for path in paths:
            why = self._revision.why(path)
            if why is not None:
                return f"it {verb} {path}, which {why}" if why else ""
        return None

    def _of_python(self, found: Found) -> str | None:
        if self._settings.options.run_python:
            return "what it imports is not followed"
        try:
            text = read_input(found.path)
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        why = self._of_files("imports", local_modules(found.path))
        if why is not None:
            return why
        if any(kind_of(name) is kind_of(found.path) for name in self._deleted):
            return "a module that it imports may be gone"
        if any(word in text for word in (b"include", b"load_file", b"open(")):
            return _UNFOLLOWED
        return self._of_text_of_python(found) if may_hold_kernels(text) else None

    def _of_text_of_python(self, found: Found) -> str | None:
        """As `of`, for the files that contain the text of its kernels."""
        try:
            read = read_file(found.path, found.file)
        except InputError as error:
            return error.message
        if not read.is_all_read:
            return _UNFOLLOWED
        return self._of_files("reads", filter(os.path.lexists, read.files))

    def _of_neighbours(self, path: str) -> str | None:
        directory, name = os.path.split(path)
        stem = f"{os.path.splitext(name)[0]}."
        try:
            names = [other for other in os.listdir(directory) if other.startswith(stem)]
        except OSError as error:
            return f"its directory cannot be read: {error.strerror}"
        if any(other.startswith(stem) for other in self._deleted):
            return ""
        whys = [self._revision.why(os.path.join(directory, other)) for other in names]
        return next((why for why in whys if why is not None), None)


def _is_cuda(path: str, *, unnamed: bool = False) -> bool:
    """Whether a path is CUDA C++; if its name does not tell, the build decides."""
    kind = kind_of(path)
    return kind.is_cuda if kind is not None else unnamed


def _notes(
    revision: str,
    chosen: Sequence[Found],
    left: Iterable[str],
    everything: Sequence[str],
    unsure: dict[str, str],
) -> list[str]:
    analysed = len({found.file for found in chosen})
    unchanged = len(set(left))
    if not analysed:
        return [f"no input changed since {revision}: none of {count(unchanged, 'file')} analysed"]
    notes = [f"analysed {count(analysed, 'file')}; {unchanged} unchanged since {revision}"]
    if everything:
        notes.append(f"all inputs are analysed, because {' and '.join(everything)}")
    if unsure:
        file, why = next(iter(unsure.items()))
        files = count(len(unsure), "file")
        notes.append(f"{files} analysed without a known change, such as {file}: {why}")
    return notes


def _about_builds(revision: Revision) -> list[str]:
    if _knows_database(revision):
        return []
    return [
        f"the build's options are assumed to be those of {revision.name}: no build file in git "
        "changed"
    ]


def _knows_database(revision: Revision) -> bool:
    return any(map(is_database, revision.known))

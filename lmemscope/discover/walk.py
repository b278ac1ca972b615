"""Turn the user's paths into input files: walk directories and read build databases.

A file is included once for each way it is compiled, with its options from the build. What cannot be
used becomes an error or a note, never silence.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.discover import build_account
from lmemscope.discover.checkouts import is_own
from lmemscope.discover.cpp_files import is_cpp_name, may_be_included, may_name_kernel
from lmemscope.discover.globs import matches
from lmemscope.discover.locate import (
    Search,
    database_in,
    is_below,
    is_build_name,
    is_build_tree,
    is_database,
    shown_path,
)
from lmemscope.discover.missing import (
    configured,
    gone,
    how_to_make,
    no_cuda_in,
    nothing_in,
    unreadable_kind,
)
from lmemscope.discover.other_languages import THIRD_PARTY, language_of
from lmemscope.discover.prebuilt import prebuilt, without_build_products
from lmemscope.discover.skipped import Skipped, why_skipped
from lmemscope.discover.tree import walk
from lmemscope.errors import InputError
from lmemscope.model import (
    STANDARD_INPUT,
    CompileOptions,
    Gap,
    count,
    kind_of,
    listed,
)
from lmemscope.routes import binary_kind, is_device_code, kind_of_content, route_of
from lmemscope.sources.jit_packages import instead

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.discover.build_database import BuildDatabase, Compiler, Entry


_NAMED = 5
"""Maximum number of files excluded by globs that are named."""


class Found(Struct, frozen=True):
    """An input and how to compile it.

    Attributes:
        file: for display.
        path: absolute.
        options: from its build, or None if no build covers it.
        archs: from its build; empty if it names none.
        variant: distinguishes a file's compilations if its build has several.
        walked: whether it was found in a directory rather than named.
        responses: option files named in its build command.
        entry: its database entry, if there is one for this very file.
    """

    file: str
    path: str
    options: CompileOptions | None = None
    archs: tuple[str, ...] = ()
    variant: str = ""
    walked: bool = False
    responses: tuple[str, ...] = ()
    entry: Entry | None = None


@dataclass(slots=True)
class Discovery:
    """The result of discovery.

    Attributes:
        inputs: in the order of the paths, each once.
        errors: a typed path, or an entry's file, with the problem.
        notes: sentences about what was left out.
        headers: headers below directories, and named C++ files; without those that are inputs.
        without_kernels: C++ files that were named but define no kernel.
        compilers: compilers named in build databases for the inputs.
        gaps: project files in directories that the walk skips.
        excluded: absolute paths of inputs that the globs exclude.
        others: by name, the language of files with kernels that are not read.
    """

    inputs: list[Found] = field(default_factory=list)
    errors: list[tuple[str, InputError]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    without_kernels: list[str] = field(default_factory=list)
    compilers: dict[Compiler, None] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    excluded: dict[str, None] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Globs:
    """Globs that select files in directories and builds; files named directly are exempt.

    Attributes:
        root: absolute path of the directory that the globs are relative to.
        include: if there are any, at least one must match.
        exclude: none may match.
    """

    root: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Globs:
        """The globs of a command."""
        return cls(settings.root, settings.include, settings.exclude)

    def admit(self, path: str) -> bool:
        """Whether an absolute path is accepted."""
        name = os.path.relpath(path, self.root).replace(os.sep, "/")
        if any(matches(name, glob) for glob in self.exclude):
            return False
        return not self.include or any(matches(name, glob) for glob in self.include)


@dataclass(frozen=True, slots=True)
class Builds:
    """How to use build databases.

    Attributes:
        use: take compile options from the database of a file's project.
        trust: also accept options that could run a program or load a library.
    """

    use: bool = True
    trust: bool = False


def discover(paths: Sequence[str], globs: Globs, builds: Builds = Builds()) -> Discovery:
    """Turn the user's paths into inputs, and report an error for each bad path.

    Directories are walked in sorted order for ``.cu``, ``.ptx`` and ``.cubin`` files, and for
    ``.py`` files that define kernels. Compile options come from the project's build database: in
    the directory, in its build directories, or found upwards from what is named. A directory that
    contains a database stands for everything in it, wherever the sources are.
    """
    result = Discovery()
    search = Search()
    skipped: list[Skipped] = []
    spoken_for: dict[str, list[str]] = {}
    for path in paths:
        if is_database(path) and os.path.exists(path):
            built = _add_database(result, path, globs, None, builds)
            if not built and all(path != named for named, _ in result.errors):
                result.errors.append((path, no_cuda_in(path)))
        elif path == STANDARD_INPUT:
            result.inputs.append(Found(path, path))
        elif os.path.isdir(path):
            _add_directory(result, path, globs, builds, search, skipped)
        elif not os.path.exists(path):
            missing = InputError("plan", f"{path} does not exist", hint=how_to_make(path))
            result.errors.append((path, missing))
        elif not _add_as_built(result, path, builds, search, spoken_for):
            if kind_of(path) is not None or kind_of_content(path) is not None:
                result.inputs.append(Found(os.path.normpath(path), os.path.abspath(path)))
                language = language_of(path)
                if language is not None:
                    reason = f"{path} may hold kernels in {language}, which are not read"
                    reason += instead([language])
                    result.gaps.append(Gap("read", reason, "evidence", os.path.normpath(path)))
            elif may_be_included(path):
                result.headers.append(os.path.normpath(path))
            elif is_cpp_name(path) and language_of(path) is None:
                result.without_kernels.append(os.path.normpath(path))
            else:
                result.errors.append((path, unreadable_kind(path)))
    result.notes += [_found_upwards(*item) for item in spoken_for.items()]
    named = {os.path.abspath(path) for path, _ in result.errors}
    result.notes += [
        f"{why.replace(path, shown_path(path))}; it is left aside"
        for path, why in search.broken.items()
        if path not in named
    ]
    result.inputs = _once(result.inputs)
    if builds.use:
        used = list(dict.fromkeys(compiler.database for compiler in result.compilers))
        result.gaps += build_account.account(result.inputs, used, search)
    for path in result.without_kernels:
        fact = Gap("read", f"{path} defines no kernel", "note", path)
        result.gaps.append(fact)
        result.notes.append(fact.reason)
    if result.excluded:
        result.gaps.append(_left_out(list(result.excluded), globs))
    result.others = without_build_products(result.others, [one.path for one in result.inputs])
    if skipped:
        from lmemscope.discover.skipped import account

        unwalked = account(skipped, [found.path for found in result.inputs], globs.admit)
        result.gaps += unwalked.gaps
        result.headers += map(shown_path, unwalked.headers)
    if result.headers:
        taken = {found.path for found in result.inputs}
        # Headers that the user named are inputs.
        result.headers = [one for one in result.headers if os.path.abspath(one) not in taken]
    result.notes = list(dict.fromkeys(result.notes))
    return result


def _add_as_built(
    result: Discovery,
    path: str,
    builds: Builds,
    search: Search,
    spoken_for: dict[str, list[str]],
) -> bool:
    """Add a named file as its project's database describes it; return whether one does."""
    kind = kind_of(path)
    if not builds.use or (kind is not None and not kind.is_cuda):
        return False
    own = os.path.abspath(path)
    database = search.database_for(own)
    if database is None:
        header = kind is not None and kind.is_header
        return header and _add_as_included(result, path, builds, search)
    is_built = _add_from(result, path, database, builds, search)
    if is_built:
        spoken_for.setdefault(database, []).append(os.path.normpath(path))
    return is_built


def _add_from(result: Discovery, path: str, database: str, builds: Builds, search: Search) -> bool:
    """Add a file as the database that names it says; return whether that compiles the file."""
    from lmemscope.discover.build_database import read_database

    own = os.path.abspath(path)
    spellings = search.spellings(database, own)
    read = read_database(database, spellings.__contains__, trust=builds.trust)
    result.notes += [f"{shown_path(database)}: {note}" for note in read.notes]
    result.gaps += _unclear(read, shown_path(database))
    result.compilers.update(dict.fromkeys(read.compilers))
    for found, variant in _variants([own] * len(read.entries), read.entries):
        result.inputs.append(replace(found, file=os.path.normpath(path), variant=variant))
    return bool(read.entries)


def _add_as_included(result: Discovery, path: str, builds: Builds, search: Search) -> bool:
    """Add a named header with the options of a source that includes it, if there is one."""
    from lmemscope.discover.including import first_that_includes

    found = first_that_includes(os.path.abspath(path), search, trust=builds.trust)
    if found is None:
        return False
    file, database = os.path.normpath(path), shown_path(found.database)
    flags = found.entry.flags
    made = Found(file, os.path.abspath(path), flags.options, flags.archs)
    result.inputs.append(replace(made, responses=flags.responses))
    result.compilers[found.entry.compiler] = None
    result.notes.append(
        f"{file} is compiled with the options of {shown_path(found.entry.path)}, which includes "
        f"it, as {database} says; --no-build-database leaves it aside"
    )
    return True


def _found_upwards(database: str, named: Sequence[str]) -> str:
    others = f" and {len(named) - 1} more are" if len(named) > 1 else " is"
    said = f"{named[0]}{others} compiled as {shown_path(database)} says"
    return f"{said}; --no-build-database leaves it aside"


def _once(inputs: Sequence[Found]) -> list[Found]:
    """Each way of compiling each file once; a file that was also named counts as named."""
    kept: dict[tuple[object, ...], Found] = {}
    for found in inputs:
        key = (found.path, found.options, found.archs)
        first = kept.setdefault(key, found)
        if first.walked and not found.walked:
            kept[key] = replace(first, walked=False)
    return list(kept.values())


def _add_directory(
    result: Discovery,
    directory: str,
    globs: Globs,
    builds: Builds,
    search: Search,
    skipped: list[Skipped],
) -> None:
    inputs, errors = len(result.inputs), len(result.errors)
    base = os.path.abspath(directory)
    built: set[str] = set()
    database = _database_of(base, search) if builds.use else None
    walked = True
    if database is not None:
        holds = os.path.dirname(database) == base
        built = _add_database(result, shown_path(database), globs, None if holds else base, builds)
        walked = not (holds and is_build_tree(base))
        if not is_below(database, base) and built:
            result.notes.append(_found_upwards(database, [os.path.normpath(directory)]))
    if not walked:
        why = "a build directory, of which only the build database is read"
        skipped.append(Skipped(os.path.normpath(directory), why, base))
    for file, is_header in _walk(directory, skipped, result.others) if walked else ():
        path = os.path.abspath(file)
        if path in built or (built and os.path.realpath(path) in built):
            continue
        if not globs.admit(path):
            result.excluded |= {} if is_header else {path: None}
            continue
        if is_header:
            result.headers.append(os.path.normpath(file))
            continue
        by_link = database is not None and search.spellings(database, path) - {path}
        if not (database and by_link and _add_from(result, file, database, builds, search)):
            result.inputs.append(Found(os.path.normpath(file), path, walked=True))
    if len(result.errors) == errors and not any(map(_is_source, result.inputs[inputs:])):
        result.inputs += _binaries(directory, globs)
    if (len(result.inputs), len(result.errors)) == (inputs, errors):
        own = database_in(directory)
        nothing = no_cuda_in(own) if own is not None else nothing_in(directory)
        if own is None and is_build_name(os.path.abspath(directory)):
            nothing.hint = configured(os.path.abspath(directory)) or nothing.hint
        result.errors.append((directory, nothing))


def _is_source(found: Found) -> bool:
    return found.options is not None or not is_device_code(found.path)


def _binaries(directory: str, globs: Globs) -> Iterator[Found]:
    """The binaries below a directory without sources: each once, whatever links to it."""
    seen: set[str] = set()
    for root, names, files in walk(directory, lambda error: None):
        names[:] = [name for name in names if why_skipped(root, name) is None]
        for name in files:
            file = os.path.join(root, name)
            path = os.path.realpath(file)
            if path not in seen and globs.admit(os.path.abspath(file)) and binary_kind(file):
                seen.add(path)
                yield Found(os.path.normpath(file), os.path.abspath(file), walked=True)


def _database_of(directory: str, search: Search) -> str | None:
    """The database of a source or build directory: in it, else the first that names its files."""
    own = database_in(directory)
    if own is not None and (search.sources(own) or own in search.broken):
        return own
    return search.database_for(directory)


def _add_database(
    result: Discovery, path: str, globs: Globs, below: str | None, builds: Builds
) -> set[str]:
    """Add the entries of a database, limited to those below a directory if given."""
    from lmemscope.discover.build_database import read_database

    def wanted(source: str) -> bool:
        if below is not None and not any(
            is_below(path, below) for path in (source, os.path.realpath(source))
        ):
            return False
        if globs.admit(source):
            return True
        kind = kind_of(source)
        # A database also names host sources.
        if kind is not None and kind.is_cuda:
            result.excluded[source] = None
        return False

    try:
        database = read_database(path, wanted, trust=builds.trust)
    except InputError as error:
        result.errors.append((path, error))
        return set()
    entries = database.entries
    for found, variant in _variants([entry.path for entry in entries], entries):
        if os.path.isfile(found.path):
            result.inputs.append(replace(found, file=shown_path(found.path), variant=variant))
        else:
            name = shown_path(found.path)
            result.errors.append((name, gone(name, found.path, path)))
    result.notes += [f"{path}: {note}" for note in database.notes]
    result.gaps += _unclear(database, path)
    result.compilers.update(dict.fromkeys(database.compilers))
    return {path for entry in entries for path in (entry.path, os.path.realpath(entry.path))}


def _unclear(database: BuildDatabase, shown: str) -> Iterator[Gap]:
    """Gaps that fail the gate: compiled here, but perhaps differently by the build."""
    for source, why in database.unclear:
        yield Gap("plan", f"{shown}: {why}", "evidence", shown_path(source))


def _variants(paths: Sequence[str], entries: Sequence[Entry]) -> Iterator[tuple[Found, str]]:
    """Inputs, with a distinguishing variant if a source is compiled in several ways."""
    taken: set[tuple[str, str]] = set()
    times: Counter[str] = Counter()
    for path, entry in zip(paths, entries, strict=True):
        times[path] += 1
        nth = times[path]
        variant = (entry.output or f"{nth}") if nth > 1 else ""
        if (path, variant) in taken:
            variant = f"{variant} {nth}"
        taken.add((path, variant))
        read = entry.flags
        found = Found("", path, read.options, read.archs, responses=read.responses, entry=entry)
        yield found, variant


def _walk(
    directory: str, skipped: list[Skipped], others: dict[str, str]
) -> Iterator[tuple[str, bool]]:
    """Inputs and headers below a directory: path, and whether it is a header.

    A C++ file that defines kernels counts as a header: it matters if a source includes it. Cubins
    and fat binaries count whatever their name.
    """
    base = os.path.abspath(directory)

    def unread(error: OSError) -> None:
        # Its content is unknown: the walk finds nothing, but git's list may.
        why = f"a directory that cannot be read ({error.strerror})"
        skipped.append(Skipped(os.path.normpath(error.filename), why, base))

    for root, names, files in walk(directory, unread):
        entered = []
        for name in names:
            why = why_skipped(root, name)
            if why is None:
                entered.append(name)
            else:
                skipped.append(Skipped(os.path.normpath(os.path.join(root, name)), why, base))
        names[:] = entered
        beside = frozenset(name.lower() for name in files)
        for name in files:
            path = os.path.join(root, name)
            kind = kind_of(path)
            language = language_of(path) or prebuilt(path)
            if language is not None:
                others[os.path.normpath(path)] = language
            if kind is not None and (kind.is_header or route_of(kind).is_walked(path, beside)):
                yield path, kind.is_header
            elif kind is None and is_own(os.path.abspath(path), base) and may_be_included(path):
                yield path, True
            elif kind is None and language is None and may_name_kernel(path):
                others[os.path.normpath(path)] = THIRD_PARTY
            elif is_device_code(path):
                yield path, False


def _left_out(excluded: Sequence[str], globs: Globs) -> Gap:
    """A gap for what the user's globs exclude, for the gate."""
    names = listed([*map(shown_path, excluded)], _NAMED)
    said = " and ".join(
        f"{word} {', '.join(given)}"
        for word, given in (("include", globs.include), ("exclude", globs.exclude))
        if given
    )
    return Gap("walk", f"{said}: left out {count(len(excluded), 'file')}: {names}", "note")

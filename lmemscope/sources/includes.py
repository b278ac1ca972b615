"""Determine which of the user's files a compilation reads: the closure of its includes.

The files are read as text, not by a compiler, because the result is needed before one is loaded: it
is part of the cache key, and lists the files to send to another machine. It therefore errs on the
safe side: every branch of every ``#if`` counts as taken, and names are looked up anew each time, so
that a header that now shadows another is noticed. Toolkit headers are identified by the toolkit's
version instead.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lmemscope.files import (
    UnreadableFileError,
    cached_while_unchanged,
    read_input,
    refuse_odd,
)
from lmemscope.model import CompileOptions
from lmemscope.sources.arguments import named as arguments_of
from lmemscope.sources.directives import BLANKS, Skip, defines_in, headers_named, readings
from lmemscope.sources.include_macros import Header, HeaderMacros, HeaderPattern, Meaning, Use
from lmemscope.sources.macro_use import MacroUse, code, given, macro_use
from lmemscope.sources.unlike_macros import is_of_its_time, pastes_a_probe, probed

ARCH_LIST = "__CUDA_ARCH_LIST__"
"""The macro that lists all architectures that a source is compiled for at once."""

SYSTEM_DIRS = ("/usr/local/include", "/usr/include")
"""Default header directories of host compilers; headers found there are not searched further."""

_NAMES_LIST = re.compile(rb"(?<![\w$])(?:(?:__CUDA_)?ARCH)?_?LIST__(?![\w$])")
"""That macro, or its suffix, from which macros may assemble it."""
_MACRO = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
_NO_PARAMETERS = re.compile(rb"\(" + BLANKS + rb"\)")
_NAME = re.compile(rb'"([^"\n]+)"|<([^>\n]+)>')
_PARAMETER = re.compile(rb"\([ \t]*([A-Za-z_]\w*)[ \t]*\)")
_GIVEN = re.compile(
    rb"([A-Za-z_$][\w$]*)[ \t]*\([ \t]*([\w./+-]+)[ \t]*\)[ \t]*(?=[\r\n]|//|/\*|\Z)"
)
_ENDS_LINE = re.compile(rb"[ \t]*(?:[\r\n]|//|/\*|\Z)")


@dataclass(frozen=True, slots=True)
class Closure:
    """The files that a compilation reads.

    Attributes:
        files: absolute paths of the user's files, the source first, then in order of discovery.
        system: absolute paths found in `SYSTEM_DIRS`, or in a toolkit that a build names.
        missing: names found nowhere: toolkit headers, and nonexistent ones.
        angled: names of headers in angle brackets, found or not.
        computed: whether there may be more: an ``#include`` or ``__has_include`` names a macro.
            What `include_macros` can follow is read, whichever definition applies, and is complete
            if each is a header named by the macro's argument. Also set if a text uses its
            compilation time, or may assemble such a question with ``##``.
        crossed: directories that header names leave with ``..``, whether they exist or not: a file
            is found only through an existing one.
        texts: absolute paths of the files that could be read, in reading order.
        digests: of the bytes of each of them.
        uses: of macros in the options, and in each of the texts.
    """

    files: tuple[str, ...]
    system: tuple[str, ...]
    missing: frozenset[str]
    angled: frozenset[str]
    computed: bool
    crossed: tuple[str, ...]
    texts: tuple[str, ...]
    digests: tuple[str, ...]
    uses: tuple[MacroUse, ...]


@dataclass(frozen=True, slots=True)
class _Included:
    """The headers that a file names.

    Attributes:
        digest: of its bytes.
        names: of headers, whether quoted, and whether every file of that name may be meant.
        macros: used instead of a header's name; the file's name is set later.
        computed: as in `Closure`, without macros that have an argument.
    """

    digest: str
    names: tuple[Header, ...]
    macros: tuple[Use, ...]
    computed: bool


@functools.cache
def holds_toolkit(directory: str) -> bool:
    """Whether a directory belongs to a CUDA toolkit: the runtime's headers, or CCCL's."""
    candidates = (directory, os.path.dirname(directory.rstrip(os.sep)))
    below = candidates if os.path.basename(directory.rstrip(os.sep)) == "cccl" else candidates[:1]
    return any(os.path.isfile(os.path.join(path, "cuda_runtime.h")) for path in below)


def closure(path: str, options: CompileOptions, *, beside: str | None = None) -> Closure:
    """Follow the includes of a source file.

    Args:
        path: absolute path of the source.
        options: searched for include directories, including those in pass-through arguments, and
            for files that these name.
        beside: directory where the source's quoted headers are looked up first; None for its own.

    Raises:
        UnreadableFileError: an include names a pipe, a socket or a device, or a macro that may
            stand for too many headers.
        OSError: the source cannot be read; unreadable included files are ``missing``.
    """
    arguments = arguments_of(options)
    directories = (*options.include_dirs, *arguments.directories)
    search = tuple(directory for directory in directories if not holds_toolkit(directory))
    last = (*(directory for directory in directories if holds_toolkit(directory)), *SYSTEM_DIRS)
    defines = arguments.definitions()
    files: dict[str, None] = dict.fromkeys((path, *arguments.files))
    system: dict[str, None] = {}
    missing: set[str] = set()
    angled: set[str] = set()
    crossed: dict[str, None] = {}
    _included(path)
    pending = [path]
    for name in arguments.forced:
        found = _find(name, (os.getcwd(), *search, *last), False)
        crossed.update(_crossed(name, (os.getcwd(), *search)))
        missing.update(() if found else (name,))
        new = [header for header in found if header not in files]
        files.update(dict.fromkeys(new))
        pending += new
    scanned: list[str] = []
    digests: list[str] = []
    uses = [_given(defines)]
    macros, learnt, computed = HeaderMacros(), 0, not arguments.is_whole
    names_macros = False
    followed: set[tuple[str, Header]] = set()

    def follow(includer: str, header: Header) -> None:
        name, quoted, every = header
        if (includer, header) in followed:
            return
        followed.add((includer, header))
        if not quoted:
            angled.add(name)
        own = beside if beside is not None and includer == path else os.path.dirname(includer)
        first = (own,) if quoted else ()
        found = _find(name, (*first, *search), every)
        crossed.update(_crossed(name, (*first, *search)))
        new = [header for header in found if header not in files]
        files.update(dict.fromkeys(new))
        pending.extend(new)
        if found and not every:
            return
        installed = _find(name, last, every)
        system.update(dict.fromkeys(installed))
        if not found and not installed:
            missing.add(name)

    while pending:
        while pending:
            file = pending.pop()
            try:
                included, use = _included(file), _macro_use(file)
            except UnreadableFileError:
                raise
            except OSError:
                missing.add(file)
                continue
            scanned.append(file)
            computed |= included.computed
            uses.append(use)
            digests.append(included.digest)
            for header in included.names:
                follow(file, header)
            for one in included.macros:
                names_macros = True
                macros.use(replace(one, file=file))
        if names_macros:
            # Last, and again for each new file: any file that is read may define one.
            if learnt == 0:
                for macro, meaning in _header_macros(defines):
                    macros.define(macro, meaning)
            for file in scanned[learnt:]:
                for macro, meaning in _definitions(file):
                    macros.define(macro, meaning)
            learnt = len(scanned)
            for includer, header in macros.new():
                follow(includer, header)
        asking, is_open = probed(uses)
        for file, use in zip((path, *scanned), uses, strict=True):
            for word, header in use.headers:
                if word in asking:
                    follow(file, header)
        computed |= is_open or is_of_its_time(uses) or pastes_a_probe(uses, asking)
    computed |= macros.is_open
    unfound = frozenset(missing)
    return Closure(
        tuple(files),
        tuple(system),
        unfound,
        frozenset(angled),
        computed,
        tuple(crossed),
        tuple(scanned),
        tuple(digests),
        tuple(uses),
    )


def user_files(path: str) -> tuple[str, ...]:
    """The user's files that a source reads without options, as `closure` finds them.

    Raises:
        UnreadableFileError, OSError: as `closure`.
    """
    files = {path: None}
    pending = [path]
    _included(path)
    while pending:
        file = pending.pop()
        try:
            included = _included(file)
        except UnreadableFileError:
            raise
        except OSError:
            continue
        if included.computed or included.macros:
            return closure(path, CompileOptions()).files
        for name, quoted, every in included.names:
            for header in _find(name, (os.path.dirname(file),) if quoted else (), every):
                if header not in files:
                    files[header] = None
                    pending.append(header)
    return tuple(files)


def names_arch_list(paths: Iterable[str]) -> bool:
    """Whether texts use the macro that lists all architectures."""
    return any(_NAMES_LIST.search(text) is not None for text in codes_of(paths))


def codes_of(paths: Iterable[str]) -> Iterator[bytes]:
    """Texts without comments and literals; unreadable ones are skipped."""
    for path in paths:
        with contextlib.suppress(OSError):
            yield code(read_input(path))


def digest(path: str) -> str:
    """SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    return _included(path).digest


@cached_while_unchanged(16384)
def _included(path: str) -> _Included:
    """The headers that a file names."""
    data = read_input(path)
    names: dict[Header, None] = {}
    macros: dict[Use, None] = {}
    computed = False
    for text in readings(data):
        for at, word in headers_named(text):
            named = _NAME.match(text, at)
            if named is None:
                if not word.startswith(b"__has"):
                    use = _use(text, at, word.endswith(b"_next"))
                    computed |= use is None or not use.argument
                    macros |= {} if use is None else {use: None}
                continue
            names[*_header(named), word.endswith(b"_next")] = None
    return _Included(hashlib.sha256(data).hexdigest(), tuple(names), tuple(macros), computed)


@cached_while_unchanged(16384)
def _macro_use(path: str) -> MacroUse:
    """A file's use of macros."""
    return macro_use(read_input(path))


def _header(named: re.Match[bytes]) -> tuple[str, bool]:
    quoted, angled = named.groups()
    return (quoted or angled).decode("utf-8", "surrogateescape"), quoted is not None


def _definitions(path: str) -> tuple[tuple[bytes, Meaning], ...]:
    try:
        return _read_definitions(path)
    except OSError:
        return ()


@cached_while_unchanged(4096)
def _read_definitions(path: str) -> tuple[tuple[bytes, Meaning], ...]:
    """Meanings of macros where a header name is expected; few texts need this."""
    found: dict[tuple[bytes, Meaning], None] = {}
    for text in readings(read_input(path)):
        skip = Skip(text)
        for at in defines_in(text):
            macro = _MACRO.match(text, at)
            if macro is None:
                continue
            parameter = _PARAMETER.match(text, macro.end())
            if parameter is not None:
                pattern = _pattern(text, skip(parameter.end()), parameter[1])
                found[macro[0] + b"(", pattern] = None
                continue
            none = _NO_PARAMETERS.match(text, macro.end())
            meaning = _meaning(text, skip(macro.end() if none is None else none.end()))
            if meaning is not None:
                found[macro[0], meaning] = None
    return tuple(found)


def _header_macros(defines: Iterable[bytes]) -> Iterator[tuple[bytes, Meaning]]:
    """The same for ``-D``."""
    for define in defines:
        name, _, value = define.partition(b"=")
        called, given, parameter = name.strip().partition(b"(")
        if given and parameter != b")":
            yield called + given, None
            continue
        meaning = _meaning(value, 0)
        if meaning is not None:
            yield name.strip().removesuffix(b"()"), meaning


@functools.lru_cache(maxsize=256)
def _given(defines: tuple[bytes, ...]) -> MacroUse:
    return given(defines)


def _use(text: bytes, at: int, every: bool) -> Use | None:
    """The macro used instead of a header's name; None if something else is there."""
    given = _GIVEN.match(text, at)
    if given is not None:
        return Use("", given[1] + b"(", every, given[2].decode())
    macro = _MACRO.match(text, at)
    return None if macro is None else Use("", macro[0], every)


def _pattern(text: bytes, at: int, parameter: bytes) -> HeaderPattern | None:
    """A macro body that is a header in angle brackets with its parameter as words."""
    named = _NAME.match(text, at)
    if named is None or named[2] is None or not _ENDS_LINE.match(text, named.end()):
        return None
    word = rb"(?<![\w$])" + re.escape(parameter) + rb"(?![\w$])"
    return HeaderPattern(tuple(os.fsdecode(part) for part in re.split(word, named[2])))


def _meaning(text: bytes, at: int) -> Meaning:
    named = _NAME.match(text, at)
    if named is not None:
        return _header(named)
    macro = _MACRO.match(text, at)
    return None if macro is None else macro[0]


def _find(name: str, directories: Sequence[str], every: bool) -> list[str]:
    """The first file of a name in some directories, or all of them."""
    found = []
    for directory in directories:
        candidate = _joined(directory, name)
        # Check the path as written: the directory before `..` must exist.
        if os.path.isfile(os.path.join(directory, name)):
            found.append(candidate)
            if not every:
                break
        else:
            # A compiler that opens a pipe or a device may never end.
            refuse_odd(candidate)
    return found


def _crossed(name: str, directories: Iterable[str]) -> dict[str, None]:
    """Directories that a header's name leaves with ``..``, wherever it is looked up."""
    crossed: dict[str, None] = {}
    for directory in directories if os.pardir in name.split("/") else ():
        path = os.path.join(directory, name)
        parts = path.split("/")
        for number, part in enumerate(parts):
            if part == os.pardir and number and parts[number - 1] != os.pardir:
                crossed["/".join(parts[:number]) or "/"] = None
    return crossed


def _joined(directory: str, name: str) -> str:
    """A path as compilers resolve it: after a link, ``..`` is the parent of the link's target."""
    path = os.path.join(directory, name)
    if os.pardir not in name.split("/"):
        return os.path.normpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

"""Which of the user's files a compilation reads: the closure of its ``#include`` lines.

Read from the text, not asked of a compiler, because the answer is wanted before one is loaded: it
keys the cache and says what has to travel to another machine. So it errs to one side: every branch
of every ``#if`` counts as taken, and a name is looked up afresh each time, so that a header that
appears in front of another is noticed. What the toolkit brings is left to its version.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmemscope.files import UnreadableFileError, read_input, refuse_odd
from lmemscope.model import CompileOptions
from lmemscope.sources.arguments import environment_arguments
from lmemscope.sources.arguments import named as arguments_of
from lmemscope.sources.host_options import unshared
from lmemscope.sources.include_macros import Header, HeaderMacros, Meaning, Use
from lmemscope.sources.macro_use import MacroUse, code, given, macro_use
from lmemscope.sources.unlike_macros import (
    differing,
    is_of_its_time,
    pastes_in_conditions,
    probed,
)
from lmemscope.sources.unlike_names import NameUse, name_use, named_otherwise
from lmemscope.sources.unlike_nvcc import READ_TWICE, read_otherwise

ARCH_LIST = "__CUDA_ARCH_LIST__"
"""The macro that lists all architectures that a source is compiled for at once."""

SYSTEM_DIRS = ("/usr/local/include", "/usr/include")
"""Where host compilers look by default; what is found there is not looked into further."""

_BLANKS = rb"[ \t\v\f\r\0]*"
_NAMES_LIST = re.compile(rb"(?<![\w$])(?:(?:__CUDA_)?ARCH)?_?LIST__(?![\w$])")
"""That macro, or its end where others put it together."""
_HASH = re.compile(rb"(?:#|%:)" + _BLANKS + rb"(?=(?:include|include_next|import|embed)\b|/\*)")
_WORD = re.compile(rb"(?:include|include_next|import|embed)\b")
_DEFINING_HASH = re.compile(rb"(?:#|%:)" + _BLANKS + rb"(?=define\b|/\*)")
_DEFINING_WORD = re.compile(rb"define\b")
_MACRO = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
_NO_PARAMETERS = re.compile(rb"\(" + _BLANKS + rb"\)")
_CONDITION = re.compile(rb"__has_(?:include|include_next|embed)\b")
_SPACE = re.compile(_BLANKS)
_NAME = re.compile(rb'"([^"\n]+)"|<([^>\n]+)>')
_BEFORE = b" \t\v\f\0\xef\xbb\xbf"
"""What may stand before a directive on its line, comments aside: blanks, and UTF-8's mark."""

_TRIGRAPHS = dict(zip(b"=/'()!<>-", b"#\\^[]|{}~", strict=True))
_TRIGRAPH = re.compile(rb"\?\?([=/'()!<>-])")
_ONCE = re.compile(rb"\b(?:once|import)\b")
_SPLICE = re.compile(rb"\\\r?\n")
_LOOSE_SPLICE = re.compile(rb"\\[ \t\v\f\r]*\n")


@dataclass(frozen=True, slots=True)
class Closure:
    """What a compilation reads.

    Attributes:
        files: absolute paths of the user's files, the source first, then in order of discovery.
        system: absolute paths found in `SYSTEM_DIRS`, or in a toolkit that a build names.
        missing: names found nowhere: the toolkit's headers, and those that are not there.
        angled: names of headers in angle brackets, found or not.
        computed: an ``#include`` or ``__has_include`` names a macro, so there may be more: what
            macros without parameters stand for is followed, whichever definition holds, and other
            macros are not. Or a text says when it is compiled.
        crossed: directories that names of headers go back from by ``..``, whether they exist or
            not: only through one that exists is anything found.
        asked: a macro that a text names and that may be another for NVRTC than for nvcc, or what
            else of the text or of the options NVRTC reads otherwise; or None.
        uses: of macros in the texts and the options.
    """

    files: tuple[str, ...]
    system: tuple[str, ...]
    missing: frozenset[str]
    angled: frozenset[str]
    computed: bool
    crossed: tuple[str, ...]
    asked: str | None
    uses: tuple[MacroUse, ...]


@dataclass(frozen=True, slots=True)
class _Scanned:
    """What a file says.

    Attributes:
        digest: of its bytes.
        names: of headers, whether quoted, and whether each file of that name may be meant.
        macros: in the place of a header's name, and whether each file may be meant.
        computed: as in `Closure`.
        use: of macros in all of the text.
        otherwise: what else of it NVRTC reads otherwise than nvcc, or None.
        declared: what it makes of names that are declared before it.
        once: whether it may have a header read once only: by ``#pragma once`` or by ``#import``.
    """

    digest: str
    names: tuple[Header, ...]
    macros: tuple[tuple[bytes, bool], ...]
    computed: bool
    use: MacroUse
    otherwise: str | None
    declared: NameUse
    once: bool


@functools.cache
def holds_toolkit(directory: str) -> bool:
    """Whether a directory is one of a CUDA toolkit's own: the runtime's headers, or CCCL's."""
    candidates = (directory, os.path.dirname(directory.rstrip(os.sep)))
    below = candidates if os.path.basename(directory.rstrip(os.sep)) == "cccl" else candidates[:1]
    return any(os.path.isfile(os.path.join(path, "cuda_runtime.h")) for path in below)


def closure(path: str, options: CompileOptions) -> Closure:
    """Follow the includes of a source file.

    Args:
        path: absolute path of the source.
        options: their include directories are searched, and directories and files that the
            arguments passed through to the compilers name.

    Raises:
        UnreadableFileError: an include names a pipe, a socket or a device, or a macro that may
            stand for more headers than anybody would follow.
        OSError: the source itself cannot be read; included files that cannot are ``missing``.
    """
    arguments = arguments_of(options)
    directories = (*options.include_dirs, *arguments.directories)
    search = tuple(directory for directory in directories if not holds_toolkit(directory))
    last = (*(directory for directory in directories if holds_toolkit(directory)), *SYSTEM_DIRS)
    # nvcc hands it to a shell, which takes the backslashes away.
    defines = tuple(os.fsencode(one).replace(b'\\"', b'"') for one in arguments.defines)
    files: dict[str, None] = dict.fromkeys((path, *arguments.files))
    system: dict[str, None] = {}
    missing: set[str] = set()
    angled: set[str] = set()
    crossed: dict[str, None] = {}
    _scan(path)
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
    is_once = False
    uses = [_given(defines)]
    macros, learnt, computed = HeaderMacros(), 0, not arguments.is_whole
    given_text = b"\n".join(b"#define " + one.replace(b"=", b" ", 1) for one in defines)
    otherwise = read_otherwise(given_text)
    declared = [name_use(code(given_text))]
    followed: set[tuple[str, Header]] = set()

    def follow(includer: str, header: Header) -> None:
        name, quoted, every = header
        if (includer, header) in followed:
            return
        followed.add((includer, header))
        if not quoted:
            angled.add(name)
        first = (os.path.dirname(includer),) if quoted else ()
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
                found_there = _scan(file)
            except UnreadableFileError:
                raise
            except OSError:
                missing.add(file)
                continue
            scanned.append(file)
            computed |= found_there.computed
            otherwise = otherwise or found_there.otherwise
            uses.append(found_there.use)
            declared.append(found_there.declared)
            digests += [found_there.digest]
            is_once |= found_there.once
            for header in found_there.names:
                follow(file, header)
            for macro, every in found_there.macros:
                macros.use(Use(file, macro, every))
        if computed:
            # Last, and again with what they bring: any file that is read may define one.
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
        computed |= is_open or is_of_its_time(uses) or pastes_in_conditions(uses)
    other_host = any("ccbin" in word or "compiler-bindir" in word for word in options.nvcc_args)
    if is_once and len(set(digests)) < len(digests):
        otherwise = otherwise or READ_TWICE
    asked = otherwise or differing(uses, lambda: _codes(scanned), other_host=other_host)
    asked = asked or named_otherwise(declared, uses)
    asked = asked or environment_arguments() or unshared(arguments.host, options.std)
    # NVRTC compiles for one architecture, and its list has no other.
    if any(one.startswith(ARCH_LIST.encode()) for one in defines):
        asked = asked or (ARCH_LIST if names_arch_list(scanned) else None)
    unfound = frozenset(missing)
    return Closure(
        tuple(files),
        tuple(system),
        unfound,
        frozenset(angled),
        computed,
        tuple(crossed),
        asked,
        tuple(uses),
    )


def names_arch_list(paths: Iterable[str]) -> bool:
    """Whether texts name the macro that lists all architectures."""
    return any(_NAMES_LIST.search(text) is not None for text in _codes(paths))


def _codes(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        with contextlib.suppress(OSError):
            yield code(read_input(path))


def digest(path: str) -> str:
    """SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    return _scan(path).digest


def _scan(path: str) -> _Scanned:
    """A file's digest and includes; a file that has not changed is read once per process."""
    stat = os.stat(path)
    return _read(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)


@functools.lru_cache(maxsize=16384)
def _read(path: str, _size: int, _mtime_ns: int, _inode: int) -> _Scanned:
    data = read_input(path)
    names: dict[Header, None] = {}
    macros: dict[tuple[bytes, bool], None] = {}
    computed, otherwise = False, None
    for text in _readings(data):
        otherwise = otherwise or read_otherwise(text)
        for at, word in _mentions(text):
            named = _NAME.match(text, at)
            if named is None:
                macro = _MACRO.match(text, at)
                if not word.startswith(b"__has"):
                    computed = True
                    if macro is not None:
                        macros[macro[0], word.endswith(b"_next")] = None
                continue
            names[*_header(named), word.endswith(b"_next")] = None
    digest = hashlib.sha256(data).hexdigest()
    use, once = macro_use(data), _ONCE.search(_SPLICE.sub(b"", data)) is not None
    declared = name_use(code(data))
    return _Scanned(digest, tuple(names), tuple(macros), computed, use, otherwise, declared, once)


def _header(named: re.Match[bytes]) -> tuple[str, bool]:
    quoted, angled = named.groups()
    return (quoted or angled).decode("utf-8", "surrogateescape"), quoted is not None


def _definitions(path: str) -> tuple[tuple[bytes, Meaning], ...]:
    try:
        stat = os.stat(path)
        return _read_definitions(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    except OSError:
        return ()


@functools.lru_cache(maxsize=4096)
def _read_definitions(
    path: str, _size: int, _mtime_ns: int, _inode: int
) -> tuple[tuple[bytes, Meaning], ...]:
    """Macros without parameters that are a header's name or another macro's; for few texts ask."""
    found: dict[tuple[bytes, Meaning], None] = {}
    for text in _readings(read_input(path)):
        skip = _Skip(text)
        for at, _ in _directives(text, _DEFINING_HASH, _DEFINING_WORD):
            macro = _MACRO.match(text, at)
            if macro is None:
                continue
            none = _NO_PARAMETERS.match(text, macro.end())
            meaning = _meaning(text, skip(macro.end() if none is None else none.end()))
            if meaning is not None:
                found[macro[0], meaning] = None
    return tuple(found)


def _header_macros(defines: Iterable[bytes]) -> Iterator[tuple[bytes, Meaning]]:
    """The same of ``-D``."""
    for define in defines:
        name, _, value = define.partition(b"=")
        meaning = _meaning(value, 0)
        if meaning is not None:
            yield name.strip().removesuffix(b"()"), meaning


@functools.lru_cache(maxsize=256)
def _given(defines: tuple[bytes, ...]) -> MacroUse:
    return given(defines)


def _meaning(text: bytes, at: int) -> Meaning | None:
    named = _NAME.match(text, at)
    if named is not None:
        return _header(named)
    macro = _MACRO.match(text, at)
    return None if macro is None else macro[0]


def _readings(data: bytes) -> Iterator[bytes]:
    """A text as compilers read it, its spliced lines joined: in each way that one of them may.

    Trigraphs, and blanks between a backslash and its newline, mean something to some compilers and
    in some dialects only.
    """
    joined = data
    if b"\\\n" in data or b"\\\r" in data:
        joined = _SPLICE.sub(b"", data)
    yield joined
    trigraphs = b"??" in data
    if trigraphs or (b"\\" in data and _LOOSE_SPLICE.search(joined)):
        if trigraphs:
            data = _TRIGRAPH.sub(lambda found: bytes((_TRIGRAPHS[found[1][0]],)), data)
        loose = _LOOSE_SPLICE.sub(b"", data)
        if loose != joined:
            yield loose


def _mentions(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Where a header should be named, and the word that should name it: a directive's has to."""
    yield from _directives(text, _HASH, _WORD)
    if b"__has_" in text:
        skip = _Skip(text)
        for found in _CONDITION.finditer(text):
            at = skip(found.end())
            if text.startswith(b"(", at):
                yield skip(at + 1), found[0]


def _directives(
    text: bytes, hashes: re.Pattern[bytes], words: re.Pattern[bytes]
) -> Iterator[tuple[int, bytes]]:
    """Where directives of these words go on behind their word, and the word."""
    skip, begins_line = _Skip(text), _LineBegins(text)
    for found in hashes.finditer(text):
        word = words.match(text, skip(found.end()))
        if word is not None and begins_line(found.start()):
            yield skip(word.end()), word[0]


class _LineBegins:
    """Whether only blanks and comments, which may have begun on earlier lines, stand before.

    Asked of positions in their order, so that nothing is looked at twice.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._seen = 0
        self._is_blank = True

    def __call__(self, at: int) -> bool:
        between = self._text[self._seen : at]
        # One byte back: the two of a comment's end may have been seen apart.
        closed = self._text.rfind(b"*/", max(self._seen - 1, 0), at)
        begin = max(between.rfind(b"\n") + 1, between.rfind(b"\r") + 1)
        begin = max(begin, closed + 2 - self._seen if closed >= 0 else 0)
        self._is_blank = (self._is_blank or begin > 0) and not between[begin:].strip(_BEFORE)
        self._seen = at
        return self._is_blank


class _Skip:
    """Skips blanks and comments; what has been searched for a comment's end is not again."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._from, self._end = 0, -1

    def __call__(self, at: int) -> int:
        """The position of what follows; of an opened comment, if it does not end."""
        text = self._text
        while True:
            blank = _SPACE.match(text, at)
            at = blank.end() if blank is not None else at
            if not text.startswith(b"/*", at):
                return at
            if not self._from <= at + 2 <= self._end:
                self._from, end = at + 2, text.find(b"*/", at + 2)
                self._end = end if end >= 0 else len(text)
            if self._end == len(text):
                return at
            at = self._end + 2


def _find(name: str, directories: Sequence[str], every: bool) -> list[str]:
    """The first file of a name in some directories, or every one."""
    found = []
    for directory in directories:
        candidate = _joined(directory, name)
        # By its name as it stands: before `..` a directory has to exist.
        if os.path.isfile(os.path.join(directory, name)):
            found.append(candidate)
            if not every:
                break
        else:
            # A compiler that opens a pipe or a device may never end.
            refuse_odd(candidate)
    return found


def _crossed(name: str, directories: Iterable[str]) -> dict[str, None]:
    """Directories that a header's name goes back from, wherever it is looked up."""
    crossed: dict[str, None] = {}
    for directory in directories if os.pardir in name.split("/") else ():
        path = os.path.join(directory, name)
        parts = path.split("/")
        for number, part in enumerate(parts):
            if part == os.pardir and number and parts[number - 1] != os.pardir:
                crossed["/".join(parts[:number]) or "/"] = None
    return crossed


def _joined(directory: str, name: str) -> str:
    """A path as compilers take it: behind a link to a directory, ``..`` is where that leads."""
    path = os.path.join(directory, name)
    if os.pardir not in name.split("/"):
        return os.path.normpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

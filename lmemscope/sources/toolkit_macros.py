"""Find toolkit macros in a source that may differ between NVRTC and nvcc.

The toolkit's headers test which compiler reads them. A macro counts as the same for both if a
header that the source itself includes defines it exactly once, unconditionally.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmemscope.files import read_beside
from lmemscope.sources.compiler_macros import SAME, may_differ
from lmemscope.sources.macro_use import WORD, code, defined_first, macro_use

_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_GUARD = re.compile(rb"#[ \t]*(?:ifndef[ \t]+|if[ \t]+!defined[ \t]*\([ \t]*)(\w+)")
_SHOUTED = re.compile(rb"[A-Z_][A-Z0-9_]{2,}")
_TAKEN_BACK = frozenset((b"warpSize",))
"""Defined by headers for their own use, and undefined at their end."""


@dataclass(frozen=True, slots=True)
class _Header:
    defined: tuple[bytes, ...]
    includes: tuple[str, ...]


def macros_of(name: str, directories: Sequence[str]) -> frozenset[bytes]:
    """Names defined by a toolkit header, or by those it includes.

    Args:
        name: as included by a source.
        directories: of the toolkit.
    """
    found = _find(name, directories)
    pending = [] if found is None else [found]
    seen: set[str] = set()
    names: set[bytes] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        header = _read(path)
        names.update(header.defined)
        for included in header.includes:
            more = _find(included, (os.path.dirname(path), *directories))
            pending += [] if more is None else [more]
    return frozenset(names) - SAME - _TAKEN_BACK


def words_at_risk(paths: Iterable[str]) -> frozenset[bytes]:
    """Words in a source's texts that may be macros not defined in the texts.

    Those in conditions, and others spelled like macros.
    """
    words: set[bytes] = set()
    own: set[bytes] = set()
    for path in paths:
        at_risk, defined = _words(path)
        words |= at_risk
        own |= defined
    return frozenset(words - own)


def words_of(path: str) -> frozenset[bytes]:
    """All words in a text's code; empty if it cannot be read."""
    try:
        return frozenset(WORD.findall(code(read_beside(path))))
    except OSError:
        return frozenset()


def is_alike(name: bytes, header: str, directories: Sequence[str]) -> bool:
    """Whether a header that a source includes defines a macro once, unconditionally."""
    path = _find(header, directories)
    if path is None or _read(path).defined.count(name) != 1:
        return False
    data = read_beside(path)
    text = code(data)
    body = next(one.words for one in macro_use(data).definitions if one.name == name)
    others = any(may_differ(word) or word in macros_of(header, directories) for word in body)
    return name in defined_first(text, (name,)) and not others


def _find(name: str, directories: Iterable[str]) -> str | None:
    paths = (os.path.join(directory, name) for directory in directories)
    return next((path for path in paths if os.path.isfile(path)), None)


@functools.lru_cache(maxsize=4096)
def _read(path: str) -> _Header:
    try:
        data = read_beside(path)
    except OSError:
        return _Header((), ())
    guard = _GUARD.search(data)
    if guard is not None and guard[1] in SAME:
        # Both have read it before the source, or have it built in.
        return _Header((), ())
    includes = dict.fromkeys(os.fsdecode(name) for name in _INCLUDE.findall(data))
    return _Header(tuple(_DEFINE.findall(data)), tuple(includes))


def _words(path: str) -> tuple[frozenset[bytes], frozenset[bytes]]:
    try:
        data = read_beside(path)
    except OSError:
        return frozenset(), frozenset()
    use = macro_use(data)
    shouted = (word for word in WORD.findall(code(data)) if _SHOUTED.fullmatch(word))
    return use.conditions.union(shouted), frozenset(one.name for one in use.definitions)


def named_headers(missing: Iterable[str], directories: Sequence[str]) -> Iterator[str]:
    """The toolkit's headers among those not found in the user's directories, in order.

    Headers that both compilers read before the source are omitted: they add nothing.
    """
    for name in sorted(missing):
        path = _find(name, directories)
        if path is not None and _read(path) != _Header((), ()):
            yield name

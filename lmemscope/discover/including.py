"""Find compile options for a header: those of a source that includes it.

A build database has no entries for headers. Among the sources that include one, the first in the
database is used; those that include it directly come first.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Container, Iterator
from dataclasses import dataclass

from lmemscope.discover.build_database import Entry, read_database
from lmemscope.discover.locate import Search
from lmemscope.errors import InputError
from lmemscope.files import read_beside
from lmemscope.sources.includes import closure


@dataclass(frozen=True, slots=True)
class Including:
    """A database entry whose source includes a header."""

    database: str
    entry: Entry


def first_that_includes(header: str, search: Search, *, trust: bool = False) -> Including | None:
    """The entry to take a header's options from, or None.

    Args:
        header: absolute path.
        search: the command's search; databases are looked for from the header's directory upwards.
        trust: also accept options that could run a program or load a library.
    """
    for database in search.above(header):
        entries = _entries(database, search, trust)
        name = _basename(header)
        for entry in sorted(entries, key=lambda entry: name not in _text(entry.path)):
            if _includes(entry, os.path.realpath(header)):
                return Including(database, entry)
    return None


def naming(source: str, search: Search, apart_from: Container[str]) -> Iterator[Including]:
    """Entries whose own text includes a given source.

    Args:
        source: absolute path.
        search: as for `first_that_includes`.
        apart_from: absolute paths of sources whose entries are ignored.
    """
    name = _basename(source)
    for database in search.above(source):
        for path in sorted(search.sources(database)):
            if path in apart_from or name not in _text(path):
                continue
            for entry in _entries(database, search, False, path):
                if _includes(entry, os.path.realpath(source)):
                    yield Including(database, entry)


def _entries(
    database: str, search: Search, trust: bool, source: str | None = None
) -> tuple[Entry, ...]:
    """A database's entries, or those of one source; empty if it cannot be read."""
    if not search.sources(database):
        return ()
    try:
        return read_database(database, lambda path: source in (None, path), trust=trust).entries
    except InputError:
        return ()  # The search has recorded why.


def _includes(entry: Entry, header: str) -> bool:
    try:
        files = closure(entry.path, entry.flags.options).files
    except OSError:
        return False
    name = os.path.basename(header)
    return any(
        os.path.basename(file) == name and os.path.realpath(file) == header for file in files
    )


def _basename(path: str) -> bytes:
    return os.path.basename(path).encode("utf-8", "surrogateescape")


@functools.lru_cache(maxsize=4096)
def _text(path: str) -> bytes:
    try:
        return read_beside(path)
    except OSError:
        return b""

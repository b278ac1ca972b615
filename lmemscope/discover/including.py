"""A header has no entry in a build database; the sources that include it have.

Of these the first in the database's order speaks for the header: those whose own text names it
come before those that include it through another header.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from lmemscope.discover.build_database import Entry, read_database
from lmemscope.discover.locate import Search
from lmemscope.errors import InputError
from lmemscope.files import read_beside
from lmemscope.sources.includes import closure


@dataclass(frozen=True, slots=True)
class Including:
    """An entry of a database whose source includes a header."""

    database: str
    entry: Entry


def first_that_includes(header: str, search: Search, *, trust: bool = False) -> Including | None:
    """The entry that says how a header is compiled, or None.

    Args:
        header: absolute path.
        search: of this command; databases are looked for from the header's directory upwards.
        trust: take options that could run a program or load a library as well.
    """
    for database in search.above(header):
        if not search.sources(database):
            continue
        try:
            entries = read_database(database, trust=trust).entries
        except InputError:
            continue  # The search has noted why.
        name = os.path.basename(header).encode("utf-8", "surrogateescape")
        for entry in sorted(entries, key=lambda entry: name not in _text(entry.path)):
            if _includes(entry, os.path.realpath(header)):
                return Including(database, entry)
    return None


def _includes(entry: Entry, header: str) -> bool:
    try:
        files = closure(entry.path, entry.flags.options).files
    except OSError:
        return False
    name = os.path.basename(header)
    return any(
        os.path.basename(file) == name and os.path.realpath(file) == header for file in files
    )


def _text(path: str) -> bytes:
    try:
        return read_beside(path)
    except OSError:
        return b""

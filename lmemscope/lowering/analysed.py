"""A unit's report as an earlier run drew it up from the same bytes by the same code.

It lies in the store beside the compilers' outputs, under the same key, and is found by what was
wanted and by a digest of this package's own code. An analysis also reads lines of the files that
the machine code names, whichever those are; they are noted with the report, and one that has
changed since makes it a miss.
"""

from __future__ import annotations

import functools
import hashlib
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lmemscope.formats import codec
from lmemscope.lowering.store import Slot, slot_for, stamp
from lmemscope.model import Unit, UnitReport, Wanted

_PACKAGE = os.path.join(os.path.dirname(__file__), os.pardir)


def slot_of(unit: Unit, wanted: Wanted) -> Slot | None:
    """The unit's place in the store, or None where it has none: see `store.slot_for`.

    What has no source of its own to take a digest of, such as an excerpt of a log, has none either.
    """
    return None if unit.excerpt is not None else slot_for(wanted.cache, unit)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A stored report.

    Attributes:
        report: as it was drawn up.
        read: files whose lines it was drawn up from, each with its size and time, and folders that
            were looked through, each with what tells their names; None for one that could not be
            read.
    """

    report: UnitReport
    read: tuple[tuple[str, tuple[int, int] | None], ...]


def known_report(slot: Slot | None, unit: Unit, wanted: Wanted) -> UnitReport | None:
    """The report that `keep_report` stored for this unit, or None."""
    found = _load(slot, unit, wanted)
    return replace(found.report, cached=True) if found is not None else None


def known_without_quotes(
    slot: Slot | None, unit: Unit, wanted: Wanted
) -> tuple[UnitReport, set[str]] | None:
    """As `known_report`, of a run that wanted the same but its quotes; with the files it read."""
    found = _load(slot, unit, replace(wanted, quotes=())) if wanted.quotes else None
    return (found.report, {file for file, _ in found.read}) if found is not None else None


def _load(slot: Slot | None, unit: Unit, wanted: Wanted) -> _Kept | None:
    found = slot.load(_stage(unit, wanted), _Kept) if slot is not None else None
    if found is None or any(_stamp(file) != stamp for file, stamp in found[0].read):
        return None
    return found[0]


def keep_report(
    slot: Slot, unit: Unit, wanted: Wanted, report: UnitReport, read: Iterable[str]
) -> None:
    """Store a unit's report for the next run, with the files whose lines it was drawn up from."""
    kept = _Kept(report, tuple((file, _stamp(file)) for file in sorted(read)))
    slot.store(_stage(unit, wanted), kept, [], report.tools)


def _stage(unit: Unit, wanted: Wanted) -> str:
    """The entry's name within the slot: what was wanted, of which name, from where, by whom."""
    # Where a tool reported relative paths, the report was resolved against the directory.
    asked = (
        unit.input,
        unit.variant,
        replace(wanted, cache=None, max_file_size=None),
        os.getcwd(),
        own_code(),
    )
    return f"report-{hashlib.sha256(codec.encode(asked)).hexdigest()[:24]}"


def _stamp(file: str) -> tuple[int, int] | None:
    """Size and time of a file; of a folder its names, for a report may be written into it again."""
    try:
        if os.path.isdir(file):
            names = "\0".join(sorted(os.listdir(file))).encode("utf-8", "surrogateescape")
            return len(names), zlib.crc32(names)
        return stamp(file)
    except (OSError, ValueError):
        return None


@functools.cache
def own_code() -> str:
    """A digest of this package's files: other code may conclude otherwise."""
    digest = hashlib.sha256()
    for root, directories, names in os.walk(_PACKAGE):
        directories[:] = sorted(name for name in directories if name != "__pycache__")
        for name in sorted(names):
            digest.update(name.encode("utf-8", "surrogateescape"))
            with open(os.path.join(root, name), "rb") as stream:
                digest.update(stream.read())
    return digest.hexdigest()

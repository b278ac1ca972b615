"""Store and look up the `UnitReport` that an earlier run made from the same bytes and code.

It is stored beside the compilers' outputs, under the same key, and identified by what was requested
and by a digest of this package's own code. An analysis also reads lines of the files that the
machine code names, and asks which of the project's sources contain a word. Both are recorded with
the report: it is a miss if such a file has changed or such a question has another answer. Other
edits in the project do not matter.

Units of another revision, which is checked out to a directory of its own, are looked up under their
working-tree paths (`Moved`).
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.formats import codec
from lmemscope.lowering.lower import lower
from lmemscope.lowering.store import Slot, slot_for
from lmemscope.model import Artifacts, Moved, Unit, UnitReport, Wanted
from lmemscope.routes import Along
from lmemscope.sources import includes
from lmemscope.sources.headers import name_that_decides

Mentioning = Callable[[str, str], tuple[str, ...]]
"""Finds the sources of the project around a file that contain a word."""

_PACKAGE = os.path.join(os.path.dirname(__file__), os.pardir)


def slot_of(unit: Unit, wanted: Wanted) -> Slot | None:
    """The unit's place in the store, or None if it has none: see `store.slot_for`.

    An input without a source file to digest, such as an excerpt of a log, has none.
    """
    if unit.excerpt is not None:
        return None
    moved = wanted.moved
    return slot_for(wanted.cache, unit) if moved is None else slot_for(moved.cache, unit, moved)


_KEYED = frozenset({"nvrtc", "nvcc", "ptx"})
"""Routes whose results depend only on what the unit's key covers."""


def lowered(unit: Unit, wanted: Wanted, along: Along | None = None) -> Artifacts:
    """A unit's artefacts; those of another revision are stored under working-tree paths.

    Args:
        unit, wanted: what to compile, and where it is stored.
        along: what to do while a compiler runs.

    Raises:
        LmemscopeError: the unit cannot be read, or a compiler is missing or rejects it.
    """
    if wanted.moved is None:
        return lower(unit, wanted.cache, along)
    # The file is compiled under another name than in its build.
    elsewhere = replace(unit, is_named_as_built=False)
    artifacts = lower(elsewhere, wanted.cache, along)
    if artifacts.frontend not in _KEYED:
        return artifacts
    decides = unit.is_named_as_built and name_that_decides(unit.path, unit.options) is not None
    slot = None if decides else slot_of(unit, wanted)
    return replace(artifacts, key=None if slot is None else slot.key)


class _Kept(Struct, frozen=True):
    """A stored report.

    Attributes:
        report: the report.
        read: files whose lines the analysis read, with digests of their contents; None for one that
            could not be read.
        asked: which sources contain a word: the file whose project was searched, the word, and the
            answer.
    """

    report: UnitReport
    read: tuple[tuple[str, str | None], ...]
    asked: tuple[tuple[str, str, tuple[str, ...]], ...]


def known_report(
    slot: Slot | None, unit: Unit, wanted: Wanted, mentioning: Mentioning
) -> UnitReport | None:
    """The report that `keep_report` stored for this unit, or None.

    Args:
        slot: from `slot_of`.
        unit, wanted: what is requested.
        mentioning: searches the project as it is now.
    """
    kept = _load(slot, unit, wanted, mentioning)
    return replace(kept.report, cached=True) if kept is not None else None


def known_of_less(
    slot: Slot | None, unit: Unit, less: Wanted, mentioning: Mentioning
) -> tuple[UnitReport, set[str], dict[tuple[str, str], tuple[str, ...]]] | None:
    """As `known_report`, for a smaller request, to be completed and stored again.

    Returns:
        The report, the files that it read, and what it asked, as `keep_report` takes them.
    """
    kept = _load(slot, unit, less, mentioning)
    if kept is None:
        return None
    asked = {(file, word): answer for file, word, answer in kept.asked}
    return replace(kept.report, cached=True), {file for file, _ in kept.read}, asked


def _load(slot: Slot | None, unit: Unit, wanted: Wanted, mentioning: Mentioning) -> _Kept | None:
    """A stored report, if nothing that it depends on has changed."""
    found = slot.load(_stage(unit, wanted), _Kept) if slot is not None else None
    if found is None:
        return None
    kept, moved = found[0], wanted.moved
    read = kept.read
    if moved is not None:
        # This analysis reads the revision's files, not those of the working tree.
        read = tuple((_in_tree(file, moved), digest) for file, digest in read)
        kept = _renamed(kept, moved.live, moved.tree)
    if any(_digest(file) != digest for file, digest in read):
        return None
    if any(mentioning(file, word) != answer for file, word, answer in kept.asked):
        return None
    return kept


def keep_report(
    slot: Slot,
    unit: Unit,
    wanted: Wanted,
    report: UnitReport,
    read: Iterable[str],
    asked: Mapping[tuple[str, str], tuple[str, ...]],
) -> None:
    """Store a unit's report for the next run.

    Args:
        slot: from `slot_of`.
        unit, wanted: what was requested.
        report: to store.
        read: files whose lines the analysis read.
        asked: sources that contain a word, keyed by the file whose project was searched and the
            word.
    """
    kept = _Kept(
        report,
        tuple((file, _digest(file)) for file in sorted(read)),
        tuple((file, word, answer) for (file, word), answer in sorted(asked.items())),
    )
    if wanted.moved is not None:
        kept = _renamed(kept, wanted.moved.tree, wanted.moved.live)
    slot.store(_stage(unit, wanted), kept, [], report.tools)


def _in_tree(file: str, moved: Moved) -> str:
    """Map a working-tree file into the checkout, unless only the build knows it."""
    there = moved.tree + file[len(moved.live) :]
    return there if file.startswith(moved.live + os.sep) and os.path.lexists(there) else file


def _renamed(kept: _Kept, old: str, new: str) -> _Kept:
    """The record with one directory name replaced by another."""
    before, after = (codec.encode(one + os.sep)[1:-1] for one in (old, new))
    return codec.decode(codec.encode(kept).replace(before, after), _Kept)


def _stage(unit: Unit, wanted: Wanted) -> str:
    """The entry's name in the slot: a digest of the request, unit name, directory and own code."""
    # Relative paths reported by a tool were resolved against the working directory.
    here, moved = os.getcwd(), wanted.moved
    asked = (
        unit.input,
        unit.variant,
        replace(wanted, cache=None, moved=None, accesses=True),
        here if moved is None else moved.in_live(here),
        own_code(),
    )
    return f"report-{hashlib.sha256(codec.encode(asked)).hexdigest()[:24]}"


def _digest(file: str) -> str | None:
    try:
        return includes.digest(file)
    except (OSError, ValueError):
        return None


@functools.cache
def own_code() -> str:
    """A digest of this package's files: other code may reach other conclusions."""
    digest = hashlib.sha256()
    for root, directories, names in os.walk(_PACKAGE):
        directories[:] = sorted(name for name in directories if name != "__pycache__")
        for name in sorted(names):
            digest.update(name.encode("utf-8", "surrogateescape"))
            with open(os.path.join(root, name), "rb") as stream:
                digest.update(stream.read())
    return digest.hexdigest()

"""A unit's report as an earlier run drew it up from the same bytes by the same code.

It lies in the store beside the compilers' outputs, under the same key, and is found by what was
wanted and by a digest of this package's own code. An analysis also reads lines of the files that
the machine code names, whichever those are, and asks which of the project's sources hold a word.
Both are noted with the report: a file that has other contents since, or another answer, makes it a
miss. Any other edit in the project does not.

The units of another revision, which is written out to a directory of its own, are looked up as if
they lay in the working tree (`Moved`).
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
"""Which sources of the project around a file hold a word."""

_PACKAGE = os.path.join(os.path.dirname(__file__), os.pardir)


def slot_of(unit: Unit, wanted: Wanted) -> Slot | None:
    """The unit's place in the store, or None where it has none: see `store.slot_for`.

    What has no source of its own to take a digest of, such as an excerpt of a log, has none either.
    """
    if unit.excerpt is not None:
        return None
    moved = wanted.moved
    return slot_for(wanted.cache, unit) if moved is None else slot_for(moved.cache, unit, moved)


_KEYED = frozenset({"nvrtc", "nvcc", "ptx"})
"""The routes whose results follow from a unit's key."""


def lowered(unit: Unit, wanted: Wanted, along: Along | None = None) -> Artifacts:
    """A unit's artefacts; one of another revision is kept as if it lay in the working tree.

    Args:
        unit, wanted: what to compile, and where it is kept.
        along: what to do while a compiler runs.

    Raises:
        LmemscopeError: it cannot be read, or a compiler is missing or refuses it.
    """
    if wanted.moved is None:
        return lower(unit, wanted.cache, along)
    # It is compiled under another name than its build gives it.
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
        report: as it was drawn up.
        read: files whose lines it was drawn up from, each with a digest of its contents; None for
            one that could not be read.
        asked: which of the project's sources hold a word: the file that the project is around, the
            word, and the answer.
    """

    report: UnitReport
    read: tuple[tuple[str, str | None], ...]
    asked: tuple[tuple[str, str, tuple[str, ...]], ...]


def known_report(
    slot: Slot | None, unit: Unit, wanted: Wanted, mentioning: Mentioning
) -> UnitReport | None:
    """The report that `keep_report` stored for this unit, or None.

    Args:
        slot: as `slot_of` gives it.
        unit, wanted: what is asked for.
        mentioning: asks the project as it is now.
    """
    kept = _load(slot, unit, wanted, mentioning)
    return replace(kept.report, cached=True) if kept is not None else None


def known_of_less(
    slot: Slot | None, unit: Unit, less: Wanted, mentioning: Mentioning
) -> tuple[UnitReport, set[str], dict[tuple[str, str], tuple[str, ...]]] | None:
    """As `known_report`, to be completed and kept for who wants more.

    Returns:
        The report, the files that it read, and what it asked, as `keep_report` takes them.
    """
    kept = _load(slot, unit, less, mentioning)
    if kept is None:
        return None
    asked = {(file, word): answer for file, word, answer in kept.asked}
    return replace(kept.report, cached=True), {file for file, _ in kept.read}, asked


def _load(slot: Slot | None, unit: Unit, wanted: Wanted, mentioning: Mentioning) -> _Kept | None:
    """A stored report, if all that it follows from is as it was."""
    found = slot.load(_stage(unit, wanted), _Kept) if slot is not None else None
    if found is None:
        return None
    kept, moved = found[0], wanted.moved
    read = kept.read
    if moved is not None:
        # The revision's files are what this analysis would look into.
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
        slot: as `slot_of` gives it.
        unit, wanted: what was asked for.
        report: to store.
        read: files whose lines it was drawn up from.
        asked: which sources hold a word, by the file that the project is around, and the word.
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
    """A file of the working tree in the revision's place, unless only the build knows it."""
    there = moved.tree + file[len(moved.live) :]
    return there if file.startswith(moved.live + os.sep) and os.path.lexists(there) else file


def _renamed(kept: _Kept, old: str, new: str) -> _Kept:
    """The same with a directory's name in the place of another's."""
    before, after = (codec.encode(one + os.sep)[1:-1] for one in (old, new))
    return codec.decode(codec.encode(kept).replace(before, after), _Kept)


def _stage(unit: Unit, wanted: Wanted) -> str:
    """The entry's name within the slot: what was wanted, of which name, from where, by whom."""
    # Where a tool reported relative paths, the report was resolved against the directory.
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
    """A digest of this package's files: other code may conclude otherwise."""
    digest = hashlib.sha256()
    for root, directories, names in os.walk(_PACKAGE):
        directories[:] = sorted(name for name in directories if name != "__pycache__")
        for name in sorted(names):
            digest.update(name.encode("utf-8", "surrogateescape"))
            with open(os.path.join(root, name), "rb") as stream:
                digest.update(stream.read())
    return digest.hexdigest()

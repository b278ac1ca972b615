"""Rewrites that `lmemscope fix` tried and does not offer, kept for advice given later.

A refusal lies in the store under the unit's key, as trials do, by the object and by a digest of
this package's own code. A rewrite may harm another unit, so the files of all units that were tried
are noted with it: one that has other contents since makes it a miss.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from msgspec import Struct

from lmemscope.formats import codec
from lmemscope.lowering.analysed import own_code
from lmemscope.lowering.store import Slot, slot_for
from lmemscope.model import SourceLocation, Unit
from lmemscope.sources import includes

Place = tuple[str, str | None, SourceLocation | None]
"""An object: the cause, its name, and the line of its declaration, else of the finding."""


class _Kept(Struct, frozen=True):
    """What is refused for one object of a unit.

    Attributes:
        reasons: by rewrite, with the kernel that speaks against it and the figure.
        read: files that it follows from, each with a digest of its contents.
    """

    reasons: dict[str, str]
    read: tuple[tuple[str, str], ...]


class Refusals:
    """What is known to be refused.

    Args:
        cache: directory of the store, or None: then nothing is.
        asked: where to note the file of each refusal that is looked for, there or not.
    """

    def __init__(self, cache: str | None, asked: set[str] | None = None) -> None:
        self._cache, self._asked = cache, asked
        self._slots: dict[Unit, Slot | None] = {}

    def keep(
        self, unit: Unit, place: Place, reasons: Mapping[str, str], files: Iterable[str]
    ) -> None:
        """Keep what came of the trials for an object.

        Args:
            unit: that has the object.
            place: which it is.
            reasons: why rewrites are not offered, by their names.
            files: absolute paths of all files of all units that were tried.
        """
        slot = self._slot(unit)
        if slot is None:
            return
        try:
            read = tuple((file, includes.digest(file)) for file in sorted(files))
        except OSError:
            return
        slot.store(_stage(place), _Kept(dict(reasons), read), [], ())

    def of(self, unit: Unit, place: Place) -> Mapping[str, str]:
        """Why rewrites of an object are not offered, by their names, as far as it is known."""
        slot = self._slot(unit)
        if slot is not None and self._asked is not None:
            self._asked.add(slot.path(_stage(place)))
        found = slot.load(_stage(place), _Kept) if slot is not None else None
        try:
            if found is None or any(includes.digest(one) != was for one, was in found[0].read):
                return {}
        except OSError:
            return {}
        return found[0].reasons

    def _slot(self, unit: Unit) -> Slot | None:
        if unit not in self._slots:
            self._slots[unit] = slot_for(self._cache, unit)
        return self._slots[unit]


def _stage(place: Place) -> str:
    return f"refused-{hashlib.sha256(codec.encode((place, own_code()))).hexdigest()[:24]}"

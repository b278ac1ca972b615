"""Counts of local memory instructions and their bytes: the unit of the site ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self

from msgspec import Struct, field


class Counted(Protocol):
    """An ``LDL`` or ``STL`` instruction: its direction, and bytes per thread."""

    @property
    def is_store(self) -> bool:
        """Whether it is an ``STL``."""

    @property
    def width(self) -> int:
        """Bytes accessed per thread."""


class SiteClass(Struct, frozen=True):
    """A group of ``LDL``/``STL`` instructions: their number, and the bytes at these sites."""

    load_sites: int = 0
    store_sites: int = 0
    load_bytes: int = 0
    store_bytes: int = 0

    @classmethod
    def of(cls, sites: Iterable[Counted]) -> Self:
        """Count instructions."""
        listed = list(sites)
        loads = [site.width for site in listed if not site.is_store]
        stores = [site.width for site in listed if site.is_store]
        return cls(len(loads), len(stores), sum(loads), sum(stores))

    @property
    def count(self) -> int:
        """Loads and stores together."""
        return self.load_sites + self.store_sites

    @property
    def bytes(self) -> int:
        """Bytes at all sites."""
        return self.load_bytes + self.store_bytes

    def __add__(self, other: SiteClass) -> SiteClass:
        """The sum of both."""
        return SiteClass(
            self.load_sites + other.load_sites,
            self.store_sites + other.store_sites,
            self.load_bytes + other.load_bytes,
            self.store_bytes + other.store_bytes,
        )


def known_sum(*figures: int | None) -> int | None:
    """The sum of figures; None if one of them is unknown."""
    known = [one for one in figures if one is not None]
    return sum(known) if len(known) == len(figures) else None


class SassSites(SiteClass, frozen=True):
    """``LDL``/``STL`` sites in machine code; documents name its fields after the instructions.

    Attributes:
        ldl, stl: number of instructions.
        ldl_bytes, stl_bytes: bytes accessed by these instructions.
    """

    load_sites: int = field(name="ldl")
    store_sites: int = field(name="stl")
    load_bytes: int = field(name="ldl_bytes")
    store_bytes: int = field(name="stl_bytes")

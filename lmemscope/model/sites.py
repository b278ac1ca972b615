"""Counts of instructions: the unit of the site ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self

from msgspec import Struct, field


class Counted(Protocol):
    """An ``LDL`` or ``STL``: which of the two, and bytes per thread."""

    @property
    def is_store(self) -> bool:
        """``STL``."""

    @property
    def width(self) -> int:
        """Bytes accessed per thread."""


class SiteClass(Struct, frozen=True):
    """``LDL``/``STL`` instructions that belong together: how many, and bytes at those sites."""

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
        """Loads and stores."""
        return self.load_sites + self.store_sites

    @property
    def bytes(self) -> int:
        """Bytes at all of the sites."""
        return self.load_bytes + self.store_bytes

    def __add__(self, other: SiteClass) -> SiteClass:
        """Both together."""
        return SiteClass(
            self.load_sites + other.load_sites,
            self.store_sites + other.store_sites,
            self.load_bytes + other.load_bytes,
            self.store_bytes + other.store_bytes,
        )


def known_sum(*figures: int | None) -> int | None:
    """The sum of figures; None where one of them is not known."""
    known = [one for one in figures if one is not None]
    return sum(known) if len(known) == len(figures) else None


class SassSites(SiteClass, frozen=True):
    """``LDL``/``STL`` sites in machine code, which documents name after the instructions.

    Attributes:
        ldl, stl: instructions.
        ldl_bytes, stl_bytes: bytes at these instructions.
    """

    load_sites: int = field(name="ldl")
    store_sites: int = field(name="stl")
    load_bytes: int = field(name="ldl_bytes")
    store_bytes: int = field(name="stl_bytes")

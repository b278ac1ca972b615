"""Counts of instructions: the unit of the site ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiteClass:
    """One share of the site-bytes ledger."""

    load_sites: int = 0
    store_sites: int = 0
    load_bytes: int = 0
    store_bytes: int = 0

"""Rewrite a saved report's paths relative to the working directory.

A report stores paths as its run spelled them. A command run in another directory finds their base
directory by locating the files, whose digests are in the report.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.discover.checkouts import upwards
from lmemscope.files import digest_of
from lmemscope.model import respelled

if TYPE_CHECKING:
    from lmemscope.model import Report


def from_here(report: Report, path: str) -> Report:
    """The report, with relative paths as seen from the working directory.

    Args:
        report: as read.
        path: the report's file.
    """
    here = os.getcwd()
    digests = _digests(report)
    base = _base(digests, here, path)
    if base == here:
        return report

    def spelled(file: str) -> str:
        there = os.path.join(base, file)
        known = file in digests or os.path.lexists(there)
        return os.path.relpath(there, here) if known and not os.path.isabs(file) else file

    made = respelled(report, spelled)
    return replace(made, paths=report.paths and tuple(map(spelled, report.paths)))


def _base(digests: Mapping[str, str | None], here: str, path: str) -> str:
    """The directory where most files are unchanged, else where most exist.

    The working directory is tried first, then its parents, then the parents of the report.
    """
    best, most = here, (0, 0)
    above = chain(upwards(here), upwards(os.path.dirname(os.path.abspath(path))))
    for directory in dict.fromkeys(above):
        there = {name: os.path.join(directory, name) for name in digests}
        there = {name: file for name, file in there.items() if os.path.isfile(file)}
        same = sum(digest_of(file) == digests[name] for name, file in there.items())
        if (same, len(there)) > most:
            best, most = directory, (same, len(there))
        if same == len(digests):
            break
    return best


def _digests(report: Report) -> dict[str, str | None]:
    """Relative paths of the files that a report was made from, with their digests."""
    found: dict[str, str | None] = {}
    for unit in report.units:
        found[unit.file] = unit.source_digest
        found.update(unit.sources or {})
    return {name: digest for name, digest in found.items() if not os.path.isabs(name)}

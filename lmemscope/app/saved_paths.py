"""A saved report's paths, spelled from the working directory.

A report holds the paths as its run spelled them. A command that is run in another directory finds
the directory that they start from by the files: their digests are in the report.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.discover.checkouts import upwards
from lmemscope.files import digest_of
from lmemscope.model import InputId

if TYPE_CHECKING:
    from lmemscope.model import Report

T = TypeVar("T")


def from_here(report: Report, path: str) -> Report:
    """A report with the relative paths that its files have from the working directory.

    Args:
        report: as it was read.
        path: of its file.
    """
    here = os.getcwd()
    digests = _digests(report)
    base = _base(digests, here, path)
    if base == here:
        return report

    def spelled(name: str) -> str:
        named = InputId.parse(name)
        there = os.path.join(base, named.file)
        known = named.file in digests or os.path.lexists(there)
        own = os.path.relpath(there, here) if known and not os.path.isabs(name) else named.file
        return str(replace(named, file=own))

    made = _respelled(report, functools.cache(spelled))
    return replace(made, paths=report.paths and tuple(map(spelled, report.paths)))


def _base(digests: Mapping[str, str | None], here: str, path: str) -> str:
    """The directory where most files are as they were, else where most are at all.

    The working directory is asked first, then those above it, then those above the report.
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
    """Relative paths of the files that a report was made of, and what they held."""
    found: dict[str, str | None] = {}
    for unit in report.units:
        found[InputId.parse(unit.input).file] = unit.source_digest
        found.update(unit.sources or {})
    return {name: digest for name, digest in found.items() if not os.path.isabs(name)}


def _respelled(value: T, spell: Callable[[str], str]) -> T:
    """A value with other names in its fields ``file``, ``input`` and ``sources``, at any depth."""
    made: Any = value
    if isinstance(value, tuple):
        made = tuple(_respelled(one, spell) for one in value)
    elif isinstance(value, Struct):
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            held = getattr(value, name)
            if name in ("file", "input") and isinstance(held, str):
                changed[name] = spell(held)
            elif name == "sources" and isinstance(held, Mapping):
                changed[name] = {spell(file): digest for file, digest in held.items()}
            elif isinstance(held, (tuple, Struct)):
                changed[name] = _respelled(held, spell)
        made = replace(value, **changed)
    return made  # type: ignore[no-any-return]

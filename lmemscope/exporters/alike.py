"""Failures of the gate that one change of the source makes: each is told once.

A variable of a template, or of a function that several kernels inline, fails in each instance, file
and architecture. It has one place, one rule and one remedy.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lmemscope.exporters import layout
from lmemscope.model import GateFailure

_NAMED = 3


def alike(failures: Iterable[GateFailure]) -> list[list[GateFailure]]:
    """Failures by what is wrong and where, in order; in each, that of the most bytes first."""
    groups: dict[object, list[GateFailure]] = {}
    for number, failure in enumerate(failures):
        groups.setdefault(_key(failure, number), []).append(failure)
    return [sorted(group, key=_bytes, reverse=True) for group in groups.values()]


def others(group: Sequence[GateFailure]) -> str | None:
    """The kernels of a group but for its first, in words; None where there is one."""
    first, *rest = group
    named = dict.fromkeys(_named(failure, first) for failure in rest)
    return layout.few(list(named), _NAMED) if named else None


def _named(failure: GateFailure, first: GateFailure) -> str:
    """A kernel's name, with the architecture and file where they are not the first's."""
    unlike = [
        own
        for own, firsts in ((failure.input, first.input), (failure.arch, first.arch))
        if own != firsts
    ]
    return failure.kernel + (f" ({', '.join(unlike)})" if unlike else "")


def _bytes(failure: GateFailure) -> int:
    return failure.finding.bytes if failure.finding is not None else 0


def _key(failure: GateFailure, number: int) -> object:
    finding, place = failure.finding, failure.location
    if finding is None or place is None or failure.kind not in ("new", "worse"):
        return number
    where = os.path.normpath(place.file), place.line
    return failure.kind, failure.route, where, finding.rule, finding.object, finding.cause

"""Group gate failures that one change to the source would fix, so that each is shown once.

A variable in a template, or in a function that several kernels inline, fails in each instance, file
and architecture, but has one location, one rule and one remedy. The same holds for a limit that
instances of a template exceed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lmemscope.analysis.groups import template_name
from lmemscope.analysis.ranking import arch_order
from lmemscope.exporters import layout
from lmemscope.model import GateFailure

_NAMED = 3


def alike(failures: Iterable[GateFailure]) -> list[list[GateFailure]]:
    """Failures grouped by problem and location, in order; within a group, largest first."""
    groups: dict[object, list[GateFailure]] = {}
    for failure in failures:
        groups.setdefault(_key(failure), []).append(failure)
    return [sorted(group, key=_size, reverse=True) for group in groups.values()]


def title(group: Sequence[GateFailure]) -> str:
    """The first kernel of a group, and the number of others in all files."""
    more = len(_kernels(group)) - 1
    return f"{group[0].kernel} and {more} more" if more else group[0].kernel


def archs(group: Sequence[GateFailure]) -> str:
    """The architectures on which a group's first kernel fails, as a sentence."""
    return _archs_of(_kernels(group)[0], group)


def others(group: Sequence[GateFailure]) -> str | None:
    """A group's kernels except the first, as text; None if there is only one.

    Kernels that fail on other architectures are listed with these.
    """
    first, *rest = _kernels(group)
    own = _archs_of(first, group)
    named = [
        _named(one, first) + ("" if theirs == own else f" on {theirs}")
        for one in rest
        for theirs in (_archs_of(one, group),)
    ]
    return layout.few(named, _NAMED) if named else None


def _archs_of(kernel: tuple[str, str], group: Sequence[GateFailure]) -> str:
    found = {one.arch for one in group if (one.kernel, one.input) == kernel}
    return ", ".join(sorted(found, key=arch_order))


def _kernels(group: Sequence[GateFailure]) -> list[tuple[str, str]]:
    """Kernels and their files, each once for all architectures."""
    return [*dict.fromkeys((failure.kernel, failure.input) for failure in group)]


def _named(one: tuple[str, str], first: tuple[str, str]) -> str:
    kernel, file = one
    if file == first[1]:
        return kernel
    return f"the same in {file}" if kernel == first[0] else f"{kernel} ({file})"


def _size(failure: GateFailure) -> int:
    if failure.figure is not None:
        return failure.figure
    return failure.finding.bytes if failure.finding is not None else 0


def _key(failure: GateFailure) -> object:
    finding, place = failure.finding, failure.location
    own: tuple[str, ...] = (failure.kind, failure.route)
    if failure.kind not in ("new", "worse"):
        own = (*own, failure.expected)  # new findings have different bytes in each instance
    if finding is None or place is None:
        # Register counts, for example, differ between a template's instances.
        return *own, template_name(failure.kernel), failure.input
    where = os.path.normpath(place.file), place.line
    return *own, where, finding.rule, finding.object, finding.cause

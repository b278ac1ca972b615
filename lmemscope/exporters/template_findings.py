"""Merge the findings of a template's instances into one list, noting which instances have each."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.groups import Group
from lmemscope.analysis.ranking import cost_of_share
from lmemscope.exporters import layout
from lmemscope.model import Finding, KernelReport

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Gathered:
    """A finding that several instances may have, with other sizes and at other addresses.

    Attributes:
        finding: from the worst instance that has it.
        label: that instance's label, or None if it is the worst of all.
        times: how often that instance has it, for several variables with one name and location.
        instances: a sentence on which instances have it, or None if all do.
    """

    finding: Finding
    label: str | None
    times: int
    instances: str | None


def costliest_first(kernel: KernelReport) -> list[Finding]:
    """A kernel's findings by the cost of their causes."""
    facts = kernel.facts
    costs: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    for share in facts.causes:
        name = share.object
        costs[share.cause, name] += cost_of_share(share)
    return sorted(kernel.findings, key=lambda one: -costs[one.cause, one.object])


def gathered(group: Group) -> list[Gathered]:
    """The findings of a group's kernels, those of the worst kernel first."""
    names = layout.labels(group)
    first: dict[object, tuple[int, Finding]] = {}
    times: Counter[tuple[object, int]] = Counter()
    having: defaultdict[object, list[int]] = defaultdict(list)
    sizes: defaultdict[object, list[int]] = defaultdict(list)
    for number, (_, kernel) in enumerate(group.kernels):
        for finding in kernel.findings:
            key = _key(finding)
            first.setdefault(key, (number, finding))
            times[key, number] += 1
            sizes[key].append(finding.bytes)
            if having[key][-1:] != [number]:
                having[key].append(number)
    return [
        Gathered(
            finding,
            _called(group, names[number]) if number else None,
            times[key, number],
            _instances([names[one] for one in having[key]], len(set(names)), sizes[key]),
        )
        for key, (number, finding) in first.items()
    ]


def _key(finding: Finding) -> object:
    patch = finding.fix.patch if finding.fix is not None else None
    ways = tuple(one.rewrite or one.is_none for one in finding.advice)
    # Lines that use a variable, or spill, differ between instances, but its declaration does not. A
    # header may be spelled differently in each file that includes it.
    where = tuple((os.path.normpath(one.file), one.line) for one in finding.related)
    return finding.rule, finding.object, where, finding.also, ways, patch


def _called(group: Group, label: str) -> str:
    return f"{group.name}{label}" if label.startswith("<") else label


def _instances(having: Sequence[str], of: int, sizes: Sequence[int]) -> str | None:
    # An instance may be compiled in several files and for several architectures.
    names = list(dict.fromkeys(having))
    size = f", {layout.span(sizes)} bytes" if len(set(sizes)) > 1 else ""
    if len(names) == of:
        return f"In all {of} instances{size}." if size and of > 1 else None
    return f"In {len(names)} of {of} instances{size}: {layout.few(names, _NAMED)}."

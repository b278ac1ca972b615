"""Kernels that are one thing to a reader: a template's instances with the same causes.

A thousand kernels are a few dozen groups. Every list that is shown in groups is made here, so that
the terminal, Markdown and HTML count alike.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import (
    Cause,
    KernelFacts,
    KernelReport,
    Report,
    SiteClass,
    UnitReport,
    Verdict,
    VerdictName,
    count,
    verdict_kind,
)

Row = tuple[UnitReport, KernelReport]
"""A kernel with the unit that it belongs to."""


@dataclass(frozen=True, slots=True)
class Span:
    """The least and the most of a figure among a group's kernels."""

    least: int
    most: int

    def __str__(self) -> str:
        """``128`` or ``128–512``."""
        return str(self.most) if self.least == self.most else f"{self.least}–{self.most}"


@dataclass(frozen=True, slots=True)
class GroupCause:
    """A cause that all kernels of a group have.

    Attributes:
        cause: of the contract.
        object: the variable, or None: spills, or a name that is not known.
        frame: frame bytes per thread, in each kernel.
        sites: load and store sites of all kernels together.
    """

    cause: Cause
    object: str | None
    frame: Span
    sites: SiteClass


@dataclass(frozen=True, slots=True)
class Group:
    """Instances of one template, of any architecture, with the same causes and objects.

    Attributes:
        name: the template without its arguments; of a kernel that is none, its short name.
        input: of the worst kernel; the others are in ``kernels``.
        file: where the template is defined, as far as line information tells; else ``input``.
        archs: sorted, older ones first.
        kernels: worst first.
        instances: how many there are, each counted once for all architectures and files.
        causes: most site bytes first; empty where no local memory is.
        verdict: the worst kernel's.
        site_bytes: of all kernels together; None where no kernel's sites are known.
        frame: frame bytes per thread; None where no kernel's frame is known.
        spills: bytes of spill stores and loads, as ptxas says; None where not known.
    """

    name: str
    input: str
    file: str
    archs: tuple[str, ...]
    kernels: tuple[Row, ...]
    instances: int
    causes: tuple[GroupCause, ...]
    verdict: Verdict
    site_bytes: int | None
    frame: Span | None
    spills: Span | None

    @property
    def uses_memory(self) -> bool:
        """Whether its kernels count as ones with local memory."""
        return verdict_kind(self.verdict.kind).uses_memory


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """What a cause accounts for in all groups together.

    Attributes:
        cause: of the contract.
        groups: that have it.
        kernels: that have it, each counted once for all architectures and routes.
        sites: its load and store sites.
    """

    cause: Cause
    groups: int
    kernels: int
    sites: SiteClass


def totals(found: Iterable[Group]) -> tuple[CauseTotal, ...]:
    """Each cause of some groups, most site bytes first."""
    having: defaultdict[Cause, list[Group]] = defaultdict(list)
    sites: defaultdict[Cause, SiteClass] = defaultdict(SiteClass)
    for group in found:
        for cause in {one.cause for one in group.causes}:
            having[cause].append(group)
        for one in group.causes:
            sites[one.cause] += one.sites
    made = []
    for cause, have in having.items():
        kernels = distinct_kernels(row for one in have for row in one.kernels)
        made.append(CauseTotal(cause, len(have), kernels, sites[cause]))
    return tuple(sorted(made, key=lambda one: (-one.sites.bytes, one.cause)))


def groups(report: Report) -> tuple[Group, ...]:
    """All kernels of a report, each in one group; most site bytes first, what is clean last."""
    return grouped((unit, kernel) for unit in report.units for kernel in unit.kernels)


def grouped(rows: Iterable[Row]) -> tuple[Group, ...]:
    """As `groups`, of some kernels only."""
    found: defaultdict[object, list[Row]] = defaultdict(list)
    for row in rows:
        found[_key(row)].append(row)
    return tuple(sorted((_group(rows) for rows in found.values()), key=_order))


def distinct_kernels(rows: Iterable[Row]) -> int:
    """How many kernels there are, each counted once for all architectures and routes."""
    return len({(unit.input, stable_name(kernel.facts.name)) for unit, kernel in rows})


def counted(rows: Iterable[Row]) -> str:
    """How many kernels there are, and functions that are compiled by themselves, in words.

    Relocatable code and debug builds have such functions.
    """
    listed = list(rows)
    kernels = [row for row in listed if row[1].facts.kind == "entry"]
    functions = [row for row in listed if row[1].facts.kind != "entry"]
    said = [count(distinct_kernels(kernels), "kernel")] if kernels or not functions else []
    said += [count(distinct_kernels(functions), "function")] if functions else []
    return " and ".join(said)


def arch_order(arch: str) -> tuple[int, str]:
    """A key that sorts architectures by number: ``sm_75``, ``sm_90``, ``sm_90a``, ``sm_100``."""
    digits = re.search(r"\d{1,9}", arch)
    return int(digits[0]) if digits is not None else 0, arch


def template_name(demangled: str) -> str:
    """A kernel's short name without template arguments, those of its scopes included.

    ``void ns::box<float>::run<(int)32>(float*)`` gives ``ns::box::run``.
    """
    short = short_name(demangled)
    kept: list[str] = []
    depth = 0
    for char in short:
        depth += char == "<"
        if depth == 0:
            kept.append(char)
        depth -= char == ">" and depth > 0
    # A comparison among the arguments unbalances the brackets; the first one is certain.
    name = "".join(kept) if depth == 0 else short.partition("<")[0]
    return name or short


def _key(row: Row) -> tuple[str, str, VerdictName, frozenset[tuple[Cause, str | None]]]:
    _, kernel = row
    name = template_name(kernel.facts.demangled)
    return _file(row), name, kernel.verdict.kind, frozenset(_shares(kernel.facts))


def _file(row: Row) -> str:
    unit, kernel = row
    return kernel.facts.home or unit.input


def _shares(facts: KernelFacts) -> dict[tuple[Cause, str | None], tuple[int, SiteClass]]:
    """Frame bytes and sites by cause and variable; nameless objects of one cause are one."""
    found: dict[tuple[Cause, str | None], tuple[int, SiteClass]] = {}
    for share in facts.causes:
        name = facts.objects[share.object].name if share.object is not None else None
        frame, sites = found.get((share.cause, name), (0, SiteClass()))
        found[share.cause, name] = (frame + share.frame_bytes, sites + share.sites)
    return found


def _group(rows: list[Row]) -> Group:
    rows.sort(key=_worst_first)
    unit, worst = rows[0]
    facts = [kernel.facts for _, kernel in rows]
    return Group(
        name=template_name(worst.facts.demangled),
        input=unit.input,
        file=_file(rows[0]),
        archs=tuple(sorted({unit.arch for unit, _ in rows}, key=arch_order)),
        kernels=tuple(rows),
        instances=len({stable_name(one.name) for one in facts}),
        causes=_causes(facts),
        verdict=worst.verdict,
        site_bytes=_sum(one.sass.bytes if one.sass is not None else None for one in facts),
        frame=_span(one.stack_frame for one in facts),
        spills=_span(one.spill_bytes for one in facts),
    )


def _causes(facts: list[KernelFacts]) -> tuple[GroupCause, ...]:
    frames: defaultdict[tuple[Cause, str | None], list[int]] = defaultdict(list)
    sites: defaultdict[tuple[Cause, str | None], SiteClass] = defaultdict(SiteClass)
    for one in facts:
        for key, (size, share) in _shares(one).items():
            frames[key].append(size)
            sites[key] += share
    made = [
        GroupCause(cause, name, Span(min(sizes), max(sizes)), sites[cause, name])
        for (cause, name), sizes in frames.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.sites.bytes, one.cause, one.object or "")))


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _span(values: Iterable[int | None]) -> Span | None:
    known = [value for value in values if value is not None]
    return Span(min(known), max(known)) if known else None


def _worst_first(row: Row) -> tuple[object, ...]:
    unit, kernel = row
    arch = arch_order(unit.arch)
    return (*(-part for part in kernel.verdict.rank), unit.input, kernel.facts.demangled, arch)


def _order(group: Group) -> tuple[object, ...]:
    """What moves most bytes first, whatever its kind: a small spill is no worse than its size."""
    kind, _ = group.verdict.rank
    weight = sum(kernel.verdict.rank[1] for _, kernel in group.kernels)
    causes = tuple(_names(group.causes))
    return not group.uses_memory, -weight, -kind, group.file, group.name, causes


def _names(causes: Iterable[GroupCause]) -> Iterable[tuple[str, str]]:
    return ((one.cause, one.object or "") for one in causes)

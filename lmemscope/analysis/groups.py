"""Kernels that are one thing to a reader: a template's instances with the same causes.

A thousand kernels are a few dozen groups. Every list that is shown in groups is made here, so that
the terminal, Markdown and HTML count alike.
"""

from __future__ import annotations

import functools
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import get_args

from msgspec.structs import replace

from lmemscope.analysis.ranking import Row as Row
from lmemscope.analysis.ranking import (
    arch_order,
    cost_of_share,
    is_negligible,
    rows_of,
    severity,
    worst_first,
)
from lmemscope.formats.demangle import BRACKETS, short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import (
    Cause,
    CauseShare,
    CleanKernel,
    KernelFacts,
    KernelKind,
    Report,
    SiteClass,
    UnitReport,
    Verdict,
    VerdictName,
    count,
    traits_of,
    verdict_kind,
)
from lmemscope.model.inputs import digest_in


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
        cost: the most that it costs one of the kernels, or the least that its sites allow where no
            model says it.
    """

    cause: Cause
    object: str | None
    frame: Span
    sites: SiteClass
    cost: float


@dataclass(frozen=True, slots=True)
class Group:
    """Instances of one template, of any architecture, with the same causes and objects.

    Attributes:
        name: the template without its arguments; of a kernel that is none, its short name.
        input: of the worst kernel; the others are in ``kernels``.
        file: where the template is defined, as far as line information tells; else ``input``.
        archs: sorted, older ones first.
        kernels: worst first.
        instances: how many there are, each counted once for all architectures and files; each entry
            of a compiler's cache is one.
        causes: the costliest first; empty where no local memory is.
        verdict: the worst kernel's.
        cost: modelled cycles per warp, of each kernel; None where no kernel's are known.
        site_bytes: of each kernel; None where no kernel's sites are known.
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
    cost: Span | None
    site_bytes: Span | None
    frame: Span | None
    spills: Span | None

    @property
    def uses_memory(self) -> bool:
        """Whether its kernels count as ones with local memory."""
        return verdict_kind(self.verdict.kind).uses_memory

    @property
    def is_negligible(self) -> bool:
        """Whether all local memory of its kernels is for messages and launches."""
        return is_negligible(self.kernels[0][1])


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """What a cause accounts for in all groups together.

    Attributes:
        cause: of the contract.
        groups: that have it.
        kernels: that have it, each counted once for all architectures and routes.
        sites: its load and store sites.
        cost: the most that it costs one kernel.
        worst: the group of that kernel.
    """

    cause: Cause
    groups: int
    kernels: int
    sites: SiteClass
    cost: float
    worst: Group


def totals(found: Iterable[Group]) -> tuple[CauseTotal, ...]:
    """Each cause of some groups, by what it costs one kernel; those of no cost last."""
    having: defaultdict[Cause, dict[int, tuple[float, Group]]] = defaultdict(dict)
    sites: defaultdict[Cause, SiteClass] = defaultdict(SiteClass)
    for number, group in enumerate(found):
        for one in group.causes:
            cost, _ = having[one.cause].get(number, (0.0, group))
            having[one.cause][number] = (max(cost, one.cost), group)
            sites[one.cause] += one.sites
    made = []
    for cause, have in having.items():
        kernels = distinct_kernels(row for _, one in have.values() for row in one.kernels)
        cost, worst = max(have.values(), key=lambda one: one[0])
        made.append(CauseTotal(cause, len(have), kernels, sites[cause], cost, worst))
    return tuple(sorted(made, key=_cause_order))


def _cause_order(one: CauseTotal) -> tuple[object, ...]:
    return not traits_of(one.cause).costly, -one.cost, -one.sites.bytes, one.cause


def groups(report: Report) -> tuple[Group, ...]:
    """All kernels of a report, each in one group, in the order of their worst kernels."""
    return grouped(rows_of(report))


def grouped(rows: Iterable[Row]) -> tuple[Group, ...]:
    """As `groups`, of some kernels only."""
    return _grouped(rows, _key)


def templates(rows: Iterable[Row]) -> tuple[Group, ...]:
    """As `grouped`, with all instances of a template in one group, whatever their causes."""
    return _grouped(rows, lambda row: (_file(row), template_name(row[1].facts.demangled)))


def _grouped(rows: Iterable[Row], key: Callable[[Row], object]) -> tuple[Group, ...]:
    found: defaultdict[object, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return tuple(sorted((_group(rows) for rows in found.values()), key=group_severity))


def group_severity(group: Group) -> tuple[object, ...]:
    """A key that sorts groups as `severity` sorts their worst kernels."""
    return severity(group.kernels[0])


def distinct_kernels(rows: Iterable[Row]) -> int:
    """How many kernels there are, each counted once for all architectures and routes."""
    return len({(unit.input, stable_name(kernel.facts.name)) for unit, kernel in rows})


def counted(rows: Iterable[Row], clean: Iterable[UnitReport] = ()) -> str:
    """How many kernels there are, and functions that are compiled by themselves, in words.

    Relocatable code and debug builds have such functions.

    Args:
        rows: kernels that have a report each.
        clean: units whose `CleanKernel` count as well.
    """
    found: dict[KernelKind, defaultdict[str, set[str]]] = {
        kind: defaultdict(set) for kind in get_args(KernelKind)
    }
    for unit, kernel in rows:
        found[kernel.facts.kind][unit.input].add(stable_name(kernel.facts.name))
    for unit in clean:
        for one in unit.clean:
            found[one.kind][unit.input].add(stable_name(one.name))
    kernels, functions = (sum(map(len, found[kind].values())) for kind in ("entry", "function"))
    said = [count(kernels, "kernel")] if kernels or not functions else []
    said += [count(functions, "function")] if functions else []
    return " and ".join(said)


def only_clean(report: Report) -> tuple[UnitReport, ...]:
    """Units with those of their clean kernels that use no local memory on any architecture."""
    using: defaultdict[str, set[str]] = defaultdict(set)
    for unit in report.units:
        using[unit.input].update(stable_name(kernel.facts.name) for kernel in unit.kernels)

    def clean(unit: UnitReport) -> tuple[CleanKernel, ...]:
        others = using[unit.input]
        return tuple(one for one in unit.clean if stable_name(one.name) not in others)

    return tuple(replace(unit, clean=clean(unit)) for unit in report.units if unit.clean)


def template_name(demangled: str) -> str:
    """A kernel's short name without template arguments, those of its scopes included.

    ``void ns::box<float>::run<(int)32>(float*)`` gives ``ns::box::run``.
    """
    return _taken_apart(demangled)[0]


def template_arguments(demangled: str) -> str:
    """What `template_name` leaves out: ``<float><(int)32>``; empty for what is no template."""
    return _taken_apart(demangled)[1]


@functools.lru_cache(maxsize=1 << 16)
def _taken_apart(demangled: str) -> tuple[str, str]:
    short = short_name(demangled)
    kept: list[str] = []
    arguments: list[str] = []
    depth = 0
    for part in BRACKETS.findall(short):
        depth += part == "<"
        (arguments if depth else kept).append(part)
        depth -= part == ">" and depth > 0
    # A comparison among the arguments unbalances the brackets; the first one is certain.
    name = "".join(kept) if depth == 0 else short.partition("<")[0]
    return (name, "".join(arguments)) if name else (short, "")


def _key(row: Row) -> tuple[str, str, VerdictName, frozenset[tuple[Cause, str | None]]]:
    _, kernel = row
    name = template_name(kernel.facts.demangled)
    return _file(row), name, kernel.verdict.kind, frozenset(_shares(kernel.facts))


def _file(row: Row) -> str:
    unit, kernel = row
    # One header has as many spellings as there are files that include it.
    return os.path.normpath(kernel.facts.home or unit.input)


def _shares(facts: KernelFacts) -> dict[tuple[Cause, str | None], CauseShare]:
    """Shares by cause and variable; nameless objects of one cause are one."""
    found: dict[tuple[Cause, str | None], CauseShare] = {}
    for share in facts.causes:
        name = share.object
        cost = cost_of_share(share)
        other = found.get((share.cause, name))
        if other is not None:
            share = share.with_bytes(
                share.frame_bytes + other.frame_bytes, share.sites + other.sites
            )
            cost += other.cost or 0.0
        found[share.cause, name] = replace(share, cost=cost)
    return found


def _group(rows: list[Row]) -> Group:
    rows = worst_first(rows)
    unit, worst = rows[0]
    facts = [kernel.facts for _, kernel in rows]
    return Group(
        name=template_name(worst.facts.demangled),
        input=unit.input,
        file=_file(rows[0]),
        archs=tuple(sorted({unit.arch for unit, _ in rows}, key=arch_order)),
        kernels=tuple(rows),
        instances=len({(stable_name(k.facts.name), digest_in(u.input)) for u, k in rows}),
        causes=_causes(facts),
        verdict=worst.verdict,
        cost=_span(round(one.cost) if one.cost is not None else None for one in facts),
        site_bytes=_span(one.sass.bytes if one.sass is not None else None for one in facts),
        frame=_span(one.stack_frame for one in facts),
        spills=_span(one.spill_bytes for one in facts),
    )


def _causes(facts: list[KernelFacts]) -> tuple[GroupCause, ...]:
    found: defaultdict[tuple[Cause, str | None], list[CauseShare]] = defaultdict(list)
    for one in facts:
        for key, share in _shares(one).items():
            found[key].append(share)
    made = [
        GroupCause(
            cause,
            name,
            Span(min(one.frame_bytes for one in shares), max(one.frame_bytes for one in shares)),
            sum((one.sites for one in shares), SiteClass()),
            max(one.cost or 0.0 for one in shares),
        )
        for (cause, name), shares in found.items()
    ]
    return tuple(sorted(made, key=_group_cause_order))


def _group_cause_order(one: GroupCause) -> tuple[object, ...]:
    costly = traits_of(one.cause).costly
    return not costly, -one.cost, -one.sites.bytes, one.cause, one.object or ""


def _span(values: Iterable[int | None]) -> Span | None:
    known = [value for value in values if value is not None]
    return Span(min(known), max(known)) if known else None

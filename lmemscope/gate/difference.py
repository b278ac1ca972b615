"""Compare two reports kernel by kernel: which figures changed, and which causes explain it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import lasting_name
from lmemscope.model import (
    Change,
    Difference,
    InputId,
    KernelDifference,
    KernelReport,
    NotCompared,
    Report,
    ToolChange,
    UnitReport,
    verdict_kind,
)
from lmemscope.model.inputs import without_hashes

FIGURES = ("registers", "stack_frame", "spill_stores", "spill_loads", "ldl", "stl")


_NO_RANK = (0, 0)


@dataclass(frozen=True, slots=True)
class _Side:
    input: str
    arch: str
    options: tuple[str, ...]
    kernel: KernelReport


_Key: TypeAlias = tuple[str, str, str, str]


def difference(
    old: Report,
    new: Report,
    *,
    ignore_arch: bool = False,
    ignore_input: bool = False,
    roots: tuple[str, str] = ("", ""),
) -> Difference:
    """The difference between two reports.

    Args:
        old, new: the two sides.
        ignore_arch: match kernels of different architectures.
        ignore_input: match kernels across files by name, and by the variant of the unit.
        roots: base directories of the two sides: inputs are matched by their paths below these.
    """
    before = _sides(old, ignore_arch, ignore_input, roots[0])
    after = _sides(new, ignore_arch, ignore_input, roots[1])
    found = []
    failures = [
        _failures(side, ignore_arch, ignore_input, root)
        for side, root in zip((old, new), roots, strict=True)
    ]
    not_compared = failures[0].keys() | failures[1].keys()
    for key in sorted({*before, *after}):
        if (key[0], key[2]) in not_compared:
            continue
        for one, other in _paired(before.get(key, []), after.get(key, [])):
            compared = _compare(one, other)
            if compared is not None:
                found.append(compared)
    order = ("added", "worse", "changed", "better", "removed")
    found.sort(key=lambda d: (order.index(d.change), d.input, d.kernel, d.arch))
    left = (_not_compared(*(side.get(key) for side in failures)) for key in sorted(not_compared))
    return Difference(_toolchain_changes(old, new), tuple(found), tuple(left))


def _toolchain_changes(old: Report, new: Report) -> tuple[ToolChange, ...]:
    """Tools in both reports whose versions differ, by name."""
    versions = [{tool.name: tool.version for tool in side.tools} for side in (old, new)]
    shared = sorted(versions[0].keys() & versions[1].keys())
    return tuple(
        ToolChange(name, versions[0][name], versions[1][name])
        for name in shared
        if versions[0][name] != versions[1][name]
    )


def _sides(
    report: Report, ignore_arch: bool, ignore_input: bool, root: str
) -> dict[_Key, list[_Side]]:
    """Kernels by matching key; a compiler cache may hold several instances of one kernel."""
    found: dict[_Key, list[_Side]] = defaultdict(list)
    both = _both(report)
    for unit in report.units:
        place = _place(unit, ignore_input, root)
        route = unit.frontend if unit.frontend in ("nvrtc", "nvcc") and both else ""
        for kernel in unit.kernels:
            key = (place, lasting_name(kernel.name), "" if ignore_arch else unit.arch, route)
            found[key].append(_Side(unit.input, unit.arch, unit.options, kernel))
    return found


def _place(unit: UnitReport, ignore_input: bool, root: str) -> str:
    """An input's matching key."""
    below = os.path.relpath(unit.input, root) if root else unit.input
    return without_hashes(InputId.parse(unit.input).variant if ignore_input else below)


def _failures(
    report: Report, ignore_arch: bool, ignore_input: bool, root: str
) -> dict[tuple[str, str], UnitReport]:
    """Units that could not be analysed, by the matching key of their kernels."""
    return {
        (_place(unit, ignore_input, root), "" if ignore_arch else unit.arch): unit
        for unit in report.units
        if unit.failure is not None
    }


def _not_compared(old: UnitReport | None, new: UnitReport | None) -> NotCompared:
    unit = new or old
    assert unit is not None
    return NotCompared(unit.input, unit.arch, _why(old), _why(new))


def _why(unit: UnitReport | None) -> str | None:
    failure = unit.failure if unit is not None else None
    return f"[{failure.stage}] {failure.message}" if failure is not None else None


def _paired(
    before: Sequence[_Side], after: Sequence[_Side]
) -> Iterator[tuple[_Side | None, _Side | None]]:
    """Pair the instances of a kernel, most similar first; then list those without a partner.

    Instances are paired by the digest in their directory's name, then by compiler options for those
    that were recompiled, then by the most similar code.
    """
    rest, others = list(before), list(after)
    for alike in (_name, _options, _any):
        near = sorted(
            (_distance(one, other), number, place)
            for number, one in enumerate(rest)
            for place, other in enumerate(others)
            if alike(one) == alike(other)
        )
        taken: tuple[set[int], set[int]] = (set(), set())
        for _, number, place in near:
            if number not in taken[0] and place not in taken[1]:
                taken[0].add(number)
                taken[1].add(place)
                yield rest[number], others[place]
        rest = [one for number, one in enumerate(rest) if number not in taken[0]]
        others = [one for place, one in enumerate(others) if place not in taken[1]]
    yield from ((one, None) for one in rest)
    yield from ((None, other) for other in others)


def _name(side: _Side) -> object:
    return os.path.basename(os.path.dirname(side.input)), side.kernel.name


def _options(side: _Side) -> object:
    return side.options


def _any(side: _Side) -> object:
    return None


def _distance(one: _Side, other: _Side) -> int:
    """The difference between two kernels' code, in bytes."""
    facts = (one.kernel.cubin, other.kernel.cubin)
    sizes = [fact.code_bytes for fact in facts if fact is not None and fact.code_bytes is not None]
    return abs(sizes[0] - sizes[1]) if len(sizes) > 1 else 0


def _both(report: Report) -> bool:
    routes: Counter[tuple[str, str]] = Counter((u.input, u.arch) for u in report.units)
    return any(count > 1 for count in routes.values())


def _compare(old: _Side | None, new: _Side | None) -> KernelDifference | None:
    side = new or old
    assert side is not None
    before, after = _figures(old), _figures(new)
    differing = tuple(
        (name, before[name], after[name]) for name in FIGURES if before[name] != after[name]
    )
    had, has = _causes(old), _causes(new)
    appeared, vanished = list((has - had).elements()), list((had - has).elements())
    if old is not None and new is not None and not differing and not appeared and not vanished:
        return None
    why = []
    if new is not None:
        labels = set(appeared)
        why = [f.message for f in new.kernel.findings if _label(f.cause, f.object) in labels]
    return KernelDifference(
        short_name(side.kernel.facts.demangled),
        side.input,
        side.arch
        if old is None or new is None or old.arch == new.arch
        else f"{old.arch} → {new.arch}",
        _change(old, new),
        differing,
        tuple(sorted(appeared)),
        tuple(sorted(vanished)),
        tuple(dict.fromkeys(why)),
    )


def _change(old: _Side | None, new: _Side | None) -> Change:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    was, now = _rank(old), _rank(new)
    sizes = zip(_bytes(old), _bytes(new), strict=True)
    # If one side's value is unknown, so is whether it grew.
    both = [(had, has) for had, has in sizes if had is not None and has is not None]
    grew = now > was or any(has > had for had, has in both)
    shrank = now < was or any(has < had for had, has in both)
    if now > was or (grew and not shrank):
        return "worse"
    # A milder cause in a larger frame is neither better nor worse.
    return "better" if shrank and not grew else "changed"


def _rank(side: _Side) -> tuple[int, int]:
    """How bad a kernel's local memory is; what ptxas keeps in registers does not count."""
    verdict = side.kernel.verdict
    return verdict.rank if verdict_kind(verdict.kind).uses_memory else _NO_RANK


def _bytes(side: _Side) -> tuple[int | None, ...]:
    """A kernel's frame and spill bytes."""
    facts = side.kernel.facts
    return (facts.stack_frame, facts.spill_stores, facts.spill_loads)


def _figures(side: _Side | None) -> dict[str, int | None]:
    if side is None:
        return dict.fromkeys(FIGURES)
    facts = side.kernel.facts
    return {
        "registers": facts.registers,
        "stack_frame": facts.stack_frame,
        "spill_stores": facts.spill_stores,
        "spill_loads": facts.spill_loads,
        "ldl": facts.sass.load_sites if facts.sass is not None else None,
        "stl": facts.sass.store_sites if facts.sass is not None else None,
    }


def _causes(side: _Side | None) -> Counter[str]:
    if side is None:
        return Counter()
    return Counter(_label(f.cause, f.object) for f in side.kernel.findings)


def _label(cause: str, name: str | None) -> str:
    return f"{cause} of {name}" if name is not None else cause

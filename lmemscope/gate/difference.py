"""Two reports kernel by kernel: which figures changed, and which causes explain it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import (
    Change,
    Difference,
    InputId,
    KernelDifference,
    KernelReport,
    Report,
    ToolChange,
)

FIGURES = ("registers", "stack_frame", "spill_stores", "spill_loads", "ldl", "stl")


@dataclass(frozen=True, slots=True)
class _Side:
    input: str
    arch: str
    kernel: KernelReport


def difference(
    old: Report, new: Report, *, ignore_arch: bool = False, ignore_input: bool = False
) -> Difference:
    """What differs between two reports.

    Args:
        old, new: the two sides.
        ignore_arch: match kernels of different architectures.
        ignore_input: match kernels of two files by name, and by what tells units of one file apart.
    """
    before = _sides(old, ignore_arch, ignore_input)
    after = _sides(new, ignore_arch, ignore_input)
    found = []
    for key in sorted({*before, *after}):
        one = _compare(before.get(key), after.get(key))
        if one is not None:
            found.append(one)
    order = ("added", "worse", "changed", "better", "removed")
    found.sort(key=lambda d: (order.index(d.change), d.input, d.kernel, d.arch))
    return Difference(_toolchain_changes(old, new), tuple(found))


def _toolchain_changes(old: Report, new: Report) -> tuple[ToolChange, ...]:
    """Tools of both sides whose versions differ, by name."""
    versions = [{tool.name: tool.version for tool in side.tools} for side in (old, new)]
    shared = sorted(versions[0].keys() & versions[1].keys())
    return tuple(
        ToolChange(name, versions[0][name], versions[1][name])
        for name in shared
        if versions[0][name] != versions[1][name]
    )


def _sides(
    report: Report, ignore_arch: bool, ignore_input: bool
) -> dict[tuple[str, str, str, str], _Side]:
    return {
        (
            InputId.parse(unit.input).variant if ignore_input else unit.input,
            stable_name(kernel.facts.name),
            "" if ignore_arch else unit.arch,
            unit.frontend if unit.frontend in ("nvrtc", "nvcc") and _both(report) else "",
        ): _Side(unit.input, unit.arch, kernel)
        for unit in report.units
        for kernel in unit.kernels
    }


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
    was, now = old.kernel.verdict.rank, new.kernel.verdict.rank
    frames = (old.kernel.facts.stack_frame or 0, new.kernel.facts.stack_frame or 0)
    if now > was or (now == was and frames[1] > frames[0]):
        return "worse"
    if now < was or frames[1] < frames[0]:
        return "better"
    return "changed"


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

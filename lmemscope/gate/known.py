"""Compare findings with the baseline, for those that nothing else accepts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.formats.kernel_names import lasting_name, matches
from lmemscope.gate.baseline import toolchain_of
from lmemscope.gate.matching import Item, inexact, match
from lmemscope.model import Baseline, BaselineEntry, Improvement, Report, listed
from lmemscope.model.inputs import without_hashes
from lmemscope.rules.base import FINGERPRINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How much known findings may grow.

    Attributes:
        tolerance: bytes.
        toolchain_tolerance: percent, if the toolchain changed.
    """

    tolerance: int = 0
    toolchain_tolerance: int = 50


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of comparing findings with a baseline.

    Attributes:
        new: findings without an entry.
        worse: findings that exceed their entry, with that entry.
        known: findings that the baseline accepts.
        better: known findings that have become smaller.
        gone: entries that no longer match anything.
        notes: information for the reader.
    """

    new: tuple[Item, ...]
    worse: tuple[tuple[Item, BaselineEntry], ...] = ()
    known: tuple[Item, ...] = ()
    better: tuple[Improvement, ...] = ()
    gone: tuple[BaselineEntry, ...] = ()
    notes: tuple[str, ...] = ()


def ask(
    report: Report,
    items: Sequence[Item],
    settled: Sequence[Item],
    baseline: Baseline,
    drift: Drift,
    *,
    gone: Collection[str] = (),
    movable: Collection[str] = (),
    kernels: Collection[str] = (),
) -> Answer:
    """Compare findings with a baseline.

    Args:
        report: that contains the findings.
        items: findings that something has to accept.
        settled: findings that limits permit, or that limits or allowances accept; their entries are
            not gone.
        baseline: the known findings.
        drift: how much known findings may grow.
        gone: inputs in the baseline that no longer exist.
        movable: those of them whose findings may have moved.
        kernels: globs that the report was limited to; entries of other kernels are not gone.
    """
    changed = _toolchain_change(report, baseline)
    notes = _differences(baseline, changed, drift)
    found = match(report, items, baseline, by_cause=bool(changed), movable=movable)
    worse: list[tuple[Item, BaselineEntry]] = []
    known: list[Item] = []
    better: list[Improvement] = []
    moved: dict[tuple[str, str], None] = {}
    for item, entry in found.known:
        if lasting_name(entry.kernel) != lasting_name(item.name):
            notes.append(f"{entry.kernel} is treated as renamed to {item.name}")
        elif entry.object != item.finding.object and not changed:
            old, new = entry.object, item.finding.object
            notes.append(f"`{old}` of {item.name} is treated as renamed to `{new}`")
        if without_hashes(entry.input) != without_hashes(item.unit.input):
            moved[entry.input, item.unit.input] = None
        bytes_ = item.finding.bytes
        if bytes_ > _most(entry, drift, bool(changed)):
            worse.append((item, entry))
            continue
        if bytes_ < entry.bytes:
            better.append(Improvement(entry, bytes_))
        known.append(item)
    notes += (f"{old} is treated as moved to {new}" for old, new in moved)
    if shared := inexact(report, found.known):
        notes.append(
            f"the baseline, of an earlier lmemscope, does not tell overloads of {listed(shared)} "
            "apart; rewrite it with: lmemscope baseline PATH..."
        )
    others = replace(baseline, findings=tuple(found.left))
    left = match(report, settled, others, by_cause=bool(changed), movable=movable).left
    seen = {
        (without_hashes(unit.input), unit.arch) for unit in report.units if unit.failure is None
    }
    left_over = sorted(
        (
            entry
            for entry in left
            if ((without_hashes(entry.input), entry.arch) in seen or entry.input in gone)
            and matches(kernels, entry.kernel, entry.kernel)
        ),
        key=str,
    )
    return Answer(
        new=found.new,
        worse=tuple(worse),
        known=tuple(known),
        better=tuple(better),
        gone=tuple(left_over),
        notes=tuple(dict.fromkeys(notes)),
    )


def _most(entry: BaselineEntry, drift: Drift, toolchain_changed: bool) -> int:
    """The maximum bytes of a known finding."""
    share = entry.bytes * drift.toolchain_tolerance // 100 if toolchain_changed else 0
    return entry.bytes + drift.tolerance + share


def _differences(baseline: Baseline, changed: str, drift: Drift) -> list[str]:
    """Notes on how the baseline and the report were made differently."""
    notes = []
    if changed:
        notes.append(
            f"the toolchain changed since the baseline ({changed}): bytes may grow by "
            f"{drift.toolchain_tolerance} %; `lmemscope baseline PATH...` records the new figures"
        )
    if baseline.fingerprints != FINGERPRINTS:
        notes.append(
            "the baseline was written by another version of lmemscope with different "
            "fingerprints: comparing by file, kernel, cause, object and bytes; rewrite it "
            "with: lmemscope baseline PATH..."
        )
    return notes


def _toolchain_change(report: Report, baseline: Baseline) -> str:
    """The tool versions that differ, as text; empty if none do."""
    before, now = baseline.toolchain, toolchain_of(report)
    return ", ".join(
        f"{name} {before[name]} → {version}"
        for name, version in sorted(now.items())
        if name in before and before[name] != version
    )

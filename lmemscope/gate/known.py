"""The baseline's half of the gate: findings that nothing else accepts against what is known."""

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
    """By how much known findings may grow.

    Attributes:
        tolerance: bytes.
        toolchain_tolerance: percent, where the toolchain changed.
    """

    tolerance: int = 0
    toolchain_tolerance: int = 50


@dataclass(frozen=True, slots=True)
class Answer:
    """What a baseline says of findings.

    Attributes:
        new: that no entry is.
        worse: with the entry that each is, which has fewer bytes.
        known: that the baseline accepts.
        better: those of them that have become smaller.
        gone: entries that nothing matches any more.
        notes: what a reader should know.
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
        report: that they are of.
        items: that something has to accept.
        settled: that limits do not forbid, or that limits or allowances accept: they are not gone.
        baseline: what is known.
        drift: of known findings.
        gone: inputs of the baseline that are no longer there.
        movable: those of them whose findings may be elsewhere now.
        kernels: globs over those that the report was limited to; the others are not gone.
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
    """Bytes that a known finding may have."""
    share = entry.bytes * drift.toolchain_tolerance // 100 if toolchain_changed else 0
    return entry.bytes + drift.tolerance + share


def _differences(baseline: Baseline, changed: str, drift: Drift) -> list[str]:
    """Notes on how the baseline was made otherwise than the report."""
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
    """Versions that differ, in words; empty where none does."""
    before, now = baseline.toolchain, toolchain_of(report)
    return ", ".join(
        f"{name} {before[name]} → {version}"
        for name, version in sorted(now.items())
        if name in before and before[name] != version
    )

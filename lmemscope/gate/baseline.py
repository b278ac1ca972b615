"""Read and write the baseline: known findings, one per line, sorted, with the tool versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import asdict, replace

from lmemscope.errors import UsageError
from lmemscope.formats import codec, documents
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import lasting_name
from lmemscope.model import (
    CAUSES,
    Baseline,
    BaselineEntry,
    Finding,
    Improvement,
    KernelReport,
    MissingEvidence,
    Report,
    UnitReport,
)
from lmemscope.rules.base import FINGERPRINTS

SCHEMA: Final = "lmemscope.baseline/1"
IGNORED = frozenset(cause.name for cause in CAUSES if not cause.gated)
"""Causes that never fail the gate, so a baseline need not record them."""


def is_ignored(finding: Finding) -> bool:
    """Whether a finding never fails the gate: its cause is ignored and it is not an error."""
    return finding.cause in IGNORED and finding.severity != "error"


SAVED = documents.Saved(
    structure=Baseline,
    meaning=lambda baseline: baseline,
    stage="baseline",
    noun="baseline",
    missing="write it with: lmemscope baseline … -o {path}",
    again="restore it from version control, or write it again with: lmemscope baseline PATH...",
    wrong=UsageError,
)


def from_report(
    report: Report,
    *,
    archs: Sequence[str] = (),
    default_arch: str | None = None,
    gaps: Sequence[MissingEvidence] = (),
) -> Baseline:
    """The baseline that accepts a report as it is.

    Args:
        report: with causes.
        archs: the architectures that were requested.
        default_arch: used where neither a user nor a build chose one.
        gaps: missing evidence to accept.
    """
    entries = [
        entry_of(unit, kernel, finding)
        for unit in report.units
        for kernel in unit.kernels
        for finding in kernel.findings
        if not is_ignored(finding)
    ]
    return Baseline(
        schema=SCHEMA,
        toolchain=toolchain_of(report),
        fingerprints=FINGERPRINTS,
        archs=tuple(archs),
        default_arch=default_arch,
        filters=report.filters,
        findings=tuple(sorted(entries, key=order)),
        gaps=tuple(sorted(gaps, key=lambda gap: (gap.input or "", gap.stage, gap.reason))),
    )


def entry_of(unit: UnitReport, kernel: KernelReport, finding: Finding) -> BaselineEntry:
    """The baseline entry for a finding."""
    return BaselineEntry(
        input=unit.input,
        arch=unit.arch,
        kernel=short_name(kernel.facts.demangled),
        cause=finding.cause,
        object=finding.object,
        bytes=finding.bytes,
        fingerprint=finding.fingerprint,
        symbol=lasting_name(kernel.facts.name),
    )


def toolchain_of(report: Report) -> dict[str, str]:
    """Versions of the tools that made a report, by name."""
    return dict(sorted({(tool.name, tool.version or "?") for tool in report.tools}))


def render(baseline: Baseline) -> str:
    """The file's text: JSON with one entry per line, for readable diffs."""
    fields = asdict(baseline) | {"toolchain": dict(sorted(baseline.toolchain.items()))}
    del fields["findings"]
    del fields["gaps"]
    if not baseline.filters:
        del fields["filters"]
    head = "".join(f'  "{name}": {codec.ascii_line(field)},\n' for name, field in fields.items())
    found = _listed(sorted(baseline.findings, key=order))
    gaps = f',\n  "gaps": {_listed(baseline.gaps)}' if baseline.gaps else ""
    return f'{{\n{head}  "findings": {found}{gaps}\n}}\n'


def _listed(items: Sequence[BaselineEntry] | Sequence[MissingEvidence]) -> str:
    lines = [codec.ascii_line(item) for item in items]
    return "[\n    " + ",\n    ".join(lines) + "\n  ]" if lines else "[]"


def load(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        UsageError: it does not exist, is damaged or not a baseline, or has the schema of another
            version of lmemscope.
    """
    return SAVED.load(path)


def without(baseline: Baseline, gone: Iterable[BaselineEntry]) -> Baseline:
    """A baseline without the given entries, each removed once."""
    left = list(baseline.findings)
    for entry in gone:
        left.remove(entry)
    return replace(baseline, findings=tuple(left))


def order(entry: BaselineEntry) -> tuple[str, ...]:
    """The sort key of an entry in the file."""
    return (
        entry.input,
        entry.kernel,
        entry.arch,
        entry.cause,
        entry.object or "",
        entry.fingerprint,
        entry.symbol or "",
    )


def ratcheted(baseline: Baseline, better: Iterable[Improvement]) -> Baseline:
    """A baseline updated with the new sizes of improved findings."""
    entries = list(baseline.findings)
    for one in better:
        if one.entry in entries:
            entries[entries.index(one.entry)] = replace(one.entry, bytes=one.bytes)
    return replace(baseline, findings=tuple(entries))

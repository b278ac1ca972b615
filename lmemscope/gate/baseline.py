"""The baseline file: known findings, one per line, sorted, with the toolchain that showed them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.errors import UsageError
from lmemscope.formats import codec, documents
from lmemscope.formats.demangle import short_name
from lmemscope.model import CAUSES, Baseline, BaselineEntry, Finding, Improvement, Report
from lmemscope.rules.base import FINGERPRINTS

SCHEMA: Final = "lmemscope.baseline/1"
IGNORED = frozenset(cause.name for cause in CAUSES if not cause.gated)
"""Causes that never fail a gate, so that a baseline need not hold them."""


def is_ignored(finding: Finding) -> bool:
    """Whether a finding never fails a gate: one of such a cause, unless it is an error."""
    return finding.cause in IGNORED and finding.severity != "error"


class BaselineDocument(Struct, frozen=True, kw_only=True):
    """Known findings, one per line of the file, sorted.

    Attributes:
        schema: of the document.
        toolchain: versions of the tools that showed the findings, by name.
        fingerprints: how the fingerprints were made; absent in the earliest documents, where it
            is 1.
        archs: architectures that were asked for; empty where builds or the default decided.
        default_arch: what inputs were compiled for that neither a user nor a build decided.
        filters: options that kept findings out, as they are typed.
        findings: what `check` accepts; equal ones count.
    """

    schema: Literal["lmemscope.baseline/1"]
    toolchain: dict[str, str]
    fingerprints: int = 1
    archs: tuple[str, ...] = ()
    default_arch: str | None = None
    filters: tuple[str, ...] = ()
    findings: tuple[BaselineEntry, ...]


def _meaning(document: BaselineDocument) -> Baseline:
    return codec.shaped(
        Baseline,
        document,
        toolchain=tuple(sorted(document.toolchain.items())),
        entries=document.findings,
    )


SAVED = documents.Saved(
    structure=BaselineDocument,
    meaning=_meaning,
    stage="baseline",
    noun="baseline",
    missing="write it with: lmemscope baseline … -o {path}",
    again="restore it from version control, or write it again with: lmemscope baseline",
    wrong=UsageError,
)


def from_report(
    report: Report, *, archs: Sequence[str] = (), default_arch: str | None = None
) -> Baseline:
    """The baseline that accepts a report as it is.

    Args:
        report: with causes.
        archs: that were asked for.
        default_arch: where neither a user nor a build decided.
    """
    entries = [
        BaselineEntry(
            input=unit.input,
            arch=unit.arch,
            kernel=short_name(kernel.facts.demangled),
            cause=finding.cause,
            object=finding.object,
            bytes=finding.bytes,
            fingerprint=finding.fingerprint,
        )
        for unit in report.units
        for kernel in unit.kernels
        for finding in kernel.findings
        if not is_ignored(finding)
    ]
    return Baseline(
        toolchain_of(report),
        tuple(sorted(entries, key=_order)),
        FINGERPRINTS,
        tuple(archs),
        default_arch,
        report.filters,
    )


def toolchain_of(report: Report) -> tuple[tuple[str, str], ...]:
    """Names and versions of the tools behind a report."""
    return tuple(sorted({(tool.name, tool.version or "?") for tool in report.toolchain}))


def render(baseline: Baseline) -> str:
    """The file's text: JSON with one entry per line, so that a diff shows what changed."""
    lines = [codec.ascii_line(entry) for entry in sorted(baseline.entries, key=_order)]
    body = ",\n    ".join(lines)
    filters = f'  "filters": {codec.ascii_line(baseline.filters)},\n' if baseline.filters else ""
    return (
        "{\n"
        f'  "schema": "{SCHEMA}",\n'
        f'  "toolchain": {codec.ascii_line(dict(baseline.toolchain))},\n'
        f'  "fingerprints": {baseline.fingerprints},\n'
        f'  "archs": {codec.ascii_line(baseline.archs)},\n'
        f'  "default_arch": {codec.ascii_line(baseline.default_arch)},\n'
        f"{filters}"
        f'  "findings": [{chr(10) + "    " + body + chr(10) + "  " if lines else ""}]\n'
        "}\n"
    )


def load(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        UsageError: it does not exist, is no baseline, is damaged, or has the schema of an older or
            newer lmemscope.
    """
    return SAVED.load(path)


def without(baseline: Baseline, gone: Iterable[BaselineEntry]) -> Baseline:
    """A baseline less some of its entries, each removed once."""
    left = list(baseline.entries)
    for entry in gone:
        left.remove(entry)
    return replace(baseline, entries=tuple(left))


def _order(entry: BaselineEntry) -> tuple[str, ...]:
    return (
        entry.input,
        entry.kernel,
        entry.arch,
        entry.cause,
        entry.object or "",
        entry.fingerprint,
    )


def ratcheted(baseline: Baseline, better: Iterable[Improvement]) -> Baseline:
    """A baseline with the figures of findings that have become smaller."""
    entries = list(baseline.entries)
    for one in better:
        if one.entry in entries:
            entries[entries.index(one.entry)] = replace(one.entry, bytes=one.bytes)
    return replace(baseline, entries=tuple(entries))

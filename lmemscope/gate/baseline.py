"""The baseline file: known findings, one per line, sorted, with the toolchain that showed them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from lmemscope.formats import codec, documents
from lmemscope.formats.demangle import short_name
from lmemscope.model import CAUSES, Baseline, BaselineEntry, Report

SCHEMA: Final = "lmemscope.baseline/1"
IGNORED = frozenset(cause.name for cause in CAUSES if not cause.gated)
"""Causes that never fail a gate, so that a baseline need not hold them."""


@dataclass(frozen=True, slots=True)
class BaselineDocument:
    """Known findings, one per line of the file, sorted.

    Attributes:
        schema: of the document.
        toolchain: versions of the tools that showed the findings, by name.
        findings: what `check` accepts; equal ones count.
    """

    schema: Literal["lmemscope.baseline/1"]
    toolchain: dict[str, str]
    findings: tuple[BaselineEntry, ...]


def _meaning(document: BaselineDocument) -> Baseline:
    return Baseline(tuple(sorted(document.toolchain.items())), document.findings)


SAVED = documents.Saved(
    structure=BaselineDocument,
    meaning=_meaning,
    stage="baseline",
    noun="baseline",
    missing="write it with: lmemscope baseline … -o {path}",
    again="restore it from version control, or write it again with: lmemscope baseline",
)


def from_report(report: Report) -> Baseline:
    """The baseline that accepts a report as it is."""
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
        if finding.cause not in IGNORED
    ]
    return Baseline(toolchain_of(report), tuple(sorted(entries, key=_order)))


def toolchain_of(report: Report) -> tuple[tuple[str, str], ...]:
    """Names and versions of the tools behind a report."""
    return tuple(sorted({(tool.name, tool.version or "?") for tool in report.toolchain}))


def render(baseline: Baseline) -> str:
    """The file's text: JSON with one entry per line, so that a diff shows what changed."""
    lines = [codec.ascii_line(entry) for entry in sorted(baseline.entries, key=_order)]
    body = ",\n    ".join(lines)
    return (
        "{\n"
        f'  "schema": "{SCHEMA}",\n'
        f'  "toolchain": {codec.ascii_line(dict(baseline.toolchain))},\n'
        f'  "findings": [{chr(10) + "    " + body + chr(10) + "  " if lines else ""}]\n'
        "}\n"
    )


def load(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        InputError: it does not exist, or is no baseline, or damaged.
        UsageError: it has the schema of an older or newer lmemscope.
    """
    return SAVED.load(path)


def without(baseline: Baseline, gone: Iterable[BaselineEntry]) -> Baseline:
    """A baseline less some of its entries, each removed once."""
    left = list(baseline.entries)
    for entry in gone:
        left.remove(entry)
    return Baseline(baseline.toolchain, tuple(left))


def _order(entry: BaselineEntry) -> tuple[str, ...]:
    return (
        entry.input,
        entry.kernel,
        entry.arch,
        entry.cause,
        entry.object or "",
        entry.fingerprint,
    )


def ratcheted(baseline: Baseline, found: dict[tuple[str, str, str], int]) -> Baseline:
    """A baseline with the smaller of known and found bytes for each finding."""
    return Baseline(
        baseline.toolchain,
        tuple(
            replace(
                entry,
                bytes=min(
                    entry.bytes,
                    found.get((entry.input, entry.arch, entry.fingerprint), entry.bytes),
                ),
            )
            for entry in baseline.entries
        ),
    )

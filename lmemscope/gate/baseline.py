"""The baseline file: known findings, one per line, sorted, with the toolchain that showed them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmemscope.errors import InputError, UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.model import CAUSES, Baseline, BaselineEntry, Report

SCHEMA = "lmemscope.baseline/1"
IGNORED = frozenset(cause.name for cause in CAUSES if not cause.gated)
"""Causes that never fail a gate, so that a baseline need not hold them."""


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
    lines = [
        json.dumps(
            {
                "input": entry.input,
                "arch": entry.arch,
                "kernel": entry.kernel,
                "cause": entry.cause,
                "object": entry.object,
                "bytes": entry.bytes,
                "fingerprint": entry.fingerprint,
            }
        )
        for entry in sorted(baseline.entries, key=_order)
    ]
    body = ",\n    ".join(lines)
    return (
        "{\n"
        f'  "schema": "{SCHEMA}",\n'
        f'  "toolchain": {json.dumps(dict(baseline.toolchain))},\n'
        f'  "findings": [{chr(10) + "    " + body + chr(10) + "  " if lines else ""}]\n'
        "}\n"
    )


def load(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        InputError: it does not exist or is no baseline.
        UsageError: it was written by a newer lmemscope.
    """
    try:
        document: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        schema = document["schema"]
    except FileNotFoundError as error:
        raise InputError(
            "baseline",
            f"{path} does not exist",
            hint=f"write it with: lmemscope baseline … -o {path}",
        ) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            "baseline",
            f"{path} is no baseline: {error}",
            hint="restore it from version control, or write it again with: lmemscope baseline",
        ) from error
    if schema != SCHEMA:
        raise UsageError(
            "baseline",
            f"{path} has schema {schema}; this lmemscope reads {SCHEMA}",
            hint="upgrade lmemscope, or write the baseline again",
        )
    try:
        return Baseline(
            tuple(sorted(document["toolchain"].items())),
            tuple(_entry(entry) for entry in document["findings"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            "baseline",
            f"{path} is damaged: {error!r}",
            hint="restore it from version control, or write it again with: lmemscope baseline",
        ) from error


def without(baseline: Baseline, gone: Iterable[BaselineEntry]) -> Baseline:
    """A baseline less some of its entries, each removed once."""
    left = list(baseline.entries)
    for entry in gone:
        left.remove(entry)
    return Baseline(baseline.toolchain, tuple(left))


def _entry(document: dict[str, Any]) -> BaselineEntry:
    return BaselineEntry(
        input=document["input"],
        arch=document["arch"],
        kernel=document["kernel"],
        cause=document["cause"],
        object=document["object"],
        bytes=int(document["bytes"]),
        fingerprint=document["fingerprint"],
    )


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

"""Collect the evidence that the gate lacks, and apply the project's policy to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.gate.linked import lacks as of_links
from lmemscope.gate.linked import linked_figures
from lmemscope.model import GapKind, MissingEvidence, Policy, Report, count
from lmemscope.model.inputs import without_hashes

_NO_KERNEL = MissingEvidence(
    None, "check", "no kernel was checked; if the last one is gone, remove the path from the gate"
)
_THROUGH_POINTER = (
    "through a pointer what no function here defines: another translation unit may define it"
)
_DIRECTORIES = re.compile(r"(?<![\w./])/(?:[^\s/:]+/)+")
_NO_KERNEL_NAMED = (
    "the named files define no kernel; sources that include a changed header are checked with "
    "--changed"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is unknown.

    Attributes:
        missing: makes the gate incomplete unless accepted; each piece once.
        notes: sentences for what the policy, or its kind, reduces to a note.
    """

    missing: tuple[MissingEvidence, ...]
    notes: tuple[str, ...]


def weigh(
    report: Report, policy: Policy, *, partial: bool = False, only_sources: bool = False
) -> Evidence:
    """Separate missing evidence from what the project has decided to accept.

    Args:
        report: with causes.
        policy: of the project.
        partial: whether unchanged inputs were left out, so that kernels may be absent.
        only_sources: whether only source files were named: one without kernels is then a fact.
    """
    missing: dict[MissingEvidence, None] = {}
    notes: dict[str, None] = {}
    for kind, piece in _lacks(report):
        noted = kind == "uninstantiated" and policy.uninstantiated == "note"
        if noted:
            notes[piece.text] = None
        elif kind != "note":
            missing[piece] = None
    for piece in _external(report):
        if policy.external == "note":
            notes[piece.text] = None
        else:
            missing[piece] = None
    kernels = (*(unit.kernels for unit in report.units), *(link.kernels for link in report.links))
    if not partial and not any(kernels):
        if only_sources and not missing:
            notes[_NO_KERNEL_NAMED] = None
        else:
            missing[_NO_KERNEL] = None
    return Evidence(tuple(missing), tuple(notes))


def acceptable(report: Report, policy: Policy) -> tuple[MissingEvidence, ...]:
    """The missing evidence of a report's inputs, which a baseline can record."""
    return tuple(one for one in weigh(report, policy).missing if one != _NO_KERNEL)


def unaccepted(
    missing: Iterable[MissingEvidence], known: Iterable[MissingEvidence]
) -> tuple[MissingEvidence, ...]:
    """Missing evidence that a baseline does not accept.

    Digests in names, and directories of files that a compiler names, are ignored.
    """
    accepted = {lasting(one) for one in known}
    return tuple(one for one in missing if lasting(one) not in accepted)


def said_of_known(found: int) -> str:
    """The sentence that a baseline accepts missing evidence."""
    return f"{count(found, 'known gap')} accepted by the baseline"


def lasting(one: MissingEvidence) -> tuple[str, str, str]:
    """Missing evidence in a form that is stable between runs: without digests or directories."""
    reason = _DIRECTORIES.sub("", without_hashes(one.reason))
    return without_hashes(one.input or ""), one.stage, reason


def _lacks(report: Report) -> Iterator[tuple[GapKind, MissingEvidence]]:
    for unit in report.units:
        if unit.failure is not None:
            failure = unit.failure
            said = failure.message.removeprefix(f"{unit.input}: ")
            yield failure.kind, MissingEvidence(unit.input, failure.stage, said)
        for gap in unit.gaps:
            yield gap.kind, MissingEvidence(unit.input, gap.stage, gap.reason)
    for gap in report.gaps:
        yield gap.kind, MissingEvidence(gap.input, gap.stage, gap.reason)
    for doubt in report.doubts:
        yield "evidence", MissingEvidence(None, "report", doubt)
    yield from of_links(report)


def _external(report: Report) -> Iterator[MissingEvidence]:
    """Missing evidence for kernels that call another translation unit, unless a link covers it."""
    linked = linked_figures(report.links)
    for unit in report.units:
        for kernel in unit.kernels:
            calls = kernel.facts.calls
            if kernel.facts.kind != "entry" or calls is None:
                continue
            if not calls.external and not calls.leads_out:
                continue
            if linked.of(unit, kernel.facts):
                continue
            names = ", ".join(short_name(demangle(name)) for name in calls.external)
            said = f"{names}, which another translation unit defines" if names else _THROUGH_POINTER
            name = short_name(kernel.facts.demangled)
            yield MissingEvidence(unit.input, "external", f"{name} calls {said}")

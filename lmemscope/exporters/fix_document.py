"""The document ``lmemscope.fix/1``: candidates as they were tried, in the contract's order."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.exporters import escape_json
from lmemscope.model import (
    Applicability,
    Failure,
    Figures,
    FixReport,
    ProgramRun,
    SourceLocation,
    Trial,
    TrialVerdict,
    Untried,
)


class CandidateDocument(Struct, frozen=True, kw_only=True):
    """A rewrite of one object, tried, as it is for one kernel.

    Attributes:
        input, arch, kernel: as of reports; the kernel's name is demangled.
        object: the variable, where the finding has one.
        fingerprint: of the finding.
        rewrite: its name, or two joined by ``+``.
        applicability: whether it may change what the program does.
        verdict: what came of it.
        rank: 1 for the best that is offered for the finding; null where it is not offered, or
            slower by the modelled cost.
        before, after: the kernel's figures; ``after`` is null where nothing was compiled.
        cost_before, cost_after: modelled; null where it is not known.
        patch: unified diff, names relative to the working directory; null where there is none.
        error: why it failed, or is not offered.
        cause, location: of the finding.
        summary: what it does, in a few words.
        caveat: what who takes it promises; null of a safe one.
        run: what the user's program did with it; null where it was not run.
    """

    input: str
    arch: str
    kernel: str
    object: str | None
    fingerprint: str
    rewrite: str
    applicability: Applicability
    verdict: TrialVerdict
    rank: int | None
    before: Figures
    after: Figures | None
    cost_before: float | None
    cost_after: float | None
    patch: str | None
    error: str | None
    cause: str
    location: SourceLocation | None
    summary: str
    caveat: str | None
    run: ProgramRun | None


class FailureDocument(Struct, frozen=True, kw_only=True):
    """An input that could not be analysed.

    Attributes:
        input: its path as typed.
        failure: why.
    """

    input: str
    failure: Failure


class FixDocument(Struct, frozen=True, kw_only=True):
    """What ``lmemscope fix`` tried.

    Attributes:
        schema: ``lmemscope.fix/1``.
        version: of lmemscope.
        candidates: by input, architecture, kernel and finding; the best first.
        untried: findings for which no rewrite is known, with the reason.
        patch: of the best of each finding, safe ones only unless ``--unsafe`` was given; proven
            together. Empty where nothing is offered.
        failures: inputs that could not be analysed.
    """

    schema: Literal["lmemscope.fix/1"]
    version: str
    candidates: tuple[CandidateDocument, ...]
    untried: tuple[Untried, ...] = ()
    patch: str = ""
    failures: tuple[FailureDocument, ...] = ()


def render(report: FixReport) -> str:
    """The whole document."""
    return escape_json.document(
        FixDocument(
            schema="lmemscope.fix/1",
            version=report.version,
            candidates=tuple(map(_candidate, report.trials)),
            untried=report.untried,
            patch=report.chosen.patch,
            failures=tuple(
                FailureDocument(input=name, failure=why) for name, why in report.failures
            ),
        )
    )


def _candidate(trial: Trial) -> CandidateDocument:
    return CandidateDocument(
        input=trial.input,
        arch=trial.arch,
        kernel=trial.kernel,
        object=trial.object,
        fingerprint=trial.fingerprint,
        rewrite=trial.rewriting.rewrite,
        applicability=trial.rewriting.applicability,
        verdict=trial.verdict,
        rank=trial.rank,
        before=trial.before,
        after=trial.after,
        cost_before=trial.cost_before,
        cost_after=trial.cost_after,
        patch=trial.patch,
        error=trial.error,
        cause=trial.cause,
        location=trial.place,
        summary=trial.rewriting.summary,
        caveat=trial.rewriting.caveat,
        run=trial.run,
    )

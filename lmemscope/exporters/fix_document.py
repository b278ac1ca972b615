"""The document ``lmemscope.fix/1``: candidates as they were tried, in the contract's order.

It is read again for reports. What it holds are claims on files as they were: whether they hold is
for `lmemscope.fixing.same` to say.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from lmemscope.errors import FormatError
from lmemscope.exporters import escape_json
from lmemscope.formats import documents
from lmemscope.model import (
    Applicability,
    Chosen,
    DeclinedRewrite,
    Failure,
    Figures,
    FixReport,
    ProgramRun,
    Rewriting,
    SourceLocation,
    Trial,
    TrialVerdict,
    TriedUnit,
    Untried,
)
from lmemscope.model.cause_table import CAUSES

SCHEMA: Final = "lmemscope.fix/1"


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
        declared: the line of the variable's declaration, or null.
        rewritten: the variable that is rewritten, where that is another than the finding's; else
            null.
        rewritten_at: the line of its declaration, or null.
        no_object: why ``object`` is null; else null.
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
    declared: SourceLocation | None = None
    rewritten: str | None = None
    rewritten_at: SourceLocation | None = None
    no_object: str | None = None


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
        declined: of each finding, every rewrite of its cause that proposes nothing, with the
            reason and the line; absent in earlier documents.
        patch: of the best of each finding, safe ones only unless ``--unsafe`` was given; proven
            together. Empty where nothing is offered.
        failures: inputs that could not be analysed.
        units: what the candidates hold for: files with digests of their bytes, options and tools;
            empty in the earliest documents.
        default_arch: why an architecture was chosen, when none was asked for.
        notes: what was left out of the inputs.
    """

    schema: Literal["lmemscope.fix/1"]
    version: str
    candidates: tuple[CandidateDocument, ...]
    untried: tuple[Untried, ...] = ()
    declined: tuple[DeclinedRewrite, ...] = ()
    patch: str = ""
    failures: tuple[FailureDocument, ...] = ()
    units: tuple[TriedUnit, ...] = ()
    default_arch: str | None = None
    notes: tuple[str, ...] = ()


def render(report: FixReport) -> str:
    """The whole document."""
    return escape_json.document(
        FixDocument(
            schema=SCHEMA,
            version=report.version,
            candidates=tuple(map(_candidate, report.trials)),
            untried=report.untried,
            declined=report.declined,
            patch=report.chosen.patch,
            failures=tuple(
                FailureDocument(input=name, failure=why) for name, why in report.failures
            ),
            units=report.units,
            default_arch=report.default_arch,
            notes=report.notes,
        )
    )


def load(path: str) -> FixReport:
    """Read a saved document; its rewritings have no edits, which only the patches hold.

    Raises:
        InputError: it does not exist, or is no such document, or damaged.
        UsageError: it has the schema of an older or newer lmemscope.
    """
    return SAVED.load(path)


def from_document(document: FixDocument) -> FixReport:
    """What a document says was tried.

    Raises:
        FormatError: it contradicts itself; the message names the place.
    """
    return FixReport(
        version=document.version,
        trials=tuple(
            _trial(one, f"$.candidates[{n}]") for n, one in enumerate(document.candidates)
        ),
        untried=document.untried,
        declined=document.declined,
        chosen=Chosen((), (), document.patch),
        failures=tuple((one.input, one.failure) for one in document.failures),
        notes=document.notes,
        default_arch=document.default_arch,
        units=document.units,
    )


SAVED = documents.Saved(
    structure=FixDocument,
    meaning=from_document,
    stage="fix",
    noun="saved document of fix",
    missing="write it with: lmemscope fix … --format json -o {path}",
    again="write it again with: lmemscope fix … --format json -o fix.json",
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
        declared=trial.declared,
        rewritten=trial.rewritten,
        rewritten_at=trial.rewritten_at,
        no_object=_no_object(trial),
    )


def _no_object(trial: Trial) -> str | None:
    """Why a finding names no variable; None where it names one."""
    if trial.object is not None:
        return None
    traits = next((one for one in CAUSES if one.name == trial.cause), None)
    if traits is not None and traits.owner in ("spill slots", "saved registers"):
        return f"its bytes are {traits.owner}, and of no variable of the source"
    if traits is not None and not traits.named:
        return "its bytes are the compiler's own, and of no variable of the source"
    return "nothing says which variable of the source has its bytes"


def _trial(one: CandidateDocument, place: str) -> Trial:
    if one.rank is not None:
        if one.rank < 1 or one.verdict not in ("removed", "reduced"):
            raise FormatError("json", f"What is {one.verdict} has no rank - at `{place}.rank`")
        if one.after is None or one.patch is None:
            missing = "after" if one.after is None else "patch"
            raise FormatError(
                "json", f"What has a rank has figures and a patch - at `{place}.{missing}`"
            )
    return Trial(
        input=one.input,
        arch=one.arch,
        kernel=one.kernel,
        object=one.object,
        fingerprint=one.fingerprint,
        cause=one.cause,
        place=one.location,
        rewriting=Rewriting(one.rewrite, one.applicability, (), one.summary, one.caveat),
        verdict=one.verdict,
        rank=one.rank,
        before=one.before,
        after=one.after,
        cost_before=one.cost_before,
        cost_after=one.cost_after,
        patch=one.patch,
        error=one.error,
        run=one.run,
        declared=one.declared,
        rewritten=one.rewritten,
        rewritten_at=one.rewritten_at,
    )

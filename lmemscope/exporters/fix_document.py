"""The ``lmemscope.fix/1`` document: candidates as tried, with fields in the documented order.

Reports can load it again. Its claims refer to files as they were; `lmemscope.fixing.same` checks
whether they still hold.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from lmemscope.errors import FormatError
from lmemscope.exporters import escape_json
from lmemscope.exporters.formats import Presentation
from lmemscope.formats import documents
from lmemscope.formats.codec import shaped
from lmemscope.model import (
    Applicability,
    Chosen,
    DeclinedRewrite,
    FailedInput,
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
    """The result of trying a rewrite of one object, for one kernel.

    Attributes:
        input, arch, kernel: as in reports; the kernel's name is demangled.
        object: the variable, if the finding has one.
        fingerprint: of the finding.
        rewrite: its name, or two joined by ``+``.
        applicability: whether it may change the program's meaning.
        verdict: the outcome.
        rank: 1 for the best one offered for the finding; null if it is not offered, or slower by
            modelled cost.
        before, after: the kernel's figures; ``after`` is null if nothing was compiled.
        cost_before, cost_after: modelled; null if unknown.
        patch: unified diff with paths relative to the working directory; null if there is none.
        error: why it failed or is not offered.
        cause, location: of the finding.
        summary: a short description.
        caveat: what the user has to guarantee; null for a safe rewrite.
        run: the result of the user's program; null if it was not run.
        declared: line of the variable's declaration, or null.
        rewritten: the variable that is rewritten, if different from the finding's; else null.
        rewritten_at: line of its declaration, or null.
        no_object: why ``object`` is null; else null.
        rounding: whether results may round differently, because nvcc contracts other
            multiplications and additions; null if unknown, as in documents of earlier versions.
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
    rounding: bool | None = None


class FixDocument(Struct, frozen=True, kw_only=True):
    """All rewrites that ``lmemscope fix`` tried, and their results.

    Attributes:
        schema: ``lmemscope.fix/1``.
        version: of lmemscope.
        candidates: by input, architecture, kernel and finding; the best first.
        untried: findings without an applicable rewrite, with the reason.
        declined: for each finding, the rewrites for its cause that propose nothing, with the reason
            and the line; absent in documents of earlier versions.
        patch: of the best rewrite for each finding, safe ones only unless ``--unsafe`` was given;
            proven together. Empty if nothing is offered.
        failures: inputs that could not be analysed.
        units: the compilations for which the candidates are valid: files with digests of their
            bytes, options and tools; empty in the earliest documents.
        default_arch: why an architecture was chosen when none was requested.
        notes: what was left out of the inputs.
    """

    schema: Literal["lmemscope.fix/1"]
    version: str
    candidates: tuple[CandidateDocument, ...]
    untried: tuple[Untried, ...] = ()
    declined: tuple[DeclinedRewrite, ...] = ()
    patch: str = ""
    failures: tuple[FailedInput, ...] = ()
    units: tuple[TriedUnit, ...] = ()
    default_arch: str | None = None
    notes: tuple[str, ...] = ()


def render(report: FixReport, how: Presentation) -> str:
    """The complete document."""
    del how
    return escape_json.document(
        shaped(
            FixDocument,
            report,
            schema=SCHEMA,
            candidates=tuple(
                shaped(
                    CandidateDocument,
                    one,
                    one.rewriting,
                    location=one.place,
                    no_object=_no_object(one),
                )
                for one in report.trials
            ),
            patch=report.chosen.patch,
        )
    )


def load(path: str) -> FixReport:
    """Read a saved document; its rewritings have no edits, which only patches contain.

    Raises:
        InputError: the file is missing, damaged, or not such a document.
        UsageError: it has the schema of another version of lmemscope.
    """
    return SAVED.load(path)


def from_document(document: FixDocument) -> FixReport:
    """The trials in a document.

    Raises:
        FormatError: it contradicts itself; the message names the place.
    """
    return shaped(
        FixReport,
        document,
        trials=tuple(
            _trial(one, f"$.candidates[{n}]") for n, one in enumerate(document.candidates)
        ),
        chosen=Chosen((), (), document.patch),
        kernels=(0, 0),
    )


SAVED = documents.Saved(
    structure=FixDocument,
    meaning=from_document,
    stage="fix",
    noun="saved document of fix",
    missing="write it with: lmemscope fix … --format json -o {path}",
    again="write it again with: lmemscope fix … --format json -o fix.json",
)


def _no_object(trial: Trial) -> str | None:
    """Why a finding names no variable; None if it does."""
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
    # The edits, the cost components and the ranking criteria are not saved.
    unsaved = {"version": None, "base": None, "takes": (), "room": None}
    rewriting = shaped(Rewriting, one, edits=(), promises=(), **unsaved)
    return shaped(
        Trial,
        one,
        place=one.location,
        rewriting=rewriting,
        modelled=None,
        made=None,
        is_slowing=False,
        is_late=False,
    )

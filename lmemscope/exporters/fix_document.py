"""The document ``lmemscope.fix/1``: candidates as they were tried, in the contract's order.

It is read again for reports. What it holds are claims on files as they were: whether they hold is
for `lmemscope.fixing.same` to say.
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
        rounding: whether results may round otherwise, because nvcc contracts other multiplications
            and additions; null where that is not known, as in earlier documents.
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
    failures: tuple[FailedInput, ...] = ()
    units: tuple[TriedUnit, ...] = ()
    default_arch: str | None = None
    notes: tuple[str, ...] = ()


def render(report: FixReport, how: Presentation) -> str:
    """The whole document."""
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
    # The edits, the model's parts and what ranking went by are not saved.
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

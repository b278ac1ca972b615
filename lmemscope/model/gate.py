"""The gate: what a project allows, and how a report compares with it."""

from __future__ import annotations

from collections.abc import Sized
from datetime import date
from typing import Annotated, Literal

from msgspec import Struct

from lmemscope.model.cause_table import Cause
from lmemscope.model.judgement import Finding
from lmemscope.model.option import GateOption, Option
from lmemscope.model.reports import Report
from lmemscope.model.request import Frontend, KernelDirective, SourceLocation

FailureKind = Literal["new", "worse", "limit", "expectation"]
GateVerdict = Literal["passed", "failed", "undecided"]
Decision = Literal["error", "note"]
"""What a project decides about kernels that nobody sees: missing evidence, or worth a line."""
AccountSubject = Literal["input", "directory", "baseline", "filter", "configuration", "change"]
AccountState = Literal["looked-at", "gone", "left-out", "missing"]

CHANGED_BASELINE, CHANGED_OPTIONS = "changed baseline", "changed options"
"""Stages of evidence that is missing because of what the change under review edits."""

_EXIT_CODES: dict[GateVerdict, int] = {"passed": 0, "failed": 1, "undecided": 3}


def _limit(help_: str, flag: str, metavar: str, unit: str = "bytes") -> Option:
    return GateOption(help_, flag, metavar, unit=unit)


class Limit(Struct, frozen=True):
    """What kernels may have at most; None limits nothing.

    ``forbid`` None forbids all causes that ``allow`` does not name, and that no limit on the frame,
    the sites or, of spills, the spills gives a number for.
    """

    kernel: Annotated[
        str, Option("Kernels that the limit is for.", accepts="a glob over kernel names")
    ] = "*"
    arch: Annotated[
        str,
        Option(
            "Architectures that the limit is for.",
            accepts="a glob over architectures, such as sm_9*",
        ),
    ] = "*"
    toolkit: Annotated[
        str | None,
        Option(
            "CUDA toolkits that the limit is for, by the version of ptxas; without it, all.",
            accepts="versions of CUDA such as >=13.1,<14",
            check="versions",
            default=None,
        ),
    ] = None
    max_frame: Annotated[
        int | None,
        _limit(
            "Fail if a stack frame exceeds BYTES, instead of on any local memory.",
            "--max-frame",
            "BYTES",
            "bytes per thread",
        ),
    ] = None
    max_spill: Annotated[
        int | None,
        _limit(
            "Fail if spill stores and loads exceed BYTES, instead of on any spill.",
            "--max-spill",
            "BYTES",
        ),
    ] = None
    max_sites: Annotated[
        int | None,
        _limit(
            "Fail on more than N LDL and STL instructions, instead of on any local memory.",
            "--max-sites",
            "N",
            "instructions",
        ),
    ] = None
    max_registers: Annotated[
        int | None,
        _limit("Fail on more than N registers per thread.", "--max-registers", "N", "registers"),
    ] = None
    max_stack: Annotated[
        int | None,
        _limit(
            "Fail if the deepest call path, linked where possible, needs more than BYTES of stack.",
            "--max-stack",
            "BYTES",
            "bytes per thread",
        ),
    ] = None
    forbid: Annotated[
        tuple[Cause, ...] | None, _limit("Fail only on CAUSE; repeatable.", "--forbid", "CAUSE")
    ] = None
    allow: Annotated[
        tuple[Cause, ...], _limit("Never fail on CAUSE; repeatable.", "--allow", "CAUSE")
    ] = ()


class SourceComment(Struct, frozen=True):
    """A comment of a unit's own file, or of a header; it holds for the units that read the file.

    Attributes:
        input: the unit, or the header.
        directive: what it says.
    """

    input: str
    directive: KernelDirective


class Allowance(Struct, frozen=True):
    """A finding that is accepted, and why.

    Attributes:
        place: where it is written.
        comment: the comment that says it, or None where the configuration does.
    """

    kernel: Annotated[
        str,
        Option(
            "Kernels that it is for, as --kernel names them.",
            accepts="a glob over kernel names",
            default="*",
        ),
    ]
    cause: Annotated[Cause, Option("The cause that is accepted.")]
    bytes: Annotated[
        int | None,
        Option("Accept up to this many; without it, any amount.", unit="bytes", default=None),
    ]
    reason: Annotated[
        str, Option("Why it is accepted.", accepts="text that says why it is accepted")
    ]
    expires: Annotated[
        date | None, Option("The last day that it holds; without it, always.", default=None)
    ]
    place: str
    comment: SourceComment | None = None
    arch: Annotated[
        str,
        Option(
            "Architectures that it is for.",
            accepts="a glob over architectures, such as sm_9*",
        ),
    ] = "*"
    toolkit: Annotated[
        str | None,
        Option(
            "CUDA toolkits that it is for, by the version of ptxas; without it, all.",
            accepts="versions of CUDA such as >=13.1,<14",
            check="versions",
            default=None,
        ),
    ] = None


class Policy(Struct, frozen=True):
    """Everything a project says about its gate."""

    limits: Annotated[tuple[Limit, ...], GateOption("What kernels may have at most.")] = ()
    allowances: Annotated[
        tuple[Allowance, ...], GateOption("Findings that are accepted, each with its reason.")
    ] = ()
    uninstantiated: Annotated[
        Decision,
        GateOption(
            "Treat kernels that nothing compiles, such as templates without an instance, as "
            "missing evidence (error) or as a note.",
            "--uninstantiated",
        ),
    ] = "error"
    external: Annotated[
        Decision,
        GateOption(
            "Treat calls to functions of other translation units as missing evidence (error) or "
            "as a note.",
            "--external",
        ),
    ] = "error"


class MissingEvidence(Struct, frozen=True):
    """What the gate needs to know and does not.

    Attributes:
        input: of the unit, or None where it is the whole run.
        stage: of the analysis.
        reason: for a person.
    """

    input: str | None
    stage: str
    reason: str

    @property
    def needs_trust(self) -> bool:
        """Whether only ``--trust-configuration`` accepts it: the change under review made it so."""
        return self.stage in ("configuration", CHANGED_BASELINE, CHANGED_OPTIONS)

    @property
    def text(self) -> str:
        """In one line."""
        where = "" if self.input is None else f"{self.input}: "
        return f"{where}[{self.stage}] {self.reason}"


class BaselineEntry(Struct, frozen=True, omit_defaults=True):
    """A known finding; ``bytes`` as in the finding.

    Attributes:
        kernel: its name as it is shown, which overloads share.
        symbol: the kernel's mangled name without what compilers number anew; None in entries of
            earlier releases.
    """

    input: str
    arch: str
    kernel: str
    cause: Cause
    object: str | None
    bytes: int
    fingerprint: str
    symbol: str | None = None


class Baseline(Struct, frozen=True, kw_only=True):
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
        gaps: missing evidence that `check` accepts; absent where there is none.
    """

    schema: Literal["lmemscope.baseline/1"]
    toolchain: dict[str, str]
    fingerprints: int = 1
    archs: tuple[str, ...] = ()
    default_arch: str | None = None
    filters: tuple[str, ...] = ()
    findings: tuple[BaselineEntry, ...]
    gaps: tuple[MissingEvidence, ...] = ()


class Improvement(Struct, frozen=True):
    """A known finding that has become smaller: to ``bytes``."""

    entry: BaselineEntry
    bytes: int


class GateFailure(Struct, frozen=True):
    """One reason why the gate fails.

    Attributes:
        kind: a new or worse finding, a limit that is exceeded, an expectation that does not hold.
        input, arch, kernel: where; the kernel's demangled name.
        symbol: the kernel's mangled name.
        expected, found: in words.
        finding: the cause behind it, where there is one.
        location: the line to look at.
        route: of the unit; only what is compiled from a CUDA source has comments that accept.
        is_bounded: whether the finding's bytes are all that there can be.
        figure: the number that exceeds a limit or is not as expected; None where it is not known.
        bound: of the figure, without the place that says it; empty where there is none.
        takes_comment: whether a comment above the kernel would accept the finding; None where its
            source was not read.
    """

    kind: FailureKind
    input: str
    arch: str
    kernel: str
    symbol: str
    expected: str
    found: str
    finding: Finding | None
    location: SourceLocation | None
    route: Frontend = "auto"
    is_bounded: bool = True
    figure: int | None = None
    bound: str = ""
    takes_comment: bool | None = None


class Accepted(Struct, frozen=True):
    """A finding that does not fail the gate.

    Attributes:
        input, arch, kernel, symbol: where, as in `GateFailure`.
        finding: what is accepted.
        by: what accepts it, in words.
        in_source: whether a comment in the source or the configuration allows it; else the
            baseline knows it.
    """

    input: str
    arch: str
    kernel: str
    symbol: str
    finding: Finding
    by: str
    in_source: bool = False


class Account(Struct, frozen=True):
    """What became of something that the gate was given.

    Attributes:
        subject: an input, a directory of which a part was not walked, what the baseline knows of a
            file, a filter, a setting of the configuration, or an edit of the change under review
            that may let something pass.
        name: the file or the directory, or the filter or setting as it is typed.
        state: ``missing`` undecides the gate; ``left-out`` is somebody's choice.
        reason: for a person; may be empty where it was looked at.
    """

    subject: AccountSubject
    name: str
    state: AccountState
    reason: str = ""

    @property
    def text(self) -> str:
        """In one line."""
        lead = "the baseline's " if self.subject == "baseline" else ""
        named = f"{self.name}: " if self.name else ""
        return f"{lead}{named}{self.reason or self.state}"


def verdict_of(failures: Sized, missing: Sized, *, allow_incomplete: bool) -> GateVerdict:
    """The answer in one word; missing evidence is worth less than a failure that is there."""
    if failures:
        return "failed"
    return "undecided" if missing and not allow_incomplete else "passed"


class GateResult(Struct, frozen=True):
    """The gate's answer.

    Attributes:
        verdict: the answer in one word; every format says the same.
        allow_incomplete: whether missing evidence was accepted.
        failures: sorted; empty when the gate passes.
        accepted: findings that the baseline or an allowance holds.
        better: known findings that have become smaller.
        gone: baseline entries that nothing matches any more.
        unused: allowances that accept nothing or too little, and expired ones; limits for kernels
            that there are not.
        missing: evidence that the gate needs and does not have.
        notes: what a reader should know: a changed toolchain, renamed kernels.
        accounts: what became of every input, of every file that the baseline knows, and of what
            was left out.
    """

    verdict: GateVerdict
    allow_incomplete: bool
    failures: tuple[GateFailure, ...]
    accepted: tuple[Accepted, ...]
    better: tuple[Improvement, ...]
    gone: tuple[BaselineEntry, ...]
    unused: tuple[str, ...]
    missing: tuple[MissingEvidence, ...]
    notes: tuple[str, ...]
    accounts: tuple[Account, ...] = ()

    @property
    def exit_code(self) -> int:
        """What `check` returns to the shell."""
        return _EXIT_CODES[self.verdict]

    @property
    def complete(self) -> bool:
        """Whether nothing that the gate needs is missing, or that was accepted."""
        return self.allow_incomplete or not self.missing


class Written(Struct, frozen=True):
    """What was done to the baseline.

    Attributes:
        update: what is gone was removed from it.
        ratchet: the figures of what has become smaller were taken into it.
    """

    update: bool = False
    ratchet: bool = False


class Acceptance(Struct, frozen=True):
    """Where findings that fail the gate can be accepted.

    Attributes:
        baseline: the command that writes a baseline with them; None where what was given does not
            stand for all that the baseline knows.
        configuration: the file for allowances.
    """

    baseline: str | None = None
    configuration: str = "lmemscope.toml"


class Checked(Struct, frozen=True):
    """A report and the gate's answer to it.

    Attributes:
        report: what was looked at.
        result: the answer.
        written: what was done to the baseline.
        new_since: the revision that what is known is of, too; None where it is the baseline's only.
        acceptance: where what fails can be accepted.
    """

    report: Report
    result: GateResult
    written: Written = Written()
    new_since: str | None = None
    acceptance: Acceptance = Acceptance()

"""Gate data: a project's policy, its baseline, and the result of comparing a report with them."""

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
"""A project's setting for what could not be checked: an error (missing evidence) or a note."""
AccountSubject = Literal["input", "directory", "baseline", "filter", "configuration", "change"]
AccountState = Literal["looked-at", "gone", "left-out", "missing"]

CHANGED_BASELINE, CHANGED_OPTIONS = "changed baseline", "changed options"
"""Stages of evidence that is missing because of edits in the change under review."""

_EXIT_CODES: dict[GateVerdict, int] = {"passed": 0, "failed": 1, "undecided": 3}


def _limit(help_: str, flag: str, metavar: str, unit: str = "bytes") -> Option:
    return GateOption(help_, flag, metavar, unit=unit)


class Limit(Struct, frozen=True):
    """Maximum values for kernels; None is no limit.

    If ``forbid`` is None, all causes are forbidden that ``allow`` does not name and that no numeric
    limit (on the frame, the sites or, for spills, the spill bytes) covers.
    """

    kernel: Annotated[
        str, Option("Kernels the limit applies to.", accepts="a glob over kernel names")
    ] = "*"
    arch: Annotated[
        str,
        Option(
            "Architectures the limit applies to.",
            accepts="a glob over architectures, such as sm_9*",
        ),
    ] = "*"
    toolkit: Annotated[
        str | None,
        Option(
            "CUDA toolkits the limit applies to, by the version of ptxas; without it, all.",
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
    """A comment in a unit's own file or in a header; it applies to the units that read the file.

    Attributes:
        input: the unit, or the header.
        directive: the comment's content.
    """

    input: str
    directive: KernelDirective


class Allowance(Struct, frozen=True):
    """An accepted finding, and why.

    Attributes:
        place: where the allowance is written.
        comment: the comment that contains it, or None if the configuration does.
    """

    kernel: Annotated[
        str,
        Option(
            "Kernels it applies to, as for --kernel.",
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
        date | None, Option("The last day it is valid; without it, no limit.", default=None)
    ]
    place: str
    comment: SourceComment | None = None
    arch: Annotated[
        str,
        Option(
            "Architectures it applies to.",
            accepts="a glob over architectures, such as sm_9*",
        ),
    ] = "*"
    toolkit: Annotated[
        str | None,
        Option(
            "CUDA toolkits it applies to, by the version of ptxas; without it, all.",
            accepts="versions of CUDA such as >=13.1,<14",
            check="versions",
            default=None,
        ),
    ] = None


class Policy(Struct, frozen=True):
    """A project's complete gate settings."""

    limits: Annotated[tuple[Limit, ...], GateOption("Maximum values for kernels.")] = ()
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
    """Something the gate needs to know but does not.

    Attributes:
        input: the unit's, or None for the whole run.
        stage: of the analysis.
        reason: for people.
    """

    input: str | None
    stage: str
    reason: str

    @property
    def needs_trust(self) -> bool:
        """Whether only ``--trust-configuration`` accepts it: the change under review caused it."""
        return self.stage in ("configuration", CHANGED_BASELINE, CHANGED_OPTIONS)

    @property
    def text(self) -> str:
        """As one line of text."""
        where = "" if self.input is None else f"{self.input}: "
        return f"{where}[{self.stage}] {self.reason}"


class BaselineEntry(Struct, frozen=True, omit_defaults=True):
    """A known finding; ``bytes`` as in the finding.

    Attributes:
        kernel: its displayed name, which overloads share.
        symbol: the kernel's mangled name without compiler-generated numbering; None in entries of
            earlier versions.
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
        toolchain: versions of the tools used, by name.
        fingerprints: version of the fingerprint algorithm; absent in the earliest documents, which
            used 1.
        archs: architectures that were requested; empty if builds or the default chose them.
        default_arch: the architecture of inputs for which neither the user nor a build chose one.
        filters: options that excluded findings, as typed.
        findings: findings that `check` accepts; duplicates count.
        gaps: missing evidence that `check` accepts; absent if there is none.
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
    """A known finding that has become smaller; ``bytes`` is its new size."""

    entry: BaselineEntry
    bytes: int


class GateFailure(Struct, frozen=True):
    """One reason why the gate fails.

    Attributes:
        kind: a new or worse finding, an exceeded limit, or a failed expectation.
        input, arch, kernel: the place; the kernel's name is demangled.
        symbol: the kernel's mangled name.
        expected, found: as text.
        finding: the cause, if there is one.
        location: the line to look at.
        route: the unit's front end; only units compiled from CUDA sources can accept by comment.
        is_bounded: whether the finding's bytes are a known maximum.
        figure: the number that exceeds a limit or fails an expectation; None if unknown.
        bound: the limit on the figure, without its place; empty if there is none.
        takes_comment: whether a comment above the kernel would accept the finding; None if the
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
        input, arch, kernel, symbol: the place, as in `GateFailure`.
        finding: the accepted finding.
        by: what accepts it, as text.
        in_source: whether a source comment or the configuration allows it; False if the baseline
            lists it.
    """

    input: str
    arch: str
    kernel: str
    symbol: str
    finding: Finding
    by: str
    in_source: bool = False


class Account(Struct, frozen=True):
    """How the gate accounts for one thing it was given.

    Attributes:
        subject: an input, a directory that was only partly walked, a file's baseline entries, a
            filter, a configuration setting, or an edit in the change under review that may let
            something pass.
        name: the file or directory, or the filter or setting as typed.
        state: ``missing`` makes the gate incomplete; ``left-out`` is someone's choice.
        reason: for people; may be empty if it was checked.
    """

    subject: AccountSubject
    name: str
    state: AccountState
    reason: str = ""

    @property
    def text(self) -> str:
        """As one line of text."""
        lead = "the baseline's " if self.subject == "baseline" else ""
        named = f"{self.name}: " if self.name else ""
        return f"{lead}{named}{self.reason or self.state}"


def verdict_of(failures: Sized, missing: Sized, *, allow_incomplete: bool) -> GateVerdict:
    """The result in one word; a failure takes precedence over missing evidence."""
    if failures:
        return "failed"
    return "undecided" if missing and not allow_incomplete else "passed"


class GateResult(Struct, frozen=True):
    """The gate's result.

    Attributes:
        verdict: the result in one word; identical in every format.
        allow_incomplete: whether missing evidence was accepted.
        failures: sorted; empty if the gate passes.
        accepted: findings that the baseline or an allowance covers.
        better: known findings that have become smaller.
        gone: baseline entries that no longer match anything.
        unused: allowances that accept nothing or too little, or have expired; limits for kernels
            that do not exist.
        missing: evidence that the gate needs but lacks.
        notes: further information, such as a changed toolchain or renamed kernels.
        accounts: the fate of every input, of every file in the baseline, and of what was left out.
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
        """The exit code of `check`."""
        return _EXIT_CODES[self.verdict]

    @property
    def complete(self) -> bool:
        """Whether no evidence is missing, or missing evidence was accepted."""
        return self.allow_incomplete or not self.missing


class Written(Struct, frozen=True):
    """Changes made to the baseline.

    Attributes:
        update: entries that no longer exist were removed.
        ratchet: improved figures were recorded.
    """

    update: bool = False
    ratchet: bool = False


class Acceptance(Struct, frozen=True):
    """Ways to accept findings that fail the gate.

    Attributes:
        baseline: a command that writes a baseline with them; None if the inputs given do not cover
            everything in the baseline.
        configuration: the file for allowances.
    """

    baseline: str | None = None
    configuration: str = "lmemscope.toml"


class Checked(Struct, frozen=True):
    """A report and its gate result.

    Attributes:
        report: what was checked.
        result: the gate's result.
        written: changes made to the baseline.
        new_since: the revision whose findings are known too; None if only the baseline's are.
        acceptance: how to accept what fails.
    """

    report: Report
    result: GateResult
    written: Written = Written()
    new_since: str | None = None
    acceptance: Acceptance = Acceptance()

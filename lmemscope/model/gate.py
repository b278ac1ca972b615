"""The gate: what a project allows, and how a report compares with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from lmemscope.model.cause_table import Cause
from lmemscope.model.judgement import Finding
from lmemscope.model.request import SourceLocation

FailureKind = Literal["new", "worse", "limit", "expectation"]


@dataclass(frozen=True, slots=True)
class Limit:
    """What kernels may have at most; None limits nothing.

    Attributes:
        kernel, arch: globs.
        max_frame: bytes per thread.
        max_spill: bytes of spill stores and loads.
        max_sites: ``LDL`` and ``STL`` instructions.
        max_registers: per thread.
        forbid: causes that must not appear; None forbids all that ``allow`` does not name,
            unless the limit sets a number.
        allow: causes that may appear.
    """

    kernel: str = "*"
    arch: str = "*"
    max_frame: int | None = None
    max_spill: int | None = None
    max_sites: int | None = None
    max_registers: int | None = None
    forbid: tuple[Cause, ...] | None = None
    allow: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowance:
    """A finding that is accepted, and why.

    Attributes:
        kernel: glob.
        cause: what is accepted.
        bytes: at most, or None for any amount.
        reason: required.
        expires: last day, or None.
        place: where it is written.
    """

    kernel: str
    cause: Cause
    bytes: int | None
    reason: str
    expires: date | None
    place: str


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything a project says about its gate."""

    limits: tuple[Limit, ...] = ()
    allowances: tuple[Allowance, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """A known finding; ``bytes`` as in the finding."""

    input: str
    arch: str
    kernel: str
    cause: Cause
    object: str | None
    bytes: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings with the toolchain that showed them, name to version."""

    toolchain: tuple[tuple[str, str], ...]
    entries: tuple[BaselineEntry, ...]


@dataclass(frozen=True, slots=True)
class GateFailure:
    """One reason why the gate fails.

    Attributes:
        kind: a new or worse finding, a limit that is exceeded, an expectation that does not hold.
        input, arch, kernel: where; the kernel's demangled name.
        expected, found: in words.
        finding: the cause behind it, where there is one.
        location: the line to look at.
    """

    kind: FailureKind
    input: str
    arch: str
    kernel: str
    expected: str
    found: str
    finding: Finding | None
    location: SourceLocation | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that does not fail the gate: ``by`` says what accepts it."""

    input: str
    arch: str
    kernel: str
    finding: Finding
    by: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's answer.

    Attributes:
        failures: sorted; empty when the gate passes.
        accepted: findings that the baseline or an allowance holds.
        better: known findings that have become smaller.
        gone: baseline entries that nothing matches any more.
        unused: allowances that accept nothing, and expired ones.
        missing: evidence that the gate needs and does not have.
        notes: what a reader should know: a changed toolchain, renamed kernels.
    """

    failures: tuple[GateFailure, ...]
    accepted: tuple[Accepted, ...]
    better: tuple[BaselineEntry, ...]
    gone: tuple[BaselineEntry, ...]
    unused: tuple[str, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]

"""Apply limits to a finding: local memory is forbidden by default, unless a limit replaces the ban.

Without limits, all local memory is forbidden. A limit on a figure of local memory states how much
is acceptable, so that figure is checked instead. Registers are not local memory: limiting them does
not lift the ban.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal

from packaging.version import Version

from lmemscope.formats.kernel_names import matches
from lmemscope.gate.baseline import is_ignored
from lmemscope.gate.figures import Figure
from lmemscope.gate.toolkits import is_within
from lmemscope.model import Cause, Finding, KernelReport, Limit, count

SPILLS: Final[frozenset[Cause]] = frozenset({"register-spill", "callee-save"})
"""Causes whose bytes ptxas counts as spill stores and loads."""

Ruled = Literal["forbidden", "accepted", "indifferent", "unknown"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A number set by a limit.

    Attributes:
        what: the figure's name, as in `lmemscope.gate.figures.figures`.
        most: the largest allowed value.
        limit: the limit that sets it.
    """

    what: str
    most: int
    limit: Limit

    @property
    def text(self) -> str:
        """The limit as written, with the kernels it is for."""
        return f"max-{self.what} {self.most} for {self.limit.kernel}"

    def holds(self, found: Mapping[str, Figure]) -> bool | None:
        """Whether a kernel respects it; None if the figure was not observed."""
        figure = found[self.what]
        if figure.value is None:
            return None if figure.why is None else False
        return figure.value <= self.most

    def speaks_of(self, cause: Cause) -> bool:
        """Whether it states how much local memory of a cause is acceptable.

        All local memory is in the frame and accessed by ``LDL`` and ``STL``.
        """
        return self.what in ("frame", "sites") or (self.what == "spill" and cause in SPILLS)


@dataclass(frozen=True, slots=True)
class Ruling:
    """The result of applying limits to a finding.

    Attributes:
        answer: whether something else must accept the finding, a limit accepts it, no limit forbids
            it, or that depends on its unknown cause.
        by: the limit that accepts it, or that depends on the cause, as text; else empty.
    """

    answer: Ruled
    by: str = ""


def limits_for(
    limits: Iterable[Limit], arch: str, toolkit: Version | None, name: str, demangled: str
) -> list[Limit]:
    """The limits that apply to a kernel on an architecture, compiled by a toolkit."""
    return [
        limit
        for limit in limits
        if fnmatchcase(arch, limit.arch)
        and is_within(limit.toolkit, toolkit)
        and matches((limit.kernel,), name, demangled)
    ]


def bounds(limits: Sequence[Limit]) -> tuple[Bound, ...]:
    """The numbers set by limits, in order."""
    return tuple(
        Bound(what, most, limit)
        for limit in limits
        for what, most in (
            ("frame", limit.max_frame),
            ("spill", limit.max_spill),
            ("sites", limit.max_sites),
            ("registers", limit.max_registers),
            ("stack", limit.max_stack),
        )
        if most is not None
    )


def lets_all_pass(limits: Sequence[Limit]) -> bool:
    """Whether a kernel's limits list the forbidden causes, and the list is empty."""
    explicit = [limit.forbid for limit in limits if limit.forbid is not None]
    return bool(explicit) and not any(explicit)


def unexplained(
    kernel: KernelReport, limits: Sequence[Limit], found: Mapping[str, Figure]
) -> str | None:
    """Local memory without a finding, as text; None if there is none or limits cover it.

    This happens in a report without causes, a damaged report, or one from a single layer.

    Args:
        kernel: with all its findings.
        limits: those that apply to it.
        found: its figures.
    """
    if kernel.findings or lets_all_pass(limits):
        return None
    speaking = [bound for bound in bounds(limits) if bound.what in ("frame", "sites")]
    named = any(limit.forbid for limit in limits)
    if speaking and not named and all(bound.holds(found) for bound in speaking):
        return None
    facts = kernel.facts
    sites = facts.sass.count if facts.sass is not None else 0
    told = [
        f"a stack frame of {count(facts.stack_frame or 0, 'byte')}" if facts.stack_frame else "",
        f"{count(facts.spill_bytes or 0, 'byte')} of spills" if facts.spill_bytes else "",
        count(sites, "LDL/STL instruction") if sites else "",
    ]
    if not any(told) and facts.sass is None and facts.ptxas is None and facts.ptx is not None:
        local = facts.ptx.local_bytes
        told.append(f"{count(local, 'byte')} of .local in its PTX" if local else "")
    return ", ".join(filter(None, told)) or None


def rule(
    finding: Finding,
    limits: Sequence[Limit],
    found: Mapping[str, Figure],
    *,
    causes_known: bool = True,
) -> Ruling:
    """Apply limits to a finding.

    Args:
        finding: of a kernel.
        limits: those that apply to the kernel.
        found: the kernel's figures.
        causes_known: whether code was available to determine causes; figures alone only separate
            spills from other local memory.
    """
    ruling = _rule(finding, limits, found)
    if causes_known or ruling.answer == "accepted":
        return ruling
    cause = finding.cause
    allowed = [limit for limit in limits if _may_be(cause, limit.allow, found)]
    forbidden = [limit for limit in limits if _may_be(cause, limit.forbid or (), found)]
    if ruling.answer == "forbidden" and allowed:
        named = ", ".join(allowed[0].allow)
        return Ruling("unknown", f"allow {named} for {allowed[0].kernel}")
    if ruling.answer == "indifferent" and forbidden:
        named = ", ".join(forbidden[0].forbid or ())
        return Ruling("unknown", f"forbid {named} for {forbidden[0].kernel}")
    return ruling


def _may_be(cause: Cause, named: Sequence[Cause], found: Mapping[str, Figure]) -> bool:
    """Whether a cause inferred from figures alone may really be one of the named causes.

    ptxas counts registers saved by functions as spills; local memory beyond the reported spills is
    not a spill.
    """
    others = set(named) - {cause}
    if cause == "register-spill":
        return "callee-save" in others
    if cause != "unattributed":
        return False
    return bool(others - SPILLS if found["spill"].value is not None else others)


def _rule(finding: Finding, limits: Sequence[Limit], found: Mapping[str, Figure]) -> Ruling:
    """Apply limits to a finding whose cause is known."""
    cause = finding.cause
    if is_ignored(finding):
        named = any(limit.forbid and cause in limit.forbid for limit in limits)
        return Ruling("forbidden" if named else "indifferent")
    allowing = next((limit for limit in limits if cause in limit.allow), None)
    if allowing is not None:
        return Ruling("accepted", f"allow {cause} for {allowing.kernel}")
    explicit = [limit.forbid for limit in limits if limit.forbid is not None]
    if explicit:
        named = any(cause in forbid for forbid in explicit)
        return Ruling("forbidden" if named else "indifferent")
    speaking = [bound for bound in bounds(limits) if bound.speaks_of(cause)]
    if not speaking:
        return Ruling("forbidden")
    kept = all(bound.holds(found) for bound in speaking)
    said = ", ".join(bound.text for bound in speaking)
    return Ruling("accepted", f"within {said}") if kept else Ruling("indifferent")

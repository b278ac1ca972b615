"""What limits make of a finding: the default ban on local memory, and what takes its place.

Without limits all local memory is forbidden. Who limits a figure of local memory has said how much
of it is fine, so that the figure is checked in place of the ban; registers are no local memory, and
a limit of them changes nothing about it.
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
    """A number that a limit sets.

    Attributes:
        what: the figure's name, as in `lmemscope.gate.figures.figures`.
        most: the largest value that is allowed.
        limit: that sets it.
    """

    what: str
    most: int
    limit: Limit

    @property
    def text(self) -> str:
        """As it is written, with the kernels that it is for."""
        return f"max-{self.what} {self.most} for {self.limit.kernel}"

    def holds(self, found: Mapping[str, Figure]) -> bool | None:
        """Whether a kernel keeps it; None where its figure was not observed."""
        figure = found[self.what]
        if figure.value is None:
            return None if figure.why is None else False
        return figure.value <= self.most

    def speaks_of(self, cause: Cause) -> bool:
        """Whether it says how much local memory of a cause is fine.

        All local memory lies in the frame, and is reached by ``LDL`` and ``STL``.
        """
        return self.what in ("frame", "sites") or (self.what == "spill" and cause in SPILLS)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What limits make of a finding.

    Attributes:
        answer: whether something else has to accept it, or a limit does, or no limit minds it; or
            that depends on its cause, which is not known.
        by: the limit that accepts it, or that asks for the cause, in words; else empty.
    """

    answer: Ruled
    by: str = ""


def limits_for(
    limits: Iterable[Limit], arch: str, toolkit: Version | None, name: str, demangled: str
) -> list[Limit]:
    """Those of some limits that apply to a kernel on an architecture, compiled by a toolkit."""
    return [
        limit
        for limit in limits
        if fnmatchcase(arch, limit.arch)
        and is_within(limit.toolkit, toolkit)
        and matches((limit.kernel,), name, demangled)
    ]


def bounds(limits: Sequence[Limit]) -> tuple[Bound, ...]:
    """The numbers that limits set, in their order."""
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
    """Whether limits of a kernel name the causes that are forbidden, and name none."""
    explicit = [limit.forbid for limit in limits if limit.forbid is not None]
    return bool(explicit) and not any(explicit)


def unexplained(
    kernel: KernelReport, limits: Sequence[Limit], found: Mapping[str, Figure]
) -> str | None:
    """Local memory that no finding is of, in words; None where there is none, or limits bound it.

    A report without causes, a damaged one, and one layer alone have figures that nobody has judged.

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
    """Judge a finding.

    Args:
        finding: of a kernel.
        limits: those that apply to the kernel.
        found: the kernel's figures.
        causes_known: whether there was code that shows causes; figures alone tell spills from other
            local memory, and nothing more.
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
    """Whether what figures alone call a cause may be one of some others.

    ptxas counts registers that functions save as spills, and where there are figures of spills,
    what they leave is none.
    """
    others = set(named) - {cause}
    if cause == "register-spill":
        return "callee-save" in others
    if cause != "unattributed":
        return False
    return bool(others - SPILLS if found["spill"].value is not None else others)


def _rule(finding: Finding, limits: Sequence[Limit], found: Mapping[str, Figure]) -> Ruling:
    """Judge a finding by the cause that it has."""
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

"""Judgements: verdicts, findings, reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from lmemscope.model.cause_table import Cause, VerdictName, verdict_kind
from lmemscope.model.causes import Extent, IndexFacts
from lmemscope.model.devices import Footprint, Reservation
from lmemscope.model.evidence import Evidence
from lmemscope.model.facts import KernelFacts
from lmemscope.model.fix import ProvenFix, Verified
from lmemscope.model.launches import Launch
from lmemscope.model.link import Link
from lmemscope.model.request import (
    BuiltObject,
    Confidence,
    Failure,
    Frontend,
    Gap,
    KernelDirective,
    KernelKind,
    Severity,
    SourceLine,
    SourceLocation,
    Tool,
)
from lmemscope.model.wording import count
from lmemscope.model.work import Work

LeftOut = Literal["accesses", "directives"]
"""Facts that a saved report may have been written without."""


class Verdict(Struct, frozen=True):
    """One line on a kernel.

    Attributes:
        kind: the worst one that holds (`VerdictKind`).
        text: for a person, naming bytes and lines.
        rank: sorts reports worst first: higher is worse.
    """

    kind: VerdictName
    text: str
    rank: tuple[int, int]


class Advice(Struct, frozen=True):
    """One way out.

    Attributes:
        text: what to do.
        code: to write, where it is known.
        verified: what came of it where it was tried.
        rewrite: that does it, as of ``lmemscope fix``; None where none does.
        is_none: whether it says that there is no way out but another program.
    """

    text: str
    code: str | None = None
    verified: Verified | None = None
    rewrite: str | None = None
    is_none: bool = False


class Finding(Struct, frozen=True):
    """A cause judged: how bad it is, what it means and what removes it.

    Attributes:
        rule, name: ``LM201``, ``dynamic-index``.
        severity: judged by cost: in a loop and across lanes is worst.
        confidence: in the cause.
        cause: of the contract.
        object, type: variable and its type, where known.
        bytes: frame bytes; where there are none, bytes at instruction sites.
        location: the line to look at first; ``related``: others, such as the declaration.
        index: how the object is indexed, where it is.
        message: one sentence.
        advice: best first.
        evidence: what shows it, the object's first, then that of single instructions.
        fingerprint: stable across moved lines and other offsets.
        also: other causes that alone would keep the object in memory.
        type_bytes: bytes of ``type``, where known; more than ``bytes`` where ``extent`` is
            ``part``: the compiler keeps the rest in registers.
        extent: what of the variable lies in the frame.
        fix: the best proven fix, where rewrites were tried and one is offered.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    cause: Cause
    object: str | None
    type: str | None
    bytes: int
    location: SourceLocation | None
    related: tuple[SourceLocation, ...]
    index: IndexFacts | None
    message: str
    advice: tuple[Advice, ...]
    evidence: tuple[Evidence, ...]
    fingerprint: str
    also: tuple[Cause, ...] = ()
    type_bytes: int | None = None
    extent: Extent | None = None
    fix: ProvenFix | None = None


class Quotes(Struct, frozen=True):
    """Lines of a kernel's own artefacts, and what only a disassembler counts.

    Attributes:
        ptx: PTX lines behind the findings, the most telling ones.
        sass: machine instructions behind the findings, the most telling ones.
        sass_at: the source line of each entry of ``sass``, where it is known; empty in reports
            that were saved before quotes had places.
        live_registers: the most that are live at one instruction, after spilling; None where
            that was not asked for or not counted.
        live_at: the source line of that instruction, or None.
    """

    ptx: tuple[str, ...] = ()
    sass: tuple[str, ...] = ()
    live_registers: int | None = None
    live_at: SourceLocation | None = None
    sass_at: tuple[SourceLocation | None, ...] = ()


class KernelReport(Struct, frozen=True):
    """A kernel's facts and what follows from them; the rest where it was asked for.

    Attributes:
        facts, verdict, findings: always there.
        quotes: lines of its artefacts.
        footprint: device memory that the driver reserves for it on a given GPU.
        work: what a warp of it does.
    """

    facts: KernelFacts
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    quotes: Quotes | None = None
    footprint: Footprint | None = None
    work: Work | None = None

    def __repr__(self) -> str:
        return f"<KernelReport: {self.facts.demangled}, {self.verdict.text}>"


class CleanKernel(Struct, frozen=True):
    """A kernel of a binary without local memory: all that a report holds of it.

    Attributes:
        name: mangled.
        kind: as of `KernelFacts`.
        registers: per thread, as the cubin says; None where it does not.
    """

    name: str
    kind: KernelKind
    registers: int | None


class HeaderTemplates(Struct, frozen=True):
    """The template kernels that a header defines, as one unit that includes it has them.

    Attributes:
        file: the header, as shown to the user.
        path: the same, absolute.
        instantiated: qualified names of those that the unit has an instance of.
        others: of those that it has none of.
    """

    file: str
    path: str
    instantiated: tuple[str, ...]
    others: tuple[str, ...]


class UnitReport(Struct, frozen=True):
    """Everything known about one unit.

    Attributes:
        input, arch: as in `Unit`.
        frontend: the route taken.
        options: the effective compiler options.
        failure: why nothing could be analysed, or None.
        gaps: evidence that is missing.
        kernels: sorted by name; of a binary, those that use local memory or were named.
        tools: what was used for this unit.
        unknown_log_lines: lines of the compiler's report that were not understood.
        directives: ``// lmemscope:`` comments that speak of a kernel.
        source_lines: text of the source lines that the kernels' locations name, sorted; a line
            of a file that could not be read is not among them.
        headers: that define template kernels; who has all units tells which of these nobody
            instantiates.
        cached: whether the compilers' outputs came from the cache; no exporter shows it.
        others: names of the kernels that globs left out, shortened; no exporter shows them.
        launches: device-side launches that the source has and no compiled code shows; of a unit
            that failed, all that its source has.
        clean: the other kernels of a binary, which may be many thousands.
        source_digest: of the bytes of the input's file, so that a saved report can be told from
            one of another text; None where there is no file.
        sources: digests of all of the user's files that it was compiled from, by path: the input
            and the headers that it includes, those of the toolkit and of the system aside; None
            where they are not known.
        built: the object of its build, as shown to the user, and why the unit was compiled all the
            same; None where there is none.
    """

    input: str
    frontend: Frontend
    arch: str
    options: tuple[str, ...]
    failure: Failure | None
    gaps: tuple[Gap, ...] = ()
    kernels: tuple[KernelReport, ...] = ()
    tools: tuple[Tool, ...] = ()
    unknown_log_lines: tuple[str, ...] = ()
    directives: tuple[KernelDirective, ...] = ()
    source_lines: tuple[SourceLine, ...] = ()
    headers: tuple[HeaderTemplates, ...] = ()
    cached: bool = False
    others: tuple[str, ...] = ()
    launches: tuple[Launch, ...] = ()
    clean: tuple[CleanKernel, ...] = ()
    source_digest: str | None = None
    sources: Mapping[str, str] | None = None
    built: BuiltObject | None = None

    def __repr__(self) -> str:
        what = f"failed: {self.failure.message}" if self.failure else _counted(self.kernels)
        gaps = f", {count(len(self.gaps), 'gap')}" if self.gaps else ""
        return f"<UnitReport: {self.input} for {self.arch or 'no architecture'}, {what}{gaps}>"


class Report(Struct, frozen=True):
    """The whole result: what every exporter reads.

    Attributes:
        version: of lmemscope.
        toolchain: the tools used by any unit, sorted by name.
        units: in input order.
        default_arch: why an architecture was chosen without ``--arch`` ("no GPU found; sm_90"),
            or None when it was asked for.
        notes: what was left out of the inputs, in sentences.
        gaps: of inputs that no unit stands for; each reason names its input and is in ``notes``.
        left_out: of a saved report, facts that it does not hold: these are not known to be empty.
        filters: options that kept what was found out of the report, as they are typed, sorted.
        reservation: device memory that the driver reserves for all of it on a given GPU, where
            that was asked for.
        links: programs that were linked, in the order of the configuration or the build.
        paths: what the run was given, as typed; None where a saved report does not say.
        doubts: of saved reports, why they may not be what was written; no exporter shows them.
    """

    version: str
    toolchain: tuple[Tool, ...]
    units: tuple[UnitReport, ...]
    default_arch: str | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    gaps: tuple[Gap, ...] = ()
    filters: tuple[str, ...] = ()
    reservation: Reservation | None = None
    links: tuple[Link, ...] = ()
    paths: tuple[str, ...] | None = None
    doubts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kernels = [kernel for unit in self.units for kernel in unit.kernels]
        files = count(len({unit.input for unit in self.units}), "file")
        failed = sum(unit.failure is not None for unit in self.units)
        tail = f", {failed} failed" if failed else ""
        return f"<Report: {_counted(kernels, f' in {files}')}{tail}>"


def _counted(kernels: Sequence[KernelReport], where: str = "") -> str:
    local = sum(verdict_kind(kernel.verdict.kind).uses_memory for kernel in kernels)
    return f"{count(len(kernels), 'kernel')}{where}, {local} with local memory"


def distinct_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Each tool once, in the order of a report."""
    return tuple(
        sorted(set(tools), key=lambda tool: (tool.name, tool.version or "", tool.path or ""))
    )

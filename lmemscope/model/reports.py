"""Reports: units and what is known of them, as every exporter reads and documents hold it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from lmemscope.model.cause_table import verdict_kind
from lmemscope.model.devices import Reservation
from lmemscope.model.document import NOT_GIVEN, always
from lmemscope.model.inputs import InputId
from lmemscope.model.kernels import KernelReport
from lmemscope.model.launches import Launch
from lmemscope.model.link import Link
from lmemscope.model.request import (
    BuiltObject,
    Failure,
    Frontend,
    Gap,
    KernelDirective,
    KernelKind,
    SourceLine,
    Tool,
)
from lmemscope.model.wording import count

LeftOut = Literal["accesses", "directives"]
"""Facts that a saved report may have been written without."""


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


class UnitReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything known about one input on one architecture.

    Attributes:
        input, arch: what was compiled, and for what.
        frontend: the route taken.
        options: the effective compiler options.
        failure: why nothing could be analysed.
        gaps: evidence that is missing.
        tools: what was used for this unit.
        unknown_log_lines: lines of the compiler's report that were not understood.
        kernels: sorted by mangled name; of a binary, those that use local memory or were named.
        clean: the other kernels of a binary, which may be many thousands; absent where there are
            none.
        source_lines: text of the lines that the kernels' locations name, sorted; a line of a file
            that could not be read is not among them.
        directives: ``// lmemscope:`` comments that speak of a kernel; absent where left out.
        launches: device-side launches that the source has and no compiled code shows; of a unit
            that failed, all that its source has.
        source_digest: SHA-256 of the input's file, so that a saved report can be told from one of
            another text; None where there is no file.
        sources: SHA-256 of each of the user's files that it was compiled from, by path: the input
            and the headers that it includes, those of the toolkit and of the system aside; None
            where they are not known.
        built: the object of its build, as shown to the user, and why the unit was compiled all the
            same; absent where there is none.
        headers: that define template kernels; who has all units tells which of these nobody
            instantiates.
        cached: whether the compilers' outputs came from the cache.
        others: names of the kernels that globs left out, shortened.
    """

    UNWRITTEN: ClassVar[tuple[str, ...]] = ("headers", "cached", "others")

    input: str
    frontend: Frontend
    arch: str
    options: tuple[str, ...]
    failure: Failure | None
    gaps: tuple[Gap, ...]
    tools: tuple[Tool, ...] = always(())
    unknown_log_lines: tuple[str, ...] = always(())
    kernels: tuple[KernelReport, ...]
    clean: tuple[CleanKernel, ...] = ()
    source_lines: tuple[SourceLine, ...] = always(())
    directives: tuple[KernelDirective, ...] = NOT_GIVEN
    launches: tuple[Launch, ...] = always(())
    source_digest: str | None = always(None)
    sources: dict[str, str] | None = always(None)
    built: BuiltObject | None = None
    headers: tuple[HeaderTemplates, ...] = ()
    cached: bool = False
    others: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Its file, as shown to the user: several inputs may be programs of one."""
        return InputId.parse(self.input).file

    def __repr__(self) -> str:
        what = f"failed: {self.failure.message}" if self.failure else _counted(self.kernels)
        gaps = f", {count(len(self.gaps), 'gap')}" if self.gaps else ""
        return f"<UnitReport: {self.input} for {self.arch or 'no architecture'}, {what}{gaps}>"


class UsedTool(Struct, frozen=True, omit_defaults=True):
    """A tool by its name.

    Attributes:
        version, path: as found; None where not known.
        others: those of the same name that were used too; absent where there is only one.
    """

    version: str | None
    path: str | None
    others: tuple[UsedTool, ...] = ()


class Report(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="schema",
    tag="lmemscope.report/1",
):
    """The whole result of a run. Sizes are bytes per thread; None means not observed.

    Attributes:
        schema: of the document.
        version: of the lmemscope that wrote it.
        toolchain: every tool used, by name.
        default_arch: why an architecture was chosen, when none was asked for ("no GPU found;
            sm_90").
        notes: what was left out of the inputs, in sentences.
        gaps: of inputs that no unit stands for; each reason names its input and is in ``notes``.
        left_out: what the run knew and the document does not hold: not known to be empty.
        filters: options that kept what was found out of the report, as they are typed, sorted.
        reservation: device memory that the driver reserves for all; None where no GPU was named.
        units: one per input and architecture, in input order.
        links: programs that were linked, in the order of the configuration or the build.
        paths: what the run was given, as typed; None where a saved report does not say.
        digest: of all the rest, such that a later edit is seen; of documents alone, and absent in
            earlier ones.
        doubts: of saved reports, why they may not be what was written.
    """

    UNWRITTEN: ClassVar[tuple[str, ...]] = ("doubts",)

    version: str
    toolchain: dict[str, UsedTool]
    default_arch: str | None = always(None)
    notes: tuple[str, ...] = always(())
    gaps: tuple[Gap, ...] = always(())
    left_out: tuple[LeftOut, ...] = always(())
    filters: tuple[str, ...] = always(())
    reservation: Reservation | None = always(None)
    units: tuple[UnitReport, ...]
    links: tuple[Link, ...] = always(())
    paths: tuple[str, ...] | None = always(None)
    digest: str | None = None
    doubts: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool used, in the order of `toolchain`."""
        return tuple(
            Tool(name, one.version, one.path)
            for name, used in self.toolchain.items()
            for one in (*used.others, used)
        )

    def __repr__(self) -> str:
        kernels = [kernel for unit in self.units for kernel in unit.kernels]
        files = count(len({unit.file for unit in self.units}), "file")
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


def by_name(tools: Iterable[Tool]) -> dict[str, UsedTool]:
    """Tools by name; of several of one name the last, with the others."""
    found: dict[str, UsedTool] = {}
    for tool in tools:
        before = found.get(tool.name)
        others = (*before.others, UsedTool(before.version, before.path)) if before else ()
        found[tool.name] = UsedTool(tool.version, tool.path, others)
    return found

"""Reports: units and their results, as read by every exporter and stored in documents."""

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
"""Facts that a saved report may omit."""


class CleanKernel(Struct, frozen=True):
    """A kernel of a binary without local memory, reduced to what a report keeps.

    Attributes:
        name: mangled.
        kind: as in `KernelFacts`.
        registers: per thread, from the cubin; None if not recorded.
    """

    name: str
    kind: KernelKind
    registers: int | None


class HeaderTemplates(Struct, frozen=True):
    """The template kernels in a header, as seen by one unit that includes it.

    Attributes:
        file: the header, as displayed.
        path: its absolute path.
        instantiated: qualified names of templates that the unit instantiates.
        others: qualified names of those that it does not.
    """

    file: str
    path: str
    instantiated: tuple[str, ...]
    others: tuple[str, ...]


class UnitReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything known about one input for one architecture.

    Attributes:
        input, arch: what was compiled, and for which architecture.
        frontend: the front end that was used.
        options: the effective compiler options.
        failure: why it could not be analysed.
        gaps: missing evidence.
        tools: the tools used for this unit.
        unknown_log_lines: lines of the compiler's report that were not recognised.
        kernels: sorted by mangled name; for a binary, those that use local memory or were named.
        clean: the other kernels of a binary, possibly many thousands; absent if there are none.
        source_lines: text of the lines at the kernels' locations, sorted; lines of unreadable files
            are omitted.
        directives: ``// lmemscope:`` comments that refer to a kernel; absent if left out.
        launches: device-side launches in the source that no compiled code shows; for a failed unit,
            all launches in its source.
        source_digest: SHA-256 of the input's file, to detect later changes; None if there is no
            file.
        sources: SHA-256 of each of the user's files it was compiled from, by path: the input and
            its headers, without those of the toolkit and the system; None if unknown.
        built: the object of its build, as displayed, and why the unit was compiled anyway; absent
            if there is none.
        headers: headers that define template kernels; all units together show which are never
            instantiated.
        cached: whether the compilers' outputs came from the store.
        others: shortened names of the kernels excluded by globs.
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
        """The input's file, as displayed; several inputs may be programs of one file."""
        return InputId.parse(self.input).file

    def __repr__(self) -> str:
        what = f"failed: {self.failure.message}" if self.failure else _counted(self.kernels)
        gaps = f", {count(len(self.gaps), 'gap')}" if self.gaps else ""
        return f"<UnitReport: {self.input} for {self.arch or 'no architecture'}, {what}{gaps}>"


class UsedTool(Struct, frozen=True, omit_defaults=True):
    """A tool by its name.

    Attributes:
        version, path: as found; None if unknown.
        others: tools of the same name that were used too; absent if there are none.
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
    """The complete result of a run. Sizes are bytes per thread; None means not observed.

    Attributes:
        schema: of the document.
        version: of the lmemscope that wrote it.
        toolchain: every tool used, by name.
        default_arch: why an architecture was chosen when none was requested ("no GPU found;
            sm_90").
        notes: sentences about what was left out of the inputs.
        gaps: gaps of inputs without a unit; each reason names its input and is also in ``notes``.
        left_out: facts that the run had but the document omits; they are not known to be empty.
        filters: options that excluded results from the report, as typed, sorted.
        reservation: device memory that the driver reserves for all kernels; None if no GPU was
            named.
        units: one per input and architecture, in input order.
        links: linked programs, in the order of the configuration or the build.
        paths: the paths given to the run, as typed; None if a saved report does not record them.
        digest: of everything else, to detect later edits; only in documents, and absent in those of
            earlier versions.
        doubts: for saved reports, reasons to suspect that they were modified.
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
    """Each tool once, in report order."""
    return tuple(
        sorted(set(tools), key=lambda tool: (tool.name, tool.version or "", tool.path or ""))
    )


def by_name(tools: Iterable[Tool]) -> dict[str, UsedTool]:
    """Tools by name; if several share a name, the last one, with the others attached."""
    found: dict[str, UsedTool] = {}
    for tool in tools:
        before = found.get(tool.name)
        others = (*before.others, UsedTool(before.version, before.path)) if before else ()
        found[tool.name] = UsedTool(tool.version, tool.path, others)
    return found

"""Hand-made facts, PTX and machine code, and what follows from them, without any toolchain."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from lmemscope import __version__, rules
from lmemscope.analysis.explanation import explain_facts
from lmemscope.analysis.facts import gather_facts
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.lines import Lines
from lmemscope.analysis.origin import Origins
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.objects import FunctionObjects
from lmemscope.exporters import render
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.line_table import InlinedLine
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptxas_log import parse_ptxas_log
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.model import (
    Artifacts,
    CallFacts,
    Cause,
    CauseShare,
    Checked,
    CubinFacts,
    DisplayPaths,
    Evidence,
    Failure,
    Finding,
    FrameRange,
    Gap,
    GateResult,
    IndexFacts,
    InlineFrame,
    KernelDirective,
    KernelFacts,
    KernelKind,
    KernelReport,
    LineUse,
    LocalAccess,
    LocalObject,
    PtxasFacts,
    PtxFacts,
    Report,
    SassSites,
    SiteClass,
    SiteSplit,
    SourceLocation,
    Sources,
    SourceText,
    Tool,
    Uniformity,
    Unit,
    UnitReport,
    Variable,
    by_name,
)
from lmemscope.rules.verdict import judge

HERE = SourceLocation("a.cu", 7)
NOTHING = SiteClass()
PTX_HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"


def source_text(files: Mapping[str, str] | None = None) -> SourceText:
    """Sources out of a dictionary; other files have no lines."""
    known = files or {}
    return SourceText(lambda file: known.get(file, "").splitlines())


def find(facts: KernelFacts, files: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Findings of hand-made facts."""
    return rules.find(facts, source_text(files))


def facts(name: str = "clean_kernel", **changes: object) -> KernelFacts:
    """A kernel without local memory, but for what is changed."""
    empty = SiteSplit(NOTHING, NOTHING, NOTHING)
    kernel = KernelFacts(
        name=name,
        demangled=name,
        kind="entry",
        location=SourceLocation("a.cu", 3),
        stack_known=True,
        launch_bounds=None,
        sources=Sources(PtxasFacts(32, 0, 0, 0, 0, None, 0), CubinFacts(32, 0, 0, 255)),
        ptx=PtxFacts(0, 0, 0, 0, 0),
        sass=SassSites(0, 0, 0, 0),
        sites=empty,
        own_sites=empty,
        lines=(),
        callees=(),
        frame=(),
        causes=(),
        findings=(),
        objects=(),
        calls=None,
        disagreements=(),
        shared_variables=(),
        has_floats=False,
    )
    return changed(kernel, **changes)


def changed(value: Any, **changes: Any) -> Any:
    """As `replace`; of kernels, also of ``ptxas``, ``cubin`` and all ``facts``."""
    if isinstance(value, KernelReport) and "facts" in changes:
        given = {"verdict": value.verdict, "findings": value.findings, "quotes": value.quotes}
        value = KernelReport.of(changes.pop("facts"), **given, work=value.work)
    if isinstance(value, KernelFacts):
        found = {name: changes.pop(name) for name in ("ptxas", "cubin") if name in changes}
        changes |= {"sources": replace(value.sources, **found)} if found else {}
    return replace(value, **changes)


def access(cause: Cause = "dynamic-index", **changes: object) -> LocalAccess:
    """A load of 4 bytes on line 7, outside of loops, of the kernel's first object."""
    load = LocalAccess(
        pc=16,
        opcode="LDL",
        is_store=False,
        width=4,
        function="k",
        ptx_line=9,
        chain=(InlineFrame.at(HERE, None),),
        loop_depth=0,
        cause=cause,
        object=0,
        uniformity="uniform",
        sectors=4,
        requests=1,
        evidence=(),
        evidence_facts=(),
        generic=False,
    )
    return replace(load, **changes)  # type: ignore[arg-type]


def local_object(cause: Cause = "dynamic-index", **changes: object) -> LocalObject:
    """``float table[20]``, declared on line 3, at the beginning of its function's depot."""
    passed = (Evidence("address-passed", "_Z4leafPf"),)
    table = LocalObject(
        function="k",
        offset=0,
        size=80,
        cause=cause,
        name="table",
        type="float[20]",
        declared=SourceLocation("a.cu", 3),
        confidence="certain",
        index=None,
        evidence=(),
        evidence_facts=passed if cause == "address-taken" else (),
    )
    return replace(table, **changes)  # type: ignore[arg-type]


def kernel_with(
    cause: Cause,
    *,
    index: IndexFacts | None = None,
    depth: int = 0,
    uniformity: Uniformity = "uniform",
    with_object: bool = True,
    kind: str = "float[20]",
) -> KernelFacts:
    """A kernel with one load that has a cause; both ledgers close."""
    number = 0 if with_object else None
    marked = (Evidence("spill-mark"),) if cause == "register-spill" else ()
    load = access(
        cause, object=number, loop_depth=depth, uniformity=uniformity, evidence_facts=marked
    )
    table = local_object(cause, index=index, type=kind)
    owner = (0, table) if with_object else None
    return facts(
        "k",
        objects=(table,) if with_object else (),
        accesses=(load,),
        frame=(FrameRange.of(0, 80, "object", cause, owner),),
        causes=(CauseShare.of(cause, owner, 80, SiteClass(1, 0, 4, 0)),),
        sass=SassSites(1, 0, 4, 0),
        ptx=PtxFacts(80, 1, 1, 0, 0),
        calls=CallFacts((), (), False),
    )


def judged(name: str, *causes: Cause, bytes_: int = 80, object_: str = "table") -> KernelReport:
    """A kernel with one finding per cause; equal causes are equal arrays."""
    base = facts(name)
    if not causes:
        return KernelReport.of(base, judge(base))
    findings = []
    for cause in causes:
        made = replace(kernel_with(cause), name=name, demangled=name)
        (finding,) = find(made)
        findings.append(replace(finding, bytes=bytes_, object=object_))
    shown = replace(kernel_with(causes[0]), name=name, demangled=name)
    return KernelReport.of(shown, judge(shown), tuple(findings))


def report(
    *kernels: KernelReport,
    version: str = "13.5",
    arch: str = "sm_90",
    failure: Failure | None = None,
    gaps: tuple[Gap, ...] = (),
    directives: tuple[KernelDirective, ...] = (),
) -> Report:
    """A report of one unit, ``a.cu``."""
    tool = Tool("nvrtc", version, None)
    unit = UnitReport(
        input="a.cu",
        frontend="nvrtc",
        arch=arch,
        options=(),
        failure=failure,
        gaps=gaps,
        kernels=kernels,
        tools=(tool,),
        unknown_log_lines=(),
        directives=directives,
    )
    return Report(version=__version__, toolchain=by_name((tool,)), units=(unit,))


def spilling() -> KernelFacts:
    """A template instance that spills."""
    share = SiteClass(60, 51, 484, 412)
    split = SiteSplit(share, NOTHING, NOTHING)
    return facts(
        "void ns::spilling<(int)32, float>(float*, int)",
        ptxas=PtxasFacts(32, 240, 412, 484, 240, None, 0),
        sass=SassSites(60, 51, 484, 412),
        sites=split,
        own_sites=split,
    )


def with_object() -> KernelFacts:
    """A kernel with accesses of a local object, before anything is attributed."""
    share = SiteClass(31, 9, 124, 36)
    split = SiteSplit(NOTHING, share, NOTHING)
    return facts(
        "ring",
        ptxas=PtxasFacts(32, 128, 0, 0, 128, None, 0),
        ptx=PtxFacts(128, 1, 32, 9, 0),
        sass=SassSites(31, 9, 124, 36),
        sites=split,
        own_sites=split,
        lines=(LineUse.of(SourceLocation("a.cu", 31), "local-object", share),),
    )


def report_of(*kernels: KernelFacts, failure: bool = False) -> Report:
    """A report of ``a.cu`` with these kernels, and of ``b.cu`` where that one failed."""
    tool = Tool("nvrtc", "13.5", "/lib/libnvrtc.so")
    judged = tuple(KernelReport.of(kernel, judge(kernel)) for kernel in kernels)
    units = [
        UnitReport(
            input="a.cu",
            frontend="nvrtc",
            arch="sm_90",
            options=("-lineinfo",),
            failure=None,
            gaps=(),
            kernels=judged,
            tools=(tool,),
        )
    ]
    if failure:
        why = Failure("compile", "NVRTC refused b.cu: line 1: error", "mend it", None, "b.cu(1): x")
        units.append(
            UnitReport(
                input="b.cu",
                frontend="nvrtc",
                arch="sm_90",
                options=(),
                failure=why,
                gaps=(),
                kernels=(),
            )
        )
    return Report(version=__version__, toolchain=by_name((tool,)), units=tuple(units))


# PTX and machine code by hand.


def depot(size: int) -> str:
    """A function's local memory, addressed as NVIDIA's compilers do."""
    return (
        f".local .align 16 .b8 __local_depot0[{size}];\n"
        "mov.u64 %SPL, __local_depot0;\n"
        "cvta.local.u64 %SP, %SPL;"
    )


POINTER_AND_NUMBER = ".param .u64 k_param_0, .param .u32 k_param_1"


def program(
    body: str,
    *,
    parameters: str = POINTER_AND_NUMBER,
    debug: bool = False,
    inlined: Sequence[str] = (),
    variables: Sequence[str] = (),
    **functions: str,
) -> PtxModule:
    """PTX with a kernel ``k`` and functions; ``.loc 1 7 0`` is line 7 of ``a.cu``.

    Args:
        body: of the kernel.
        parameters: of the kernel.
        debug: compiled with ``-G``.
        inlined: functions that ``.loc`` names: the first is ``$L__info_string0``.
        variables: of the module.
        functions: their bodies by name, of a pointer ``NAME_param_0`` and a number
            ``NAME_param_1``.
    """
    target = ".target sm_90, debug" if debug else ".target sm_90"
    lines = [".version 9.0", target, ".address_size 64", *variables]
    for name, text in functions.items():
        parameters_of = f".param .b64 {name}_param_0, .param .b32 {name}_param_1"
        lines += [f".func {name}({parameters_of})", "{", *text.splitlines(), "}"]
    lines += [f".visible .entry k({parameters})", "{"]
    lines += [*body.splitlines(), "}", '.file 1 "a.cu"', ".section .debug_str", "{"]
    for number, name in enumerate(inlined):
        lines += [f"$L__info_string{number}:", f".b8 {','.join(map(str, (*name.encode(), 0)))}"]
    lines.append("}")
    return PtxModule("\n".join(lines).encode())


def objects_of(body: str, name: str = "k", **functions: str) -> FunctionObjects:
    """The stack objects of the kernel, or of one of the functions."""
    found = ModuleFlow(program(body, **functions)).objects(name)
    assert found is not None
    return found


def call(function: str, register: str) -> str:
    """A call with one argument, as compilers write it."""
    return (
        "{ .param .b64 param0;\n"
        f"st.param.b64 [param0+0], {register};\n"
        f"call.uni {function}, (param0);\n"
        "}"
    )


@dataclass(frozen=True)
class MachineCode:
    """A machine instruction before it has a place: its PTX line begins with ``ptx``.

    Its ``source`` is a line of ``a.cu``, or that of a function that is inlined and of its calls.
    """

    ptx: str | None
    site: Site
    source: int | Sequence[SourceLocation] | None = None


def ldl(
    ptx: str | None = None,
    *,
    at: int = 0,
    width: int = 4,
    base: int | None = STACK_POINTER,
    marked: bool = False,
    generic: bool = False,
    store: bool = False,
    source: int | Sequence[SourceLocation] | None = None,
    register: int = 4,
) -> MachineCode:
    """``LDL [R1+at]`` that comes from the PTX line which begins with ``ptx``."""
    site = Site(0, store, width, register, base, None, at, False, marked, generic)
    return MachineCode(ptx, site, source)


def stl(ptx: str | None = None, **changes: Any) -> MachineCode:
    """``STL [R1+at]``; as `ldl`."""
    return ldl(ptx, store=True, **changes)


@dataclass
class StandInCubin:
    """What the analysis asks of a cubin."""

    functions: tuple[CubinFunction, ...]
    ptx_lines: dict[str, list[InlinedLine]]
    source_lines: dict[str, list[InlinedLine]]
    generic: tuple[Site, ...] = ()
    arch: str = "sm_90"
    is_wide: bool = True

    @property
    def records(self) -> dict[str, CubinFunction]:
        return {function.name: function for function in self.functions}

    def function(self, name: str) -> CubinFunction:
        return self.records[name]

    def code(self, function: CubinFunction) -> bytes:
        """Other bytes for each function."""
        return repr(function).encode()

    def generic_sites(self, function: CubinFunction) -> tuple[Site, ...]:
        return self.generic

    def branches(self, function: CubinFunction) -> None:
        return None

    def calls(self, kernel: CubinFunction) -> Mapping[int, Sequence[int]]:
        return {}

    def callers_barriers(self, body: CubinFunction) -> frozenset[int]:
        return frozenset()


def cubin_function(
    name: str = "k",
    *sites: Site,
    kind: KernelKind = "entry",
    start: int = 0,
    end: int = 0x1000,
    frame: int | None = 0,
    callees: tuple[CubinFunction, ...] = (),
    **changes: Any,
) -> CubinFunction:
    """A body of machine code of 32 registers."""
    made = CubinFunction(
        name, kind, ".text.k", start, end, 32, frame, frame, True, 255, 0, sites, callees
    )
    return replace(made, **changes)


def layers(
    ptx: PtxModule | None,
    *code: MachineCode,
    frame: int | None = 0,
    log: str | None = None,
    callees: Mapping[str, Sequence[MachineCode]] | None = None,
    **changes: Any,
) -> Layers:
    """The layers of a unit with one kernel, ``k``.

    Args:
        ptx: its PTX, or None.
        code: the kernel's ``LDL``/``STL`` in order; a generic one is ``LD``/``ST``.
        frame: bytes of its stack frame.
        log: ptxas's report.
        callees: machine code of functions that are not inlined, behind the kernel's own.
        changes: of the kernel's `CubinFunction`.
    """
    ptx_lines: list[InlinedLine] = []
    source_lines: list[InlinedLine] = []
    pc = 0

    def placed(listed: Sequence[MachineCode]) -> tuple[Site, ...]:
        nonlocal pc
        sites = []
        for one in listed:
            pc += 16
            sites.append(replace(one.site, pc=pc))
            line = 0 if ptx is None or one.ptx is None else line_of(ptx, one.ptx)
            ptx_lines.append(_row(pc, SourceLocation("k.ptx", line)))
            source = (one.source or 0,) if isinstance(one.source, int | None) else one.source
            places = [
                SourceLocation("a.cu", place) if isinstance(place, int) else place
                for place in source
            ]
            source_lines.append(_row(pc, *places))
        return tuple(sites)

    own = placed([one for one in code if not one.site.is_generic])
    generic = placed([one for one in code if one.site.is_generic])
    inner = []
    for name, listed in (callees or {}).items():
        start = pc + 16
        sites = placed(listed)
        inner.append(cubin_function(name, *sites, kind="function", start=start, end=pc + 16))
    kernel = cubin_function("k", *own, frame=frame, callees=tuple(inner), **changes)
    known = any(one.source is not None for one in code)
    cubin: Any = StandInCubin(
        (kernel,), {".text.k": ptx_lines}, {".text.k": source_lines} if known else {}, generic
    )
    flow = ModuleFlow(ptx) if ptx is not None else None
    unit = Unit("a.cu", "a.cu", "nvrtc", "sm_90")
    paths, origins = DisplayPaths("a.cu", "a.cu", "/"), Origins(flow, cubin)
    return Layers(
        artifacts=Artifacts(unit, "nvrtc", (), None, log, b"", ()),
        paths=paths,
        ptx=ptx,
        log=parse_ptxas_log(log) if log is not None else None,
        cubin=cubin,
        gaps=(),
        flow=flow,
        origins=origins,
        lines=Lines(paths, cubin, flow, origins),
    )


def _row(pc: int, *places: SourceLocation) -> InlinedLine:
    return InlinedLine(pc, tuple(InlineFrame.at(place, None) for place in places))


def line_of(ptx: PtxModule, beginning: str) -> int:
    """Number of the only line that begins with a text."""
    found = [
        number
        for number in range(1, ptx.functions[-1].end_line + 1)
        if ptx.line(number).strip().startswith(beginning)
    ]
    assert len(found) == 1, f"{beginning} is on lines {found}"
    return found[0]


def attributed(
    given: Layers,
    variables: Sequence[Variable] | None = None,
    files: Mapping[str, str] | None = None,
) -> KernelFacts:
    """The kernel's facts with causes."""
    (fact,) = explain_facts(given, gather_facts(given), variables, source_text(files))
    return fact


def variable(name: str, type_: str, size: int, line: int = 1, **changes: Any) -> Variable:
    """A local variable of the kernel, declared in ``a.cu``."""
    made = Variable("k", name, type_, size, "a.cu", line, False, (), line)
    return replace(made, **changes)


def ptxas_report(
    stores: int = 0, loads: int = 0, *, frame: int = 0, function: str = "k", of: str = "k"
) -> str:
    """What ``ptxas -v`` says of a kernel, or of a function that it calls."""
    return (
        f"ptxas info    : Compiling entry function '{of}' for 'sm_90'\n"
        f"ptxas info    : Function properties for {function}\n"
        f"    {frame} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads\n"
        "ptxas info    : Used 32 registers\n"
    )


def ptx_module(
    body: str, header: str = ".visible .entry k(.param .u64 p0, .param .u32 n)"
) -> PtxModule:
    """PTX of one function."""
    return PtxModule((PTX_HEADER + header + "\n{\n" + textwrap.dedent(body) + "\n}\n").encode())


def gate_as(format_name: str, result: GateResult, given: Report | None = None, **how: Any) -> Any:
    """The gate's answer in one of its formats, with the report that it is of, or an empty one."""
    return render(Checked(given or report(), result), format_name, **how)

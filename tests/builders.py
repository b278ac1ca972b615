"""Hand-made facts and what follows from them, without any toolchain."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping

from lmemscope import rules
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import (
    CallFacts,
    Cause,
    CauseShare,
    CubinFacts,
    Failure,
    Finding,
    FrameRange,
    Gap,
    IndexFacts,
    InlineFrame,
    KernelDirective,
    KernelFacts,
    KernelReport,
    LocalAccess,
    LocalObject,
    PtxasFacts,
    PtxFacts,
    Report,
    SassFacts,
    SiteClass,
    SiteSplit,
    SourceLocation,
    SourceText,
    Tool,
    Uniformity,
    UnitReport,
)
from lmemscope.rules.verdict import judge

PTX_HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
NOTHING = SiteClass()
HERE = SourceLocation("a.cu", 7)


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
        ptxas=PtxasFacts(32, 0, 0, 0, 0, None, 0),
        cubin=CubinFacts(32, 0, 0, 255),
        ptx=PtxFacts(0, 0, 0, 0, 0),
        sass=SassFacts(0, 0, 0, 0),
        sites=empty,
        own_sites=empty,
        lines=(),
        callees=(),
        disagreements=(),
    )
    return dataclasses.replace(kernel, **changes)  # type: ignore[arg-type]


def access(
    cause: Cause,
    *,
    number: int | None = 0,
    depth: int = 0,
    store: bool = False,
    uniformity: Uniformity = "uniform",
    evidence: tuple[str, ...] = (),
) -> LocalAccess:
    """One access of ``k`` at `HERE`, to its object ``number``."""
    return LocalAccess(
        pc=16, opcode="STL" if store else "LDL", is_store=store, width=4, function="k",
        ptx_line=9, chain=(InlineFrame(HERE, None),), loop_depth=depth, cause=cause,
        object=number, uniformity=uniformity, sectors=4, requests=1, evidence=evidence,
    )  # fmt: skip


def stack_object(
    cause: Cause, index: IndexFacts | None = None, kind: str = "float[20]"
) -> LocalObject:
    """``table`` of ``k``: 80 bytes at the start of the frame."""
    return LocalObject(
        "k",
        0,
        80,
        cause,
        "table",
        kind,
        SourceLocation("a.cu", 3),
        "certain",
        index,
        ("its address goes to _Z4leafPf",) if cause == "address-taken" else (),
    )


def kernel(
    cause: Cause,
    *,
    index: IndexFacts | None = None,
    depth: int = 0,
    uniformity: Uniformity = "uniform",
    with_object: bool = True,
    kind: str = "float[20]",
) -> KernelFacts:
    """``k`` with one load that has a cause, from ``table`` if with an object."""
    number = 0 if with_object else None
    load = access(
        cause,
        number=number,
        depth=depth,
        uniformity=uniformity,
        evidence=("marked SpillRefill",) if cause == "register-spill" else (),
    )
    return facts(
        "k",
        objects=(stack_object(cause, index, kind),) if with_object else (),
        accesses=(load,),
        frame=(FrameRange(0, 80, "object", cause, number),),
        causes=(CauseShare(cause, number, 80, SiteClass(1, 0, 4, 0)),),
        sass=SassFacts(1, 0, 4, 0),
        ptx=PtxFacts(80, 1, 1, 0, 0),
        calls=CallFacts((), (), False),
    )


def judged(name: str, *causes: Cause, bytes_: int = 80, object_: str = "table") -> KernelReport:
    """A kernel with one finding per cause; equal causes are equal arrays."""
    base = facts(name)
    if not causes:
        return KernelReport(base, judge(base))
    findings = []
    for cause in causes:
        made = dataclasses.replace(kernel(cause), name=name, demangled=name)
        (finding,) = find(made)
        findings.append(dataclasses.replace(finding, bytes=bytes_, object=object_))
    shown = dataclasses.replace(kernel(causes[0]), name=name, demangled=name)
    return KernelReport(shown, judge(shown), tuple(findings))


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
    unit = UnitReport("a.cu", "nvrtc", arch, (), failure, gaps, kernels, (tool,), (), directives)
    return Report("0.1.0", (tool,), (unit,))


def ptx_module(
    body: str, header: str = ".visible .entry k(.param .u64 p0, .param .u32 n)"
) -> PtxModule:
    """PTX of one function."""
    return PtxModule((PTX_HEADER + header + "\n{\n" + textwrap.dedent(body) + "\n}\n").encode())

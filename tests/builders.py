"""Hand-made facts and what follows from them, without any toolchain."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lmemscope import rules
from lmemscope.model import (
    CallFacts,
    Cause,
    CauseShare,
    CubinFacts,
    Evidence,
    Finding,
    FrameRange,
    IndexFacts,
    InlineFrame,
    KernelFacts,
    LocalAccess,
    LocalObject,
    PtxasFacts,
    PtxFacts,
    SiteClass,
    SiteSplit,
    SourceLocation,
    SourceText,
    Uniformity,
)

HERE = SourceLocation("a.cu", 7)
NOTHING = SiteClass()


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
        sass=SiteClass(0, 0, 0, 0),
        sites=empty,
        own_sites=empty,
        lines=(),
        callees=(),
        disagreements=(),
    )
    return dataclasses.replace(kernel, **changes)  # type: ignore[arg-type]


def access(cause: Cause = "dynamic-index", **changes: object) -> LocalAccess:
    """A load of 4 bytes on line 7, outside of loops, of the kernel's first object."""
    load = LocalAccess(
        pc=16,
        opcode="LDL",
        is_store=False,
        width=4,
        function="k",
        ptx_line=9,
        chain=(InlineFrame(HERE, None),),
        loop_depth=0,
        cause=cause,
        object=0,
        uniformity="uniform",
        sectors=4,
        requests=1,
        evidence=(),
    )
    return dataclasses.replace(load, **changes)  # type: ignore[arg-type]


def local_object(cause: Cause = "dynamic-index", **changes: object) -> LocalObject:
    """``float table[20]``, declared on line 3, at the beginning of its function's depot."""
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
        evidence=(Evidence("address-passed", "_Z4leafPf"),) if cause == "address-taken" else (),
    )
    return dataclasses.replace(table, **changes)  # type: ignore[arg-type]


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
    load = access(cause, object=number, loop_depth=depth, uniformity=uniformity, evidence=marked)
    return facts(
        "k",
        objects=(local_object(cause, index=index, type=kind),) if with_object else (),
        accesses=(load,),
        frame=(FrameRange(0, 80, "object", cause, number),),
        causes=(CauseShare(cause, number, 80, SiteClass(1, 0, 4, 0)),),
        sass=SiteClass(1, 0, 4, 0),
        ptx=PtxFacts(80, 1, 1, 0, 0),
        calls=CallFacts((), (), False),
    )

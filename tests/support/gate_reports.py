"""Reports of small projects for the gate, and baselines of them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from lmemscope.gate import baseline
from lmemscope.model import (
    Baseline,
    Cause,
    Failure,
    Gap,
    KernelReport,
    PtxasFacts,
    Report,
    Tool,
    UnitReport,
    by_name,
)
from lmemscope.sources.cuda import read_cuda_source
from tests.support.builders import changed, judged

BROKEN = Failure("compile", "NVRTC refused b.cu", None, None, "b.cu(1): error")
TEMPLATES = Failure("instantiate", "only templates: rm", kind="uninstantiated")


def project(
    *, arch: str = "sm_90", version: str = "13.5", sources: dict[str, str] | None = None,
    gaps: tuple[Gap, ...] = (), **files: tuple[KernelReport, ...] | Failure | Gap
) -> Report:  # fmt: skip
    """A report of files called ``NAME.cu``: kernels, why there are none, or what is not known."""
    tool = Tool("nvrtc", version, None)
    units = []
    for name, held in files.items():
        text = (sources or {}).get(name)
        directives = read_cuda_source(text).kernel_directives if text is not None else ()
        units.append(
            UnitReport(
                input=f"{name}.cu",
                frontend="nvrtc",
                arch=arch,
                options=(),
                failure=held if isinstance(held, Failure) else None,
                gaps=(held,) if isinstance(held, Gap) else (),
                kernels=held if isinstance(held, tuple) else (),
                tools=(tool,),
                unknown_log_lines=(),
                directives=directives,
            )
        )
    return Report(version="0.1.0", toolchain=by_name((tool,)), units=tuple(units), gaps=gaps)


def found(name: str, bytes_: int = 80, cause: Cause = "dynamic-index", **changes: Any) -> Any:
    """A kernel with one array of so many bytes."""
    return judged(name, cause, bytes_=bytes_, **changes)


def reported(frame: int = 0, stores: int = 0, loads: int = 0) -> PtxasFacts:
    return PtxasFacts(32, frame, stores, loads, frame, None, 0)


def with_figures(kernel: KernelReport, **figures: int) -> KernelReport:
    """The kernel with what ptxas says of it."""
    return changed(kernel, facts=changed(kernel.facts, ptxas=reported(**figures)))


def known(given: Report, **changes: Any) -> Baseline:
    """The baseline of a report."""
    return replace(baseline.from_report(given), **changes)

"""Facts from a report alone: what ptxas and nvlink said of functions whose code is not here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from lmemscope.formats.demangle import demangle
from lmemscope.formats.ptxas_log import PtxasFunction, PtxasLog
from lmemscope.model import FunctionFacts, KernelFacts, PtxasFacts, Sources

_MOST_ALIKE = 64


def facts_of_report(log: PtxasLog) -> tuple[KernelFacts, ...]:
    """Facts of every kernel of a report, sorted by mangled name; all but ptxas's are None."""
    linked = {function.name: function for function in log.functions if function.linked}
    times: Counter[str] = Counter()
    own: list[PtxasFunction] = []
    for function in log.functions:
        if not function.linked and function.entry in (None, function.name):
            times[function.name] += 1
            # Each has all callees of its name: more than there are architectures are noise.
            if times[function.name] <= _MOST_ALIKE:
                own.append(function)
    kernels = [_kernel(log, f, linked.get(f.name)) for f in own]
    reported = {function.name for function in own}
    kernels += [_kernel(log, f, f) for name, f in linked.items() if name not in reported]
    return tuple(sorted(kernels, key=lambda kernel: kernel.name))


def _kernel(log: PtxasLog, function: PtxasFunction, linked: PtxasFunction | None) -> KernelFacts:
    callees = [f for f in log.callees(function.name) if not f.linked]
    return KernelFacts(
        name=function.name,
        demangled=demangle(function.name),
        kind=function.kind,
        location=None,
        stack_known=function.name not in log.stack_unknown
        and not depth_left_out(function, callees),
        launch_bounds=None,
        sources=Sources(_figures(function, linked), None),
        ptx=None,
        sass=None,
        sites=None,
        own_sites=None,
        lines=(),
        callees=tuple(
            FunctionFacts(f.name, demangle(f.name), _figures(f, None), None, None)
            for f in sorted(callees, key=lambda f: f.name)
        ),
        frame=(),
        causes=(),
        findings=(),
        objects=(),
        calls=None,
        disagreements=(),
    )


def depth_left_out(function: PtxasFunction, callees: Iterable[PtxasFunction]) -> bool:
    """Whether ptxas printed no depth where there is a stack: it could not determine it.

    It prints the cumulative size from 12.4 on, and barriers from 12.6 on; from 12.6 to 13.4 this
    is the only sign of recursion and indirect calls.
    """
    has_frames = any(callee.stack_frame for callee in callees)
    return has_frames and function.barriers is not None and function.cumulative_stack is None


def _figures(function: PtxasFunction, linked: PtxasFunction | None) -> PtxasFacts:
    """A function's figures; registers and depth as the linker left them, where it said so."""
    if linked is None:
        return function.facts
    own, final = function.facts, linked.facts
    depth = final.linked_stack
    return replace(
        own,
        registers=own.registers if final.registers is None else final.registers,
        cumulative_stack=own.cumulative_stack if depth is None else depth,
        shared=own.shared if final.shared is None else final.shared,
        barriers=own.barriers if final.barriers is None else final.barriers,
        local=own.local if final.local is None else final.local,
        linked_stack=depth,
    )

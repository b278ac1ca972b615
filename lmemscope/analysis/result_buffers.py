"""Where a body's frame holds what called functions return.

What registers do not return is written by the called function into a buffer in its caller's
frame. A load from it comes from an ``ld.param`` of a known byte of the result, so its place tells
where the buffer begins, whatever else of it is read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lmemscope.analysis.frame import ResultBuffer
from lmemscope.analysis.origin import Origin, access_of
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.transfers import access_width
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.sites import STACK_POINTER, Site

_DECLARED = re.compile(r"\.param\s+\.align\s+(\d{1,3})\s+\.b8\s+([\w$%]+)\[(\d{1,7})\]")
_MOST_LINES = 400
"""Between the declaration of a result and the call: arguments are declared and stored there."""


def result_buffers(
    flow: ModuleFlow, kernel: CubinFunction, loads: Iterable[tuple[Site, Origin]]
) -> tuple[ResultBuffer, ...]:
    """Structures that the calls of a kernel's own body return and that are read; equal ones once.

    Args:
        flow: analyses of the PTX.
        kernel: its machine code.
        loads: sites of its own body that read what a call returned, with their origins.
    """
    calls = dict(_results(flow, kernel))
    read: dict[tuple[str, int], list[Site]] = defaultdict(list)
    begins: dict[tuple[str, int], set[int]] = defaultdict(set)
    for site, origin in loads:
        loaded = _read(flow, origin)
        if loaded is None or loaded[0] not in calls or site.base != STACK_POINTER:
            continue
        key, offset, width = loaded
        # Of a vector, a narrower load reads one of the elements.
        parts = range(offset, offset + max(width - site.width, 0) + 1, site.width)
        begins[key].update(site.displacement - at for at in parts)
        read[key].append(site)
    found = []
    for key, sites in read.items():
        buffer = calls[key]
        first = min(site.displacement for site in sites)
        last = max(site.displacement + site.width for site in sites)
        # Joined loads have the line of one of theirs: all bytes have to be the result's.
        fitting = (
            at
            for at in begins[key]
            if 0 <= at <= first and last <= at + buffer.size and at % buffer.alignment == 0
        )
        found.append(replace(buffer, starts=frozenset(fitting)))
    return tuple(dict.fromkeys(found))


def _results(
    flow: ModuleFlow, kernel: CubinFunction
) -> Iterator[tuple[tuple[str, int], ResultBuffer]]:
    """Structures that calls return, by the function and the instruction that makes the call."""
    apart = {callee.name for callee in kernel.callees}
    for name in flow.reached(kernel.name):
        dataflow = flow.dataflow(name) if name not in apart else None
        for call in dataflow.flow.calls if dataflow is not None else ():
            assert dataflow is not None
            line = dataflow.body.instructions[call.index].line
            for result in call.results:
                declared = _declared(flow, result, line)
                if declared is not None:
                    yield (name, call.index), ResultBuffer(frozenset(), *declared)


def _declared(flow: ModuleFlow, result: str, line: int) -> tuple[int, int] | None:
    """Bytes and alignment of a structure that a call in a line returns; None of a number."""
    for number in range(line, max(line - _MOST_LINES, 0), -1):
        text = flow.ptx.line(number)
        for alignment, name, size in _DECLARED.findall(text):
            if name == result:
                return int(size), max(int(alignment), 1)
        if "{ // callseq" in text:
            return None
    return None


def _read(flow: ModuleFlow, origin: Origin) -> tuple[tuple[str, int], int, int] | None:
    """The call whose result an ``ld.param`` reads, and which bytes: the first, and how many."""
    found = access_of(flow, origin) if origin.kind == "argument" and not origin.by_place else None
    if found is None or origin.instruction is None:
        return None
    dataflow, instruction = found
    address, call = instruction.address, dataflow.flow.result_of(origin.instruction)
    if address is None or call is None:
        return None
    return (dataflow.function.name, call.index), address.offset, access_width(instruction)

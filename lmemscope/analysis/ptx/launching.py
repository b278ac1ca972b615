"""Device-side launches as PTX has them: calls of the device runtime, and what they are given.

CUDA C++ Programming Guide, "Dynamic Parallelism", "Device-side Launch from PTX": a launch asks for
a parameter buffer, stores the arguments there and launches. CUDA 12 and newer compile
``cudaGetParameterBufferV2`` (kernel, grid, block, shared memory) and ``cudaLaunchDeviceV2``
(buffer, stream), with the prefix ``__cudaCDP2``; ``cudaGetParameterBuffer`` (alignment, size) and
``cudaLaunchDevice`` (kernel, buffer, grid, block, shared memory, stream) are what programs write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.sources import Sources
from lmemscope.analysis.ptx.transfers import moves_pointers, stored_values
from lmemscope.model import Dimensions, LaunchStream

LAUNCHES = re.compile(r"(?:__)?cuda(?:CDP2)?LaunchDevice(V2)?(?:_ptsz)?")
_BUFFER = re.compile(r"(?:__)?cuda(?:CDP2)?GetParameterBuffer(V2)?")
_STREAMS: dict[int, LaunchStream] = {0: "default", 1: "default", 2: "default"}
_TAIL, _FORGET = 3, 4
"""``cudaStreamTailLaunch`` and ``cudaStreamFireAndForget`` of driver_types.h."""
_COORDINATES = (0, 4, 8)
"""Places of x, y, z in a ``dim3``."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A value stored among the parameters of a launch.

    Attributes:
        index: of the instruction that stores it.
        offset: bytes from the start of the parameters.
        value: register or constant.
        is_pointer: whether it is as wide as an address.
    """

    index: int
    offset: int
    value: str
    is_pointer: bool


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """One launch of a function.

    Attributes:
        function: mangled name.
        index: of the call that launches; ``prepared``: of the one that gets the buffer, or None.
        children: mangled names of the kernels that it may launch, sorted.
        is_complete: whether it can launch none but these.
        grid, block, shared, stream: as in `lmemscope.model.Launch`.
        arguments: what is stored in its buffer.
    """

    function: str
    index: int
    prepared: int | None
    children: tuple[str, ...]
    is_complete: bool
    grid: Dimensions
    block: Dimensions
    shared: int | None
    stream: LaunchStream
    arguments: tuple[Argument, ...]


def launch_sites(module: ModuleFlow, kernel: str) -> Iterator[LaunchSite]:
    """The launches that a kernel, or a separately compiled function, makes or reaches."""
    sources = Sources(module, kernel)
    for name in module.reached(kernel):
        if not any(LAUNCHES.fullmatch(callee) for callee in module.callees[name]):
            continue
        code = module.dataflow(name)
        assert code is not None
        for call in code.flow.calls:
            found = LAUNCHES.fullmatch(call.callee or "")
            if found is not None:
                yield _site(code, call, sources, is_second=found[1] is not None)


def _site(code: Dataflow, call: Call, sources: Sources, *, is_second: bool) -> LaunchSite:
    name, given = code.function.name, call.places
    buffer = given[0 if is_second else 1].get(0) if len(given) > 1 else None
    index = _preparing(sources, name, buffer)
    prepared = next((one for one in code.flow.calls if one.index == index), None)
    if is_second:
        about = prepared.places if prepared is not None else []
        kernel, grid, block, shared = _padded(about, 4)
        stream = given[1] if len(given) > 1 else {}
    else:
        kernel, _, grid, block, shared, stream = _padded(given, 6)
    children, is_complete = _children(sources, name, kernel.get(0))
    return LaunchSite(
        name,
        call.index,
        index,
        children,
        is_complete,
        _dimensions(sources, name, grid),
        _dimensions(sources, name, block),
        sources.constant(name, shared.get(0)),
        _stream(sources, name, stream.get(0)),
        tuple(_arguments(code, prepared)) if prepared is not None else (),
    )


def _padded(arguments: list[dict[int, str]], length: int) -> list[dict[int, str]]:
    missing: list[dict[int, str]] = [{}] * (length - len(arguments))
    return [*arguments[:length], *missing]


def _preparing(sources: Sources, function: str, buffer: str | None) -> int | None:
    """The call that the buffer is the result of; None where it is not one alone."""
    found = sources.of(function, buffer) if buffer is not None else ()
    calls = {
        source.index
        for source in found
        if source.kind == "result" and _BUFFER.match(source.name or "")
    }
    return calls.pop() if len(calls) == 1 else None


def _children(sources: Sources, function: str, value: str | None) -> tuple[tuple[str, ...], bool]:
    found = sources.resolved(function, value) if value is not None else frozenset()
    names = {one.name for one in found if one.kind == "symbol" and one.name is not None}
    return tuple(sorted(names)), bool(names) and all(one.kind == "symbol" for one in found)


def _dimensions(sources: Sources, function: str, given: dict[int, str]) -> Dimensions:
    x, y, z = (sources.constant(function, given.get(place)) for place in _COORDINATES)
    return x, y, z


def _stream(sources: Sources, function: str, value: str | None) -> LaunchStream:
    if value is None:
        return "unknown"
    number = sources.constant(function, value)
    if number == _TAIL:
        return "tail"
    if number == _FORGET:
        return "fire-and-forget"
    return "named" if number is None else _STREAMS.get(number, "unknown")


def _arguments(code: Dataflow, prepared: Call) -> Iterator[Argument]:
    """What is stored through addresses that a buffer's is the start of."""
    instructions = code.body.instructions
    behind = range(prepared.index + 1, len(instructions))
    buffer = next((one for one in behind if code.flow.result_of(one) is prepared), None)
    if buffer is None:
        return
    start = code.affine.of(buffer)
    for index in behind:
        instruction = instructions[index]
        form = code.affine.address(index) if instruction.isa.access == "store" else None
        offset = form.plus(start, -1).number if form is not None else None
        if offset is not None:
            wide = moves_pointers(instruction)
            for value, place in stored_values(instruction):
                yield Argument(index, offset + place, value, wide)

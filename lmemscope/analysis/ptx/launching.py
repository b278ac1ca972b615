"""Device-side launches as PTX has them: calls of the device runtime, and what they are given.

CUDA C++ Programming Guide, "Dynamic Parallelism", "Device-side Launch from PTX": a launch asks for
a parameter buffer, stores the arguments there and launches. CUDA 12 and newer compile
``cudaGetParameterBufferV2`` (kernel, grid, block, shared memory) and ``cudaLaunchDeviceV2``
(buffer, stream), with the prefix ``__cudaCDP2``; ``cudaGetParameterBuffer`` (alignment, size) and
``cudaLaunchDevice`` (kernel, buffer, grid, block, shared memory, stream) are what programs write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.sources import Sources, passed
from lmemscope.analysis.ptx.transfers import moves_pointers, stored_values
from lmemscope.formats.ptx_body import Instruction
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
                yield _site(code, call.index, sources, is_second=found[1] is not None)


def _site(code: Dataflow, index: int, sources: Sources, *, is_second: bool) -> LaunchSite:
    name = code.function.name
    given = passed(code, index)
    buffer = given[0 if is_second else 1].get(0) if len(given) > 1 else None
    prepared = _preparing(sources, name, buffer)
    if is_second:
        about = passed(code, prepared) if prepared is not None else ()
        kernel, grid, block, shared = _padded(about, 4)
        stream = given[1] if len(given) > 1 else {}
    else:
        kernel, _, grid, block, shared, stream = _padded(given, 6)
    children, is_complete = _children(sources, name, kernel.get(0))
    return LaunchSite(
        name,
        index,
        prepared,
        children,
        is_complete,
        _dimensions(sources, name, grid),
        _dimensions(sources, name, block),
        sources.constant(name, shared.get(0)),
        _stream(sources, name, stream.get(0)),
        tuple(_arguments(code, prepared)) if prepared is not None else (),
    )


def _padded(arguments: tuple[dict[int, str], ...], length: int) -> tuple[dict[int, str], ...]:
    missing: tuple[dict[int, str], ...] = ({},) * (length - len(arguments))
    return (*arguments[:length], *missing)


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


def _arguments(code: Dataflow, prepared: int) -> Iterator[Argument]:
    """What is stored through addresses that a buffer's is the start of."""
    instructions = code.body.instructions
    results = next(call.results for call in code.flow.calls if call.index == prepared)
    behind = range(prepared + 1, len(instructions))
    loads = (index for index in behind if _loads_from(instructions[index], results))
    buffer = next(loads, None)
    if buffer is None or any(one.isa.control == "call" for one in instructions[behind[0] : buffer]):
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


def _loads_from(instruction: Instruction, places: Collection[str]) -> bool:
    """Whether an instruction loads from one of some parameters."""
    address = instruction.address
    is_load = instruction.modifiers[:2] == ("ld", "param")
    return is_load and address is not None and address.base in places

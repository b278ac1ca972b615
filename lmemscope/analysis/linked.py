"""A linked image as facts: each kernel's deepest path, what it reaches, what makes it unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from lmemscope.analysis.linked_depth import bounded, deepest_paths
from lmemscope.analysis.linked_graph import LinkedGraph, linked_graph
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.linked_image import ImageFunction, LinkedImage
from lmemscope.formats.nvlink_log import LinkedFigures
from lmemscope.model import (
    CallChain,
    Candidate,
    CycleCall,
    IndirectCall,
    IndirectKind,
    LinkDisagreement,
    LinkedFunction,
    LinkedKernel,
    LinkTimeFigures,
    PathStep,
    UnknownStack,
)

_RUNTIME = re.compile(r"cuda_device_runtime|^__?cuda|^cuda[A-Z]|^cnp")
"""Names of functions in ``libcudadevrt.a``, and of those that the driver provides to it."""
_TABLE = re.compile(r"^(?:vtable|construction vtable) for ")


@dataclass(frozen=True, slots=True)
class ObjectFunctions:
    """What an input of a link defines: registers by mangled name, before linking."""

    input: str
    registers: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Described:
    """An image's own functions and kernels, and how many kernels the device runtime brought.

    Attributes:
        kernels, functions: sorted by name.
        indirect: calls through pointers that the kernels reach.
        library_kernels: of CUDA's device runtime.
        unused_depths: names that the user stated a depth for and no function has.
    """

    kernels: tuple[LinkedKernel, ...]
    functions: tuple[LinkedFunction, ...]
    indirect: tuple[IndirectCall, ...]
    library_kernels: int
    unused_depths: tuple[str, ...]


@dataclass(slots=True)
class _Named:
    """Functions of the image as reports name them."""

    graph: LinkedGraph
    objects: Sequence[ObjectFunctions]
    figures: Mapping[str, LinkedFigures]
    known: dict[int, LinkedFunction] = field(default_factory=dict)

    def function(self, index: int) -> LinkedFunction:
        found = self.known.get(index)
        if found is None:
            found = self.known[index] = self._made(self.graph.functions[index])
        return found

    def _made(self, function: ImageFunction) -> LinkedFunction:
        homes = [one for one in self.objects if function.name in one.registers]
        # Of a template's instance the first object's code is taken; static ones are all kept, and
        # files of one name in two directories may give theirs the same.
        home = homes[0] if homes and not (function.is_local and len(homes) > 1) else None
        linked = self.figures.get(function.name)
        return LinkedFunction(
            name=function.name,
            demangled=_spelled(function.name),
            kind="entry" if function.is_entry else "function",
            input=home.input if home is not None else None,
            library=home is None and _RUNTIME.search(function.name) is not None,
            registers=linked.registers if linked is not None else function.registers,
            stack_frame=function.stack_frame,
            load_sites=function.load_sites,
            store_sites=function.store_sites,
            from_object=home.registers[function.name] if home is not None else None,
        )


def describe(
    image: LinkedImage,
    figures: Mapping[str, LinkedFigures],
    objects: Sequence[ObjectFunctions],
    depths: Mapping[str, int],
) -> Described:
    """Describe a linked image.

    Args:
        image: as nvlink wrote it.
        figures: as nvlink printed them, by mangled name.
        objects: what the inputs define; what none does may be the device runtime's.
        depths: how often a function may be on the stack at a time, by its name in the source.
    """
    graph = linked_graph(image)
    named = _Named(graph, objects, figures)
    stated, unused = _stated(graph, depths)
    mine = [i for i, one in graph.functions.items() if one.is_defined]
    own = [index for index in mine if not named.function(index).library]
    kernels = [i for i in own if graph.functions[i].is_entry]
    brought = [i for i in mine if graph.functions[i].is_entry and named.function(i).library]
    paths = deepest_paths(graph)
    described = (_kernel(index, graph, named, stated, paths[index]) for index in kernels)
    return Described(
        kernels=tuple(sorted(described, key=lambda one: one.function.name)),
        functions=tuple(sorted(map(named.function, own), key=_by_name)),
        indirect=tuple(_indirect_calls(graph, named, kernels)),
        library_kernels=len(brought),
        unused_depths=unused,
    )


def with_link_time_figures(
    kernels: Iterable[LinkedKernel], optimised: LinkedImage
) -> tuple[LinkedKernel, ...]:
    """Kernels with what link-time optimisation makes of each; those that it lacks as they are."""
    graph = linked_graph(optimised)
    entries = {one.name: one for one in optimised.functions.values() if one.is_entry}
    made = []
    for kernel in kernels:
        after = entries.get(kernel.function.name)
        if after is None:
            made.append(kernel)
            continue
        every = [graph.functions[index] for index in graph.reached(after.index)]
        figures = LinkTimeFigures(
            registers=after.registers,
            stack_frame=after.stack_frame,
            linked_stack=after.min_stack if after.stack_known else None,
            stack_known=after.stack_known,
            load_sites=sum(one.load_sites for one in every),
            store_sites=sum(one.store_sites for one in every),
        )
        made.append(replace(kernel, lto=figures))
    return tuple(made)


def _spelled(name: str) -> str:
    """C++ spelling of a function, and of a copy that ptxas makes of one: ``_Z1fv$1``."""
    return demangle(name.partition("$")[0] or name)


def _by_name(function: LinkedFunction) -> tuple[str, str]:
    return function.name, function.input or ""


def _stated(
    graph: LinkedGraph, depths: Mapping[str, int]
) -> tuple[dict[int, int], tuple[str, ...]]:
    """Depths by function, and the names that are no function's."""
    found: dict[int, int] = {}
    used: set[str] = set()
    for index, function in graph.functions.items():
        spelled = short_name(_spelled(function.name))
        plain = spelled.partition("<")[0]
        names = (function.name, spelled, plain, plain.rpartition("::")[2])
        said = next((name for name in names if name in depths), None)
        if said is not None:
            found[index] = depths[said]
            used.add(said)
    return found, tuple(name for name in depths if name not in used)


def _kernel(
    index: int, graph: LinkedGraph, named: _Named, depths: Mapping[int, int], path: Sequence[int]
) -> LinkedKernel:
    function = named.function(index)
    own = graph.functions[index]
    reached = graph.reached(index)
    local = [
        named.function(i)
        for i in reached
        if i != index and graph.functions[i].is_defined and _uses_memory(graph.functions[i])
    ]
    path_bytes = sum(map(graph.frame, path))
    known = own.stack_known
    recursions = sorted({graph.component[i] for i in reached} & graph.recursive)
    bound = None
    if not known and recursions:
        bound = bounded(graph, index, depths)
    return LinkedKernel(
        function=function,
        linked_stack=own.min_stack if known else None,
        stack_known=known,
        path=CallChain(
            tuple(_step(graph, named, path, place) for place in range(len(path))),
            path_bytes,
        ),
        least_stack=path_bytes,
        bound=bound,
        reaches=tuple(sorted({one.name for one in local})),
        elsewhere=tuple(sorted({one.name for one in local if one.input != function.input})),
        indirect=tuple(
            sorted({graph.functions[i].name for i in reached if graph.candidates.get(i)})
        ),
        unknown=()
        if known
        else tuple(
            _recursion(graph, named, number, depths, is_bounded=bound is not None)
            for number in recursions
        ),
        disagreements=tuple(_disagreements(own, named.figures.get(own.name), path_bytes)),
    )


def _disagreements(
    own: ImageFunction, said: LinkedFigures | None, path: int
) -> Iterator[LinkDisagreement]:
    """Of three sources for one number; without recursion the path is exact."""
    stacks: dict[str, int | None] = {"call graph": path, "image": own.min_stack}
    registers = {"image": own.registers}
    if said is not None:
        stacks["nvlink"] = said.stack
        registers["nvlink"] = said.registers
    for quantity, values in (("linked_stack", stacks), ("registers", registers)):
        found = {source: value for source, value in values.items() if value is not None}
        if len(set(found.values())) > 1 and (quantity == "registers" or own.stack_known):
            yield LinkDisagreement(quantity, tuple(sorted(found.items())))


def _uses_memory(function: ImageFunction) -> bool:
    return bool(function.stack_frame or function.load_sites or function.store_sites)


def _step(graph: LinkedGraph, named: _Named, path: Sequence[int], place: int) -> PathStep:
    function = named.function(path[place])
    return PathStep(
        name=function.name,
        demangled=function.demangled,
        input=function.input,
        stack_frame=graph.frame(path[place]),
        by="kernel" if place == 0 else graph.callees[path[place - 1]][path[place]],
    )


def _indirect_calls(
    graph: LinkedGraph, named: _Named, kernels: Iterable[int]
) -> list[IndirectCall]:
    callers = {i for kernel in kernels for i in graph.reached(kernel) if i in graph.candidates}
    calls = [
        _indirect(graph, named, caller, signature)
        for caller in callers
        for signature in graph.candidates[caller]
    ]
    return sorted(calls, key=lambda call: (call.caller, call.signature, call.input or ""))


def _indirect(graph: LinkedGraph, named: _Named, caller: int, signature: str) -> IndirectCall:
    function = named.function(caller)
    found = [
        Candidate(
            name=one.name,
            demangled=one.demangled,
            input=one.input,
            stack_frame=one.stack_frame,
            held_in=tuple(sorted(map(demangle, graph.holders.get(index, ())))),
        )
        for index in graph.candidates[caller][signature]
        for one in (named.function(index),)
    ]
    kind: IndirectKind = "pointer" if found else "unknown"
    if found and all(one.held_in and all(map(_TABLE.match, one.held_in)) for one in found):
        kind = "virtual"
    return IndirectCall(
        caller=function.name,
        demangled=function.demangled,
        input=function.input,
        kind=kind,
        signature=signature,
        candidates=tuple(sorted(found, key=lambda one: one.name)),
    )


def _recursion(
    graph: LinkedGraph,
    named: _Named,
    number: int,
    depths: Mapping[int, int],
    *,
    is_bounded: bool,
) -> UnknownStack:
    members = graph.members(number)
    return UnknownStack(
        cycle=tuple(
            CycleCall(
                caller=one.name,
                demangled=one.demangled,
                input=one.input,
                stack_frame=graph.frame(index),
                kind=kind,
            )
            for index, kind in graph.shortest_cycle(members)
            for one in (named.function(index),)
        ),
        size=len(members),
        depths=tuple(sorted((graph.functions[i].name, depths[i]) for i in members if i in depths)),
        bounded=is_bounded,
    )

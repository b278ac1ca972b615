"""The launches of a unit's kernels: what PTX shows, with the lines and words of the source.

Where a cubin carries no PTX, the relocations of its code still show that the device runtime is
called, and which kernels' addresses are taken beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.analysis.launch_calls import LaunchCall, Places, merged
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.handed import Pointed, Pointers
from lmemscope.analysis.ptx.launching import LAUNCHES, LaunchSite, launch_sites
from lmemscope.formats.cubin import FunctionRecord
from lmemscope.formats.demangle import demangle, plain_name, short_name
from lmemscope.formats.ptx_body import Instruction
from lmemscope.model import (
    HandedPointer,
    KernelFacts,
    Launch,
    LocalObject,
    SourceLocation,
    WrittenLaunch,
    base_name,
)

_CLONE = re.compile(r"\$\d+$")
"""What NVVM appends to the name of a copy of a function that it makes for the module's own use."""


def with_launches(layers: Layers, facts: Sequence[KernelFacts]) -> tuple[KernelFacts, ...]:
    """The facts with the launches of each kernel and separately compiled function.

    Args:
        layers: the unit's.
        facts: of its kernels, explained: pointers that are handed over name their objects.
    """
    if not _may_launch(layers):
        return tuple(facts)
    finder = _Finder(layers)
    return tuple(replace(one, launches=tuple(finder.launches(one))) for one in facts)


def unseen(layers: Layers, facts: Iterable[KernelFacts]) -> tuple[Launch, ...]:
    """Launches that only the source has, because none of the kernels they are in was compiled.

    Of a kernel that was, as one instance of a template, the code says what it launches.
    """
    source = layers.artifacts.source
    if source is None:
        return ()
    compiled = {plain_name(one.demangled) for one in facts}
    return tuple(
        one.alone(layers.artifacts.unit.input)
        for one in source.device_launches
        if compiled.isdisjoint((one.function, *one.kernels))
    )


def _may_launch(layers: Layers) -> bool:
    if layers.flow is None:
        elf = layers.cubin.elf
        return elf.may_name("LaunchDevice") and any(
            LAUNCHES.fullmatch(symbol.name) for symbol in elf.symbols
        )
    callees = layers.flow.callees.values()
    return any(LAUNCHES.fullmatch(name) for called in callees for name in called)


class _Finder:
    def __init__(self, layers: Layers) -> None:
        self._layers, self._lines = layers, layers.lines
        self._written = list(_of_source(layers))

    def launches(self, facts: KernelFacts) -> Iterator[Launch]:
        """In the order of their lines."""
        flow = self._layers.flow
        if flow is None:
            yield from self._of_relocations(facts)
            return
        places: dict[object, list[int]] = {}
        sites = [(site, self._place(flow, facts, site)) for site in launch_sites(flow, facts.name)]
        for site, place in sites:
            places.setdefault((site.function, place, site.children), []).append(site.index)
        found = [
            launch
            for site, place in sites
            for launch in self._of_site(
                flow, facts, site, place, places[site.function, place, site.children]
            )
        ]
        yield from sorted(merged(found), key=_order)

    def _of_site(
        self,
        flow: ModuleFlow,
        facts: KernelFacts,
        site: LaunchSite,
        place: SourceLocation | None,
        beside: Sequence[int],
    ) -> Iterator[LaunchCall]:
        """The launches of a call, of which others (``beside``, with itself) may share the line."""
        code = flow.dataflow(site.function)
        assert code is not None
        pointers = Pointers(flow, facts.name)
        handed = tuple(
            self._handed(facts, site, argument.index, argument.offset, found)
            for argument in site.arguments
            if argument.is_pointer
            for found in sorted(pointers.of(site.function, argument.index, argument.value))
        )
        chain = self._around(site, code.body.instructions, place)
        children: tuple[str | None, ...] = site.children
        for child in children if site.is_complete else (*children, None):
            spelled = demangle(child) if child is not None else None
            said, many = self._said(place, spelled, site, beside)
            yield LaunchCall(
                chain,
                many,
                Launch(
                    child=child,
                    demangled=spelled,
                    location=place
                    if said is None or place is None
                    else replace(place, line=said.line),
                    function=site.function,
                    seen="ptx",
                    grid=site.grid,
                    block=site.block,
                    shared=site.shared,
                    stream=site.stream,
                    loop_depth=code.flow.depth(site.index),
                    written=said.configuration if said is not None else None,
                    handed=tuple(dict.fromkeys(handed)),
                ),
            )

    def _place(
        self, flow: ModuleFlow, facts: KernelFacts, site: LaunchSite
    ) -> SourceLocation | None:
        """The line that launches: of the chain, the one that the source has a launch on."""
        code = flow.dataflow(site.function)
        assert code is not None
        chain = self._lines.of_instruction(code.body.instructions[_told(site)])
        for frame in chain:
            if self._written_on(frame.location):
                return frame.location
        return self._lines.reader_line(chain, facts.name)

    def _handed(
        self, facts: KernelFacts, site: LaunchSite, index: int, offset: int, found: Pointed
    ) -> HandedPointer:
        assert self._layers.flow is not None
        code = self._layers.flow.dataflow(site.function)
        assert code is not None
        own = _object_of(facts, found) if found.space == "local" else None
        return HandedPointer(
            space=found.space,
            offset=offset,
            function=found.function,
            object=own.name if own is not None else None,
            type=own.type if own is not None else None,
            declared=own.declared if own is not None else None,
            size=own.size if own is not None else None,
            ptx_line=code.body.instructions[index].line,
            through=tuple(short_name(demangle(_CLONE.sub("", one))) for one in found.through),
        )

    def _around(
        self, site: LaunchSite, code: Sequence[Instruction], place: SourceLocation | None
    ) -> Places:
        """The line that launches, and those that it is inlined at, innermost first."""
        chain = [frame.location for frame in self._lines.of_instruction(code[_told(site)])]
        return tuple(chain[chain.index(place) :] if place in chain else chain)

    def _written_on(self, place: SourceLocation) -> list[WrittenLaunch]:
        return [
            one
            for file, one in self._written
            if file == place.file and one.line <= place.line <= one.end_line
        ]

    def _said(
        self,
        place: SourceLocation | None,
        child: str | None,
        site: LaunchSite,
        beside: Sequence[int],
    ) -> tuple[WrittenLaunch | None, int]:
        """The launch in the source that a call is made of; None where it may be one of several.

        Also how many of the line's it may be; 0 where no text tells.

        PTX has no columns that tell launches on a line apart, but what is constant in it must be so
        in the text; else calls stand in the order of the text, where there are as many.
        """
        found = self._written_on(place) if place is not None else []
        name = short_name(child) if child is not None else ""
        exact = [one for one in found if one.child == name]
        named = [one for one in found if one.base == base_name(name)]
        alike = exact or named or found
        fitting = [one for one in alike if _fits(one, site)] or alike
        if len({one.configuration for one in fitting}) == 1:
            return fitting[0], len(fitting)
        same = alike[beside.index(site.index)] if len(alike) == len(beside) else None
        if same is None or same not in fitting:
            return None, len(fitting)
        return same, sum(one.configuration == same.configuration for one in fitting)

    def _of_relocations(self, facts: KernelFacts) -> Iterator[Launch]:
        """What a cubin without PTX shows: the calls, and kernels whose addresses are beside them.

        Neither tells which call launches which kernel, nor with how many threads.
        """
        cubin = self._layers.cubin
        functions = cubin.records
        seen: dict[str, tuple[str, ...]] = {}
        work = [facts.name]
        while work:
            name = work.pop(0)
            if name in functions and name not in seen:
                seen[name] = cubin.names_meant(functions[name])
                work += [one for one in seen[name] if _is_function(functions, one)]
        for name, meant in seen.items():
            if not any(LAUNCHES.fullmatch(symbol) for symbol in meant):
                continue
            kernels: list[str | None] = [
                one for one in meant if one in functions and not _is_function(functions, one)
            ]
            for child in kernels or [None]:
                spelled = demangle(child) if child is not None else None
                yield Launch(child, spelled, facts.location, name, "cubin", "unknown")


def _fits(written: WrittenLaunch, site: LaunchSite) -> bool:
    """Whether no constant of a launch's text is another one in PTX."""
    texts = (*written.grid, *written.block, written.shared)
    codes = (*site.grid, *site.block, site.shared)
    streams = {written.stream, site.stream} - {"named", "unknown"}
    pairs = zip(texts, codes, strict=True)
    return len(streams) < 2 and all(None in pair or pair[0] == pair[1] for pair in pairs)


def _told(site: LaunchSite) -> int:
    """The call whose line is the launch's: the first of the two."""
    return site.index if site.prepared is None else site.prepared


def _is_function(functions: Mapping[str, FunctionRecord], name: str) -> bool:
    return name in functions and functions[name].kind == "function"


def _of_source(layers: Layers) -> Iterator[tuple[str, WrittenLaunch]]:
    """All launches of the file and its headers, with the files as a reader knows them."""
    source = layers.artifacts.source
    if source is None:
        return
    for one in source.device_launches:
        yield layers.artifacts.unit.input, one
    for header in source.headers:
        place = layers.paths.shown(SourceLocation(header.path, 0))
        for one in header.source.device_launches:
            yield place.file, one


def _object_of(facts: KernelFacts, found: Pointed) -> LocalObject | None:
    places = [
        one
        for one in facts.objects
        if one.function == found.function and one.offset <= found.offset < one.offset + one.size
    ]
    return min(places, key=lambda one: one.size, default=None)


def _order(launch: Launch) -> tuple[str, int, str]:
    place = launch.location
    return (place.file, place.line, launch.child or "") if place is not None else ("", 0, "")

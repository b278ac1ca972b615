"""Where each ``LDL``/``STL`` comes from: decided here, once, for facts and causes alike.

The PTX line is the join. What ptxas marks as a spill is one, but for a function's stores of its
caller's barrier registers (`lmemscope.formats.barriers`). A site on the line of a PTX access of
local memory that goes the same way is the program's own. On any other line its address decides: in
the bytes of an object it is an access that ptxas moved there, among the arguments of a call it
passes one (`stack_arguments`), elsewhere ptxas made it to save a register. Without a PTX line
nothing can be told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from lmemscope.analysis.depots import Depots, PlacedAccess
from lmemscope.analysis.frame import Placement
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.flow import is_generic_access, may_become
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.stack_arguments import passed_on_line, stack_arguments
from lmemscope.formats.cubin import Cubin, CubinFunction
from lmemscope.formats.demangle import original_name
from lmemscope.formats.line_table import line_at
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.sites import STACK_POINTER, Site

OriginKind = Literal["spill", "save", "argument", "object", "unknown"]
"""``spill``: ptxas marks it. ``save``: made by ptxas and not marked, or to keep a barrier register
of the caller's. ``argument``: a call's value on the stack. ``object``: an access of the program's
own. ``unknown``: no PTX line."""
_ROUTINES = ("__cuda", "$__internal")
"""How the names of routines begin that ptxas adds; a linker adds other functions, too."""
_Bytes: TypeAlias = tuple[int | None, int | None, int, int, bool]
"""What a site moves: its address registers, displacement and width, and whether it stores."""


class Origin(Struct, frozen=True):
    """Where a site comes from.

    Attributes:
        kind: decides which ledger entry and which causes are possible.
        ptx_line: line in the PTX text, or None.
        function: mangled name of the PTX function that holds the line, or None.
        instruction: index of the PTX access in that function; of an ``object`` or ``argument``.
        by_place: the address led to the access; the site itself carries another line.
    """

    kind: OriginKind
    ptx_line: int | None
    function: str | None
    instruction: int | None
    by_place: bool = False


_MARKED = Origin("spill", None, None, None)
_UNKNOWN = Origin("unknown", None, None, None)
"""Of a site of machine code alone: marks are all that it tells."""


def access_of(flow: ModuleFlow | None, origin: Origin) -> tuple[Dataflow, Instruction] | None:
    """The PTX access that a site comes from, and its function; None where it is not known."""
    if flow is None or origin.function is None or origin.instruction is None:
        return None
    dataflow = flow.dataflow(origin.function)
    assert dataflow is not None
    return dataflow, dataflow.body.instructions[origin.instruction]


def on_line_of(flow: ModuleFlow | None, origin: Origin) -> Iterator[tuple[Dataflow, int]]:
    """The PTX instructions on a site's line, and their function."""
    if flow is not None and origin.function is not None and origin.ptx_line is not None:
        dataflow = flow.dataflow(origin.function)
        if dataflow is not None:
            yield from ((dataflow, index) for index in dataflow.by_line.get(origin.ptx_line, ()))


class Origins:
    """Origins of a cubin's sites.

    Args:
        flow: analyses of the PTX, or None where there is none.
        cubin: for its line table.
    """

    def __init__(self, flow: ModuleFlow | None, cubin: Cubin) -> None:
        self._flow, self._cubin = flow, cubin
        self._known: dict[tuple[str, int], Origin] = {}
        self._told: dict[tuple[str, int], Origin] = {}
        self._accesses: dict[tuple[int, bool], int | None] = {}
        self._depots: dict[tuple[str, int], Depots] = {}
        self._arguments: dict[tuple[str, int], dict[int, PlacedAccess]] = {}
        self._callers: dict[tuple[str, int], frozenset[int]] = {}
        self._saves: dict[tuple[str, int], dict[_Bytes, frozenset[int]]] = {}

    def of(self, kernel: CubinFunction, site: Site) -> Origin:
        """The origin of a site in a kernel's code section, its callees' included."""
        if self._flow is None and kernel.section not in self._cubin.ptx_lines:
            return _MARKED if site.spill_refill else _UNKNOWN
        key = (kernel.section, site.pc)
        if key not in self._known:
            self._known[key] = self._decide(kernel, site)
        return self._known[key]

    def _decide(self, kernel: CubinFunction, site: Site) -> Origin:
        found = self._by_line(kernel, site)
        flow, line, name = self._flow, found.ptx_line, found.function
        if found.kind == "unknown" or flow is None:
            return found
        # Each function has a stack pointer of its own.
        body = kernel.body_at(site.pc)
        if found.kind == "spill":
            kept = site.pc in self._barriers(body)
            return Origin("save", line, name, None) if kept else found
        if line is None or name is None:
            return found
        on_stack = site.base == STACK_POINTER and site.uniform_base is None
        if found.kind == "object":
            is_restore = on_stack and self._is_restore(flow, kernel, body, site, found)
            return Origin("save", line, name, None) if is_restore else found
        access = None
        if on_stack:
            access = self._placed(flow, kernel, body).access(site, name, line)
        if access is None:
            passed = self._passed(flow, kernel, body).get(site.pc)
            if passed is None:
                return found
            moved = passed.line != line
            return Origin("argument", passed.line, passed.function, passed.instruction, moved)
        return Origin("object", access.line, access.function, access.instruction, by_place=True)

    def _by_line(self, kernel: CubinFunction, site: Site) -> Origin:
        """What a site's line alone says; all sites of a body are asked for each question."""
        key = (kernel.section, site.pc)
        if key not in self._told:
            self._told[key] = self._on_line(kernel, site)
        return self._told[key]

    def _on_line(self, kernel: CubinFunction, site: Site) -> Origin:
        entry = line_at(self._cubin.ptx_lines.get(kernel.section, []), site.pc)
        line = entry.line if entry is not None and entry.line > 0 else None
        flow = self._flow
        found = flow.ptx.function_at(line) if flow is not None and line is not None else None
        name = found.name if found is not None else None
        if site.spill_refill:
            return Origin("spill", line, name, None)
        if flow is not None and line is None and _is_ptxas_own(flow, kernel, site):
            return Origin("save", line, name, None)
        if flow is None or line is None:
            return Origin("unknown", line, name, None)
        index = self._access(flow, name, line, site.is_store) if name is not None else None
        if name is None or index is None or _is_save(flow, kernel.name, name, index, site):
            return Origin("save", line, name, None)
        return Origin("object", line, name, index)

    def _is_restore(
        self,
        flow: ModuleFlow,
        kernel: CubinFunction,
        body: CubinFunction,
        site: Site,
        found: Origin,
    ) -> bool:
        """Whether a site has an object's line, but the place of a register that the body saves.

        On other lines than an object's the body goes the other way at the very same bytes, and the
        depot is known not to have the access's place there; or nothing tells where it has it, and
        the same register goes both ways.
        """
        saved = self._saved(kernel, body, site)
        placed = _placement(flow, found, site) if saved else None
        is_there = self._placed(flow, kernel, body).is_there(placed) if placed is not None else None
        return site.register in saved if is_there is None else not is_there

    def _saved(self, kernel: CubinFunction, body: CubinFunction, site: Site) -> frozenset[int]:
        """Registers that the body moves the other way at a site's bytes, on other lines than an
        object's."""
        key = (kernel.section, body.start)
        if key not in self._saves:
            moved: dict[_Bytes, set[int]] = defaultdict(set)
            for one in body.sites:
                if self._by_line(kernel, one).kind == "save":
                    moved[_bytes_of(one, is_store=one.is_store)].add(one.register)
            self._saves[key] = {place: frozenset(found) for place, found in moved.items()}
        return self._saves[key].get(_bytes_of(site, is_store=not site.is_store), frozenset())

    def _barriers(self, body: CubinFunction) -> frozenset[int]:
        """Sites by which a body keeps its caller's barrier registers, which ptxas marks, too."""
        key = (body.section, body.start)
        if key not in self._callers:
            self._callers[key] = self._cubin.callers_barriers(body)
        return self._callers[key]

    def _placed(self, flow: ModuleFlow, kernel: CubinFunction, body: CubinFunction) -> Depots:
        """The depots in a body's frame, as the lines of its other sites place them."""
        key = (kernel.section, body.start)
        if key not in self._depots:
            placements = []
            for site in body.sites:
                origin = self._by_line(kernel, site)
                placed = _placement(flow, origin, site) if origin.kind == "object" else None
                # What may restore a register says nothing of where objects are.
                if placed and site.register not in self._saved(kernel, body, site):
                    placements.append(placed)
            self._depots[key] = Depots(flow, placements, body.stack_frame)
        return self._depots[key]

    def _passed(
        self, flow: ModuleFlow, kernel: CubinFunction, body: CubinFunction
    ) -> dict[int, PlacedAccess]:
        """Sites of a body that pass arguments on the stack."""
        key = (kernel.section, body.start)
        if key not in self._arguments:
            saves = []
            lines = {}
            for site in body.sites:
                origin = self._by_line(kernel, site)
                if origin.kind != "save" or origin.function is None or origin.ptx_line is None:
                    continue
                saves.append(site)
                passed = passed_on_line(flow, origin.function, origin.ptx_line, site.is_store)
                if passed is not None:
                    lines[site.pc] = passed
            self._arguments[key] = stack_arguments(saves, body.sites, lines)
        return self._arguments[key]

    def _access(self, flow: ModuleFlow, name: str, line: int, is_store: bool) -> int | None:
        """The first PTX access on a line that can have become a load, or a store."""
        key = (line, is_store)
        if key not in self._accesses:
            self._accesses[key] = _first_access(flow, name, line, is_store)
        return self._accesses[key]


def _first_access(flow: ModuleFlow, name: str, line: int, is_store: bool) -> int | None:
    dataflow = flow.dataflow(name) if flow.may_access_local(name) else None
    if dataflow is None:
        return None
    instructions = dataflow.body.instructions
    return next(
        (
            index
            for index in dataflow.by_line.get(line, ())
            if may_become(instructions[index].opcode, is_store)
        ),
        None,
    )


def _is_ptxas_own(flow: ModuleFlow, kernel: CubinFunction, site: Site) -> bool:
    """Whether a site of a routine that ptxas adds, for a division or a root, saves a register.

    No PTX has the routine, and it has no objects: its frame holds what it keeps for its callers.
    """
    body = kernel.body_at(site.pc)
    is_routine = body.kind == "function" and body.name.startswith(_ROUTINES)
    is_routine = is_routine and flow.ptx.function(original_name(body.name)) is None
    return is_routine and site.base == STACK_POINTER and site.uniform_base is None


def _bytes_of(site: Site, *, is_store: bool) -> _Bytes:
    return site.base, site.uniform_base, site.displacement, site.width, is_store


def _placement(flow: ModuleFlow, origin: Origin, site: Site) -> Placement | None:
    """What a site at a constant place of a depot tells of the frame."""
    objects = flow.objects(origin.function) if origin.function is not None else None
    if objects is None or origin.function is None or origin.instruction is None:
        return None
    access = objects.access_at.get(origin.instruction)
    if access is None or access.offset is None or site.base != STACK_POINTER:
        return None
    return Placement(origin.function, site, access.offset, access.width)


def _is_save(flow: ModuleFlow, kernel: str, name: str, index: int, site: Site) -> bool:
    """Whether a site only shares the line of an access through a pointer that leads elsewhere.

    A caller's pointer leads to no fixed place of this function's frame, unless the caller's object
    is known, and one out of memory to none at all; so an access relative to the stack pointer
    saves or restores a register, unless its place is an object's.
    """
    objects = flow.objects(name)
    if objects is None or site.base != STACK_POINTER:
        return False
    if not is_generic_access(objects.body.instructions[index].opcode):
        return False
    access = objects.access_at.get(index)
    if access is None:
        return True
    only_pointers = {pointee.kind for pointee in access.pointees} == {"parameter"}
    return only_pointers and not flow.owners(kernel, name, access.pointees)

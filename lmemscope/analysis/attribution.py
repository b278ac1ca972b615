"""Every ``LDL``/``STL`` gets one cause, and the object it belongs to where there is one.

The PTX line is the join: it leads from a machine instruction to the PTX instruction, whose address
leads to the stack object. What no PTX access explains was made by ptxas: a spill where it is
marked as one, a saved register in a function that is called, the frame of a call.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from lmemscope.analysis.causes import ObjectCause, accesses_of_callees, is_dynamic, object_cause
from lmemscope.analysis.frame import frame_map
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.ledger import shares
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.flow import is_generic_access, may_become
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.slicing import Leaf, worst
from lmemscope.analysis.ptx.uniformity import requests_per_access, sectors_per_request
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.line_table import line_at
from lmemscope.formats.ptx_body import Address
from lmemscope.formats.sites import STACK_POINTER, Site
from lmemscope.model import (
    CallFacts,
    Cause,
    Evidence,
    IndexFacts,
    IndexSource,
    KernelFacts,
    LocalAccess,
    LocalObject,
    SourceLocation,
    SourceText,
    Uniformity,
    traits_of,
)

_CALL_PARTS = frozenset({"call", "ret"})
_ObjectKey = tuple[str, int]


def needs_attribution(facts: KernelFacts) -> bool:
    """Whether a kernel has any local memory to explain."""
    sass = facts.sass
    return bool(facts.stack_frame) or (sass is not None and sass.ldl + sass.stl > 0)


class Attributor:
    """Attribution for the kernels of one unit.

    Args:
        layers: the unit's layers.
        names: variable names, possibly none.
        sources: the user's files.
    """

    def __init__(self, layers: Layers, names: Names | None, sources: SourceText) -> None:
        self._layers, self._names, self._sources = layers, names, sources
        self._module = ModuleFlow(layers.ptx) if layers.ptx is not None else None
        self._functions = {function.name: function for function in layers.cubin.functions}
        self._debug = layers.ptx is not None and layers.ptx.is_debug
        self._paths = layers.paths

    def calls(self, kernel: str) -> CallFacts | None:
        """The call graph below a kernel, or None without PTX."""
        return self._module.calls(kernel) if self._module is not None else None

    def attribute(self, facts: KernelFacts) -> KernelFacts:
        """The facts with objects, accesses, frame map, ledgers and call graph."""
        function = self._functions[facts.name]
        kernel = _Kernel(self, facts, function)
        return kernel.result()


class _Kernel:
    """The attribution of one kernel."""

    def __init__(self, unit: Attributor, facts: KernelFacts, function: CubinFunction) -> None:
        self._facts, self._function = facts, function
        self._layers, self._names, self._sources = unit._layers, unit._names, unit._sources
        self._module, self._debug = unit._module, unit._debug
        self._reached = self._module.reached(facts.name) if self._module is not None else ()
        self._keys: dict[_ObjectKey, int] = {}
        self._objects: list[LocalObject] = []
        self._paths = unit._paths
        self._offsets: list[tuple[_ObjectKey, Site, int]] = []

    def result(self) -> KernelFacts:
        self._find_objects()
        accesses = tuple(self._access(site) for site in self._function.all_sites)
        frame = frame_map(
            self._facts.stack_frame,
            self._function,
            accesses,
            self._objects,
            self._offsets,
        )
        promoted = not self._facts.stack_frame and not accesses
        objects = tuple(
            replace(found, cause="promoted") if promoted else found for found in self._objects
        )
        return replace(
            self._facts,
            objects=objects,
            accesses=accesses,
            generic=self._generic(),
            frame=frame,
            causes=shares(accesses, frame, objects),
            calls=self._module.calls(self._facts.name) if self._module is not None else None,
        )

    def _find_objects(self) -> None:
        """Objects of every function that the kernel reaches."""
        if self._module is None:
            return
        inside = {self._function.name, *(callee.name for callee in self._function.callees)}
        for name in self._reached:
            function = self._module.ptx.function(name)
            if function is None or not function.survey.declarations:
                continue
            if name not in inside and self._has_own_section(name):
                continue
            objects = self._module.objects(name)
            assert objects is not None
            found = list(objects.objects.values())
            causes = {
                item.offset: object_cause(self._module, self._facts.name, objects, item)
                for item in found
            }
            named = self._named(objects, found, causes)
            for item in found:
                made = self._object(objects, item, causes[item.offset], named.get(item.offset))
                self._add(made, (name, item.offset))

    def _add(self, made: LocalObject, key: _ObjectKey) -> None:
        """Add an object; the pieces of one variable that the compiler split are one object."""
        last = self._objects[-1] if self._objects else None
        if (
            last is not None
            and made.name is not None
            and (last.function, last.name, last.declared)
            == (made.function, made.name, made.declared)
            and last.cause == made.cause
            and last.offset + last.size == made.offset
        ):
            self._objects[-1] = replace(last, size=last.size + made.size)
        else:
            self._objects.append(made)
        self._keys[key] = len(self._objects) - 1

    def _has_own_section(self, name: str) -> bool:
        return any(function.name == name for function in self._layers.cubin.functions)

    def _named(
        self,
        objects: FunctionObjects,
        found: list[StackObject],
        causes: dict[int, ObjectCause],
    ) -> dict[int, ObjectName]:
        if self._names is None:
            return {}
        wanted = [item for item in found if traits_of(causes[item.offset].cause).named]
        return self._names.of_objects(objects, wanted)

    def _object(
        self,
        objects: FunctionObjects,
        found: StackObject,
        cause: ObjectCause,
        named: ObjectName | None,
    ) -> LocalObject:
        function = objects.dataflow.function.name
        size = named.size if named is not None and named.size < found.size else found.size
        return LocalObject(
            function=function,
            offset=found.offset,
            size=size,
            cause="debug-build" if self._debug else cause.cause,
            name=named.name if named is not None else None,
            type=named.type if named is not None else None,
            declared=self._paths.shown(named.declared) if named is not None else None,
            confidence=named.confidence if named is not None else None,
            index=self._index(objects, found, named),
            evidence=cause.evidence,
        )

    def _index(
        self, objects: FunctionObjects, found: StackObject, named: ObjectName | None
    ) -> IndexFacts | None:
        assert self._module is not None
        theirs = accesses_of_callees(self._module, self._facts.name, objects, found)
        own = [access for access in found.accesses if access.leaves]
        indexed = [*own, *theirs]
        # Initialising loops say nothing about why an array is indexed at run time.
        dynamic = [a for a in indexed if any(is_dynamic(leaf) for leaf in a.leaves)]
        leaves = frozenset(
            leaf for access in dynamic or indexed for leaf in access.leaves if leaf.kind != "symbol"
        )
        if not leaves:
            return None
        function = objects.dataflow.function.name
        sources = {self._source(function, leaf) for leaf in leaves}
        only_loops = all(not is_dynamic(leaf) for leaf in leaves)
        counters = [leaf.header for leaf in leaves if leaf.kind == "loop-counter"]
        header = min(counters, default=None)
        return IndexFacts(
            expression=self._expression(objects, own, named),
            sources=tuple(sorted(sources, key=str)),
            uniformity=worst([leaf.uniformity for leaf in leaves]),
            loop=self._loop_line(objects, header) if only_loops and header is not None else None,
        )

    def _expression(
        self,
        objects: FunctionObjects,
        accesses: list[PtxAccess],
        named: ObjectName | None,
    ) -> str | None:
        """The index as written on a line of an access; a run-time one is preferred."""
        if named is None or self._layers.ptx is None:
            return None
        last = named.name.rpartition(".")[2]
        dynamic = [a for a in accesses if any(is_dynamic(leaf) for leaf in a.leaves)]
        found: Counter[str] = Counter()
        for access in dynamic or accesses:
            for frame in self._layers.ptx.chain(objects.body.instructions[access.index]):
                place = frame.location
                text = self._sources.subscript(place.file, place.line, named.name)
                text = text or self._sources.subscript(place.file, place.line, last)
                text = text or self._sources.subscript(place.file, place.line, f".{last}")
                if text is not None:
                    found[text] += 1
                    break
        return found.most_common(1)[0][0] if found else None

    def _loop_line(self, objects: FunctionObjects, header: int) -> SourceLocation | None:
        assert self._layers.ptx is not None
        chain = self._layers.ptx.chain(objects.body.instructions[header])
        return self._paths.shown(chain[0].location) if chain else None

    def _source(self, function: str, leaf: Leaf) -> IndexSource:
        name, position = leaf.name, None
        if name is not None and "_param_" in name:
            owner, _, number = name.rpartition("_param_")
            position = int(number) if number.isdigit() else None
            known = self._names.parameter(owner, name) if self._names is not None else None
            name = known or f"parameter {number}"
        elif leaf.kind in ("thread-id", "block-id") and name is not None:
            base, _, dimension = name.lstrip("%").partition(".")
            name = _BUILTINS.get(base, base) + (f".{dimension}" if dimension else "")
        constant = leaf.constant_trip if leaf.kind == "loop-counter" else None
        return IndexSource(leaf.kind, name, position, constant)

    def _access(self, site: Site) -> LocalAccess:
        cubin = self._layers.cubin
        body = next(
            (c for c in self._function.callees if c.start <= site.pc < c.end), self._function
        )
        source = line_at(cubin.source_lines.get(self._function.section, []), site.pc)
        entry = line_at(cubin.ptx_lines.get(self._function.section, []), site.pc)
        ptx_line = entry.line if entry is not None and entry.line > 0 else None
        cause, found, uniformity, depth, evidence = self._explain(site, body, ptx_line)
        if site.is_uniform and site.base is None:
            uniformity = "uniform"
        return LocalAccess(
            pc=site.pc,
            opcode=site.opcode,
            is_store=site.is_store,
            width=site.width,
            function=body.name,
            ptx_line=ptx_line,
            chain=tuple(
                replace(frame, location=self._paths.shown(frame.location))
                for frame in (source.chain if source is not None else ())
            ),
            loop_depth=depth,
            cause=cause,
            object=found,
            uniformity=uniformity,
            sectors=sectors_per_request(uniformity),
            requests=requests_per_access(site.width),
            evidence=evidence,
        )

    def _generic(self) -> tuple[LocalAccess, ...]:
        """``LD``/``ST`` at PTX accesses whose address is local on every path."""
        if self._module is None or not self._objects:
            return ()
        table = self._layers.cubin.ptx_lines.get(self._function.section, [])
        result = []
        for site in self._layers.cubin.generic_sites(self._function):
            entry = line_at(table, site.pc)
            function = self._module.ptx.function_at(entry.line) if entry is not None else None
            if entry is None or function is None or function.name not in self._reached:
                continue
            objects = self._module.objects(function.name)
            assert objects is not None
            if any(objects.is_local(i) for i in objects.dataflow.by_line.get(entry.line, [])):
                access = self._access(site)
                if access.object is not None:
                    result.append(access)
        return tuple(result)

    def _explain(
        self, site: Site, body: CubinFunction, ptx_line: int | None
    ) -> tuple[Cause, int | None, Uniformity, int, tuple[Evidence, ...]]:
        """Cause, object, uniformity, loop depth and evidence of one site."""
        depth, indices, name = 0, [], None
        if self._module is not None and ptx_line is not None:
            function = self._module.ptx.function_at(ptx_line)
            name = function.name if function is not None else None
            dataflow = self._module.dataflow(name) if name is not None else None
            if dataflow is not None:
                indices = dataflow.by_line.get(ptx_line, [])
                depth = max((dataflow.flow.depth(index) for index in indices), default=0)
        if site.spill_refill:
            return self._made("register-spill"), None, "uniform", depth, (Evidence("spill-mark"),)
        if ptx_line is None or self._module is None:
            return self._made("unattributed"), None, "unknown", depth, ()
        if name is not None and indices:
            found = self._of_object(site, name, indices, ptx_line)
            if found is not None:
                return (*found[:3], depth, found[3])
        cause, evidence = self._made_by_ptxas(body, name, indices, ptx_line)
        return self._made(cause), None, "uniform", depth, evidence

    def _made(self, cause: Cause) -> Cause:
        return "debug-build" if self._debug else cause

    def _of_object(
        self, site: Site, name: str, indices: list[int], ptx_line: int
    ) -> tuple[Cause, int | None, Uniformity, tuple[Evidence, ...]] | None:
        """Attribution through the PTX access on the site's line, or None where there is none."""
        assert self._module is not None
        objects = self._module.objects(name)
        assert objects is not None
        for index in indices:
            opcode = objects.body.instructions[index].opcode
            if not may_become(opcode, site.is_store):
                continue
            evidence = (Evidence("ptx-instruction", ptx_line=ptx_line, opcode=opcode),)
            access = objects.access_at.get(index)
            if access is None:
                return self._made("unattributed"), None, "unknown", evidence
            owners = self._module.owner(self._facts.name, name, access.origins)
            known = sorted(self._keys[key] for key in owners if key in self._keys)
            uniformity = worst([leaf.uniformity for leaf in access.leaves])
            if any(origin.kind == "alloca" for origin in access.origins):
                return self._made("alloca"), None, uniformity, evidence
            if len(known) == 1:
                if access.offset is not None:
                    self._remember(site, owners, objects, index, access.offset)
                return self._objects[known[0]].cause, known[0], uniformity, evidence
            causes = {self._objects[number].cause for number in known}
            if len(causes) == 1:
                return causes.pop(), None, uniformity, evidence
            if any(origin.kind == "parameter" for origin in access.origins):
                if is_generic_access(opcode) and site.base == STACK_POINTER:
                    # Where a parameter points is in no fixed place of this function's frame.
                    return None
                return self._made("address-taken"), None, uniformity, evidence
            return self._made("unattributed"), None, uniformity, evidence
        return None

    def _remember(
        self,
        site: Site,
        owners: frozenset[_ObjectKey],
        objects: FunctionObjects,
        index: int,
        offset: int,
    ) -> None:
        """A site at a constant place tells where ptxas put the object in the frame."""
        (key,) = owners
        instruction = objects.body.instructions[index]
        if any(isinstance(operand, Address) for operand in instruction.operands):
            self._offsets.append((key, site, offset))

    def _made_by_ptxas(
        self, body: CubinFunction, name: str | None, indices: list[int], ptx_line: int
    ) -> tuple[Cause, tuple[Evidence, ...]]:
        """Causes of accesses that no PTX access explains and that are not marked as spills."""
        assert self._module is not None
        where = Evidence("no-local-access", ptx_line=ptx_line)
        calls = self._module.calls(self._facts.name)
        if body.kind == "function":
            if body.name in calls.recursive:
                return "call-frame", (Evidence("calls-itself", body.name), where)
            if calls.indirect and body.name not in calls.reached:
                return "call-frame", (Evidence("called-by-pointer", body.name), where)
            return "callee-save", (Evidence("called-directly", body.name), where)
        assert name is None or self._module is not None
        dataflow = self._module.dataflow(name) if name is not None else None
        for index in indices:
            parts = dataflow.body.instructions[index].modifiers if dataflow is not None else []
            if parts[:1] and (parts[0] in _CALL_PARTS or "param" in parts):
                opcode = ".".join(parts)
                seen = Evidence("ptx-instruction", ptx_line=ptx_line, opcode=opcode)
                return "call-frame", (seen,)
        reported = self._facts.ptxas
        if reported is not None and (reported.spill_stores or reported.spill_loads):
            said = Evidence("reported-spill", bytes=reported.spill_stores)
            return "register-spill", (said, where)
        if calls.reached or calls.indirect:
            return "call-frame", (where, Evidence("calls-without-spill"))
        return "unattributed", (where,)


_BUILTINS = {"tid": "threadIdx", "ctaid": "blockIdx"}

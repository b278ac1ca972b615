"""The stack objects of everything that a kernel reaches, with cause, name and index."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.causes import ProvenCause, cause_of_turn, object_causes
from lmemscope.analysis.handing import Handing
from lmemscope.analysis.indexing import IndexReader, LocalNames
from lmemscope.analysis.kept_addresses import compared_address, kept_address
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.library_buffers import Shared, apart
from lmemscope.analysis.lines import Lines
from lmemscope.analysis.members import Member, split
from lmemscope.analysis.mentions import same_function
from lmemscope.analysis.names import NamedObject, Names, ObjectName
from lmemscope.analysis.ptx.callgraph import ModuleFlow, ObjectKey
from lmemscope.analysis.ptx.flow import is_generic_access
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.points_to import Told
from lmemscope.analysis.ptx.trig import Reductions
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.ptx_body import Loc
from lmemscope.model import (
    Evidence,
    EvidenceKind,
    LocalObject,
    SourceLocation,
    SourceText,
    is_library,
    traits_of,
)

_OF_ACCESSES = frozenset({"volatile", "address-taken", "dynamic-index"})
"""Causes of a structure that an access of one member shows."""
_BY_INDEX = frozenset({"dynamic-index", "rolled-loop", "large-array"})


class KernelObjects:
    """A kernel's objects, and which one each PTX object belongs to.

    Attributes:
        listed: in the order of functions and offsets.
    """

    def __init__(self) -> None:
        self.listed: list[LocalObject] = []
        self._numbers: dict[ObjectKey, int] = {}
        self._members: dict[int, list[int]] = {}
        self._of_accesses: dict[tuple[ObjectKey, tuple[str, int]], list[int]] = {}

    def numbers(self, key: ObjectKey, access: tuple[str, int]) -> Sequence[int]:
        """Indices into ``listed``; none for an object of another kernel's.

        Args:
            key: the function that owns the object, and its depot offset.
            access: function and instruction, to tell the members of a structure apart.
        """
        whole = [self._numbers[key]] if key in self._numbers else []
        return self._of_accesses.get((key, access), whole)

    def members(self, number: int) -> Sequence[int]:
        """What one structure is divided in, of which an object is one: itself where it is whole.

        Variables that have one place in turn are no such parts.
        """
        found = self._members[number]
        names = {(self.listed[one].name or "").partition(".")[0] for one in found}
        return found if len(names) == 1 and "" not in names else (number,)

    def is_own(self, key: ObjectKey, access: tuple[str, int]) -> bool:
        """Whether it is known which members an access is of."""
        return (key, access) in self._of_accesses

    def add(
        self, made: LocalObject, keys: Sequence[ObjectKey], accesses: Iterable[tuple[str, int]]
    ) -> None:
        """Add an object.

        Args:
            made: the object.
            keys: the pieces that it was made of.
            accesses: functions and instructions of those that are for sure this member's, or one's
                of several that each has them.
        """
        number = len(self.listed)
        self.listed.append(made)
        members = self._members.get(self._numbers.get(keys[0], number), [])
        members.append(number)
        self._members[number] = members
        self._numbers |= dict.fromkeys(keys, number)
        for one in accesses:
            for key in keys:
                self._of_accesses.setdefault((key, one), []).append(number)


def find_objects(
    layers: Layers, names: Names | None, sources: SourceText, kernel: CubinFunction
) -> KernelObjects:
    """Objects of every function that a kernel reaches, but for those compiled separately.

    Args:
        layers: the unit's.
        names: of variables, or None.
        sources: the user's files.
        kernel: its machine code.
    """
    result = KernelObjects()
    flow = layers.flow
    if flow is None:
        return result
    reached = (layers.origins.of(kernel, site).ptx_line for site in kernel.all_sites)
    executed = frozenset(line for line in reached if line is not None)
    reader, handing = IndexReader(layers, names, sources), Handing(layers, names)
    finder = _Finder(layers, flow, names, sources, kernel.name, executed, reader, handing)
    inside = {kernel.name, *(callee.name for callee in kernel.callees)}
    # What is called through pointers alone lies beside the kernel's code as well.
    callees = sorted(inside - {kernel.name})
    for name in dict.fromkeys((*flow.reached(kernel.name), *callees)):
        function = flow.ptx.function(name)
        if function is None or not function.survey.declarations:
            continue
        if name not in inside and _has_own_section(layers, name):
            continue
        objects, causes, listed = _listed(flow, names, kernel.name, name)
        if flow.tell(name, _told(layers, objects, listed)):
            objects, causes, listed = _listed(flow, names, kernel.name, name)
        called_from = layers.lines.calling(kernel.name, name)
        called = _called(listed)
        for named, members in listed:
            cause = _commonest([causes[offset] for offset in named.pieces])
            cause = _among_its_own(cause, objects, named)
            keys = [(name, offset) for offset in named.pieces]
            for member in members:
                made = finder.object_of(objects, named, member, cause, called)
                alone = member.found.accesses if len(members) > 1 else []
                if member.extent == "rest":
                    # What goes through the whole is no member's own.
                    alone = [one for one in alone if one.offset is not None]
                own = ((name, one.index) for one in alone)
                result.add(replace(made, called_from=called_from), keys, own)
    return result


class _Finder(Struct, frozen=True):
    """Objects of what one kernel reaches.

    Attributes:
        layers, names, sources: as of `find_objects`.
        flow: the layers'.
        kernel: mangled name.
        executed: PTX lines of the accesses that the machine code still has.
        reader, handing: for the indices and escapes of the unit's objects.
    """

    layers: Layers
    flow: ModuleFlow
    names: Names | None
    sources: SourceText
    kernel: str
    executed: frozenset[int]
    reader: IndexReader
    handing: Handing

    def object_of(
        self,
        objects: FunctionObjects,
        named: NamedObject,
        member: Member,
        cause: ProvenCause,
        called: LocalNames,
    ) -> LocalObject:
        """A member of what has a name, with the cause that is its own, its index and its escape."""
        proven = self._own_cause(objects, named, member, cause)
        if named.turns:
            own = cause_of_turn(self.flow, self.kernel, objects, member.found)
            proven = _among_its_own(own, objects, replace(named, found=member.found))
        proven = _with_holder(proven, objects, member.found, called)
        behind = _behind_test(proven, self.layers.lines, objects, member.found)
        if behind is not None:
            # Handed to a library by reference: its lines do not tell which variable it is.
            member, proven = replace(member, name=None, extent=None), behind
        if proven.cause == "volatile":
            member, proven = _of_volatile(member, proven, self.sources, self.layers, objects)
        where = (self.kernel, objects, member.found, member.name)
        index = self.reader.read(*where, called, self.executed)
        escape = self.handing.escape(*where, proven.evidence)
        if proven.cause == "unattributed":
            proven, escape = self._kept(objects, member) or (proven, escape)
        if proven.cause == "unattributed" and named.turns:
            # Its own uses keep nothing in memory: which are whose is not known for sure.
            member, proven = replace(member, name=None, extent=None), cause
        return replace(
            _local_object(self.layers, objects.dataflow.function.name, member, proven),
            index=index,
            escape=escape,
            handed_at=self.handing.handed_at(objects, member.found),
        )

    def _own_cause(
        self, objects: FunctionObjects, named: NamedObject, member: Member, cause: ProvenCause
    ) -> ProvenCause:
        """A member's own cause by index, where no access of it shows the structure's.

        Compilers divide a structure for a volatile member, but for no index or chosen pointer.
        """
        if member.found is named.found or member.chosen or cause.cause not in _OF_ACCESSES:
            return cause
        instructions = objects.body.instructions
        lines = {instructions[access.index].line for access in member.found.accesses}
        if any(evidence.ptx_line in lines for evidence in cause.evidence):
            return cause
        own = cause_of_turn(self.flow, self.kernel, objects, member.found)
        if own.cause not in _BY_INDEX:
            return cause
        beside = own.also if cause.cause == "volatile" else (*own.also, cause.cause)
        also = tuple(dict.fromkeys(one for one in beside if one != own.cause))
        return replace(own, also=also)

    def _kept(
        self, objects: FunctionObjects, member: Member
    ) -> tuple[ProvenCause, SourceLocation] | None:
        """What the source says of the address of what nothing in PTX keeps in memory."""
        lines, kept = self.layers.lines, None
        if self.names is not None and member.name is not None:
            kept = kept_address(lines, self.names, self.sources, member.found, member.name)
        return kept or compared_address(lines, self.sources, objects, member.found)


def _listed(
    flow: ModuleFlow, names: Names | None, kernel: str, function: str
) -> tuple[FunctionObjects, dict[int, ProvenCause], list[tuple[NamedObject, list[Member]]]]:
    """A function's stack objects, their causes by offset, and what each named one is divided in."""
    objects = flow.objects(function)
    assert objects is not None
    reductions = Reductions(objects)
    shared = {
        found.offset: one
        for found in objects.objects.values()
        if (one := apart(objects, found, reductions)) is not None
    }
    variables = [
        shared[offset].variable if offset in shared else found
        for offset, found in objects.objects.items()
    ]
    causes = object_causes(flow, kernel, objects, variables)
    listed = [
        (one, split(names, objects, one))
        for named in _named(names, objects, variables, causes)
        for one in [_with_buffers(named, shared)]
    ]
    return objects, causes, listed


def _with_buffers(named: NamedObject, shared: Mapping[int, Shared]) -> NamedObject:
    """A variable with the library's buffers that lie in its place at other times."""
    buffers = [
        NamedObject(buffer, (offset,), None)
        for offset in named.pieces
        if offset in shared
        for buffer in shared[offset].buffers
    ]
    if not buffers:
        return named
    return replace(named, turns=(*buffers, *(named.turns or (named,))))


def _told(
    layers: Layers,
    objects: FunctionObjects,
    listed: Sequence[tuple[NamedObject, Sequence[Member]]],
) -> dict[int, Told]:
    """What names tell of accesses; nothing where lanes do not differ."""
    varying = [access for access in objects.accesses if access.uniformity != "uniform"]
    if not varying:
        return {}
    # How long what is stored lives is of account only where an index is made of it.
    is_kept = any(leaf.offset >= 0 for access in varying for leaf in access.leaves)
    found: dict[int, Told] = {}
    for _, members in listed:
        for member in members:
            confined = member.confined
            for access in member.found.accesses:
                lifetime = _lifetime(layers, objects, member, access) if is_kept else None
                told = Told(confined.get(access.index), lifetime)
                if told != Told() and len(access.pointees) == 1:
                    found[access.index] = told
    return found


def _lifetime(
    layers: Layers, objects: FunctionObjects, member: Member, access: PtxAccess
) -> Loc | None:
    """The call that brings into being what an access is of: a variable of an inlined function."""
    instruction = objects.body.instructions[access.index]
    name, ptx = member.name, layers.ptx
    if name is None or name.confidence == "possible" or instruction.loc is None or ptx is None:
        return None
    if name.variable.is_parameter:
        return None  # What it holds is the caller's.
    frames = zip(instruction.loc.chain, ptx.chain(instruction), strict=True)
    declaring = name.variable.function
    calls = [
        loc.inlined_at for loc, one in frames if same_function(one.function or "") == declaring
    ]
    return calls[0] if len(calls) == 1 else None


def _among_its_own(cause: ProvenCause, objects: FunctionObjects, named: NamedObject) -> ProvenCause:
    """A choice between pieces of one variable is an index into it, whatever the compiler wrote."""
    chosen = {e.ptx_line for e in cause.evidence if e.kind == "chosen-address"}
    if cause.cause != "address-taken" or not chosen or len(named.pieces) < 2:
        return cause
    instructions = objects.body.instructions
    accesses = [a for a in named.found.accesses if instructions[a.index].line in chosen]
    pointees = [p for access in accesses for p in access.pointees]
    if not pointees or any(p.kind != "depot" or p.offset not in named.pieces for p in pointees):
        return cause
    shown = instructions[accesses[0].index]
    evidence = Evidence("ptx-instruction", ptx_line=shown.line, opcode=shown.opcode)
    return replace(cause, cause="dynamic-index", evidence=(evidence,))


def _with_holder(
    cause: ProvenCause, objects: FunctionObjects, found: StackObject, called: LocalNames
) -> ProvenCause:
    """What is kept for its address, with the one variable that the address is stored in."""
    if cause.cause != "address-taken" or found.passed_to or not found.stored_at:
        return cause
    stores = [objects.access_at.get(index) for index in found.stored_at]
    holders = {
        called.variables.get(pointee.offset) if pointee.kind == "depot" else None
        for store in stores
        for pointee in (store.pointees if store is not None else ())
    }
    if len(holders) != 1 or any(store is None or not store.pointees for store in stores):
        return cause
    evidence = [Evidence("held-address", name) for name in holders if name is not None]
    return replace(cause, evidence=(*cause.evidence, *evidence))


def _behind_test(
    cause: ProvenCause, lines: Lines, objects: FunctionObjects, found: StackObject
) -> ProvenCause | None:
    """What only a library's way for pointers into local memory keeps, which it asks of another one.

    Without that way, nothing would need its address. A user's own code behind such a test is as
    any other of the user's. None of anything else.
    """
    if cause.cause not in ("rolled-loop", "dynamic-index", "volatile", "address-taken"):
        return None
    if found.passed_to or found.stored_at:
        return None
    instructions = objects.body.instructions
    keeping = [
        one.index
        for one in found.accesses
        if one.leaves
        or "volatile" in instructions[one.index].modifiers
        or is_generic_access(instructions[one.index].opcode)
    ]
    tests = [objects.foreign_test(index) for index in keeping]
    for index, test in zip(keeping, tests, strict=True):
        chain = lines.of_instruction(instructions[index])
        if test is None or not chain or not is_library(chain[0].location.file):
            return None
    if not tests or tests[0] is None:
        return None
    shown = Evidence("local-test", ptx_line=tests[0].line, opcode=tests[0].opcode)
    return ProvenCause("address-taken", (shown,))


def _of_volatile(
    member: Member,
    cause: ProvenCause,
    sources: SourceText,
    layers: Layers,
    objects: FunctionObjects,
) -> tuple[Member, ProvenCause]:
    """Without the name of a variable that is not volatile: a temporary is, that is copied to it.

    But for ``c ? other : name``, which is volatile where one of the two is ([expr.cond]).
    """
    if member.name is None:
        return member, cause
    name = re.escape(member.name.name)
    chosen = re.compile(rf"\?[^;?:]*:\s*{name}\s*[;,)]|\?\s*{name}\s*:")
    instructions = objects.body.instructions
    places = {
        frame.location
        for access in member.found.accesses
        if "volatile" in instructions[access.index].modifiers and layers.ptx is not None
        for frame in layers.ptx.chain(instructions[access.index])
    }
    is_chosen = any(chosen.search(sources.line(place.file, place.line)) for place in places)
    if not is_chosen and _is_volatile(member.name, sources):
        return member, cause
    kind: EvidenceKind = "volatile-choice" if is_chosen else "plain-declaration"
    seen = Evidence(kind, member.name.name)
    named = member if is_chosen else replace(member, name=None)
    return named, replace(cause, evidence=(*cause.evidence, seen))


def _is_volatile(name: ObjectName, sources: SourceText) -> bool:
    """Whether a variable, or a part of it, is declared so."""
    types = (name.type, name.variable.type, *(member.type for member in name.variable.members))
    declared = sources.line(name.declared.file, name.declared.line)
    return "volatile" in declared or any("volatile" in one for one in types)


def _commonest(causes: Sequence[ProvenCause]) -> ProvenCause:
    """The cause of most pieces of an object; the first piece's of equals."""
    count = Counter(proven.cause for proven in causes)
    return max(causes, key=lambda proven: count[proven.cause])


def _called(listed: Sequence[tuple[NamedObject, Sequence[Member]]]) -> LocalNames:
    """What a function's objects are called."""
    variables = {
        offset: name.name
        for named, members in listed
        if (name := members[0].name if len(members) == 1 else named.name) is not None
        for offset in named.pieces
    }
    apart = {
        offset: {
            access.index: member.name.name
            for member in members
            if member.name is not None
            for access in member.found.accesses
            if access.index not in member.chosen
        }
        for named, members in listed
        if len(members) > 1
        for offset in named.pieces
    }
    return LocalNames(variables, apart)


def _has_own_section(layers: Layers, name: str) -> bool:
    return name in layers.cubin.records


def _named(
    names: Names | None,
    objects: FunctionObjects,
    found: Sequence[StackObject],
    causes: Mapping[int, ProvenCause],
) -> list[NamedObject]:
    """A function's objects by depot offset; those that no variable can be stay without a name."""
    wanted = [one for one in found if traits_of(causes[one.offset].cause).named]
    result = [
        NamedObject(one, (one.offset,), None)
        for one in found
        if not traits_of(causes[one.offset].cause).named
    ]
    if names is None:
        result += [NamedObject(one, (one.offset,), None) for one in wanted]
    else:
        copied = {
            one.offset: evidence.subject
            for one in wanted
            for evidence in causes[one.offset].evidence
            if evidence.kind == "parameter-copy" and evidence.subject is not None
        }
        result += names.of_objects(objects, wanted, copied)
    return sorted(result, key=lambda named: named.found.offset)


def _local_object(
    layers: Layers, function: str, member: Member, proven: ProvenCause
) -> LocalObject:
    debug = layers.ptx is not None and layers.ptx.is_debug
    named = member.name
    return LocalObject(
        function=function,
        offset=member.found.offset,
        size=min(member.size, proven.size or member.size),
        cause="debug-build" if debug else proven.cause,
        name=named.name if named is not None else None,
        type=named.type if named is not None else None,
        declared=layers.paths.shown(named.declared) if named is not None else None,
        confidence=named.confidence if named is not None else None,
        index=None,
        evidence=(),
        evidence_facts=proven.evidence,
        also=() if debug else proven.also,
        type_size=named.size if named is not None else None,
        extent=member.extent,
        is_alike=proven.is_alike,
    )

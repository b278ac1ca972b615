"""How an object is indexed: out of the slices of its accesses, in the words of the source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.analysis.causes import accesses_of_callees
from lmemscope.analysis.counted import Turns, counted, in_turn, running, words
from lmemscope.analysis.handing import Handing
from lmemscope.analysis.indexed import Indexed
from lmemscope.analysis.indexing_lines import call_of_accessor, indexing_line, is_changed_with
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.layout import dimensions_to_pointers
from lmemscope.analysis.loop_lines import loop_line
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.copying import is_copying
from lmemscope.analysis.ptx.guards import open_copy
from lmemscope.analysis.ptx.leaves import Leaf, worst
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject, computed
from lmemscope.analysis.spelling import Spelling, Written
from lmemscope.formats.demangle import variable_name
from lmemscope.formats.numbers import decimal
from lmemscope.formats.statements import Subscript, leading
from lmemscope.model import (
    IndexFacts,
    IndexSource,
    SourceLocation,
    SourceText,
)

_BUILTINS = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}


@dataclass(frozen=True, slots=True)
class LocalNames:
    """What the stack objects of a function are called.

    Attributes:
        variables: names by depot offset.
        members: by depot offset of a structure whose members are objects of their own: the name
            of the one that an instruction accesses.
    """

    variables: Mapping[int, str]
    members: Mapping[int, Mapping[int, str]]


class IndexReader:
    """Indices of one unit's objects.

    Args:
        layers: the unit's.
        names: of variables, or None.
        sources: the user's files.
    """

    def __init__(self, layers: Layers, names: Names | None, sources: SourceText) -> None:
        self._layers, self._names, self._sources = layers, names, sources
        self._lines = layers.lines
        self._handing = Handing(layers, names)
        self._spelling = Spelling(names, sources) if names is not None else None
        self._loop_lines: dict[tuple[str, int], SourceLocation | None] = {}

    def read(
        self,
        kernel: str,
        objects: FunctionObjects,
        found: StackObject,
        named: ObjectName | None,
        called: LocalNames,
        executed: Collection[int] = (),
    ) -> IndexFacts | None:
        """How an object is indexed at run time, or None where it is not.

        Args:
            kernel: mangled name of the kernel that reaches the function.
            objects: of the function that owns the object.
            found: the object.
            named: its name, where known.
            called: names of the function's stack objects.
            executed: PTX lines of the accesses that the machine code still has.
        """
        flow = self._layers.flow
        theirs = accesses_of_callees(flow, kernel, objects, found) if flow is not None else []
        every = _indexing(objects, found)
        own = computed(every)
        # A choice between constant places costs something beside an index where it is executed.
        instructions = objects.body.instructions
        beside = [a for a in every if a.is_choice and instructions[a.index].line in executed]
        indexed = [*own, *theirs]
        deciding = _decisive(indexed)
        leaves = _leaves(deciding)
        if not leaves:
            return self._alternating(kernel, objects, found, named, called)
        inside = [access for access in deciding if access.leaves and access in own]
        primary, alike = self._primary(kernel, objects, found, inside or _decisive(own), named)
        loop = written_out = None
        expression = primary.expression if primary is not None else None
        headers = primary.access.counted_by if primary is not None else []
        is_rolled = not any(leaf.is_dynamic for leaf in leaves)
        if headers and (is_rolled or len(headers) == 1):
            counting = self._loop_line(objects, headers[0])
            if is_rolled:
                loop, written_out = counting, objects.dataflow.written_out(headers[0])
            if expression is not None and counting is not None:
                expression = self._of_loop(expression, counting, named)
        sources = self._made_of(objects, alike or _telling(indexed), theirs, called)
        # Once loops are written out compilers take it apart; other indices stay.
        stays = any(leaf.is_dynamic for leaf in leaves)
        telling = [*_telling(indexed), *(beside if stays else ())]
        others = self._made_of(objects, telling, theirs, called) - sources
        trips = self._of_trip_counts(objects, alike, called) - sources
        chosen = self._chosen_by(objects, alike or _telling(indexed), called)
        uniformity = worst(access.uniformity for access in alike or deciding)
        least = worst((uniformity, *(access.uniformity for access in (*deciding, *beside))))
        return IndexFacts(
            expression=expression,
            sources=tuple(sorted(sources | trips, key=str)),
            uniformity=uniformity,
            loop=loop,
            location=primary.location if primary is not None else None,
            other_sources=tuple(sorted(others, key=str)),
            other_uniformity=least if least != uniformity else None,
            written_out=written_out,
            trip_sources=tuple(sorted(trips, key=str)),
            alternatives=primary.alternatives if primary is not None else (),
            called_from=primary.called_from if primary is not None else None,
            chosen_by=tuple(sorted(chosen, key=str)),
        )

    def _of_loop(
        self, expression: str, loop: SourceLocation, named: ObjectName | None
    ) -> str | None:
        names, spelling = self._names, self._spelling
        if names is None or spelling is None or named is None:
            return expression
        return counted(expression, loop, named, names, spelling, self._sources)

    def _alternating(
        self,
        kernel: str,
        objects: FunctionObjects,
        found: StackObject,
        named: ObjectName | None,
        called: LocalNames,
    ) -> IndexFacts | None:
        """Of an object that constant places of are taken: one after the other in a loop of few
        turns, or by what the control flow chooses."""
        accesses = [a for a in found.accesses if objects.alternates(a) or _is_between(a, found)]
        if not accesses:
            return None
        around = [objects.dataflow.flow.innermost(frozenset({a.index})) for a in accesses]
        loop = next((one for one in around if one is not None), None)
        primary, _ = self._primary(kernel, objects, found, accesses, named)
        return IndexFacts(
            expression=primary.expression if primary is not None else None,
            sources=tuple(sorted(self._choosing(objects, accesses, called), key=str)),
            uniformity=worst(access.uniformity for access in accesses),
            loop=self._loop_line(objects, loop.header) if loop is not None else None,
            location=primary.location if primary is not None else None,
        )

    def _primary(
        self,
        kernel: str,
        objects: FunctionObjects,
        found: StackObject,
        accesses: Sequence[PtxAccess],
        named: ObjectName | None,
    ) -> tuple[Indexed | None, list[PtxAccess]]:
        """The access to look at: on the line whose accesses move most, loops counted.

        What fills the array with a constant comes last, wherever it stands. Of lines that cost the
        same, one that reads, and one whose index can be quoted, says more; then the first.

        Returns:
            the access, and with it those of its line that are written as it is: copies that an
            unrolled loop makes, and those whose index cannot be told apart. Nothing without a line.
        """
        lines: dict[SourceLocation | None, list[Indexed]] = defaultdict(list)
        for one in self._shown(kernel, objects, found, accesses, named):
            lines[one.location].append(one)

        def rank(place: SourceLocation | None) -> tuple[object, ...]:
            there = lines[place]
            fills = all(one.fills for one in there)
            writes = all(one.access.is_store for one in there)
            quoted = any(one.expression is not None for one in there)
            cost = sum(one.cost for one in there)
            moved = all(one.is_moved for one in there)
            return place is None, fills, moved, -cost, writes, not quoted, place

        best = min(lines, key=rank, default=None)
        there = lines.get(best, [])
        primary = min(there, key=lambda one: (-one.cost, one.expression is None), default=None)
        if primary is None or best is None:
            return primary, []
        return primary, [one.access for one in there if one.expressions == primary.expressions]

    def _shown(
        self,
        kernel: str,
        objects: FunctionObjects,
        found: StackObject,
        accesses: Sequence[PtxAccess],
        named: ObjectName | None,
    ) -> Iterable[Indexed]:
        """Each access with its line, and the index that stands there."""
        called = self._lines.of_callers(kernel, objects.dataflow.function.name)
        # What is written on a line is the same for all accesses there, such as an unrolled loop's.
        said: dict[tuple[int, bool, Turns], Written | None] = {}
        for access in accesses:
            instruction = objects.body.instructions[access.index]
            if called is None:
                place = self._handing.place(kernel, instruction, named)
            else:
                place = self._lines.reader_line(called, kernel)
            caller = place
            chain = self._lines.of_instruction(instruction) if called is None else ()
            turns = self._turns(objects, access)
            key = (id(instruction.loc), access.is_store, turns)
            if key not in said:
                said[key] = self._written(objects, access, named, turns)
            written, expressions = said[key], tuple[str, ...]()
            possible = self._possible(objects, found, access, written)
            if written is not None and len({one.line for one in possible}) == 1:
                inside = self._lines.shown(SourceLocation(written.file, possible[0].line))
                place = inside if caller is None or is_changed_with(inside, caller) else caller
                if named is not None:
                    members = () if named.path else named.variable.members
                    depth = dimensions_to_pointers(named.type, members)
                    expressions = tuple(dict.fromkeys(leading(one.text, depth) for one in possible))
            elif called is None and caller is not None:
                inner = indexing_line(chain, caller, self._sources, is_store=access.is_store)
                place = inner or place
            is_inside = place is not None and caller is not None and place.file != caller.file
            call = caller if is_inside else None
            if place is not None and called is None:
                call = call_of_accessor(chain, place) or call
            yield Indexed(objects, access, place, expressions, call)

    def _written(
        self,
        objects: FunctionObjects,
        access: PtxAccess,
        named: ObjectName | None,
        turns: Turns,
    ) -> Written | None:
        """The subscripts that an access may be, on the innermost line that has some.

        Where a line's are all of counters that are constants there, the index is further out: in
        ``dot(rows[k])``, whose loop over ``row[i]`` is written out, it is ``k``.
        """
        ptx, spelling = self._layers.ptx, self._spelling
        if named is None or ptx is None or spelling is None:
            return None
        instruction = objects.body.instructions[access.index]
        owner = objects.dataflow.function.name
        chain = ptx.chain(instruction)
        for written in spelling.subscripts(named, owner, chain, is_store=access.is_store):
            kept = running(written.candidates, written.file, turns, self._sources)
            if kept:
                return Written(written.file, tuple(kept))
        return None

    def _possible(
        self,
        objects: FunctionObjects,
        found: StackObject,
        access: PtxAccess,
        written: Written | None,
    ) -> Sequence[Subscript]:
        """The subscripts that an access may be, of those on its line.

        None names what the access is not made of, and others there are. The accesses of a line come
        in the order of its text, each as often as loops were unrolled.
        """
        candidates = written.candidates if written is not None else ()
        if written is None or len(candidates) < 2:
            return candidates
        instructions = objects.body.instructions
        loc = instructions[access.index].loc
        on_line = [
            one
            for one in sorted(found.accesses, key=lambda one: one.index)
            if one.is_store == access.is_store and instructions[one.index].loc == loc
        ]
        there = [one for one in on_line if one.leaves]
        others = frozenset[str]().union(*map(self._named_in, there)) - self._named_in(access)
        fitting = [one for one in candidates if others.isdisjoint(words(one.text))]
        if len(fitting) == 1 or len(there) < len(on_line):
            return fitting or candidates  # Some are constants once their loops are written out.
        if len(there) % len(candidates) == 0:
            turn, count = there.index(access) % len(candidates), len(candidates)
            of_data = [any(one.is_of_data for one in there[first::count]) for first in range(count)]
            in_order = in_turn(candidates, turn, of_data, written.file, self._sources)
            return [one for one in in_order if one in fitting] or fitting or candidates
        return fitting or candidates

    def _named_in(self, access: PtxAccess) -> frozenset[str]:
        """Names of the parameters that an index is made of, and of what it is loaded from."""
        leaves = (leaf for leaf in access.leaves if leaf.kind in ("parameter", "memory"))
        return frozenset(n for one in leaves if (n := self._source(one, one.name).name) is not None)

    def _turns(self, objects: FunctionObjects, access: PtxAccess) -> Turns:
        """The loops around an access, and those whose counters its index has."""
        counters = [leaf for leaf in access.leaves if leaf.kind == "loop-counter"]
        headers = {leaf.header for leaf in counters}
        places = {
            loop.header: self._loop_line(objects, loop.header)
            for loop in objects.dataflow.flow.loops
            if access.index in loop.members or loop.header in headers
        }
        return Turns(
            around=frozenset(one for one in places.values() if one is not None),
            counted=frozenset(
                place for header, place in places.items() if header in headers and place is not None
            ),
            any_counted=bool(counters),
            any_constant=any(leaf.constant_trip for leaf in counters),
        )

    def _choosing(
        self, objects: FunctionObjects, accesses: Sequence[PtxAccess], called: LocalNames
    ) -> set[IndexSource]:
        """What decides which of several constant places accesses take; else it is the loop."""
        found: set[IndexSource] = set()
        for access in accesses:
            address = objects.body.instructions[access.index].address
            if address is None or address.base is None:
                continue
            leaves = objects.dataflow.leaves(address.base, access.index)
            deciding = (leaf for leaf in leaves if leaf.kind != "symbol")
            found |= self._sources_of(objects, access, deciding, called)
        return found or {IndexSource("loop-counter", None, None, True)}

    def _loop_line(self, objects: FunctionObjects, header: int) -> SourceLocation | None:
        ptx, key = self._layers.ptx, (objects.dataflow.function.name, header)
        if ptx is None:
            return None
        if key not in self._loop_lines:
            self._loop_lines[key] = loop_line(ptx, self._lines, self._sources, objects, header)
        return self._loop_lines[key]

    def _made_of(
        self,
        objects: FunctionObjects,
        accesses: Sequence[PtxAccess],
        theirs: Sequence[PtxAccess],
        called: LocalNames,
    ) -> set[IndexSource]:
        """What the indices of accesses are made of; ``theirs`` are those of other functions."""
        outside = {id(one) for one in theirs}
        found: set[IndexSource] = set()
        for access in accesses:
            names = None if id(access) in outside else called
            found |= self._sources_of(objects, access, _leaves([access]), names)
        return found

    def _chosen_by(
        self, objects: FunctionObjects, accesses: Sequence[PtxAccess], called: LocalNames
    ) -> set[IndexSource]:
        """What decides which of several objects pointers lead to."""
        found: set[IndexSource] = set()
        for access in accesses:
            found |= self._sources_of(objects, access, access.chosen_by, called)
        return found

    def _of_trip_counts(
        self, objects: FunctionObjects, accesses: Sequence[PtxAccess], called: LocalNames
    ) -> set[IndexSource]:
        """What lets lanes leave the loops that indices count in different iterations."""
        counted = {leaf.header for leaf in _leaves(accesses) if leaf.kind == "loop-counter"}
        found: set[IndexSource] = set()
        for loop in objects.dataflow.flow.loops:
            if loop.header in counted:
                for leaf in objects.dataflow.parting(loop):
                    name = called.variables.get(leaf.offset) if leaf.offset >= 0 else leaf.name
                    found.add(self._source(leaf, name))
        return found

    def _sources_of(
        self,
        objects: FunctionObjects,
        access: PtxAccess,
        leaves: Iterable[Leaf],
        called: LocalNames | None,
    ) -> set[IndexSource]:
        """Leaves as a reader knows them; ``called`` is None of an access of another function."""
        found: set[IndexSource] = set()
        copy = open_copy(objects, access) if called is not None else None
        for leaf in leaves:
            names: Iterable[str | None] = [leaf.name]
            if copy is not None and leaf.header == copy.header:
                found.add(IndexSource("copy", None))
                continue
            if called is not None and leaf.offset >= 0:
                names = _names_of(objects, access, leaf, called)
            found |= {self._source(leaf, name) for name in names}
        return found

    def _source(self, leaf: Leaf, name: str | None) -> IndexSource:
        position = None
        if name is not None and "_param_" in name:
            owner, _, number = name.rpartition("_param_")
            position = decimal(number)
            known = self._names.parameter(owner, name) if self._names is not None else None
            name = known or f"parameter {number}"
            if self._names is not None and self._names.lacks_parameters(owner):
                name = position = None  # PTX's numbers are not the source's.
        elif leaf.kind != "memory" and name is not None and name.startswith("%"):
            base, _, dimension = name.lstrip("%").partition(".")
            name = _BUILTINS.get(base, f"%{base}") + (f".{dimension}" if dimension else "")
        elif name is not None:
            name = variable_name(name)
        constant = leaf.constant_trip if leaf.kind == "loop-counter" else None
        return IndexSource(leaf.kind, name, position, constant)


def _names_of(
    objects: FunctionObjects, access: PtxAccess, leaf: Leaf, called: LocalNames
) -> Iterable[str | None]:
    """What the object is called that a part of an index is loaded from."""
    members = called.members.get(leaf.offset)
    address = objects.body.instructions[access.index].address
    if members is not None and address is not None and address.base is not None:
        loads = objects.dataflow.loads(address.base, access.index)
        found = {members[index] for index in loads if index in members}
        if found:
            return found
    return [called.variables.get(leaf.offset)]


def _indexing(objects: FunctionObjects, found: StackObject) -> list[PtxAccess]:
    """Accesses with an index, but for choices between addresses and copies of the whole."""
    return [
        access
        for access in found.accesses
        if access.leaves
        and not objects.is_chosen(access.index)
        and not objects.is_between_places(access.index)
        and not is_copying(objects, access)
    ]


def _is_between(access: PtxAccess, found: StackObject) -> bool:
    """Whether an access's pointer is chosen between pieces of one object."""
    inside = range(found.offset, found.offset + found.size)
    return len(access.pointees) > 1 and all(
        one.kind == "depot" and one.offset in inside for one in access.pointees
    )


def _decisive(accesses: Sequence[PtxAccess]) -> Sequence[PtxAccess]:
    """Those with a run-time index, if any: loops that initialise say nothing about the others."""
    dynamic = [a for a in accesses if any(leaf.is_dynamic for leaf in a.leaves)]
    return dynamic or accesses


def _telling(accesses: Sequence[PtxAccess]) -> Sequence[PtxAccess]:
    """Those whose indices are an object's: a loop of constant length says something if it reads."""
    decisive = _decisive(accesses)
    return [one for one in accesses if one in decisive or not one.is_store]


def _leaves(accesses: Iterable[PtxAccess]) -> set[Leaf]:
    return {leaf for access in accesses for leaf in access.leaves if leaf.kind != "symbol"}

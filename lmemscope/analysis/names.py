"""Variable names for stack objects: the optimised depot joined with a debug compilation's DWARF.

The two compilations lay out different depots, so nothing is joined by offset. What an object and a
variable must share: the function (through the inline chains of the accesses), the size (up to
padding), the structure (an index with steps of 4 bytes selects among elements of 4 bytes, and never
in a scalar), the numbers (floating-point or integer, ``stored.py``), and the lines, where the
source mentions the name. All objects of a function are joined together (``assignment.py``), for a
variable of the function itself exists once. The order of declarations decides between equals, and
lowers the confidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.aliases import Aliases
from lmemscope.analysis.assignment import assign, of_variable
from lmemscope.analysis.candidates import PADDING, Candidate, Shape, candidates_of
from lmemscope.analysis.declared_type import declared, is_plain
from lmemscope.analysis.layout import Part, parts_of
from lmemscope.analysis.mentions import AccessLines, Mentions, same_function
from lmemscope.analysis.passed import Calls
from lmemscope.analysis.pieces import Joined, join_arrays, join_pieces, misjoined
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.places import Places
from lmemscope.analysis.scopes import Scopes
from lmemscope.analysis.sharing import Use, sharers
from lmemscope.analysis.stored import Number, Numbers, may_hold, stored_parameter
from lmemscope.analysis.taken import may_be_taken
from lmemscope.formats.numbers import decimal
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Confidence, SourceLocation, SourceText, Variable

_NOTHING: Mapping[int, str] = MappingProxyType({})
_RIVALRY = 0.5
"""A name that this share of the best one's lines mention could be meant as well."""


class ObjectName(Struct, frozen=True):
    """What an object is called in the source.

    Attributes:
        name, type: of the variable, or of its member that the object is.
        declared: where the variable is, or the member where that declares the name.
        confidence: ``certain`` only where type, size and lines agree and nothing else fits.
        size: bytes of the type.
        variable: the debug compilation's.
        path: of the member behind the variable's name, or empty.
    """

    name: str
    type: str
    declared: SourceLocation
    confidence: Confidence
    size: int
    variable: Variable
    path: str = ""


class NamedObject(Struct, frozen=True):
    """A stack object with its name, where it has one.

    Attributes:
        found: the object; of all its pieces, where the compiler split it.
        pieces: depot offsets of these.
        name: None where nothing fits.
        turns: the variables that it is in turn, each with its own accesses, largest first; empty
            where it is one.
    """

    found: StackObject
    pieces: tuple[int, ...]
    name: ObjectName | None
    turns: tuple[NamedObject, ...] = ()


class Names:
    """Names of one unit's variables.

    Args:
        variables: of the debug compilation; empty where there was none.
        ptx: the optimised module.
        sources: for the text of lines.

    Attributes:
        scopes: of the variables.
        aliases: what they are called elsewhere.
    """

    def __init__(self, variables: Iterable[Variable], ptx: PtxModule, sources: SourceText) -> None:
        self._by_function: dict[str, list[Variable]] = defaultdict(list)
        seen: set[tuple[object, ...]] = set()
        for variable in variables:
            function = same_function(variable.function)
            if function != variable.function:
                variable = replace(variable, function=function)
            key = (variable.function, variable.name, variable.line, variable.type)
            if key not in seen:
                seen.add(key)
                self._by_function[variable.function].append(variable)
        self._sources, self._ptx = sources, ptx
        self.scopes = Scopes(sources)
        self.aliases = Aliases(self._by_function, sources, self.scopes)
        self._mentions = Mentions(ptx, sources, self.scopes, self.aliases)
        self._places: dict[str, Places] = {}
        self._numbers: dict[str, Numbers] = {}

    def __bool__(self) -> bool:
        return bool(self._by_function)

    def declared_in(self, function: str) -> Sequence[Variable]:
        """Variables and parameters of a function, in the order of their declarations."""
        return self._by_function.get(same_function(function), ())

    def parameter(self, function: str, ptx_name: str) -> str | None:
        """Source name of the parameter that PTX calls ``FUNCTION_param_3``.

        None where the places of others may be theirs: `lacks_parameters`.
        """
        position = decimal(ptx_name.rpartition("_param_")[2])
        parameters = [v for v in self.declared_in(function) if v.is_parameter]
        if position is None or position >= len(parameters) or self.lacks_parameters(function):
            return None
        return parameters[position].name

    def lacks_parameters(self, function: str) -> bool:
        """Whether the compiler has left out parameters of a function.

        It does of what is internal to a unit and uses them not; never of a kernel.
        """
        parameters = [v for v in self.declared_in(function) if v.is_parameter]
        code = self._ptx.function(function)
        return (
            code is not None and code.kind == "function" and len(code.parameters) < len(parameters)
        )

    def of_objects(
        self,
        objects: FunctionObjects,
        wanted: Iterable[StackObject],
        copied: Mapping[int, str] = _NOTHING,
    ) -> tuple[NamedObject, ...]:
        """A function's objects with their names, by depot offset; pieces of one are joined.

        Args:
            objects: of the function.
            wanted: those to name.
            copied: what PTX calls the parameters that objects are filled from, by their offsets.
        """
        places = self.places(objects)

        def candidates(joined: Sequence[Joined]) -> list[list[Candidate]]:
            return [self._candidates(objects, places, one.found, copied) for one in joined]

        listed = sorted(wanted, key=lambda found: found.offset)
        single = [Joined(found, (found.offset,)) for found in listed]
        of_single = candidates(single)
        pieces = join_arrays(single, of_single, candidates)
        of_pieces = candidates(pieces) if len(pieces) < len(single) else of_single
        apart: set[tuple[int, Variable]] = set()
        joined = join_pieces(pieces, of_pieces)
        while True:
            known = candidates(joined) if len(joined) < len(pieces) else of_pieces
            chosen = assign([one.found.size for one in joined], known)
            wrong = misjoined(joined, chosen)
            if wrong:
                apart |= wrong
                joined = join_pieces(pieces, of_pieces, apart)
                continue
            # What two neighbours are parts of is known for sure only beside all others' names.
            before, joined = joined, join_pieces(joined, [[c] if c else [] for c in chosen], apart)
            if len(joined) == len(before):
                break
        result = []
        for number, (one, best) in enumerate(zip(joined, chosen, strict=True)):
            name = None
            if best is not None:
                confidence = _confidence(best, known, chosen, number)
                if self._is_passed_by_another(objects, one.found, best.variable):
                    confidence = "possible"
                name = self.name(best.variable, best.part, confidence)
            others = {c.variable for c in chosen if c is not None and c is not best and c.agrees}
            turns = self._turns(objects, places, one, best, others)
            name = turns[0].name if turns else name
            own = one.found
            if name is not None and not turns:
                own = self._calls(objects).without_temporaries(own)
            result.append(NamedObject(own, one.pieces, name, turns))
        return tuple(result)

    def _turns(
        self,
        objects: FunctionObjects,
        places: Places,
        one: Joined,
        best: Candidate | None,
        others: Collection[Variable],
    ) -> tuple[NamedObject, ...]:
        """The variables that share an object; ``others`` are what other objects are."""
        owner = same_function(objects.dataflow.function.name)
        instructions = objects.body.instructions
        known = {a.index: places.of(a, one.found) for a in one.found.accesses}
        passing = [call.index for call, _ in one.found.passed_to] + one.found.stored_at
        uses = [
            Use(instructions[index], index, known.get(index))
            for index in sorted({*known, *passing})
        ]
        lines = self._mentions.lines(owner, (use.instruction for use in uses))
        variables = [
            variable
            for name in sorted(lines.functions)
            for variable in self._by_function.get(name, ())
            if variable not in others
        ]
        single = best.variable if best is not None else None
        return tuple(
            NamedObject(
                turn.found,
                one.pieces,
                self.name(
                    turn.variable,
                    parts_of(turn.variable)[0],
                    "certain" if turn.is_exact else "likely",
                ),
            )
            for turn in sharers(
                owner, one.found, uses, variables, self._mentions, objects.dataflow.flow, single
            )
        )

    def _is_passed_by_another(
        self, objects: FunctionObjects, found: StackObject, variable: Variable
    ) -> bool:
        """Whether an indexed variable's place is handed on where the variable is not in scope.

        Then another one, that has the place in turn, may be what is handed on.
        """
        instructions = objects.body.instructions
        owner = same_function(objects.dataflow.function.name)

        def knows(index: int) -> bool:
            return self._mentions.in_scope(owner, instructions[index], variable)

        passing = [call.index for call, _ in found.passed_to]
        lines = (self._mentions.chain(instructions[index]) for index in passing)
        if not passing or not all(chain and chain[0].location.line > 0 for chain in lines):
            return False
        indexed = any(access.leaves and knows(access.index) for access in found.accesses)
        return indexed and not any(knows(index) for index in passing)

    def name(self, variable: Variable, part: Part, confidence: Confidence) -> ObjectName:
        """What a variable, or a part of it, is called."""
        found = declared(variable, part, self._sources)
        return ObjectName(
            found.name, found.type, found.place, confidence, part.size, variable, part.path
        )

    def places(self, objects: FunctionObjects) -> Places:
        """Places of a function's accesses, looked up once."""
        return self._places.setdefault(objects.dataflow.function.name, Places(objects))

    def said(
        self,
        objects: FunctionObjects,
        accesses: Sequence[PtxAccess],
        variable: Variable,
        part: Part,
    ) -> int:
        """How many accesses have a member's name, or a pointer's to it, on one of their lines."""
        owner = same_function(objects.dataflow.function.name)
        instructions = objects.body.instructions
        lines = self._mentions.lines(owner, (instructions[access.index] for access in accesses))
        return sum(
            count
            * (
                any(self._mentions.says(frame, part.word) for frame in chain)
                or self._mentions.says_pointer(owner, chain, variable, part.path)
            )
            for chain, _, count in lines.chains
        )

    def says_member(self, objects: FunctionObjects, access: PtxAccess, word: str) -> bool:
        """Whether the line of an access itself, not of a call around it, names a member.

        A name alone is one where no variable of the line's function has it.
        """
        chain = self._mentions.chain(objects.body.instructions[access.index])
        if not chain or not self._mentions.says(chain[0], word):
            return False
        accessed = re.compile(rf"(?:\.|->)\s*{re.escape(word)}\b")
        if any(accessed.search(text) for text in self._mentions.levels(chain[0])):
            return True
        function = chain[0].function or objects.dataflow.function.name
        return all(variable.name != word for variable in self.declared_in(function))

    def _calls(self, objects: FunctionObjects) -> Calls:
        owner = same_function(objects.dataflow.function.name)
        return Calls(owner, objects.body.instructions, self._mentions)

    def _lines_of(self, objects: FunctionObjects, found: StackObject) -> AccessLines:
        owner = same_function(objects.dataflow.function.name)
        indices = [access.index for access in found.accesses]
        indices += [call.index for call, _ in found.passed_to] + found.stored_at
        instructions = objects.body.instructions
        return self._mentions.lines(owner, (instructions[index] for index in indices))

    def _candidates(
        self,
        objects: FunctionObjects,
        places: Places,
        found: StackObject,
        copied: Mapping[int, str],
    ) -> list[Candidate]:
        owner = same_function(objects.dataflow.function.name)
        # What is accessed by a pointer to one object or another says nothing of either.
        certain = [one for one in found.accesses if one.leaves or len(one.pointees) < 2]
        found = replace(found, accesses=certain or found.accesses)
        lines = self._lines_of(objects, found)
        variables = [v for name in sorted(lines.functions) for v in self._by_function.get(name, ())]
        calls = self._calls(objects)
        made = calls.temporaries(found)
        variables = variables if made is None else made
        variables = [one for one in variables if may_be_taken(one, found)]
        if objects.volatile_access(found) is not None:
            variables = [v for v in variables if not is_plain(v, self._sources)] or variables
        known = calls.named(found, variables)
        instructions = objects.body.instructions
        indexed = self._mentions.lines(
            owner, (instructions[one.index] for one in found.accesses if one.leaves)
        )
        inside = places.among(found.accesses, found)
        shape = Shape(found.size, inside, _padding(objects, found))
        filled = copied.get(found.offset) or stored_parameter(objects, found)
        parameter = self.parameter(owner, filled) if filled is not None else None
        numbers = self._numbers_of(objects, places, found)
        fits = candidates_of(owner, shape, lines, indexed, known, self._mentions, parameter)
        return [one for one in fits if may_hold(one.variable, one.offset, numbers)]

    def _numbers_of(
        self, objects: FunctionObjects, places: Places, found: StackObject
    ) -> list[Number]:
        """The numbers in an object, as far as the source takes no bits for another kind's."""
        name = objects.dataflow.function.name
        numbers = self._numbers.setdefault(name, Numbers(objects))
        owner = same_function(name)
        return [
            number
            for access in found.accesses
            for number in numbers.of(access, places.of(access, found))
            if not any(self._mentions.takes_bits(owner, one) for one in number.shown)
        ]


def _padding(objects: FunctionObjects, found: StackObject) -> int:
    """Bytes that the alignment of the next object may have added, which its place is a multiple of.

    Behind the last object it is the depot's.
    """
    end = found.offset + found.size
    if any(one.size == end for one in objects.body.locals):
        return PADDING - 1
    return min(PADDING, end & -end) - 1


def _confidence(
    best: Candidate,
    known: Sequence[Sequence[Candidate]],
    chosen: Sequence[Candidate | None],
    number: int,
) -> Confidence:
    if not best.is_named:
        return "possible"
    if not best.agrees or not best.stays_in_memory:
        return "likely"
    rivals = any(_rivals(c, best) for c in known[number])
    claims = any(
        other != number
        and any(c.variable == best.variable and c.agrees for c in candidates)
        and not _is_better(chosen[other], best, candidates)
        for other, candidates in enumerate(known)
    )
    return "likely" if rivals or claims else "certain"


def _rivals(other: Candidate, best: Candidate) -> bool:
    return (
        other.variable != best.variable
        and 0 <= other.slack <= best.slack
        and other.fit == 1.0
        and other.stays_in_memory
        and other.mention > best.mention * _RIVALRY
        and not (best.is_copied and other.variable.is_parameter)
    )


def _is_better(chosen: Candidate | None, best: Candidate, candidates: Sequence[Candidate]) -> bool:
    """Whether another object is a copy of the same variable, or clearly another one's."""
    if chosen is None:
        return False
    if chosen.variable == best.variable:
        return chosen.repeats or not chosen.is_exact
    mine = of_variable(candidates, best)
    if mine is not None and chosen.is_copied and not mine.is_copied:
        return True
    return mine is None or chosen.score > mine.score

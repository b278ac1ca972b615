"""Objects that are temporaries: what calls get where the source makes a value in the call.

``support(-X)`` hands the address of an object that has no name, and ``X`` on its line says nothing
of it. A reference parameter that is bound to the temporary, and handed on, is its only name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.analysis.candidates import PADDING, is_begun_on
from lmemscope.analysis.layout import is_pointer, is_reference
from lmemscope.analysis.mentions import Mentions, same_function
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.analysis.taken import type_taken
from lmemscope.formats.demangle import demangle
from lmemscope.formats.operators import is_computed, operand_lists, operator_of
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.sides import contains
from lmemscope.formats.statements import closed_at, is_made
from lmemscope.model import InlineFrame, Variable

_PLAIN = re.compile(r"\s*+(&?)\s*+([A-Za-z_]\w*)\s*")
"""A variable, or its address."""
_RESULT = re.compile(r"\s*(?:\w+::)*(\w+)\s*\(")
_PASSING_ON = frozenset({"move", "forward", "as_const", "launder", "min", "max", "clamp"})
"""Functions of the standard library that return a reference to an argument."""
_VECTOR = re.compile(r"u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4]")
_MADE = re.compile(r"\s*(?:[\w:]*::)?(\w+)\s*[({<]")
"""The name of the type that a value is made of."""
_MEMBER = re.compile(r"\s*(\w+)(?:(?:\.|->)\w+)*(?:\.|->)\w+\s*\(")
"""A call of a member, and the name that it begins with."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of one function, and what they tell of its objects that they get.

    Attributes:
        owner: mangled name of the function whose depot the objects are in.
        instructions: of the function.
        mentions: what lines say.
    """

    owner: str
    instructions: Sequence[Instruction]
    mentions: Mentions

    def temporaries(self, found: StackObject) -> list[Variable] | None:
        """What stands for an object behind references, where each call that gets it makes it.

        None where it may be a variable: that is so unless the text of every call shows the
        opposite.
        """
        if not found.passed_to or found.stored_at:
            return None
        result: list[Variable] = []
        for call, position in found.passed_to:
            bound = self._passing(call, found).bound(call, position)
            if bound is None:
                return None
            result += [one for one in bound if one not in result]
        return result

    def without_temporaries(self, found: StackObject) -> StackObject:
        """A variable's object without the calls that get a temporary in its place of the frame.

        What no call can get but temporaries is left as it is: then none tells what the variable is.
        """
        own = [
            one
            for one in found.passed_to
            if self.temporaries(replace(found, passed_to=[one])) is None
        ]
        return replace(found, passed_to=own) if own else found

    def named(self, found: StackObject, variables: Sequence[Variable]) -> Sequence[Variable]:
        """The variables that calls get by their names where they get an object; else all.

        Another variable on such a line may be handed over by its value, as a pointer is whose
        address the line does not take. Calls may also get other calls' results:
        ``larger(d, scaled(e))`` hands over a temporary, unless ``scaled`` returns a reference.
        Then it may be ``e``, if that begins with what the object begins with.
        """
        given: dict[str, list[str | None]] = defaultdict(list)
        for call, position in found.passed_to:
            passing = self._passing(call, found)
            function = passing.chain[0].function if passing.chain else None
            given[function or self.owner].append(passing.argument(call, position))
        plain = {name: [_PLAIN.fullmatch(one or "") for one in given[name]] for name in given}
        if all(None not in matches for matches in plain.values()):
            said = {
                name: {one[1] + one[2] for one in matches if one is not None}
                for name, matches in plain.items()
            }
            passed = [
                one
                for one in variables
                if _is_said(one, said.get(one.function, ()))
                and not is_reference(one.type)
                and 0 <= found.size - one.size < PADDING
            ]
            if len({(one.function, one.name) for one in passed}) == 1:
                return passed
        results = {
            name: [text for text in texts if text is not None]
            for name, texts in given.items()
            if all(text is not None and _is_result(text) for text in texts)
        }
        accesses = (self.instructions[one.index] for one in found.accesses)
        lines = self.mentions.lines(self.owner, accesses) if results else None
        return [
            one
            for one in variables
            if one.is_parameter
            or one.function not in results
            or (
                lines is not None
                and any(contains(text, one.name) for text in results[one.function])
                and is_begun_on(self.owner, lines, one)
            )
        ]

    def _passing(self, call: Call, found: StackObject) -> _Passing:
        chain = self.mentions.chain(self.instructions[call.index])
        return _Passing(self.owner, self.mentions, chain, found.size)


def _is_said(variable: Variable, arguments: Collection[str]) -> bool:
    """Whether one of some arguments is a variable's address, or itself where it is no pointer."""
    if f"&{variable.name}" in arguments:
        return True
    return variable.name in arguments and not is_pointer(variable.type)


def _is_result(argument: str) -> bool:
    """Whether an argument is a call, of no function that hands its own argument on."""
    called = _RESULT.match(argument)
    if called is None or called[1] in _PASSING_ON:
        return False
    return closed_at(argument, called.end() - 1) == len(argument.rstrip())


@dataclass(frozen=True, slots=True)
class _Passing:
    """One call that gets an object of a size, and the calls around it that are inlined."""

    owner: str
    mentions: Mentions
    chain: Sequence[InlineFrame]
    size: int

    def argument(self, call: Call, position: int) -> str | None:
        """The argument in a place of the one call of its function on a line."""
        if call.callee is None or not self.chain:
            return None
        found = list(self._calls(0, same_function(call.callee), len(call.arguments)))
        return found[0][position] if len(found) == 1 else None

    def bound(self, call: Call, position: int) -> list[Variable] | None:
        """The references to the temporary; None where it may be a variable.

        Of a member function the first argument is the object.
        """
        count = len(call.arguments)
        callee = None if call.callee is None else same_function(call.callee)
        for number, at in ((count, position), (count - 1, position - 1)):
            found = list(self._calls(0, callee, number)) if at >= 0 and self.chain else []
            if found:
                reference = self._referent(callee, number, at)
                kind = _kind(reference) if reference is not None else None
                # What is compiled elsewhere has no variables here; its name has their types.
                kind = kind or _plain(type_taken(call, position) or "")
                return self._references(0, reference, kind, [of[at] for of in found])
        return None

    def _referent(self, callee: str | None, count: int, at: int) -> Variable | None:
        """What a parameter refers to; the first operand of a member is its object."""
        parameters = self.mentions.aliases.explicit(callee or "")
        if _operator(callee) is not None and len(parameters) == count - 1:
            at, count = at - 1, count - 1
        return parameters[at].referent if len(parameters) == count and at >= 0 else None

    def _references(
        self, at: int, reference: Variable | None, kind: str, arguments: Sequence[str]
    ) -> list[Variable] | None:
        """The references through which an argument is handed that is made further out."""
        if not arguments:
            return None
        if all(self._is_value(at, argument, reference, kind) for argument in arguments):
            return []
        function = self.chain[at].function
        names = {argument.strip() for argument in arguments}
        if function is None or len(names) > 1 or at + 1 == len(self.chain):
            return None
        parameters = self.mentions.aliases.explicit(function)
        for number, one in enumerate(parameters):
            if one.name in names and one.referent is not None:
                calls = self._calls(at + 1, function, len(parameters))
                outer = [arguments[number] for arguments in calls]
                further = self._references(at + 1, one.referent, _kind(one.referent), outer)
                return None if further is None else [one.referent, *further]
        return None

    def _calls(self, at: int, callee: str | None, count: int) -> Iterator[Sequence[str]]:
        """The arguments of calls that begin on a line: of a function; of any, if it is unknown."""
        place = self.chain[at].location
        calls, is_meant = self.mentions.aliases.calls(place, callee, count)
        for call in calls if is_meant or callee is None else ():
            if call.line == place.line and len(call.arguments) == count:
                yield call.arguments
        operator = _operator(callee)
        if operator is not None:
            statement = self.mentions.statement(self.chain[at])
            first = statement.find("\n")
            for start, operands in operand_lists(statement, operator, count):
                if not 0 <= first < start:
                    yield operands

    def _is_value(self, at: int, argument: str, reference: Variable | None, kind: str) -> bool:
        """Whether an argument makes a value.

        What functions return, but for constructors and CUDA's ``make_float2`` and its like, may be
        a reference. What a member returns is
        none to the object that it is called on if that is of another type, nor to what is inside
        of one if the object that is passed is no larger.
        """
        if is_computed(argument) or (is_made(argument) and argument.lstrip().startswith("{")):
            return True
        made = _MADE.match(argument)
        if made is not None and is_made(argument):
            is_vector = _VECTOR.fullmatch(kind) is not None
            return made[1] == kind or (is_vector and made[1] == f"make_{kind}")
        if reference is None:
            return False
        called = _MEMBER.match(argument)
        if called is None or not 0 <= self.size - reference.size < PADDING:
            return False
        if closed_at(argument, called.end() - 1) != len(argument.rstrip()):
            return False
        known = self.mentions.aliases.declared_in(self.chain[at].function or self.owner)
        return not any(one.name == called[1] and _kind(one) == kind for one in known)


def _operator(callee: str | None) -> str | None:
    return None if callee is None else operator_of(demangle(callee))


def _kind(variable: Variable) -> str:
    """The name of a variable's type, as `_plain` gives it; of a reference, what it refers to."""
    return _plain((variable.referent or variable).type)


def _plain(kind: str) -> str:
    """The name of a type without namespaces, arguments and qualifiers."""
    words = [one for one in kind.partition("<")[0].split() if one not in ("const", "volatile")]
    return words[-1].rpartition("::")[2].rstrip("&*") if words else ""

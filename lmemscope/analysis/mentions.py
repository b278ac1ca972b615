"""Which variables the source lines of an object's accesses name, through the inline chains."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lmemscope.analysis.expansion import Expansion
from lmemscope.analysis.layout import has_union, is_pointer, is_reference
from lmemscope.analysis.scopes import Scopes
from lmemscope.analysis.set_pointers import pointers_made_of, set_pointers
from lmemscope.formats.argument_lists import argument_lists
from lmemscope.formats.kernel_names import stable_name
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_body import Instruction, Loc
from lmemscope.formats.ptx_isa import Access
from lmemscope.formats.sides import contains, is_on_side
from lmemscope.formats.statements import is_made
from lmemscope.model import InlineFrame, SourceLocation, SourceText, Variable, is_library

_Chain = tuple[InlineFrame, ...]
_CLOSURE = "(lambda)"
"""What the type of a lambda's object is called here, behind its qualifiers."""
_LONGEST = 32
"""Lines of a call at most."""
_LONGEST_INITIALISER = 64
"""Lines of a declaration at most."""
_LONGEST_FUNCTION = 2000
"""Lines of a function at most, to be searched for casts."""
_REINTERPRETS = re.compile(
    r"\b(?:__\w+_as_\w+|__hiloint2double|__double2(?:hi|lo)int|\w*bit_cast|memcpy|union|asm|__asm__"
    r"|signbit|copysign\w*|frexp\w*|ldexp\w*|i?logb\w*|scalbl?n\w*|nextafter\w*)\b"
    r"|(?:\(\s*(?:\w+\s+){0,4}[\w:]+\s*\*+\s*(?:__restrict__\s*)?\)|_cast<[^;<>()]*[*&]\s*>\s*\()"
    r"\s*&?\s*(?P<cast>\w*)"
)
"""What takes the bits of a number for those of another kind; the name that a cast is of."""
_END = re.compile("[;{}]")
_CONDITION = re.compile(r"\s*(?:else\s+)?(?:if|for|while|switch)\b")
_STORES: Mapping[Access | None, bool] = {"store": True, "load": False}
_OTHER_SIDE = 0.3
"""What a name counts for that stands only on the other side of an assignment."""
_OUTSIDE = 0.95
"""What a name counts for that stands at a call, and the lines inside do not show as what."""
_LAMBDA = re.compile(r"E(?:NK?)?Ul")
"""In the mangled name of a lambda's call operator, behind that of the function around it."""


@dataclass(frozen=True, slots=True)
class AccessLines:
    """Source lines behind an object's accesses.

    Attributes:
        chains: of the accesses, innermost first, each with whether they store (None of what does
            neither) and how many accesses have it.
        functions: mangled names of the functions on them.
    """

    chains: tuple[tuple[_Chain, bool | None, int], ...]
    functions: frozenset[str]


class Mentions:
    """What lines say of one unit's variables.

    Args:
        by_function: the variables that each function declares.
        ptx: the optimised module.
        sources: for the text of lines.
        scopes: of the variables.
    """

    def __init__(
        self,
        by_function: dict[str, list[Variable]],
        ptx: PtxModule,
        sources: SourceText,
        scopes: Scopes,
    ) -> None:
        self._by_function, self._ptx, self._sources = by_function, ptx, sources
        self._expansion = Expansion(sources)
        self._scopes = scopes
        self._said: dict[tuple[str, int, str], bool] = {}
        self._texts: dict[SourceLocation, str] = {}
        self._chains: dict[object, tuple[Loc | None, _Chain]] = {}
        self._spellings: dict[Variable, tuple[str, ...]] = {}
        self._statements: dict[tuple[str, int], str] = {}
        self._explicit: dict[str, Sequence[Variable]] = {}
        self._made_of: dict[Variable, list[str]] = {}
        self._declared_to: dict[tuple[str, int], int] = {}
        self._reinterpreting: dict[tuple[str, str], bool] = {}

    def lines(self, owner: str, instructions: Iterable[Instruction]) -> AccessLines:
        """The lines behind instructions of a function."""
        located: dict[tuple[object, bool | None], int] = defaultdict(int)
        for instruction in instructions:
            is_store = _STORES.get(instruction.isa.access)
            located[self._known(instruction), is_store] += 1
        counted: dict[tuple[_Chain, bool | None], int] = defaultdict(int)
        for (key, is_store), count in located.items():
            counted[self._chains[key][1], is_store] += count
        functions = {frame.function or owner for chain, _ in counted for frame in chain}
        chains = tuple((chain, is_store, count) for (chain, is_store), count in counted.items())
        return AccessLines(chains, frozenset({owner, *functions}))

    def chain(self, instruction: Instruction) -> tuple[InlineFrame, ...]:
        """The lines behind an instruction, innermost first."""
        return self._chains[self._known(instruction)][1]

    def _known(self, instruction: Instruction) -> object:
        """The key of an instruction's inline chain among those that are known."""
        loc = instruction.loc
        # Who keeps the location keeps its identity.
        key: object = id(loc)
        if loc is not None and loc.inlined_at is None:
            key = (loc.file, loc.line)
        if key not in self._chains:
            self._chains[key] = (loc, _comparable(self._ptx.chain(instruction)))
        return key

    def share(self, owner: str, lines: AccessLines, variable: Variable) -> float:
        """The share of the accesses whose lines name a variable, or an alias of it."""
        named, total = 0.0, 0
        placed = [
            (chain, at, is_store, count)
            for chain, is_store, count in lines.chains
            if (at := _position(owner, chain, variable)) is not None
        ]
        captured = self._inside(variable, [(chain, at) for chain, at, _, _ in placed])
        for chain, at, is_store, count in placed:
            total += count
            if self._names(chain, at, variable, captured):
                named += count * self._agreement(chain, at, is_store, variable)
        return named / total if total else 0.0

    def coverage(self, owner: str, lines: AccessLines, variable: Variable) -> float:
        """The share of the accesses that are in the function which declares a variable."""
        inside = total = 0
        for chain, _, count in lines.chains:
            total += count
            inside += count * (_position(owner, chain, variable) is not None)
        return inside / total if total else 0.0

    def in_scope(self, owner: str, instruction: Instruction, variable: Variable) -> bool:
        """Whether an instruction's line is one on which a variable is known."""
        chain = self.chain(instruction)
        at = _position(owner, chain, variable)
        if at is None or chain[at].location.line <= 0:
            return False
        place = chain[at].location
        return self._scopes.holds(variable, place.file, place.line)

    def named_by(self, owner: str, instruction: Instruction, variable: Variable) -> bool:
        """Whether an instruction's line names a variable, on the side that it accesses."""
        chain = self.chain(instruction)
        at = _position(owner, chain, variable)
        if at is None or not self._names(chain, at, variable, self.spellings(variable)):
            return False
        is_store = _STORES.get(instruction.isa.access)
        return self._agreement(chain, at, is_store, variable) > _OTHER_SIDE

    def _agreement(
        self, chain: _Chain, at: int, is_store: bool | None, variable: Variable
    ) -> float:
        """How well a line that names a variable fits an access: it says which side is stored."""
        named = self._handed_in(chain, at, self.spellings(variable))
        if named is not None and named[0]:
            return _OUTSIDE
        if named is None or is_store is None:
            return 1.0
        frame, words = chain[0], named[1]
        texts = [text for text in self.levels(frame) if any(contains(text, w) for w in words)]
        text = texts[0] if texts else self._text(frame)
        return 1.0 if any(is_on_side(text, word, is_store) for word in words) else _OTHER_SIDE

    def _inside(self, variable: Variable, placed: Sequence[tuple[_Chain, int]]) -> tuple[str, ...]:
        """What lambdas call a variable.

        Where a lambda captures by value, the name is its copy's; it is the variable's again where
        the object is filled by that name: then the compiler has left the copy out.
        """
        if is_closure(variable):
            return tuple(_copies(variable))
        words = self.spellings(variable)
        held = self._by_function.get(variable.function, ())
        closures = [one for one in held if is_closure(one)]
        copies = {name for one in closures for name in _copies(one)}
        if copies.isdisjoint(words):
            return words
        lines = {one.line for one in closures}
        for chain, at in placed:
            frame = chain[at]
            if _lambdas(chain, at) or frame.location.line in lines:
                continue
            if any(self.says(frame, word) for word in words):
                return words
        return tuple(word for word in words if word not in copies)

    def _names(self, chain: _Chain, at: int, variable: Variable, inside: Sequence[str]) -> bool:
        """Whether a chain names a variable: on its function's line, or in a lambda inside it."""
        place = chain[at].location
        if not self._scopes.holds(variable, place.file, place.line):
            return False  # What has the name there is another variable.
        words = self.spellings(variable)
        if self._handed_in(chain, at, words) is not None:
            return True
        if not at and self._declares(chain[0], variable):
            return True
        return any(self.says(frame, word) for frame in _lambdas(chain, at) for word in inside)

    def _declares(self, frame: InlineFrame, variable: Variable) -> bool:
        """Whether a line is part of a declaration with an initialiser over several lines."""
        place = frame.location
        behind = place.line - variable.line
        if place.file != variable.file or not 0 < behind < _LONGEST_INITIALISER:
            return False
        key = (variable.file, variable.line)
        if key not in self._declared_to:
            self._declared_to[key] = self._last_line(variable)
        return place.line <= self._declared_to[key]

    def _last_line(self, variable: Variable) -> int:
        """Where a variable's declaration ends: behind its line only if it has an initialiser."""
        text = ""
        for number in range(variable.line, variable.line + _LONGEST_INITIALISER):
            text += self._sources.code_line(variable.file, number) + "\n"
            before, brace, _ = text.partition("{")
            if ";" in before or (brace and "=" not in before):
                break
            if brace and text.count("{") == text.count("}"):
                return number
        return variable.line

    def _handed_in(
        self, chain: _Chain, at: int, words: Sequence[str]
    ) -> tuple[int, Sequence[str]] | None:
        """The innermost line to which a line that names one of the words hands it, and as what.

        ``step(first, other)`` names both; on a line of ``step`` that reads ``a[i]`` it is the
        one that ``step``'s parameter ``a`` is, as ``p[i]`` is behind ``auto *p = a``. A call whose
        arguments do not tell counts as naming.
        None where no line names it.
        """
        frame = chain[at]
        if not at:
            return (0, words) if any(self.says(frame, word) for word in words) else None
        statement = self.statement(frame)
        place = frame.location
        texts = (statement, *self._expansion.of_text(statement, place.file, place.line))
        naming = [text for text in texts if any(contains(text, word) for word in words)]
        if not naming:
            return None
        statement = naming[0]
        parameters = self.explicit(chain[at - 1].function or "")
        for _, arguments in argument_lists(statement, len(parameters)):
            bound = [
                name
                for parameter, argument in zip(parameters, arguments, strict=True)
                if any(contains(argument, word) for word in words)
                for name in (parameter.name, *self._pointers_made_of(parameter))
            ]
            if bound:
                return self._handed_in(chain, at - 1, bound)
        return at, words

    def declared_in(self, function: str) -> Sequence[Variable]:
        """Variables and parameters of a function."""
        return self._by_function.get(function, ())

    def explicit(self, function: str) -> Sequence[Variable]:
        """The parameters of a function that a call has arguments for."""
        if function not in self._explicit:
            held = (one for one in self.declared_in(function) if one.is_parameter)
            self._explicit[function] = [one for one in held if one.name != "this"]
        return self._explicit[function]

    def temporaries(self, lines: AccessLines) -> Iterator[Variable]:
        """What reference parameters stand for that are made in the call: ``sum(a, Pair(0, 0))``."""
        seen: set[tuple[str, str]] = set()
        for chain, _, _ in lines.chains:
            for inner, outer in pairwise(chain):
                parameters = self.explicit(inner.function or "")
                for number, one in enumerate(parameters):
                    key = (one.function, one.name)
                    if one.referent is None or key in seen:
                        continue
                    if self._is_made(outer, number, len(parameters)):
                        seen.add(key)
                        yield one.referent

    def users_reference(self, owner: str, lines: AccessLines, variable: Variable) -> Variable:
        """What a user's reference calls a library's variable; else the variable itself.

        A library hands it to a function of the user's, whose lines know it by that name alone.
        """
        found: dict[tuple[str, str], Variable] = {}
        for chain, _, _ in lines.chains if is_library(variable.file) else ():
            at = _position(owner, chain, variable)
            if not at or is_library(chain[at - 1].location.file):
                continue
            parameters = self.explicit(chain[at - 1].function or "")
            for _, arguments in argument_lists(self.statement(chain[at]), len(parameters)):
                for one, argument in zip(parameters, arguments, strict=True):
                    if one.referent is not None and argument.strip() == variable.name:
                        found[one.function, one.name] = one.referent
        same = [one for one in found.values() if one.size == variable.size]
        return same[0] if len(same) == 1 else variable

    def _is_made(self, frame: InlineFrame, number: int, count: int) -> bool:
        """Whether an argument of the call on a line is made there: ``Pair(0, 0)``."""
        found = next(iter(argument_lists(self.statement(frame), count)), None)
        return found is not None and is_made(found[1][number])

    def statement(self, frame: InlineFrame) -> str:
        """The text from a line to the end of its statement."""
        place = frame.location
        key = (place.file, place.line)
        if key not in self._statements:
            text = ""
            for number in range(place.line, place.line + _LONGEST):
                text += self._sources.line(place.file, number) + "\n"
                is_condition = _CONDITION.match(text) is not None
                if _END.search(text) or (is_condition and text.count("(") == text.count(")")):
                    break
            self._statements[key] = text
        return self._statements[key]

    def takes_address(self, owner: str, lines: AccessLines, variable: Variable) -> bool:
        """Whether ``&name`` stands on one of the lines, or where a pointer is declared."""
        taken = re.compile(rf"(?:^|[=(,{{?:;)]|\breturn)\s*&\s*{re.escape(variable.name)}\b")
        if any(
            is_pointer(one.type)
            and not one.is_parameter
            and taken.search(self._sources.line(one.file, one.line))
            for one in self._by_function.get(variable.function, ())
        ):
            return True
        return any(
            taken.search(self._text(frame))
            for chain, _, _ in lines.chains
            for at in (_position(owner, chain, variable),)
            if at is not None
            for frame in (*_lambdas(chain, at), chain[at])
        )

    def says(self, frame: InlineFrame, name: str) -> bool:
        """Whether a line holds a name as a word."""
        place = frame.location
        key = (place.file, place.line, name)
        if key not in self._said:
            self._said[key] = any(contains(text, name) for text in self.levels(frame))
        return self._said[key]

    def takes_bits(self, owner: str, instruction: Instruction) -> bool:
        """Whether a function on an instruction's lines may take a number for one of another kind.

        What a kernel's own parameters point to is no object of it.
        """
        return any(
            self._takes_bits(frame.function or owner, frame.location, owner)
            for frame in self.chain(instruction)
        )

    def _takes_bits(self, function: str, place: SourceLocation, owner: str) -> bool:
        key = (function, place.file)
        if key not in self._reinterpreting:
            held = [v for v in self._by_function.get(function, ()) if v.file == place.file]
            given = {v.name for v in held if v.is_parameter} if function == owner else set()
            first = min((one.line for one in held if one.line > 0), default=place.line)
            last = max(self._scopes.function_end(held), place.line)
            text = "\n".join(
                level
                for number in range(first, min(last, first + _LONGEST_FUNCTION) + 1)
                for level in self.levels(InlineFrame.at(SourceLocation(place.file, number), None))
            )
            self._reinterpreting[key] = any(has_union(one.members) for one in held) or any(
                found["cast"] not in given for found in _REINTERPRETS.finditer(text)
            )
        return self._reinterpreting[key]

    def any_says(self, lines: AccessLines, name: str) -> bool:
        """Whether any of the lines, those inside calls too, holds a name as a word."""
        return any(self.says(frame, name) for chain, _, _ in lines.chains for frame in chain)

    def levels(self, frame: InlineFrame) -> tuple[str, ...]:
        """A line's text as it stands, then with its macros replaced."""
        place = frame.location
        return (self._text(frame), *self._expansion.of_line(place.file, place.line))

    def _text(self, frame: InlineFrame) -> str:
        place = frame.location
        if place not in self._texts:
            self._texts[place] = self._sources.line(place.file, place.line)
        return self._texts[place]

    def spellings(self, variable: Variable) -> tuple[str, ...]:
        """Its name and what refers to it under another, in its function."""
        if variable not in self._spellings:
            own = [variable.name]
            if has_no_name(variable):
                own = [member.name for member in variable.members]
            self._spellings[variable] = (*own, *self._aliases(variable, own))
        return self._spellings[variable]

    def _pointers_made_of(self, parameter: Variable) -> list[str]:
        if parameter not in self._made_of:
            held = self._by_function.get(parameter.function, ())
            self._made_of[parameter] = pointers_made_of(self._sources, parameter, held)
        return self._made_of[parameter]

    def _aliases(self, variable: Variable, own: Sequence[str]) -> list[str]:
        """References and pointers that are declared, or set, on a line that names the variable."""
        others = [
            other
            for other in self._by_function.get(variable.function, ())
            if other is not variable
            and not other.is_parameter
            and (is_reference(other.type) or is_pointer(other.type))
        ]
        if not others:
            return []
        behind = set_pointers(self._sources, self._scopes, variable)
        return [
            other.name
            for other in others
            if any(self._sources.mentions(other.file, other.line, name) for name in own)
            or (other.name in behind and is_pointer(other.type) and other.file == variable.file)
        ]


@functools.cache
def same_function(name: str) -> str:
    """A mangled name without what differs from one compilation to the next.

    Functions that are static in a file carry a hash, and with nvcc the number of its process.
    """
    return stable_name(name)


def _comparable(chain: _Chain) -> _Chain:
    return tuple(
        frame
        if frame.function is None
        else InlineFrame.at(frame.location, same_function(frame.function))
        for frame in chain
    )


def has_no_name(variable: Variable) -> bool:
    """Whether the front end made the name: an anonymous union's, a temporary's."""
    return variable.name.startswith("__T") and variable.name[3:].isdigit()


def is_closure(variable: Variable) -> bool:
    """Whether a variable is a lambda's object: its members are what the lambda captures."""
    return variable.type.endswith(_CLOSURE)


def is_lambda(function: str) -> bool:
    """Whether a mangled name is that of a lambda's call operator."""
    return _LAMBDA.search(function) is not None


def _position(owner: str, chain: _Chain, variable: Variable) -> int | None:
    """Where in a chain the function is that declares a variable."""
    return next(
        (n for n, f in enumerate(chain) if (f.function or owner) == variable.function), None
    )


def _lambdas(chain: _Chain, at: int) -> _Chain:
    """The lines of lambdas that the function at a place in a chain calls."""
    first = at
    while first and is_lambda(chain[first - 1].function or ""):
        first -= 1
    return chain[first:at]


def _copies(closure: Variable) -> list[str]:
    return [member.name for member in closure.members if not is_reference(member.type)]

"""Which variables the source lines of an object's accesses name, through the inline chains."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.analysis.aliases import Aliases, Known, is_lambda
from lmemscope.analysis.constructed import declaration
from lmemscope.analysis.layout import has_union, is_reference
from lmemscope.analysis.scopes import Scopes
from lmemscope.formats.kernel_names import stable_name
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_body import Instruction, Loc
from lmemscope.formats.ptx_isa import Access
from lmemscope.formats.sides import contains, is_on_side
from lmemscope.model import InlineFrame, SourceLocation, SourceText, Variable

_Chain = tuple[InlineFrame, ...]
_CLOSURE = "(lambda)"
"""What the type of a lambda's object is called here, behind its qualifiers."""
_LONGEST_FUNCTION = 2000
"""Lines of a function at most, to be searched for casts."""
_REINTERPRETS = re.compile(
    r"\b(?:__\w+_as_\w+|__hiloint2double|__double2(?:hi|lo)int|\w*bit_cast|memcpy|union|asm|__asm__"
    r"|signbit|copysign\w*|frexp\w*|ldexp\w*|i?logb\w*|scalbl?n\w*|nextafter\w*)\b"
    r"|(?:\(\s*(?:\w+\s+){0,4}[\w:]+\s*\*+\s*(?:__restrict__\s*)?\)|_cast<[^;<>()]*[*&]\s*>\s*\()"
    r"\s*&?\s*(?P<cast>\w*)"
)
"""What takes the bits of a number for those of another kind; the name that a cast is of."""
_STORES: Mapping[Access | None, bool] = {"store": True, "load": False}
_OTHER_SIDE = 0.3
"""What a name counts for that stands only on the other side of an assignment."""
_OUTSIDE = 0.95
"""What a name counts for that stands at a call, and the lines inside do not show as what."""


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
        ptx: the optimised module.
        sources: for the text of lines.
        scopes: of the variables.
        aliases: what they are called elsewhere.
    """

    def __init__(
        self,
        ptx: PtxModule,
        sources: SourceText,
        scopes: Scopes,
        aliases: Aliases,
    ) -> None:
        self._ptx, self._sources = ptx, sources
        self._expansion = aliases.expansion
        self._scopes, self.aliases = scopes, aliases
        self._said: dict[tuple[str, int, str], bool] = {}
        self._texts: dict[SourceLocation, str] = {}
        self._chains: dict[object, tuple[Loc | None, _Chain]] = {}
        self._own: dict[Variable, Known] = {}
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
            named += count * self._fit(chain, at, is_store, variable, captured)
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
        if at is None:
            return False
        is_store = _STORES.get(instruction.isa.access)
        return self._fit(chain, at, is_store, variable, self.spellings(variable)) > _OTHER_SIDE

    def _fit(
        self,
        chain: _Chain,
        at: int,
        is_store: bool | None,
        variable: Variable,
        inside: Sequence[str],
    ) -> float:
        """How well lines that name a variable fit an access: they say which side is stored.

        0 where none names it, neither its function's nor, as one of ``inside``, a lambda's there.
        """
        place = chain[at].location
        if not self._scopes.holds(variable, place.file, place.line):
            return 0.0  # What has the name there is another variable.
        named = self._handed_in(chain, at, variable)
        if named is None:
            lambdas = _lambdas(chain, at)
            is_named = any(
                self.says(frame, word) and self._is_captured(variable.function, frame, word)
                for frame in lambdas
                for word in inside
            )
            return float(is_named or (not at and self._declares(chain[0], variable)))
        depth, words = named
        if depth or is_store is None:
            return _OUTSIDE if depth else 1.0
        frame = chain[0]
        texts = [text for text in self.levels(frame) if any(contains(text, w) for w in words)]
        text = texts[0] if texts else self._text(frame)
        return 1.0 if any(is_on_side(text, word, is_store) for word in words) else _OTHER_SIDE

    def _inside(self, variable: Variable, placed: Sequence[tuple[_Chain, int]]) -> Sequence[str]:
        """What lambdas call a variable.

        Where a lambda captures by value, the name is its copy's; it is the variable's again where
        the object is filled by that name: then the compiler has left the copy out.
        """
        if is_closure(variable):
            return tuple(_copies(variable))
        words = self.spellings(variable)
        held = self.aliases.declared_in(variable.function)
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

    def _is_captured(self, function: str, frame: InlineFrame, word: str) -> bool:
        """Whether a lambda has a name: of one on its own line, the capture list may name another,
        as in ``[copy = table]``. A reference may be to what it names otherwise.
        """
        held = self.aliases.declared_in(function)
        place = frame.location
        own = [v for v in held if is_closure(v) and (v.file, v.line) == (place.file, place.line)]
        members = [member for one in own for member in one.members]
        return not own or any(one.name == word or is_reference(one.type) for one in members)

    def _declares(self, frame: InlineFrame, variable: Variable) -> bool:
        """Whether a line is part of a declaration with an initialiser over several lines."""
        place = frame.location
        if place.file != variable.file or place.line <= variable.line:
            return False
        key = (variable.file, variable.line)
        if key not in self._declared_to:
            self._declared_to[key] = self._last_line(variable)
        return place.line <= self._declared_to[key]

    def _last_line(self, variable: Variable) -> int:
        """Where a variable's declaration ends: behind its line only if it has an initialiser."""
        text = declaration(self._sources, variable)
        before, brace, _ = text.partition("{")
        is_list = brace and "=" in before and ";" not in before
        return variable.line + text.count("\n") - 1 if is_list else variable.line

    def _handed_in(
        self, chain: _Chain, at: int, variable: Variable
    ) -> tuple[int, Sequence[str]] | None:
        """The innermost line to which a line that names a variable hands it, and as what.

        ``step(first, other)`` names both; on a line of ``step`` that reads ``a[i]`` it is the
        one that ``step``'s parameter ``a`` is, as ``p[i]`` is behind ``auto *p = a``. A call whose
        arguments do not tell counts as naming.
        None where no line names it.
        """
        known = self._paths(variable)
        for depth in range(at, 0, -1):
            frame, callee = chain[depth], chain[depth - 1].function or ""
            place, words = frame.location, _words(known)
            statement = self.statement(frame)
            texts = (statement, *self._expansion.of_text(statement, place.file, place.line))
            if not any(contains(text, word) for text in texts for word in words):
                return None
            inner, is_shown = self.aliases.into(known, place, callee, variable)
            if not is_shown:
                return depth, words
            known = self.aliases.within(inner, callee, variable, is_sure=True)
        words = _words(known)
        return (0, words) if any(self.says(chain[0], word) for word in words) else None

    def statement(self, frame: InlineFrame) -> str:
        """The text from a line to the end of its statement."""
        place = frame.location
        return self._expansion.statements(place)[0].behind(place.line)

    def says(self, frame: InlineFrame, name: str) -> bool:
        """Whether a line holds a name as a word."""
        place = frame.location
        key = (place.file, place.line, name)
        if key not in self._said:
            self._said[key] = any(contains(text, name) for text in self.levels(frame))
        return self._said[key]

    def says_pointer(self, owner: str, chain: _Chain, variable: Variable, member: str) -> bool:
        """Whether a line of a variable's function holds a pointer that leads to a member of it.

        Args:
            owner: mangled name of the function that the chain ends in.
            chain: of an access.
            variable: the structure.
            member: its path behind the variable's name.
        """
        at = _position(owner, chain, variable)
        if at is None:
            return False
        own = frozenset({(variable.name, *member.strip(".").split("."))})
        words = _words(self.aliases.within(own, variable.function, variable))
        return any(self.says(chain[at], word) for word in words)

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
            held = [v for v in self.aliases.declared_in(function) if v.file == place.file]
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

    def spellings(self, variable: Variable) -> Sequence[str]:
        """Its name and what refers to it under another, in its function."""
        return _words(self._paths(variable))

    def _paths(self, variable: Variable) -> Known:
        """What its function calls a variable."""
        if variable not in self._own:
            # What has no name of its own is known by its members'.
            names = [one.name for one in variable.members] if has_no_name(variable) else []
            self._own[variable] = frozenset((one,) for one in names or [variable.name])
        own, function = self._own[variable], variable.function
        return self.aliases.within(own, function, variable, is_sure=True)


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


@functools.lru_cache(maxsize=1 << 10)
def _words(known: Known) -> tuple[str, ...]:
    """What names a variable by itself: members that are set to it are others' on other lines."""
    return tuple(sorted(path[0] for path in known if len(path) == 1))


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

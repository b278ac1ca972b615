"""What a variable is called on each line of an inline chain, and its subscripts there.

A helper that was inlined knows the array by the name of its parameter, a member function by the
name of the member. So the names are followed from the function that declares the variable into the
one that makes the access, call by call, by what the call's text passes on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lmemscope.analysis.names import Names, ObjectName
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.statements import Path, Statement, Subscript, WrittenCall, statement_at
from lmemscope.model import InlineFrame, SourceLocation, SourceText, Variable, is_library

_REFERENCE = re.compile(r"[*&\[]")
_INITIALISED = r"\b{name}\b\s*\)?\s*(?:\[[^\]]*\]\s*)*(?:=|\(|\{{)(?P<value>.*)"
_OPERATOR = re.compile(r"operator\W")


@dataclass(frozen=True, slots=True)
class Written:
    """Subscripts of a variable that an access may be.

    Attributes:
        file: that they stand in.
        candidates: those with the right direction, each text once, in the order of the text.
    """

    file: str
    candidates: tuple[Subscript, ...]


class Spelling:
    """Subscripts of one unit's variables.

    Args:
        names: of variables.
        sources: the user's files.
    """

    def __init__(self, names: Names, sources: SourceText) -> None:
        self._names, self._sources = names, sources
        self._statements: dict[SourceLocation, Statement] = {}

    def subscripts(
        self, named: ObjectName, owner: str, chain: Sequence[InlineFrame], *, is_store: bool
    ) -> Written | None:
        """The subscripts of a variable on the innermost line of a chain that has some.

        Args:
            named: the variable.
            owner: mangled name of the function that the outermost frame is in.
            chain: of the access, innermost frame first.
            is_store: direction of the access.
        """
        functions = [frame.function or owner for frame in chain]
        variable, start = self._declared(named, functions)
        known: list[frozenset[Path]] = [frozenset()] * len(chain)
        aliases = frozenset({tuple(named.name.split("."))})
        for depth in range(start, -1, -1):
            if depth < start:
                outer = chain[depth + 1].location
                aliases = self._passed(aliases, self._at(outer), functions[depth], variable)
            aliases = self._with_references(aliases, functions[depth])
            known[depth] = aliases
        for frame, aliases in zip(chain, known, strict=True):
            place = frame.location
            if not aliases or place.line <= 0 or is_library(place.file):
                continue
            found = _fitting(self._at(place).subscripts, aliases, place.line, is_store=is_store)
            if found:
                return Written(place.file, found)
        return None

    def _declared(self, named: ObjectName, functions: Sequence[str]) -> tuple[Variable | None, int]:
        """The variable, and the frame whose function declares it; else the outermost frame."""
        head = named.name.partition(".")[0]
        for depth, function in enumerate(functions):
            for variable in self._names.declared_in(function):
                if variable.name == head and variable.line == named.declared.line:
                    return variable, depth
        return None, len(functions) - 1

    def _at(self, place: SourceLocation) -> Statement:
        if place not in self._statements:
            self._statements[place] = statement_at(
                lambda number: self._sources.line(place.file, number), place.line
            )
        return self._statements[place]

    def _with_references(self, aliases: frozenset[Path], function: str) -> frozenset[Path]:
        """With the pointers and references of a function that are initialised with the variable."""
        result = set(aliases)
        for variable in self._names.declared_in(function):
            if variable.is_parameter or not re.search(r"[*&]", variable.type):
                continue
            line = self._sources.line(variable.file, variable.line)
            pattern = _INITIALISED.format(name=re.escape(variable.name))
            match = re.search(pattern, line)
            if match is not None:
                value = Statement(match["value"].partition(";")[0], [0], 0)
                result |= _renamed(aliases, value.paths, variable.name)
        return frozenset(result)

    def _passed(
        self,
        aliases: frozenset[Path],
        statement: Statement,
        callee: str,
        variable: Variable | None,
    ) -> frozenset[Path]:
        """What the variable is called inside a function that a statement calls."""
        name = short_name(demangle(callee))
        if "lambda" in name or "UlE" in callee or "{lambda" in demangle(callee):
            return aliases  # It captures what it names.
        plain = _plain(name)
        parameters = [one for one in self._names.declared_in(callee) if one.is_parameter]
        is_member = any(one.name == "this" for one in parameters)
        explicit = [one for one in parameters if one.name != "this"]
        result: set[Path] = set()
        calls = list(statement.calls(plain)) if plain is not None else []
        for call in calls:
            for parameter, paths in zip(explicit, call.arguments, strict=False):
                if _REFERENCE.search(parameter.type):
                    result |= _renamed(aliases, paths, parameter.name)
            if is_member:
                result |= _members(aliases, call, variable)
        if calls:
            return frozenset(result)
        # An operator, a macro: nothing that a text shows.
        references = [one for one in explicit if _REFERENCE.search(one.type)]
        if is_member:
            return _all_members(aliases, variable)
        return frozenset({(references[0].name,)} if len(references) == 1 else ())


def _plain(name: str) -> str | None:
    """A function's name as a call spells it; None for an operator."""
    if _OPERATOR.search(name):
        return None
    depth = 0
    kept = ""
    for char in name:
        depth += char == "<"
        if depth == 0:
            kept += char
        depth -= char == ">"
    return kept.rpartition("::")[2] or None


def _renamed(aliases: Collection[Path], paths: Collection[Path], name: str) -> set[Path]:
    """The variable by a name that stands for something which is named in ``paths``."""
    result: set[Path] = set()
    for alias in aliases:
        for path in paths:
            if alias[: len(path)] == path:
                result.add((name, *alias[len(path) :]))
            elif path[: len(alias)] == alias:
                result.add((name,))
    return result


def _members(
    aliases: frozenset[Path], call: WrittenCall, variable: Variable | None
) -> frozenset[Path]:
    """What is known inside a member function: members of the object that it is called for."""
    if call.receiver is None:
        # A member function that calls another one of the same object.
        return aliases
    ours = frozenset(alias for alias in aliases if alias[: len(call.receiver)] == call.receiver)
    return _all_members(ours, variable, len(call.receiver))


def _all_members(
    aliases: Collection[Path], variable: Variable | None, depth: int = 1
) -> frozenset[Path]:
    result: set[Path] = set()
    for alias in aliases:
        rest = alias[depth:]
        names = [rest] if rest else [(m.name,) for m in variable.members] if variable else []
        for path in names:
            result |= {path, ("this", *path)}
    return frozenset(result)


def _fitting(
    found: Sequence[Subscript], aliases: frozenset[Path], line: int, *, is_store: bool
) -> tuple[Subscript, ...]:
    """Run-time subscripts of the variable: on the line itself, if any; of the direction, if any."""
    ours = [
        one
        for one in found
        if not one.is_constant and any(_is_of(one.path, alias) for alias in aliases)
    ]
    ours = [one for one in ours if one.line == line] or ours
    ours = [one for one in ours if (one.writes if is_store else one.reads)] or ours
    return tuple({one.text: one for one in reversed(ours)}.values())[::-1]


def _is_of(path: Path, alias: Path) -> bool:
    """Whether a subscript of ``path`` indexes the variable, one of its members or its whole."""
    return path[: len(alias)] == alias or alias[: len(path)] == path

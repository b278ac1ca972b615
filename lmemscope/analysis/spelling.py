"""The subscripts of a variable on each line of an inline chain, by what it is called there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lmemscope.analysis.aliases import Known
from lmemscope.analysis.mentions import is_closure, same_function
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.template_values import TemplateValues, taken
from lmemscope.formats.statements import Path, Statement, Subscript
from lmemscope.model import InlineFrame, SourceLocation, SourceText, Variable, is_library

_REACH = 12
"""Lines behind an access in which a loop may move a pointer on."""


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
        self._aliases = names.aliases
        self._scopes = names.scopes
        self._templates = TemplateValues(sources)
        self._onlys: dict[tuple[Variable, Path], tuple[Subscript, ...]] = {}

    def subscripts(
        self, named: ObjectName, owner: str, chain: Sequence[InlineFrame], *, is_store: bool
    ) -> Iterator[Written]:
        """The subscripts of a variable on each line of a chain that has some, innermost first.

        Args:
            named: the variable.
            owner: mangled name of the function that the outermost frame is in.
            chain: of the access, innermost frame first.
            is_store: direction of the access.
        """
        functions = [same_function(frame.function or owner) for frame in chain]
        variable, start = self._declared(named, functions)
        known: list[Known] = [frozenset()] * len(chain)
        aliases: Known = frozenset({tuple(named.name.split("."))})
        for depth in range(start, -1, -1):
            if depth < start:
                outer, callee = chain[depth + 1].location, functions[depth]
                aliases, _ = self._aliases.into(aliases, outer, callee, named.variable)
            aliases = self._aliases.within(aliases, functions[depth], named.variable)
            known[depth] = aliases
        for frame, function, aliases in zip(chain, functions, known, strict=True):
            place = frame.location
            if not aliases or place.line <= 0 or is_library(place.file):
                continue
            for statement in self._of_instance(place, function):
                found = _fitting(statement.subscripts, aliases, place.line, is_store=is_store)
                if found:
                    yield Written(place.file, found)
                    break
        for frame, function, aliases in zip(chain, functions, known, strict=True):
            place = frame.location
            if aliases and place.line > 0 and not is_library(place.file):
                through = self._through(place, function, aliases, is_store=is_store)
                if through is not None:
                    yield through
        if variable is not None:
            only = self._only(named, variable, chain[start].location, is_store=is_store)
            if only is not None:
                yield only

    def all_of(self, named: ObjectName) -> list[str]:
        """The run-time subscripts of a variable in its scope; none where it is used as a whole."""
        path = tuple(named.name.split("."))
        return [one.text for one in self._all_in_scope(path, named.variable)]

    def _only(
        self, named: ObjectName, variable: Variable, place: SourceLocation, *, is_store: bool
    ) -> Written | None:
        """The one run-time subscript of the right direction that a variable has in its scope.

        Compilers move accesses to other lines, most of them up. Where nothing but that subscript
        can be one, it is. A lambda's is used where the lambda is called.
        """
        path = tuple(named.name.split("."))
        key = (variable, path)
        if key not in self._onlys:
            self._onlys[key] = self._all_in_scope(path, variable)
        found = [one for one in self._onlys[key] if (one.writes if is_store else one.reads)]
        if len({one.text for one in found}) != 1:
            return None
        first = next((one for one in found if one.line >= place.line), found[-1])
        closures = [one for one in self._names.declared_in(variable.function) if is_closure(one)]
        if place.line > 0 and any(one.line == first.line for one in closures):
            return Written(place.file, (replace(first, line=place.line),))
        return Written(variable.file, (first,))

    def _all_in_scope(self, path: Path, variable: Variable) -> tuple[Subscript, ...]:
        """All run-time subscripts of a variable; none where it is used in another way too."""
        text = "\n".join(self._scope(variable))
        name = re.compile(rf"\b{re.escape(path[0])}\b")
        expanded = self._aliases.expansion.of_text(text, variable.file, variable.line)
        if any(len(name.findall(one)) > len(name.findall(text)) for one in expanded):
            return ()
        starts = [0, *(found.end() for found in re.finditer("\n", text))]
        statement = Statement(text, starts, variable.line + 1)
        if any(one[: len(path)] == path[: len(one)] for one in statement.whole):
            return ()  # Its address goes elsewhere.
        return tuple(
            one
            for one in statement.subscripts
            if not one.is_constant and one.path[: len(path)] == path[: len(one.path)]
        )

    def _scope(self, variable: Variable) -> list[str]:
        """The lines of a variable's scope behind its declaration; none where that is not known."""
        last = self._scopes.last(variable)
        if last is None:
            return []
        lines = range(variable.line + 1, last + 1)
        return [self._sources.line(variable.file, number) for number in lines]

    def _through(
        self, place: SourceLocation, function: str, aliases: Known, *, is_store: bool
    ) -> Written | None:
        """Subscripts of a view of the variable, or of the element that a pointer was set to."""
        statement = self._aliases.expansion.statements(place)[0]
        values = self._aliases.initialised(function)
        views = ((v.name,) for v, of in values if v.members and not aliases.isdisjoint(of.whole))
        found = _fitting(statement.subscripts, frozenset(views), place.line, is_store=is_store)
        if found:
            return Written(place.file, found)
        said = {path[0] for path in statement.paths}
        meant = [
            (variable, index)
            for variable, value in values
            if variable.name in said and (index := _element(variable, value, aliases)) is not None
        ]
        if len(meant) != 1 or self._moves(meant[0][0], place.line):
            return None
        return Written(meant[0][0].file, (meant[0][1],))

    def _moves(self, variable: Variable, line: int) -> bool:
        """Whether a pointer may have moved on between its declaration and the end of its loop."""
        if "*" not in variable.type or variable.type.endswith("const"):
            return False
        name = re.escape(variable.name)
        moving = re.compile(rf"(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--|[-+]?=(?!=))")
        texts = [(self._aliases.initialiser(variable) or "").partition(";")[2]]
        for number in range(variable.line + 1, line + _REACH):
            texts.append(self._sources.line(variable.file, number))
            if texts[-1].startswith("}"):
                break  # the function's end
        return any(moving.search(text) for text in texts)

    def _declared(self, named: ObjectName, functions: Sequence[str]) -> tuple[Variable | None, int]:
        """The variable, and the frame whose function declares it; else the outermost frame."""
        head = named.name.partition(".")[0]
        for depth, function in enumerate(functions):
            for variable in self._names.declared_in(function):
                if variable.name == head and variable.line == named.declared.line:
                    return variable, depth
        return None, len(functions) - 1

    def _of_instance(self, place: SourceLocation, function: str) -> Iterable[Statement]:
        """The statement at a place, then without macros, as an instance of a template has it."""
        values = self._templates.of(function, place)
        for statement in self._aliases.expansion.statements(place):
            if values:
                yield from statement.rewritten(lambda text, _: [taken(text, values)])
            else:
                yield statement


def _element(variable: Variable, value: Statement, aliases: Known) -> Subscript | None:
    """The run-time subscript of the element that a pointer or a reference is set to."""
    is_reference = variable.type.endswith("&")
    if not is_reference and "*" not in variable.type:
        return None
    found = value.elements(of_pointer=not is_reference)
    ours = [one for one in found if one.path in aliases and not one.is_constant]
    return ours[0] if len(ours) == 1 else None


def _fitting(
    found: Sequence[Subscript], aliases: Known, line: int, *, is_store: bool
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

"""What a variable is called on each line of an inline chain, and its subscripts there.

A helper that was inlined knows the array by the name of its parameter, a member function by the
name of the member. So the names are followed from the function that declares the variable into the
one that makes the access, call by call, by what the call's text passes on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from lmemscope.analysis.constructed import members_given
from lmemscope.analysis.expansion import Expansion
from lmemscope.analysis.mentions import is_closure
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.template_values import TemplateValues
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.statements import (
    Path,
    Statement,
    Subscript,
    WrittenCall,
    statement_at,
    taken,
)
from lmemscope.model import InlineFrame, SourceLocation, SourceText, Variable, is_library

_REFERENCE = re.compile(r"[*&\[]")
_INITIALISED = r"\b{name}\b\s*\)?\s*(?:\[[^\]]*\]\s*)*(?:=|\(|\{{)(?P<value>.*)"
_BINDING = re.compile(r"&\s*\[(?P<names>[^\]]*)\]\s*[=({]\s*(?P<value>\w+)")
_POINTED = re.compile(
    r"\s*(?P<pointer>\w+(?:(?:\.|->)\w+)+)\s*=\s*(?:&\s*)?(?P<value>[A-Za-z_][\w.]*)(?:\[0\])?\s*;"
)
_MEMBER = re.compile(r"\.|->")
_REACH = 12
"""Lines behind an access in which a loop may move a pointer on."""
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


@dataclass(frozen=True, slots=True)
class _Element:
    """A pointer or a reference to one element, and the subscript that chose it."""

    variable: Variable
    index: Subscript


@dataclass(frozen=True, slots=True)
class _Handles:
    """Variables of a function through which it gets at another variable.

    Attributes:
        views: structures that are made of its address.
        elements: pointers and references to one of its elements.
    """

    views: frozenset[Path]
    elements: tuple[_Element, ...]


class Spelling:
    """Subscripts of one unit's variables.

    Args:
        names: of variables.
        sources: the user's files.
    """

    def __init__(self, names: Names, sources: SourceText) -> None:
        self._names, self._sources = names, sources
        self._expansion = Expansion(sources)
        self._scopes = names.scopes
        self._templates = TemplateValues(sources)
        self._onlys: dict[tuple[Variable, Path], tuple[Subscript, ...]] = {}
        self._pointed: dict[Variable, frozenset[tuple[Path, Path]]] = {}
        self._statements: dict[SourceLocation, Statement] = {}
        self._expanded: dict[SourceLocation, tuple[Statement, ...]] = {}
        self._handled: dict[tuple[str, frozenset[Path]], _Handles] = {}
        self._referring: dict[tuple[str, frozenset[Path]], frozenset[Path]] = {}

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
        if variable is not None:
            aliases |= self._set_to(aliases, variable)
        for depth in range(start, -1, -1):
            if depth < start:
                outer = chain[depth + 1].location
                aliases = self._passed(aliases, outer, functions[depth], variable)
            aliases = self._with_references(aliases, functions[depth])
            known[depth] = aliases
        for frame, function, aliases in zip(chain, functions, known, strict=True):
            place = frame.location
            if not aliases or place.line <= 0 or is_library(place.file):
                continue
            for statement in self._of_instance(place, function):
                found = _fitting(statement.subscripts, aliases, place.line, is_store=is_store)
                if found:
                    return Written(place.file, found)
        for frame, function, aliases in zip(chain, functions, known, strict=True):
            place = frame.location
            if aliases and place.line > 0 and not is_library(place.file):
                through = self._through(place, function, aliases, is_store=is_store)
                if through is not None:
                    return through
        if variable is None:
            return None
        return self._only(named, variable, chain[start].location, is_store=is_store)

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
        expanded = self._expansion.of_text(text, variable.file, variable.line)
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

    def _set_to(self, aliases: frozenset[Path], variable: Variable) -> frozenset[Path]:
        """Pointers in structures that are set to a variable: ``view.data = a;``."""
        if variable not in self._pointed:
            found = [match for line in self._scope(variable) if (match := _POINTED.match(line))]
            self._pointed[variable] = frozenset(
                (tuple(_MEMBER.split(match["pointer"])), tuple(match["value"].split(".")))
                for match in found
            )
        return frozenset(p for p, value in self._pointed[variable] if value in aliases)

    def _through(
        self, place: SourceLocation, function: str, aliases: frozenset[Path], *, is_store: bool
    ) -> Written | None:
        """Subscripts of a view of the variable, or of the element that a pointer was set to."""
        statement = self._at(place)
        handles = self._handles(function, aliases)
        found = _fitting(statement.subscripts, handles.views, place.line, is_store=is_store)
        if found:
            return Written(place.file, found)
        said = {path[0] for path in statement.paths}
        meant = [one for one in handles.elements if one.variable.name in said]
        if len(meant) != 1 or self._moves(meant[0].variable, place.line):
            return None
        return Written(meant[0].variable.file, (meant[0].index,))

    def _handles(self, function: str, aliases: frozenset[Path]) -> _Handles:
        key = (function, aliases)
        if key not in self._handled:
            views: set[Path] = set()
            elements: list[_Element] = []
            for variable in self._names.declared_in(function):
                value = None if variable.is_parameter else self._initial(variable)
                if value is None:
                    continue
                if variable.members and not aliases.isdisjoint(value.whole):
                    views.add((variable.name,))
                index = _element(variable, value, aliases)
                if index is not None:
                    elements.append(_Element(variable, index))
            self._handled[key] = _Handles(frozenset(views), tuple(elements))
        return self._handled[key]

    def _initial(self, variable: Variable) -> Statement | None:
        """What a variable is initialised with on the line of its declaration."""
        text = self._initialiser(variable)
        if text is None:
            return None
        return Statement(_opened(text.partition(";")[0]), [0], variable.line)

    def _initialiser(self, variable: Variable) -> str | None:
        """The line of a variable's declaration from its initialiser on."""
        line = self._sources.line(variable.file, variable.line)
        match = re.search(_INITIALISED.format(name=re.escape(variable.name)), line)
        return match["value"] if match is not None else None

    def _moves(self, variable: Variable, line: int) -> bool:
        """Whether a pointer may have moved on between its declaration and the end of its loop."""
        if "*" not in variable.type or variable.type.endswith("const"):
            return False
        name = re.escape(variable.name)
        moving = re.compile(rf"(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--|[-+]?=(?!=))")
        texts = [(self._initialiser(variable) or "").partition(";")[2]]
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

    def _at(self, place: SourceLocation) -> Statement:
        if place not in self._statements:
            self._statements[place] = statement_at(
                lambda number: self._sources.line(place.file, number), place.line
            )
        return self._statements[place]

    def _of_instance(self, place: SourceLocation, function: str) -> Iterable[Statement]:
        """The statement at a place, then without macros, as an instance of a template has it."""
        values = self._templates.of(function, place)
        for statement in (self._at(place), *self._inside_macros(place)):
            if values:
                yield from statement.rewritten(lambda text, _: [taken(text, values)])
            else:
                yield statement

    def _inside_macros(self, place: SourceLocation) -> tuple[Statement, ...]:
        """The statement at a place with its macros replaced once, twice, and so on."""
        if place not in self._expanded:
            made = self._at(place).rewritten(
                lambda text, _: self._expansion.of_text(text, place.file, place.line)
            )
            self._expanded[place] = tuple(made)
        return self._expanded[place]

    def _with_references(self, aliases: frozenset[Path], function: str) -> frozenset[Path]:
        """With the pointers and references of a function that are initialised with the variable."""
        key = (function, aliases)
        if key not in self._referring:
            result = set(aliases)
            for variable in self._names.declared_in(function):
                if not variable.is_parameter and variable.members:
                    made = members_given(
                        self._sources, variable, self._names.constructors(variable.type)
                    )
                    result |= {path for path, value in made if value in aliases}
                if variable.is_parameter or not re.search(r"[*&]", variable.type):
                    continue
                value = self._initial(variable)
                if value is not None:
                    result |= _renamed(aliases, value.paths, variable.name)
                elif variable.type.endswith("&"):
                    result.update(self._bound(variable, function, aliases))
            self._referring[key] = frozenset(result)
        return self._referring[key]

    def _bound(
        self, reference: Variable, function: str, aliases: frozenset[Path]
    ) -> Iterable[Path]:
        """Names of members, of a reference without a name of its own: ``auto &[a, b] = s``."""
        match = _BINDING.search(self._sources.line(reference.file, reference.line))
        if match is None:
            return
        names = [name.strip() for name in match["names"].split(",")]
        whole = match["value"]
        for variable in self._names.declared_in(function):
            if variable.name != whole or len(variable.members) != len(names):
                continue
            for name, member in zip(names, variable.members, strict=True):
                for alias in aliases:
                    if alias[:2] == (whole, member.name):
                        yield (name, *alias[2:])

    def _passed(
        self,
        aliases: frozenset[Path],
        place: SourceLocation,
        callee: str,
        variable: Variable | None,
    ) -> frozenset[Path]:
        """What the variable is called inside a function that is called at a place."""
        name = short_name(demangle(callee))
        if "lambda" in name or "UlE" in callee or "{lambda" in demangle(callee):
            return aliases  # It captures what it names.
        plain = _plain(name)
        parameters = [one for one in self._names.declared_in(callee) if one.is_parameter]
        is_member = any(one.name == "this" for one in parameters)
        explicit = [one for one in parameters if one.name != "this"]
        result: set[Path] = set()
        calls: list[WrittenCall] = []
        if plain is not None:
            calls = list(self._at(place).calls(plain))
            for statement in self._inside_macros(place) if not calls else ():
                calls = calls or list(statement.calls(plain))
        for call in calls:
            for parameter, paths in zip(explicit, call.arguments, strict=False):
                if _REFERENCE.search(parameter.type):
                    result |= _renamed(aliases, paths, parameter.name)
                elif parameter.members:
                    # A copy of a structure holds the pointers that the structure holds.
                    inside = {one for one in aliases if len(one) > 1}
                    wholes = [path for path in paths if path not in aliases]
                    result |= _renamed(inside, wholes, parameter.name)
            if is_member:
                result |= _members(aliases, call, variable)
        if calls:
            return frozenset(result)
        # An operator, a macro: nothing that a text shows.
        references = [one for one in explicit if _REFERENCE.search(one.type)]
        if is_member:
            return _all_members(aliases, variable)
        return frozenset({(references[0].name,)} if len(references) == 1 else ())


def _element(variable: Variable, value: Statement, aliases: frozenset[Path]) -> Subscript | None:
    """The run-time subscript of the element that a pointer or a reference is set to."""
    is_reference = variable.type.endswith("&")
    if not is_reference and "*" not in variable.type:
        return None
    found = value.elements(of_pointer=not is_reference)
    ours = [one for one in found if one.path in aliases and not one.is_constant]
    return ours[0] if len(ours) == 1 else None


def _opened(text: str) -> str:
    """A text as far as the brackets go that are opened in it."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return text[:index]
    return text


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

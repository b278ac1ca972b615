"""What a variable is called elsewhere: by pointers, references and structures in its own function,
and inside of the calls on an inline chain.

A helper that was inlined knows an array by the name of its parameter, a member function by the name
of the member. Names are paths: ``view.data``, where that member is set to the array, is one too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.analysis.constructed import members_given
from lmemscope.analysis.expansion import Expansion
from lmemscope.analysis.layout import is_pointer, is_reference
from lmemscope.analysis.scopes import Scopes
from lmemscope.formats.demangle import demangle, plain_name
from lmemscope.formats.statements import Operand, Path, Statement, WrittenCall
from lmemscope.model import SourceLocation, SourceText, Variable

Known = frozenset[Path]
"""The names by which a function gets at a variable."""

_DEEPEST = 4
"""Pointers that are set to one another, at most."""
_LONGEST = 2000
"""Lines of a function that are searched for assignments, at most."""
_INDIRECT = re.compile(r"[*&]")
_ADDRESS = re.compile(r"[*&\[]")
_INITIALISED = r"\b{name}\b\s*\)?\s*(?:\[[^\]]*\]\s*)*(?P<value>[=({{].*)"
_DECLARATOR = re.compile(r"[*&\s]*\w+\s*(?:[=\[({,]|$)")
_BINDING = re.compile(r"&\s*\[(?P<names>[^\]]*)\]\s*[=({]\s*(?P<value>\w+)")
_ASSIGNED = re.compile(
    r"(?<![\w.>*])(?<!\*\s)(?P<path>[A-Za-z_]\w*(?:(?:\.|->)\w+)*)\s*=(?!=)\s*(?P<value>[^;=,]*)"
)
_PLAIN = re.compile(r"(?:&\s*)?[A-Za-z_][\w.]*(?:\[0\])?\s*")
_MEMBER = re.compile(r"\.|->")
_CONSTRUCTOR = re.compile(r"C[123]E")
"""In a mangled name (Itanium C++ ABI, 5.1.4.3), where `this` says the rest."""
_LAMBDA = re.compile(r"E(?:NK?)?Ul")
"""In the mangled name of a lambda's call operator, behind that of the function around it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A name that is set to lead where others do.

    Attributes:
        path: the name.
        targets: what it may lead to.
        addresses: those of them behind ``&``.
        place: the line that says it.
        alternatives: arrays and pointers that it is one or the other of, as written.
        is_reference: whether it is another name for its target.
        pointer: the pointer that an assignment sets; None of a declaration, and of a member.
    """

    path: Path
    targets: Known
    addresses: Known
    place: SourceLocation
    alternatives: Known = frozenset()
    is_reference: bool = False
    pointer: Variable | None = None

    def of(self, variable: Variable) -> Known:
        """The targets without a variable's value: its name alone is no address of a number."""
        if self.is_reference or "[" in variable.type or variable.members:
            return self.targets
        own = {one for one in self.targets - self.addresses if one[0] == variable.name}
        return self.targets - own

    def is_sure(self, known: Known) -> bool:
        """Whether it leads where ``known`` does whatever is chosen."""
        return all(_renamed(known, [one], ()) for one in self.alternatives)


class Aliases:
    """Names of one unit's variables.

    Args:
        by_function: the variables that each function declares.
        sources: the user's files.
        scopes: of the variables.

    Attributes:
        expansion: of the user's macros.
    """

    def __init__(
        self, by_function: Mapping[str, Sequence[Variable]], sources: SourceText, scopes: Scopes
    ) -> None:
        self._by_function, self._sources, self._scopes = by_function, sources, scopes
        self.expansion = Expansion(sources)
        self._explicit: dict[str, Sequence[Variable]] = {}
        self._calls: dict[tuple[object, ...], tuple[list[WrittenCall], bool]] = {}
        self._initialised: dict[str, tuple[tuple[Variable, Statement], ...]] = {}
        self._links: dict[str, tuple[Link, ...]] = {}
        self._within: dict[tuple[object, ...], Known] = {}
        self._into: dict[tuple[object, ...], tuple[Known, bool]] = {}

    def within(
        self,
        known: Known,
        function: str,
        variable: Variable,
        *,
        is_sure: bool = False,
    ) -> Known:
        """With the pointers, references and members of a function that lead where ``known`` does.

        Args:
            known: what the function calls a variable.
            function: its mangled name, without what differs between compilations.
            variable: which, of this function or of one that it is inlined in.
            is_sure: whether what may also lead elsewhere is none of them.
        """
        key = (function, known, variable, is_sure)
        if key not in self._within:
            links = [
                (one, one.of(variable) if variable.function == function else one.targets)
                for one in self.links(function)
                if variable.function != function
                or self._scopes.holds(variable, one.place.file, one.place.line)
            ]
            for _ in range(_DEEPEST):
                sure = [each for each in links if not is_sure or each[0].is_sure(known)]
                more = {name for one, of in sure for name in _renamed(known, of, one.path)}
                if more <= known:
                    break
                known |= more
            self._within[key] = known
        return self._within[key]

    def into(
        self, known: Known, place: SourceLocation, callee: str, variable: Variable
    ) -> tuple[Known, bool]:
        """What a function that is called at a place knows of a variable.

        Args:
            known: what the caller calls it there.
            place: the line of the call.
            callee: mangled name of the function.
            variable: which.

        Returns:
            Its names, and whether the text shows an argument for them. Else they are the members
            of the object that the function may be called for, or its only reference.
        """
        key = (known, place, callee, variable)
        if key not in self._into:
            self._into[key] = self._passed(known, place, callee, variable)
        return self._into[key]

    def _passed(
        self, known: Known, place: SourceLocation, callee: str, variable: Variable
    ) -> tuple[Known, bool]:
        calls, is_by_name = self.calls(place, callee, len(self.explicit(callee)))
        found: set[Path] = set()
        for parameter, argument in self.arguments(place, callee):
            if _ADDRESS.search(parameter.type) or parameter.members:
                paths = Statement(argument, [0], 0).paths
                found |= _renamed(known, paths, (parameter.name,))
        is_shown = bool(found)
        if is_lambda(callee):
            found |= known  # It captures what it names.
        elif any(one.name == "this" for one in self.declared_in(callee)):
            receivers = [call.receiver for call in calls] if is_by_name else [()]
            found.update(*(_members(known, one, variable) for one in receivers))
        elif not found and not is_by_name:
            # An operator, a macro: nothing that a text shows.
            references = [one for one in self.explicit(callee) if _ADDRESS.search(one.type)]
            found |= {(one.name,) for one in references if len(references) == 1}
        return frozenset(found), is_shown

    def declared_in(self, function: str) -> Sequence[Variable]:
        """Variables and parameters of a function."""
        return self._by_function.get(function, ())

    def explicit(self, function: str) -> Sequence[Variable]:
        """The parameters of a function that a call has arguments for."""
        if function not in self._explicit:
            held = (one for one in self.declared_in(function) if one.is_parameter)
            self._explicit[function] = [one for one in held if one.name != "this"]
        return self._explicit[function]

    def arguments(self, place: SourceLocation, callee: str) -> Iterator[tuple[Variable, str]]:
        """The parameters of a function, each with what calls at a place have for it."""
        parameters = self.explicit(callee)
        for call in self.calls(place, callee, len(parameters))[0] if parameters else ():
            yield from zip(parameters, call.arguments, strict=False)

    def calls(
        self, place: SourceLocation, callee: str | None, count: int
    ) -> tuple[list[WrittenCall], bool]:
        """The calls of a function that a line begins, else those in its statement.

        What is called by another name, as a constructor is by the variable's, or by a macro's, is
        told by how many arguments it gets.

        Args:
            place: a line.
            callee: mangled name of the function; None where that is not known.
            count: of its parameters.

        Returns:
            The calls, outermost first, and whether they are by the function's name.
        """
        key = (place, callee, count)
        if key not in self._calls:
            name = "" if callee is None or is_lambda(callee) else plain_name(demangle(callee))
            statements = self.expansion.statements(place)
            named = (list(one.calls(name)) for one in statements if name)
            found = next(filter(None, named), [])
            is_by_name = bool(found)
            if not found:
                others = (list(one.calls_with(count)) for one in statements)
                found = next(filter(None, others), found)
            on_line = [one for one in found if one.line == place.line]
            self._calls[key] = (on_line or found, is_by_name)
        return self._calls[key]

    def links(self, function: str) -> tuple[Link, ...]:
        """What a function sets pointers, references and members to: in its declarations first."""
        if function not in self._links:
            self._links[function] = (*self._declared(function), *self._assigned(function))
        return self._links[function]

    def _lines(self, function: str) -> tuple[str, int, int]:
        """The file of a function, the first line of its variables and the last."""
        held = self.declared_in(function)
        first = min(one.line for one in held)
        last = self._scopes.function_end(one for one in held if not one.is_parameter)
        return held[0].file, first, min(last, first + _LONGEST)

    def _declared(self, function: str) -> Iterator[Link]:
        held = self.declared_in(function)
        types, values = {one.name: one for one in held}, dict(self.initialised(function))
        for one in held:
            place = SourceLocation(one.file, one.line)
            if one.members and not one.is_parameter:
                given = members_given(self._sources, one, self._constructors(one.type))
                for path, target in given:
                    yield Link(path, frozenset({target}), frozenset(), place)
            if one.is_parameter or not _INDIRECT.search(one.type):
                continue
            if one in values:
                yield _link((one.name,), values[one], place, types)
            elif is_reference(one.type):
                yield from self._bound(one, types)

    def set_to(self, variable: Variable) -> Iterator[tuple[Variable, SourceLocation]]:
        """Pointers that are set to where a variable is, behind their declarations, and the lines.

        Of each the first line, in the order of the text.
        """
        seen: set[str] = set()
        for one in self.links(variable.function):
            if one.pointer is None or one.pointer.name in seen or one.place.file != variable.file:
                continue
            is_known = self._scopes.holds(variable, one.place.file, one.place.line)
            if is_known and (variable.name,) in one.of(variable):
                seen.add(one.pointer.name)
                yield one.pointer, one.place

    def initialised(self, function: str) -> tuple[tuple[Variable, Statement], ...]:
        """A function's variables with what they are initialised with on their own lines."""
        if function not in self._initialised:
            held = (one for one in self.declared_in(function) if not one.is_parameter)
            texts = ((one, self.initialiser(one)) for one in held)
            self._initialised[function] = tuple(
                (one, Statement(_balanced(text.partition(";")[0]), [0], one.line))
                for one, text in texts
                if text is not None
            )
        return self._initialised[function]

    def initialiser(self, variable: Variable) -> str | None:
        """The line of a variable's declaration from ``=`` or a bracket on; None without one."""
        line = self._sources.line(variable.file, variable.line)
        match = re.search(_INITIALISED.format(name=re.escape(variable.name)), line)
        return match["value"] if match is not None else None

    def _bound(self, reference: Variable, types: Mapping[str, Variable]) -> Iterator[Link]:
        """Names of members, of a reference without a name of its own: ``auto &[a, b] = s``."""
        match = _BINDING.search(self._sources.line(reference.file, reference.line))
        whole = types.get(match["value"]) if match is not None else None
        if match is None or whole is None:
            return
        names = [name.strip() for name in match["names"].split(",")]
        if len(whole.members) == len(names):
            for name, member in zip(names, whole.members, strict=True):
                targets = frozenset({(whole.name, member.name)})
                place = SourceLocation(reference.file, reference.line)
                yield Link((name,), targets, frozenset(), place, is_reference=True)

    def _assigned(self, function: str) -> Iterator[Link]:
        """Pointers, and members of structures, that are set behind their declarations."""
        held = self.declared_in(function)
        types = {one.name: one for one in held}
        own = [one for one in held if not one.is_parameter]
        pointers = {one.name: one for one in own if is_pointer(one.type)}
        if not pointers and not any(one.members for one in held):
            return
        file, first, last = self._lines(function)
        for number in range(first, last + 1):
            text = self._sources.line(file, number)
            for match in _ASSIGNED.finditer(text) if "=" in text else ():
                path = tuple(_MEMBER.split(match["path"]))
                pointer = pointers.get(path[0]) if len(path) == 1 else None
                if pointer is None and (len(path) == 1 or not _PLAIN.fullmatch(match["value"])):
                    continue
                place = SourceLocation(file, number)
                value = Statement(match["value"], [0], number)
                yield _link(path, value, place, types, pointer)

    def _constructors(self, kind: str) -> list[list[Variable]]:
        """The parameters of each constructor of a class, by the name of its type."""
        found: dict[tuple[str, int, int], list[Variable]] = {}
        for function, variables in self._by_function.items():
            if _CONSTRUCTOR.search(function) is None:
                continue
            first, *own = (one for one in variables if one.is_parameter)
            if own and first.name == "this" and first.type.partition(" *")[0] == kind:
                found[own[0].file, own[0].line, len(own)] = own
        return list(found.values())


def is_lambda(function: str) -> bool:
    """Whether a mangled name is that of a lambda's call operator."""
    return _LAMBDA.search(function) is not None


def _link(
    path: Path,
    value: Statement,
    place: SourceLocation,
    types: Mapping[str, Variable],
    pointer: Variable | None = None,
) -> Link:
    """What an expression that a name is set to may lead to."""
    own = types[path[0]].type if len(path) == 1 else ""
    is_bound = is_reference(own)
    operands = [one for one in value.operands() if is_bound or one.operator != "*"]
    addresses = frozenset(one.path for one in operands if one.operator == "&")
    values = (one for one in operands if is_bound or _is_place(one, types))
    targets = addresses | {one.path for one in values}
    kinds = {one.path: types[one.path[0]].type for one in operands if one.path[0] in types}
    chosen = {one for one, kind in kinds.items() if "?" in value.text and _ADDRESS.search(kind)}
    if "[" in own and not (is_bound or is_pointer(own)):
        chosen.add(path)  # One of its elements is what leads there.
    return Link(path, targets, addresses, place, frozenset(chosen), is_bound, pointer)


def _is_place(operand: Operand, types: Mapping[str, Variable]) -> bool:
    """Whether the subscripts of what is named leave an array or a pointer, as far as is known."""
    named = types.get(operand.path[0]) if len(operand.path) == 1 else None
    return named is None or operand.subscripts < max(len(re.findall(r"[*\[]", named.type)), 1)


def _renamed(known: Known, paths: Collection[Path], name: Path) -> set[Path]:
    """A variable by a name that stands for something which is named in ``paths``."""
    result: set[Path] = set()
    for alias in known:
        for path in paths:
            if alias[: len(path)] == path:
                result.add((*name, *alias[len(path) :]))
            elif path[: len(alias)] == alias:
                result.add(name)
    return result


def _members(known: Known, receiver: Path | None, variable: Variable) -> Known:
    """What is known inside a member function: members of the object that it is called for.

    Args:
        known: what the caller knows.
        receiver: the object; empty where it may be any, None where it is the caller's own.
        variable: which is known, to name its members where that is the object.
    """
    if receiver is None:
        return known
    result: set[Path] = set()
    for alias in known:
        rest = alias[len(receiver) or 1 :]
        if alias[: len(receiver)] == receiver:
            for path in [rest] if rest else [(one.name,) for one in variable.members]:
                result |= {path, ("this", *path)}
    return frozenset(result)


def _balanced(text: str) -> str:
    """An initialiser as far as its brackets go, and to the declarator of another variable."""
    depth, is_list = 0, text[:1] != "="
    for index, char in enumerate(text[1:], 1):
        depth += (char in "([{") - (char in ")]}")
        is_next = char == "," and not (depth or is_list) and _DECLARATOR.match(text, index + 1)
        if depth < 0 or is_next:
            return text[1:index]
    return text[1:]

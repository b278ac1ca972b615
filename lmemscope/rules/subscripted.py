"""Local arrays that the source names beyond doubt: no debug compilation has to tell them.

An object that is only subscripted is the one array of its size that each statement which indexes it
subscripts. Everything else on such a statement has to be known to be something else: a parameter
of a kernel, shared or constant memory, an array of another size. What is not known may be the
object, and then nothing is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, pairwise

from lmemscope.analysis.aliases import Aliases, Known, is_lambda
from lmemscope.analysis.candidates import PADDING
from lmemscope.analysis.mentions import same_function
from lmemscope.analysis.scopes import Scopes
from lmemscope.analysis.subscripts import Definition, Subscripted, Subscripts
from lmemscope.formats.demangle import demangle, plain_name
from lmemscope.formats.sides import contains
from lmemscope.formats.statements import Statement, Subscript, closed_at, parts_of, statement_at
from lmemscope.formats.words import last_character
from lmemscope.model import InlineFrame, SourceLocation, SourceText, Variable, is_library
from lmemscope.rules.constants import number_of
from lmemscope.rules.declared import bytes_of
from lmemscope.rules.launch_syntax import parameter_name
from lmemscope.rules.scopes import Declaration, declarations_of

_ELSEWHERE = re.compile(r"\b__(?:shared|constant|device|managed)__\b")
"""What is not in a thread's own memory."""
_WORDS = (
    "signed unsigned char short int long float double bool int8_t int16_t int32_t int64_t uint8_t"
    " uint16_t uint32_t uint64_t".split()
)
"""What a declaration of numbers begins with."""
_TYPE = re.compile(
    rf"\s*(?P<const>const\s+)?(?P<type>(?:(?:{'|'.join(_WORDS)})\s+)+)"
    # Other variables of the declaration.
    r"(?:[A-Za-z_]\w*\s*(?:\[[^][,;(){}]*\]\s*)*(?:=\s*[\w.]+\s*)?,\s*)*"
)
_PLAIN = {"unsigned": "unsigned int", "long int": "long", "unsigned long int": "unsigned long"}
"""Types as a debug compilation spells them."""
_EXTENT = re.compile(r"\s*\[")
_END = re.compile(r"\s*(?:[;,=]|\{)")
_INDIRECT = re.compile(
    r"->|(?:^|[=(,{?:;&|!+\-/%<>\[]|\breturn)\s*\*\s*[\w(]|\)\s*\*\s*[*(]|\*\s*\*"
)
"""What goes through a pointer whatever stands before it."""
_STARRED = re.compile(r"[)}\w]\s*\*\s*([A-Za-z_]\w*)")
"""What does if that is one; else it is a product."""
_BODY = re.compile(r"\s*(?:const\s*)?(?:noexcept\s*)?\{")
_PARAMETER = re.compile(r"[\w>][\s*&]+(?:__restrict__\s*|const\s*)*[A-Za-z_]\w*\s*(?:$|=|\[)")
"""A type and a name."""
_REFERENCE = re.compile("&")
_POINTER = re.compile(r"\*|\bauto\b")
_BINDING = re.compile(r"\bauto\b[\s&]*\[[\s\w,]*$")
_HEAD = 400
"""Characters in front of a function's parameters."""


def variables_in_sight(asked: Subscripts, sources: SourceText) -> tuple[Variable, ...] | None:
    """The arrays that objects are, and their functions' parameters; None where one is in doubt.

    Args:
        asked: the objects of a unit that want a name.
        sources: the user's files.
    """
    reader = _Reader(sources)
    found: dict[Variable, Subscripted] = {}
    for one in asked.objects:
        variable = reader.array(one)
        if variable is None or (variable in found and one.inside == same_function(one.function)):
            return None
        found[variable] = one
    parameters: list[Variable] = []
    for function, place in asked.functions.items():
        own = reader.parameters(function, place)
        if own is None:
            return None
        parameters += own
    return (*parameters, *reader.handed(), *found)


class _Reader:
    def __init__(self, sources: SourceText) -> None:
        self._sources = sources
        self._handed: dict[str, list[Variable]] = {}
        self._aliases = Aliases(self._handed, sources, Scopes(sources))
        self._expansion = self._aliases.expansion

    def handed(self) -> Iterator[Variable]:
        """Parameters of the inlined functions that arrays are handed to."""
        return chain.from_iterable(self._handed.values())

    def array(self, one: Subscripted) -> Variable | None:
        """The array that an object is; None where anything else may be."""
        if is_lambda(one.inside):
            return None  # What it has by its name may be a copy.
        arrays = {
            array
            for place, is_store in one.indexed
            for array in self._subscripted(one, place, is_store=is_store)
        }
        only = arrays.pop() if len(arrays) == 1 else None
        if only is None or not all(self._names(way[-1].location, only) for way in one.constant):
            return None
        array = self._array(only, one.inside)
        if array is None:
            return None
        kind, size = array
        name, line = self._name(only), only.place(self._sources).line
        variable = Variable(one.inside, name, kind, size, only.file, line, False, (), only.at)
        is_shown = all(self._is_handed(variable, way) for way in one.constant)
        return variable if is_shown else None

    def _is_handed(self, variable: Variable, way: tuple[InlineFrame, ...]) -> bool:
        """Whether the text shows that an array gets as far as the innermost line of some."""
        known: Known = frozenset({(variable.name,)})
        for inner, outer in reversed([*pairwise(way)]):
            callee = inner.function or ""
            if callee not in self._handed:
                definition = Definition(inner.file, None, inner.line)
                parameters = self.parameters(callee, definition)
                if parameters is None or is_library(inner.file):
                    return False
                self._handed[callee] = parameters
            known, is_shown = self._aliases.into(known, outer.location, callee, variable)
            if not is_shown:
                return False
        text = self._statement(way[0].location).text
        return len(way) == 1 or any(contains(text, path[0]) for path in known)

    def _subscripted(
        self, one: Subscripted, place: SourceLocation, *, is_store: bool
    ) -> Iterator[Declaration | None]:
        """What a statement may access by an index that has a size; None among it in doubt."""
        statement = self._statement(place)
        text = statement.text
        paths = {one.path for one in statement.subscripts}
        for replaced in self._expansion.of_text(text, place.file, place.line):
            if not {one.path for one in Statement(replaced, [0], 0).subscripts} <= paths:
                yield None
            text += replaced
        if _INDIRECT.search(text) is not None:
            yield None
        named = ((path[0], _REFERENCE) for path in statement.whole)
        starred = ((name, _POINTER) for name in _STARRED.findall(text))
        for name, indirect in dict.fromkeys((*named, *starred)):
            meant = self._meant(name, place)
            if any(indirect.search(_own(one)) for one in meant):
                yield None
            if not meant and self._is_deduced(name, place.file):
                yield None
        wanted = [s for s in statement.subscripts if (s.writes if is_store else s.reads)]
        if not wanted:
            yield None
        for subscript in wanted:
            yield from self._rivals(subscript, place, one)

    def _rivals(
        self, subscript: Subscript, place: SourceLocation, one: Subscripted
    ) -> Iterator[Declaration | None]:
        meant = self._meant(subscript.path[0], place)
        if len(meant) != 1:
            yield None
        elif not self._is_elsewhere(meant[0]):
            array = self._array(meant[0], one.inside) if len(subscript.path) == 1 else None
            if array is None:
                yield None
            elif 0 <= one.size - array[1] < PADDING:
                yield meant[0]

    def _is_deduced(self, name: str, file: str) -> bool:
        """Whether a ``decltype`` may declare a name, which is not read: as a reference, maybe."""
        code = self._sources.code(file)
        given = re.finditer(rf"\b{re.escape(name)}\s*[=({{]", code)
        return any(last_character(code, one.start()) == ")" for one in given)

    def _statement(self, place: SourceLocation) -> Statement:
        return statement_at(partial(self._sources.line, place.file), place.line)

    def _meant(self, name: str, place: SourceLocation) -> tuple[Declaration, ...]:
        return declarations_of(name, self._sources, place)

    def _names(self, place: SourceLocation, array: Declaration) -> bool:
        """Whether the statement at a place names an array, or declares it."""
        name = self._name(array)
        if place.file != array.file or not contains(self._statement(place).text, name):
            return False
        return place == array.place(self._sources) or self._meant(name, place) == (array,)

    def _name(self, declared: Declaration) -> str:
        return self._sources.code(declared.file)[declared.at : declared.end]

    def _is_elsewhere(self, declared: Declaration) -> bool:
        """Whether what is declared is, or points to, no local memory: a kernel's parameter."""
        if _ELSEWHERE.search(_own(declared)) is not None:
            return True
        opening = declared.scope.opening
        code = self._sources.code(declared.file)
        is_parameter = not declared.is_plain and code[opening : opening + 1] == "("
        before = re.split("[;}]", code[max(0, opening - _HEAD) : opening])[-1]
        return is_parameter and "__global__" in before and "*" in _own(declared)

    def _array(self, declared: Declaration, function: str) -> tuple[str, int] | None:
        """The type and the bytes of a function's local array of numbers; None of all else."""
        before = _TYPE.fullmatch(declared.statement)
        if not declared.scope.is_local or not declared.is_plain or before is None:
            return None
        element = " ".join(before["type"].split())
        element = _PLAIN.get(element, element)
        code, at = self._sources.code(declared.file), declared.end
        extents: list[int] = []
        place = declared.place(self._sources)
        while (found := _EXTENT.match(code, at)) is not None:
            end = closed_at(code, found.end() - 1)
            written = code[found.end() : end - 1] if end is not None else ""
            number = number_of(written, self._sources, place, function)
            if end is None or number is None:
                return None
            extents.append(number)
            at = end
        width = bytes_of(element)
        if not extents or width is None or _END.match(code, at) is None:
            return None
        shown = "".join(f"[{one}]" for one in extents)
        const = "const " if before["const"] else ""
        return f"{const}{element}{shown}", width * math.prod(extents)

    def parameters(self, function: str, place: Definition) -> list[Variable] | None:
        """A function's parameters by the one definition of its name; None where it is not seen."""
        heads = [*self._heads(plain_name(demangle(function)).rpartition("::")[2], place.file)]
        if place.line is not None:
            heads = [one for one in heads if one[0] <= place.line <= one[1]]
        if len(heads) != 1:
            return None
        line, _, written = heads[0]
        listed = [one.strip() for one in parts_of(written, angles=True)]
        listed = [one for one in listed if one not in ("", "void")]
        is_all = place.parameters is None or len(listed) == place.parameters
        if not is_all or not all(map(_PARAMETER.search, listed)):
            return None
        return [
            Variable(function, parameter_name(one), one, 0, place.file, line, True, (), number)
            for number, one in enumerate(listed)
        ]

    def _heads(self, name: str, file: str) -> Iterator[tuple[int, int, str]]:
        """Definitions of functions of a name: their first and last lines, and the parameters."""
        code = self._sources.code(file)
        given = r"(?:<[^;{}]{0,300}?>\s*)?"  # Of a specialization.
        for found in re.finditer(rf"\b{re.escape(name)}\s*{given}\(", code):
            end = closed_at(code, found.end() - 1)
            body = _BODY.match(code, end) if end is not None else None
            if end is not None and body is not None:
                last = closed_at(code, body.end() - 1) or len(code)
                lines = [1 + code.count("\n", 0, at) for at in (found.start(), last)]
                yield lines[0], lines[1], code[found.end() : end - 1]


def _own(declared: Declaration) -> str:
    """What stands before a name for it alone: behind the parameter or variable before it.

    What stands before a structured binding is for all of its names.
    """
    binding = _BINDING.search(declared.statement)
    return binding[0] if binding is not None else re.split("[,(]", declared.statement)[-1]

"""What a name stands for: a macro, a constant or a variable, in a file or a header that it quotes.

No preprocessor: of a macro with several definitions in force that differ, as in the branches of an
``#if``, nothing is known.
"""

from __future__ import annotations

import ast
import operator
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lmemscope.analysis.template_values import TemplateValues
from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.declared import bytes_of
from lmemscope.rules.remembered import Remembered
from lmemscope.rules.scopes import Declaration, declarations_of, heads_between, rest_of_scope
from lmemscope.rules.unchanged import may_change

_DEPTH = 6
"""How many definitions are followed."""
_ONCE = re.compile(r"(?:else\b\s*)?(?:(?:if|switch)\b[^;{}]*)?")
"""The head of a block that is executed where it stands, and once."""
_JUMP = re.compile(r"\bgoto\b")
_KEPT = re.compile(r"\bstatic\b")
_NUMERAL = re.compile(r"\d\w*")
_ATOM = re.compile(r"[\w.:]+")
_GIVEN = re.compile(r"\s*(?P<sign>=(?!=)|[({])")
"""What gives a variable its value."""
_BEHIND = re.compile(r"\s*[;,]")
_TYPE = re.compile(r"(?<![\w:])([A-Za-z_][\w:]*(?:<[^<>]*>)?)$")
_LONGEST_VALUE = 2000
_CONSTANT = re.compile(r"\b(?:const|constexpr)\b")
_SIZEOF = re.compile(r"\bsizeof\s*\(([\w\s]{1,40})\)")
_UNSURE = re.compile(r"(?:unsigned )?long|u?(?:int|float)(?:8|16|32|64)")
"""Types whose size differs between hosts, or that are not C++'s."""
_SUFFIX = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])")
_LONGEST = 200
"""Characters of an expression that is computed."""
_MOST = 2**31
"""What a number is below, and its absolute value."""
_STEPS = re.compile(r"\+\s*\+|-\s*-")
"""Of C++, which Python reads as two signs."""
_EXPRESSION = re.compile(
    r"(?:(?:[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+)(?!\w)|[-+*/%()\s]|<<)+", re.ASCII
)
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
}
_OF_SHIFTS: dict[type[ast.operator], int] = {ast.LShift: 32}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for.

    Attributes:
        value: as written; the arguments of a constructor, where it is made by one.
        type: as declared, without ``const``; None of a macro and of an enumerator.
        is_made: whether the value is a constructor's arguments.
        place: at which the names in it are looked up: those of a macro where it is used.
        is_whole: whether it is one operand, whatever stands beside it.
    """

    value: str
    type: str | None
    is_made: bool
    place: SourceLocation
    is_whole: bool = True


def meaning(
    name: str, sources: SourceText, place: SourceLocation, function: str | None = None
) -> Meaning | None:
    """The value that a name has at a line, as the one declaration that it can mean gives it.

    A macro of the command line is that. Macros and constants of the quoted headers, and of those of
    the source that is compiled, count too, and so does what a template's instance is made for. None
    where it is another parameter, is a variable that is changed, is given no value there, or where
    several declarations may be meant.

    Args:
        name: as written.
        sources: the user's files.
        place: the line.
        function: mangled name of the one that the line is in, where that matters.
    """
    given = sources.given(name)
    if given is not None:
        return _of_macro(given, place)
    macros = _macros(name, sources, place.file, place)
    if macros:
        return _only(macros)
    headers = _headers(sources, place.file)
    declared = declarations_of(name, sources, place, headers)
    if any(one.scope.is_local for one in declared):
        headers = ()
    found = [
        _argument(name, one, sources, function)
        if one.is_template_parameter
        else _value(name, one, sources, place)
        for one in declared
    ]
    found += [one for file in headers for one in _macros(name, sources, file, place)]
    known = [one for one in found if one is not None]
    if len(known) != len(found):
        return None
    is_certain = len(declared) < 2 or all(_NUMERAL.fullmatch(one.value) for one in known)
    return _only(known) if is_certain else None


def _argument(
    name: str, declared: Declaration, sources: SourceText, function: str | None
) -> Meaning | None:
    """The number that an instance of a template has for a parameter; None of a type."""
    if function is None:
        return None
    place = declared.place(sources)

    def find() -> Mapping[str, str]:
        return TemplateValues(sources).arguments(function, place)

    number = _ARGUMENTS.of(sources, (function, place), find).get(name, "")
    return Meaning(number, None, False, place) if _NUMERAL.fullmatch(number) else None


def _value(
    name: str, declared: Declaration, sources: SourceText, used: SourceLocation
) -> Meaning | None:
    """The value that a declaration gives a name at a line; None where it is not certain."""
    code, before = sources.code(declared.file), declared.statement.rstrip()
    given = _GIVEN.match(code, declared.end)
    if not declared.is_plain or given is None or before.endswith(("*", "&")):
        return None
    is_made = given["sign"] != "="
    end = closed_at(code, given.end() - 1) if is_made else _end_of(code, given.end())
    if end is None or (is_made and _BEHIND.match(code, end) is None):
        return None
    is_enumerator = declared.scope.is_enumerator
    if not (is_enumerator or _CONSTANT.search(before)):
        texts = (
            [_meantime(declared, sources, used)]
            if declared.scope.is_local
            else [*_elsewhere(name, declared, sources)]
        )
        files = (declared.file, *_headers(sources, declared.file))
        if any(may_change(name, text, sources, files) for text in texts):
            return None
    value = sources.uncommented(declared.file)[given.end() : end - 1 if is_made else end]
    kind = _TYPE.search(before) if not is_enumerator else None
    written = kind[1] if kind is not None else None
    return Meaning(value.strip(), written, is_made, declared.place(sources))


def _end_of(code: str, at: int) -> int | None:
    """Where a value ends that begins at an offset; None where nothing ends it."""
    depth = 0
    for index in range(at, min(len(code), at + _LONGEST_VALUE)):
        char = code[index]
        if not depth and char in ",;)]}":
            return index
        depth += (char in "([{") - (char in ")]}")
    return None


def number_of(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    function: str | None = None,
    *,
    least: int = 0,
) -> int | None:
    """An integer as written at a line, ``4 * WARP``; None where it is no constant in sight.

    Args:
        written: the expression.
        sources, place, function: as `meaning` takes them.
        least: what it is at least, or it is not known. One below zero may stand for one that is
            unsigned and wraps.
    """
    found = _Numbers(sources, function).of(written, place, _DEPTH)
    return found if found is not None and found >= least else None


class _Numbers:
    """Integers as written, each definition computed once."""

    def __init__(self, sources: SourceText, function: str | None) -> None:
        self._sources, self._function = sources, function
        self._known: dict[tuple[str, SourceLocation], int | None] = {}

    def of(self, written: str, place: SourceLocation, depth: int) -> int | None:
        """The number, or None; ``depth`` definitions are followed."""
        text = _SIZEOF.sub(_sized, _SUFFIX.sub(r"\1", written[:_LONGEST])).strip()
        if len(written) > _LONGEST or _EXPRESSION.fullmatch(text) is None:
            return None
        if "//" in text or _STEPS.search(text) is not None:
            return None
        try:
            tree = ast.parse(f"({text})", mode="eval").body
        except SyntaxError:
            return None
        return self._value(tree, place, depth)

    def _value(self, node: ast.expr, place: SourceLocation, depth: int) -> int | None:
        found: int | None = None
        if isinstance(node, ast.Constant):
            found = node.value if type(node.value) is int else None
        elif isinstance(node, ast.Name):
            found = self._named(node.id, place, depth) if depth else None
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            found = self._operand(node.operand, place, depth)
            found = -found if found is not None and isinstance(node.op, ast.USub) else found
        elif isinstance(node, ast.BinOp):
            left, right = (self._operand(side, place, depth) for side in (node.left, node.right))
            operation = _OPERATIONS.get(type(node.op))
            if left is None or right is None or operation is None:
                return None
            divides = isinstance(node.op, ast.Div | ast.Mod)
            # Python rounds a quotient below zero otherwise than C++.
            is_linear = isinstance(node.op, ast.Add | ast.Sub | ast.Mult)
            if (
                (not is_linear and min(left, right) < 0)
                or (divides and not right)
                or right >= _OF_SHIFTS.get(type(node.op), _MOST)
            ):
                return None
            found = operation(left, right)
        return found if found is not None and abs(found) < _MOST else None

    def _operand(self, node: ast.expr, place: SourceLocation, depth: int) -> int | None:
        """A value beside an operator, which takes only a part of an open macro's text."""
        if isinstance(node, ast.Name):
            found = meaning(node.id, self._sources, place, self._function)
            if found is not None and not found.is_whole:
                return None
        return self._value(node, place, depth)

    def _named(self, name: str, place: SourceLocation, depth: int) -> int | None:
        if (name, place) not in self._known:
            found = meaning(name, self._sources, place, self._function)
            self._known[name, place] = (
                self.of(found.value, found.place, depth - 1) if found is not None else None
            )
        return self._known[name, place]


def _sized(found: re.Match[str]) -> str:
    """The size of a built-in type, or what is written where it is that of something else."""
    kind = " ".join(found[1].split())
    size = bytes_of(kind) if _UNSURE.fullmatch(kind) is None else None
    return found[0] if size is None else str(size)


def _of_macro(value: str, place: SourceLocation) -> Meaning:
    """What a macro stands for at a line: its text, whose names mean what they do there."""
    text = value.strip()
    is_closed = text.startswith("(") and closed_at(text, 0) == len(text)
    return Meaning(text, None, False, place, is_closed or _ATOM.fullmatch(text) is not None)


def _macros(name: str, sources: SourceText, file: str, place: SourceLocation) -> list[Meaning]:
    """The definitions of a macro that may be in force at a line, or at the end of a header."""
    if name not in sources.words(file):
        return []  # Most names are macros of no file, and headers have thousands of lines.
    stated = re.compile(
        rf"\s*#\s*(?:(?P<if>if)|(?P<endif>endif\b)|(?P<taken>undef)\s+{name}\b"
        rf"|define\s+{name}\s+(?P<value>.+))|.*\bpop_macro\b.*"
    )
    found: list[Meaning] = []
    earlier: list[Meaning] = []
    depth = 0
    for text in sources.bare_lines(file)[: place.line if file == place.file else None]:
        if ("#" not in text and "pop_macro" not in text) or (said := stated.match(text)) is None:
            continue
        if said["value"] is not None:
            found.append(_of_macro(said["value"], place))
        elif said["taken"] is not None:
            earlier += found
            if not depth:  # In a branch it may not be taken back.
                found.clear()
        elif "pop_macro" in text and name in text:
            found += earlier
        else:
            depth += (said["if"] is not None) - (said["endif"] is not None)
    return found


_HEADERS: Remembered[str, tuple[str, ...]] = Remembered()
_ARGUMENTS: Remembered[tuple[str, SourceLocation], Mapping[str, str]] = Remembered()


def _headers(sources: SourceText, file: str) -> tuple[str, ...]:
    """All headers that a file may have a macro or a constant from."""

    def find() -> tuple[str, ...]:
        main = sources.main or file
        quoted = (*sources.quoted(file, searched=True), main, *sources.quoted(main, searched=True))
        # Lines of a compiler's output and the user's command may spell the same path differently.
        found = {os.path.abspath(file): file}
        for one in quoted:
            found.setdefault(os.path.abspath(one), one)
        return tuple(found.values())[1:]

    return _HEADERS.of(sources, file, find)


def _only(found: list[Meaning]) -> Meaning | None:
    """The definition, where all say the same."""
    return found[-1] if len({(one.value, one.is_made) for one in found}) == 1 else None


def _meantime(declared: Declaration, sources: SourceText, used: SourceLocation) -> str:
    """What may be executed between a variable's definition and a use of it."""
    text = rest_of_scope(declared, sources)
    first = declared.place(sources).line
    inner = heads_between(declared, sources, used)
    is_kept = _KEPT.search(declared.statement) is not None or _JUMP.search(text) is not None
    if is_kept or inner is None or not all(_ONCE.fullmatch(head) for head in inner):
        return text
    end = len("\n".join(text.split("\n")[: used.line - first + 1]))
    if text[:end].rstrip().endswith((";", "{", "}")):
        return text[:end]
    return text[: max(end, text.find(";", end))]


def _elsewhere(name: str, declared: Declaration, sources: SourceText) -> Iterator[str]:
    """What may be executed while a variable exists that is no function's: all that names it."""
    file, code = declared.file, sources.code(declared.file)
    yield code[: declared.at]
    yield code[declared.end :]
    others = (*_headers(sources, file), *sources.mentioning(file, name))
    yield from (sources.code(one) for one in dict.fromkeys(others) if one != file)

"""What a name stands for: a macro, a constant or a variable, in a file or a header that it quotes.

No preprocessor: of a macro with several definitions in force that differ, as in the branches of an
``#if``, nothing is known.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lmemscope.formats.statements import parts_of
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.declared import NO_TYPES, bytes_of, rest_of_block
from lmemscope.rules.enclosing import heads

_DEPTH = 6
"""How many definitions are followed."""
_LOOP = re.compile(r"(?:for|while|do)\b")
_OF_TYPES = frozenset("class struct typename using typedef enum union".split())
"""Words that stand before the name of a type."""
_CONSTANT = re.compile(r"\b(?:const|constexpr|enum)\b")
_DECLARATION_ENDS = re.compile(r"[;{}()]")
"""What stands before a declaration on its line: ``const`` of a parameter is not a variable's."""
_SUFFIX = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])")
_LONGEST = 200
"""Characters of an expression that is computed."""
_MOST = 2**31
"""What a number is below, and no number is negative."""
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
        place: where it is defined.
    """

    value: str
    type: str | None
    is_made: bool
    place: SourceLocation


def meaning(name: str, sources: SourceText, place: SourceLocation) -> Meaning | None:
    """The value that a name has at a line, as the nearest definition in sight gives it.

    A macro of the command line is that. Where the file does not say it, its quoted headers and
    those of the source that is compiled are asked for macros and constants. None where it is a
    parameter, is changed, is given no value there, or where definitions differ.
    """
    declared = re.compile(
        rf"(?:^|[\s(,;{{<])(?P<type>[A-Za-z_][\w:]*(?:<[^<>]*>)?)[\s*&]+{name}\s*"
        r"(?:=(?!=)\s*(?P<value>[^;]*)|[({](?P<made>[^;]*)[)}]\s*[;,]|(?P<bare>[,)>;\[]|$))"
    )
    among = re.compile(rf"^\s*[A-Za-z_][^()]*,\s*{name}\s*=(?!=)\s*(?P<value>[^;]*)")
    is_macro = re.compile(rf"\s*#\s*define\s+{name}(?=\s)")
    given = sources.given(name)
    if given is not None:
        return Meaning(given, None, False, place)
    depth = 0
    for number in range(place.line, 0, -1):
        text = sources.line(place.file, number)
        if is_macro.match(text):
            return _only(list(_macros(name, sources, place.file, number)))
        if text.lstrip().startswith("#"):
            continue  # `#define THREADS BLOCK_SIZE` declares neither.
        here = SourceLocation(place.file, number)
        outer, code = depth, sources.code_line(place.file, number)
        depth = max(depth + code.count("}") - code.count("{"), 0)
        if outer and depth:
            continue
        listed = _enumerated(name, text, here)
        if listed is not None:
            return listed
        found = declared.search(text) or among.search(text)
        if found is None or found.groupdict().get("type") in NO_TYPES:
            continue
        groups = found.groupdict()
        if groups.get("bare") and _is_factor(groups["type"], sources, here):
            continue  # A product: `WARPS * LANES`.
        value = groups["value"] or groups.get("made")
        if value is None or value.count("(") != value.count(")"):
            return None  # A parameter, or a variable that gets its value elsewhere.
        if groups["value"] is not None:
            value = next(iter(parts_of(value)))
        own = _DECLARATION_ENDS.split(text[: found.end(1)])[-1]
        is_constant = _CONSTANT.search(own) is not None
        if not is_constant:
            text = _meantime(name, sources, here, place)
            if changes(name, text) or _is_referred(name, text, sources.code(place.file)):
                return None
        return Meaning(value.strip(), groups.get("type"), groups["value"] is None, here)
    return _only(list(_in_headers(name, sources, place.file)))


def kind_of(name: str, sources: SourceText, place: SourceLocation) -> str | None:
    """The type that the nearest declaration above a line, or on it, gives a variable: ``int``.

    The last word of it; None of pointers, and where no declaration is in sight.
    """
    declared = re.compile(
        rf"(?:^|[\s(,;{{<])(?P<type>[A-Za-z_]\w*)[\s&]+(?:[\w\s=.+*-]+,\s*)?(?<![\w*]){name}\s*"
        r"(?:=(?!=)|[,)>;\[:]|$)"
    )
    for number in range(place.line, 0, -1):
        text = sources.line(place.file, number)
        is_seen = name in text and not text.lstrip().startswith("#")
        found = declared.search(text) if is_seen else None
        if found is not None and found["type"] not in NO_TYPES:
            return found["type"] if found["type"] not in _OF_TYPES else None
    return None


def _is_factor(name: str, sources: SourceText, place: SourceLocation) -> bool:
    """Whether what stands before a ``*`` is a variable or a macro, and no type."""
    if not name.isidentifier() or bytes_of(name) is not None:
        return False
    if kind_of(name, sources, place) is not None:
        return True
    file = place.file
    found = (*_macros(name, sources, file, None), *_in_headers(name, sources, file))
    return any(one.type is None for one in found)


def number_of(written: str, sources: SourceText, place: SourceLocation) -> int | None:
    """An integer as written at a line, ``4 * WARP``; None where it is no constant in sight."""
    return _Numbers(sources).of(written, place, _DEPTH)


class _Numbers:
    """Integers as written, each definition computed once."""

    def __init__(self, sources: SourceText) -> None:
        self._sources = sources
        self._known: dict[tuple[str, SourceLocation], int | None] = {}

    def of(self, written: str, place: SourceLocation, depth: int) -> int | None:
        """The number, or None; ``depth`` definitions are followed."""
        text = _SUFFIX.sub(r"\1", written[:_LONGEST]).strip()
        if len(written) > _LONGEST or _EXPRESSION.fullmatch(text) is None or "//" in text:
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
        elif isinstance(node, ast.BinOp):
            left, right = (self._value(side, place, depth) for side in (node.left, node.right))
            operation = _OPERATIONS.get(type(node.op))
            if left is None or right is None or operation is None:
                return None
            divides = isinstance(node.op, ast.Div | ast.Mod)
            if (
                right < 0
                or (divides and not right)
                or right >= _OF_SHIFTS.get(type(node.op), _MOST)
            ):
                return None
            found = operation(left, right)
        return found if found is not None and 0 <= found < _MOST else None

    def _named(self, name: str, place: SourceLocation, depth: int) -> int | None:
        if (name, place) not in self._known:
            found = meaning(name, self._sources, place)
            self._known[name, place] = (
                self.of(found.value, found.place, depth - 1) if found is not None else None
            )
        return self._known[name, place]


def _macros(name: str, sources: SourceText, file: str, line: int | None) -> Iterator[Meaning]:
    """The definitions of a macro that are in force at a line of a file, or at its end."""
    stated = re.compile(rf"\s*#\s*(?:(?P<taken>undef)\s+{name}\b|define\s+{name}\s+(?P<value>.+))")
    found: list[Meaning] = []
    for number, text in enumerate(sources.bare_lines(file)[:line], 1):
        if name not in text or (said := stated.match(text)) is None:
            continue
        if said["taken"] is not None:
            found.clear()
        else:
            value = said["value"].strip()
            found.append(Meaning(value, None, False, SourceLocation(file, number)))
    yield from found


def _in_headers(name: str, sources: SourceText, file: str) -> Iterator[Meaning]:
    """Macros and constants of that name in all headers that a file may have it from."""
    constant = re.compile(
        rf"\b(?:const|constexpr)\b[\w\s:]*?\b(?P<type>[A-Za-z_]\w*)\s+(?:const\s+)?{name}\s*"
        r"(?:=(?!=)\s*(?P<value>[^;]+)|\{(?P<made>[^;{}]+)\})\s*;"
    )
    main = sources.main or file
    for header in dict.fromkeys(
        (*sources.quoted(file, searched=True), main, *sources.quoted(main, searched=True))
    ):
        if header == file:
            continue
        yield from _macros(name, sources, header, None)
        for number, text in enumerate(sources.bare_lines(header), 1):
            if name not in text:
                continue
            place = SourceLocation(header, number)
            found = constant.search(text)
            if found is not None:
                value = found["value"] or found["made"]
                yield Meaning(value.strip(), found["type"], found["value"] is None, place)
            elif (listed := _enumerated(name, text, place)) is not None:
                yield listed


def _enumerated(name: str, text: str, place: SourceLocation) -> Meaning | None:
    """The value of an enumerator, where its line gives one."""
    found = re.search(
        rf"\benum\b[^{{}}=]*\{{(?:[^{{}}]*,)?\s*{name}\s*=(?!=)\s*(?P<value>[^,{{}}]+)", text
    )
    return Meaning(found["value"].strip(), None, False, place) if found is not None else None


def _only(found: list[Meaning]) -> Meaning | None:
    """The definition, where all say the same."""
    return found[-1] if len({(one.value, one.is_made) for one in found}) == 1 else None


def _meantime(
    name: str, sources: SourceText, declared: SourceLocation, used: SourceLocation
) -> str:
    """What may be executed between a variable's definition and a use of it."""
    text = rest_of_block(sources, declared, name)
    if any(_LOOP.match(head.text) for head in heads(sources, used) if head.line > declared.line):
        return text
    return "\n".join(text.split("\n")[: used.line - declared.line + 1])


def changes(name: str, text: str) -> list[str]:
    """Each place at which a text may give a variable or a member of it another value."""
    return [
        found[0]
        for found in re.finditer(
            rf"(?<![\w.>]){name}\s*(?:\.\s*\w+\s*)?(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)"
            rf"|(?:\+\+|--|(?<!&)&|>>\s*){name}\b",
            text,
        )
    ]


def _is_referred(name: str, text: str, code: str) -> bool:
    """Whether a text hands a variable to a function of the file that takes a reference to it."""
    call = re.compile(
        rf"(?<![\w.>])(?P<function>[A-Za-z_]\w*)\s*\((?P<before>[^;{{}}()]*)(?<![\w.>&]){name}\s*[,)]"
    )
    for found in call.finditer(text) if "(" in text else ():
        head = re.compile(
            rf"[\w>&*]\s+[&*]*(?<!\w){found['function']}\s*\((?P<given>[^;{{}}()]*)\)\s*[;{{]"
        )
        position = found["before"].count(",")
        for one in head.finditer(code):
            given = one["given"].split(",")
            if position < len(given) and "&" in given[position] and "const" not in given[position]:
                return True
    return False

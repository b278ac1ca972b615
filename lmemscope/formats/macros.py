"""Read macros in C++ files, and expand them in lines.

This is not a preprocessor: conditions are not evaluated. A macro with several active definitions
(none cancelled by ``#undef``) is not expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at, parts_of

_DIRECTIVE = re.compile(r"\s*#\s*(?P<kind>define|undef)\s+(?P<rest>.*)", re.DOTALL)
_DEFINED = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\((?P<parameters>[^()]*)\)|(?=\s))(?P<body>.*)", re.DOTALL
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_PASTE = re.compile(r"(?<!\s)\s*##\s*")
_STRINGIFIED = re.compile(r"(?<!#)#\s*([A-Za-z_]\w*)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SAYS_MORE = re.compile(r"[\[;]")
"""In the body of a macro without parameters that is not a constant."""
_LONGEST = 200_000
"""Maximum length of an expansion, in characters."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro; ``body`` is on one line, ``parameters`` is None if it takes none."""

    name: str
    parameters: tuple[str, ...] | None
    body: str

    def replaced(self, arguments: Sequence[str]) -> str:
        """Its body with arguments substituted for parameters."""
        given = dict(zip(self.parameters or (), arguments, strict=True))
        body = _STRINGIFIED.sub('""', self.body)
        return _PASTE.sub("", _NAME.sub(lambda found: given.get(found[0], found[0]), body))


@dataclass(frozen=True, slots=True)
class Definitions:
    """The macros in one file's text.

    Attributes:
        steps: line, name, and the macro; None for ``#undef`` and for constants.
    """

    steps: tuple[tuple[int, str, Macro | None], ...]

    def before(self, line: int | None) -> Iterator[tuple[str, frozenset[Macro | None]]]:
        """Each name with its active definitions at a line, or at the end of the file."""
        known: dict[str, frozenset[Macro | None]] = {}
        for at, name, macro in self.steps:
            if line is not None and at >= line:
                break
            known[name] = known.get(name, frozenset()) | {macro} if macro else frozenset()
        yield from known.items()


def definitions_of(lines: Iterable[str]) -> Definitions:
    """A file's macros; ``lines`` are all of it, including comments."""
    steps: list[tuple[int, str, Macro | None]] = []
    begun, first = "", 0
    for number, line in enumerate(lines, 1):
        if not begun:
            if "#" not in line or not line.lstrip().startswith("#"):
                continue
            first = number
        begun += line.rstrip()
        if begun.endswith("\\"):
            begun = begun[:-1] + " "
            continue
        found = _DIRECTIVE.match(begun)
        begun = ""
        if found is None:
            continue
        name = _NAME.match(found["rest"])
        if name is not None:
            macro = _macro(found["rest"]) if found["kind"] == "define" else None
            steps.append((first, name[0], macro))
    return Definitions(tuple(steps))


def _macro(text: str) -> Macro | None:
    found = _DEFINED.match(_COMMENT.sub(" ", text))
    if found is None:
        return None
    body = found["body"].partition("//")[0].strip()
    if found["parameters"] is None:
        # For a constant, the line already shows the name.
        return Macro(found["name"], None, body) if _SAYS_MORE.search(body) else None
    parameters = tuple(one.strip() for one in found["parameters"].split(",") if one.strip())
    if any(_NAME.fullmatch(one) is None for one in parameters):
        return None  # ``...``
    return Macro(found["name"], parameters, body)


def expanded(text: str, macros: Mapping[str, Macro]) -> str | None:
    """A text with each macro call replaced once, keeping lines; None without a call.

    Brackets inside a replaced body stay as written there.
    """
    kept: list[str] = []
    at = 0
    for found in _NAME.finditer(text):
        macro = macros.get(found[0])
        if macro is None or found.start() < at:
            continue
        if macro.parameters is None:
            kept += [text[at : found.start()], macro.body]
            at = found.end()
            continue
        opened = found.end() + len(text[found.end() :]) - len(text[found.end() :].lstrip())
        closed = closed_at(text, opened) if text[opened : opened + 1] == "(" else None
        if closed is None:
            continue
        inside = text[opened + 1 : closed - 1]
        arguments = [" ".join(one.split()) for one in parts_of(inside)] if inside.strip() else []
        if len(arguments) != len(macro.parameters):
            continue
        lines = text.count("\n", found.start(), closed)
        kept += [text[at : found.start()], macro.replaced(arguments), "\n" * lines]
        at = closed
    if not kept:
        return None
    result = "".join(kept) + text[at:]
    return result if len(result) <= _LONGEST else None

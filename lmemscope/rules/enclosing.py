"""What stands around a line, by its braces: the heads of blocks, and the function it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.remembered import Remembered

_REACH = 1500
"""Lines above a line on which the beginning of its function is looked for."""
_NO_FUNCTION = re.compile(
    r"\s*(?:(?:else\s+)?(?:if|for|while|switch|catch)\b|else\s*$|do\s*$|try\s*$|$"
    r"|(?:namespace|struct|class|union|enum|extern)\b[^()]*$)"
)


_TEMPLATE = re.compile(r"\btemplate\s*<")
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_LOOP_HEAD = re.compile(r"\b(?:for|while)\s*\([^{}]*\)\s*$|\bdo\s*$")
"""What stands before a loop's brace."""
_HEAD_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a brace that is open at a line.

    Attributes:
        text: from the end of what is before it up to the brace.
        line: of the brace.
    """

    text: str
    line: int

    @property
    def is_function(self) -> bool:
        """Whether a function's or a lambda's body begins there."""
        return "(" in self.text and _NO_FUNCTION.match(self.text) is None


_HEADS: Remembered[SourceLocation, tuple[Head, ...]] = Remembered()


def heads(sources: SourceText, place: SourceLocation) -> tuple[Head, ...]:
    """The heads of all blocks around a line, innermost first."""
    return _HEADS.of(sources, place, lambda: tuple(_find_heads(sources, place)))


def _find_heads(sources: SourceText, place: SourceLocation) -> Iterator[Head]:
    rows = _rows(sources, place)
    text = "\n".join(rows)
    first = place.line - len(rows) + 1
    depth, at = 0, len(text)
    while (at := max(text.rfind("{", 0, at), text.rfind("}", 0, at))) >= 0:
        if text[at] == "}":
            depth += 1
        elif depth:
            depth -= 1
        else:
            yield Head(text[_begin(text, at) : at].strip(), first + text.count("\n", 0, at))


def function_head(sources: SourceText, place: SourceLocation) -> Head | None:
    """The head of the outermost function around a line; None where none is found."""
    found = None
    for head in heads(sources, place):
        if head.is_function:
            found = head
    return found


def is_in_loop(text: str, at: int) -> bool:
    """Whether a statement of a function's text is in a loop that the text has."""
    if _LOOP.search(text, max(text.rfind(sign, 0, at) for sign in ";{}") + 1, at) is not None:
        return True
    depth = 0
    for index in range(at - 1, -1, -1):
        if text[index] == "}":
            depth += 1
        elif text[index] == "{" and depth:
            depth -= 1
        elif (
            text[index] == "{"
            and _LOOP_HEAD.search(text, max(0, index - _HEAD_CHARACTERS), index) is not None
        ):
            return True
    return False


def _rows(sources: SourceText, place: SourceLocation) -> list[str]:
    """The lines up to one, without comments, literals and directives; of its own up to a brace."""
    lines = sources.code_lines(place.file)
    rows, continued = [], False
    for row in lines[max(0, place.line - 1 - _REACH) : place.line]:
        directive = continued or row.lstrip().startswith("#")
        rows.append("" if directive else row)
        continued = directive and row.rstrip().endswith("\\")
    if rows and len(lines) >= place.line:
        rows[-1] = rows[-1][: rows[-1].rfind("{") + 1]
    return rows


def _begin(text: str, brace: int) -> int:
    """Where the head of a block begins: behind a semicolon or brace that no parentheses hold."""
    parentheses = 0
    for at in range(brace - 1, -1, -1):
        char = text[at]
        parentheses += (char == ")") - (char == "(")
        if char in ";{}" and parentheses <= 0:
            return at + 1
    return 0

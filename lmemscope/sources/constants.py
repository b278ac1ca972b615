"""Evaluate numbers in a source's text: macros, constants, and dim3 variables."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence

from lmemscope.model import UNKNOWN_DIMENSIONS, Dimensions
from lmemscope.model.blanked import blanked
from lmemscope.sources.code import Code, Token

_LONGEST = 400
"""Maximum length of an expression, in characters."""
_DEEPEST = 64
"""Maximum brace nesting in which names are looked up."""
_LARGEST = 1 << 31
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)", re.MULTILINE)
SUFFIX = re.compile(r"(?<=[0-9a-fA-F])(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)\b")
"""Integer suffixes, which Python does not have."""
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
Value = int | Dimensions | None


class Constants:
    """Named values in a source, by the braces open at each position.

    Args:
        text: the source, whose macros are visible everywhere.
    """

    def __init__(self, text: str) -> None:
        self._macros: dict[str, str] = {}
        for match in _DEFINE.finditer(blanked(text).code):
            value = match[2].strip()
            # A macro that is defined twice may have either value.
            self._macros[match[1]] = "" if match[1] in self._macros else value
        self._numbers: dict[str, int | None] = {}
        self._scopes: list[dict[str, Value]] = [{}]

    def enter(self, known: Mapping[str, int] | None = None) -> None:
        """Enter a brace; ``known`` are values that hold inside."""
        self._scopes.append(dict(known or {}))

    def leave(self) -> None:
        """Leave a brace."""
        if len(self._scopes) > 1:
            self._scopes.pop()

    def declare(self, code: Code, position: int) -> int:
        """Parse ``const int NAME = …;`` or ``dim3 NAME(…), …;`` at a token, if present.

        Returns:
            The position to continue at.
        """
        text = code[position].text
        if text in ("const", "constexpr"):
            self._constant(code, position)
        elif text == "dim3" and position + 1 < len(code) and code[position + 1].kind == "word":
            return self._grids(code, position + 1)
        elif position + 1 < len(code) and code[position + 1].text in ("=", "."):
            for scope in self._scopes[-_DEEPEST:]:
                if isinstance(scope.get(text), tuple):
                    scope[text] = UNKNOWN_DIMENSIONS  # changed since its declaration
        return position + 1

    def number(self, tokens: Sequence[Token]) -> int | None:
        """The integer value of an expression; None for any other text."""
        text = " ".join(token.text for token in tokens)
        # Operators of two characters are two tokens.
        return self._number(re.sub(r"([<>]) \1", r"\1\1", text), self._value)

    def dimensions(self, part: Sequence[Token]) -> Dimensions:
        """Dimensions of a grid or block expression: a number, ``dim3(…)``, or a dim3 variable."""
        if part and part[0].text == "dim3" and len(part) > 1 and part[1].text in ("(", "{"):
            return self._of_arguments(parts(part[2:-1]))
        if part and part[0].text == "{":
            return self._of_arguments(parts(part[1:-1]))
        if len(part) == 1:
            found = self._value(part[0].text)
            if isinstance(found, tuple):
                return found
        number = self.number(part)
        # An expression that is not a number may be a grid of several dimensions.
        return UNKNOWN_DIMENSIONS if number is None else (number, 1, 1)

    def _of_arguments(self, arguments: Sequence[Sequence[Token]]) -> Dimensions:
        x, y, z = [*(self.number(one) for one in arguments if one), 1, 1, 1][:3]
        return x, y, z

    def _constant(self, code: Code, position: int) -> None:
        at, farthest = position, min(len(code) - 1, position + _LONGEST)
        while at < farthest and code[at].text not in (";", "{", "}", "(", ")", "="):
            at += 1
        if code[at].text != "=" or code[at - 1].kind != "word":
            return
        end = at
        while end < farthest and code[end].text not in (";", "{", "}"):
            end += 1
        self._scopes[-1][code[at - 1].text] = self.number(code.tokens[at + 1 : end])

    def _grids(self, code: Code, position: int) -> int:
        own = self._scopes[-1]
        while position + 1 < len(code) and code[position].kind == "word":
            name, after = code[position].text, position + 1
            if code[after].text in ("(", "{"):
                position = code.closing(after) + 1
                own[name] = self._of_arguments(parts(code.tokens[after + 1 : position - 1]))
            elif code[after].text == "=":
                end = after
                while end < len(code) and code[end].text not in (",", ";"):
                    end = code.closing(end) + 1 if code[end].text in ("(", "{") else end + 1
                own[name] = self.dimensions(code.tokens[after + 1 : end])
                position = end
            else:
                plain = code[after].text in (",", ";")
                own[name] = (1, 1, 1) if plain else UNKNOWN_DIMENSIONS
                position = after
            if position >= len(code) or code[position].text != ",":
                break
            position += 1
        return position

    def _value(self, name: str) -> Value:
        for scope in reversed(self._scopes[-_DEEPEST:]):
            if name in scope:
                return scope[name]
        return self._scopes[0].get(name, self._macro(name))

    def _macro(self, name: str) -> int | None:
        if name not in self._numbers:
            self._numbers[name] = None  # for a name defined by itself
            text = self._macros.get(name, "")
            self._numbers[name] = self._number(text, self._macro)
        return self._numbers[name]

    def _number(self, text: str, value_of: Callable[[str], Value]) -> int | None:
        if len(text) > _LONGEST:
            return None
        try:
            tree = ast.parse(SUFFIX.sub("", text).strip(), mode="eval").body
            value = computed(tree, value_of)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
        return value if value is not None and 0 <= value < _LARGEST else None


def computed(node: ast.expr, value_of: Callable[[str], Value]) -> int | None:
    """The integer value of an expression tree; None if it cannot be computed.

    Args:
        node: the root.
        value_of: returns the value of a name.
    """
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            found = value_of(name)
            return found if isinstance(found, int) else None
        case ast.BinOp(left=left, op=op, right=right):
            first, second = computed(left, value_of), computed(right, value_of)
            compute = _OPERATORS.get(type(op))
            if first is None or second is None or compute is None:
                return None
            if isinstance(op, ast.Div | ast.Mod) and not second:
                return None
            if isinstance(op, ast.LShift | ast.RShift) and not 0 <= second < 64:
                return None
            return int(compute(first, second)) if max(first, second) < _LARGEST else None
    return None


def parts(tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens split at commas outside brackets."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in ("(", "{", "[")) - (token.text in (")", "}", "]"))
        if token.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found if found != [[]] else []

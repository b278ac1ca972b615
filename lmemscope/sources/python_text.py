"""Strings of a Python file without running it: literals, constants, f-strings, files read.

Each line of a string knows the line it stands on, so that what is compiled from it can be shown
where its author wrote it.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import os
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lmemscope.files import decoded_utf8, read_beside

Place = tuple[str, int]
"""File and 1-based line."""

_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LITERAL = re.compile(r"([rRbBuUfF]{0,2})(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class Text:
    """A string and where its lines come from.

    Attributes:
        value: the string.
        places: one for each line of ``value``.
    """

    value: str
    places: tuple[Place, ...]

    def __add__(self, other: Text) -> Text:
        """Concatenation; a line begun by one and filled by the other is at the one with text."""
        head = self.places
        begun = self.value.rpartition("\n")[2]
        if not begun.strip():
            head = (*head[:-1], other.places[0])
        return Text(self.value + other.value, (*head, *other.places[1:]))

    def as_program(self) -> str:
        """The string with ``#line`` directives wherever its lines do not follow each other."""
        lines: list[str] = []
        expected: Place | None = None
        continued = False
        for text, place in zip(self.value.split("\n"), self.places, strict=True):
            if place != expected and not continued:
                lines.append(f'#line {place[1]} "{place[0]}"')
            lines.append(text)
            continued = text.endswith("\\")
            expected = (place[0], place[1] + 1)
        return "\n".join(lines) + "\n"


def at(value: str, place: Place) -> Text:
    """A string all of whose lines are at one place."""
    return Text(value, (place,) * (value.count("\n") + 1))


class Scope:
    """What names stand for, as far as it can be known without running anything.

    Args:
        tree: the module.
        source: its text.
        path: absolute path of the file.
    """

    def __init__(self, tree: ast.Module, source: str, path: str) -> None:
        self._lines = source.splitlines(keepends=True)
        self._path = path
        self._values: dict[tuple[ast.AST, str], ast.expr | None] = {}
        self._parents: dict[ast.AST, ast.AST] = {}
        self._files: dict[tuple[ast.AST, str], ast.expr] = {}
        self._collect(tree, tree)

    def text(self, node: ast.expr | None) -> Text | None:
        """The string that an expression is, or None where only running it would tell."""
        try:
            return self._text(node, 0)
        except RecursionError:
            return None

    def constant(self, node: ast.expr | None) -> object:
        """A number, string, None, or tuple of them that an expression is; ``...`` if unknown."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            items = tuple(self.constant(item) for item in node.elts)
            return ... if ... in items else items
        if isinstance(node, ast.Name):
            value = self._lookup(node)
            return ... if value is None else self.constant(value)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            left, right = self.constant(node.left), self.constant(node.right)
            if isinstance(left, int) and isinstance(right, int):
                with contextlib.suppress(ZeroDivisionError):
                    return _ARITHMETIC[type(node.op)](left, right)
        found = self.text(node)
        return ... if found is None else found.value

    def _collect(self, node: ast.AST, scope: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self._parents[child] = scope
            if isinstance(child, ast.Assign):
                for target in child.targets:
                    self._assign(scope, target, child.value)
            elif isinstance(child, ast.AnnAssign) and child.value is not None:
                self._assign(scope, child.target, child.value)
            elif isinstance(child, ast.AugAssign | ast.For | ast.NamedExpr):
                self._assign(scope, child.target, None)
            elif isinstance(child, ast.With):
                self._with(scope, child)
            inner = False
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = True
                for argument in ast.walk(child.args):
                    if isinstance(argument, ast.arg):
                        self._values[child, argument.arg] = None
            self._collect(child, child if inner else scope)

    def _assign(self, scope: ast.AST, target: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            known = (scope, target.id) in self._values
            self._values[scope, target.id] = None if known else value
        else:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    self._values[scope, part.id] = None

    def _with(self, scope: ast.AST, statement: ast.With) -> None:
        for item in statement.items:
            call, name = item.context_expr, item.optional_vars
            if isinstance(name, ast.Name) and _is_open(call):
                assert isinstance(call, ast.Call)
                self._files[scope, name.id] = call.args[0]

    def _lookup(self, name: ast.Name) -> ast.expr | None:
        """What a name was assigned, if once and in plain sight."""
        scope: ast.AST | None = self._parents.get(name)
        while scope is not None:
            if (scope, name.id) in self._values:
                return self._values[scope, name.id]
            scope = self._parents.get(scope)
        return None

    def _text(self, node: ast.expr | None, depth: int) -> Text | None:
        if node is None or depth > 40:
            return None
        if isinstance(node, ast.Constant):
            return self._literal(node, node.value) if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._text(node.left, depth + 1), self._text(node.right, depth + 1)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.Name):
            return self._text(self._lookup(node), depth + 1)
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        return None

    def _literal(self, node: ast.Constant, value: str) -> Text:
        places = self._places(node, iter(()))
        if len(places) != value.count("\n") + 1:
            return at(value, (self._path, node.lineno))
        return Text(value, tuple(places))

    def _formatted(self, node: ast.JoinedStr, depth: int) -> Text | None:
        value, inserted = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                value += str(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            if part.format_spec is not None or part.conversion not in (-1, 115):
                return None
            text = self._text(part.value, depth + 1)
            if text is None:
                constant = self.constant(part.value)
                if not isinstance(constant, int | float):
                    return None
                text = at(str(constant), (self._path, part.lineno))
            inserted.append(text)
            value += text.value
        places = self._places(node, iter(inserted))
        if len(places) != value.count("\n") + 1:
            return at(value, (self._path, node.lineno))
        return Text(value, tuple(places))

    def _called(self, node: ast.Call, depth: int) -> Text | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else _name(function)
        if name == "dedent" and len(node.args) == 1:
            text = self._text(node.args[0], depth + 1)
            return None if text is None else Text(textwrap.dedent(text.value), text.places)
        if not isinstance(function, ast.Attribute):
            return None
        if name == "read_text":
            return self.file(function.value)
        if name == "read":
            if _is_open(function.value):
                assert isinstance(function.value, ast.Call)
                return self.file(function.value.args[0])
            if isinstance(function.value, ast.Name):
                return self.file(self._opened(function.value))
        if name in ("strip", "lstrip", "rstrip") and not node.args:
            text = self._text(function.value, depth + 1)
            return None if text is None else _stripped(text, name)
        return None

    def _opened(self, name: ast.Name) -> ast.expr | None:
        scope: ast.AST | None = self._parents.get(name)
        while scope is not None:
            if (scope, name.id) in self._files:
                return self._files[scope, name.id]
            scope = self._parents.get(scope)
        return None

    def file(self, node: ast.expr | None) -> Text | None:
        """The contents of the file that an expression names, or None."""
        path = self.path(node)
        if path is None:
            return None
        # A relative path starts where the program is run; most often that is beside the file.
        for candidate in (os.path.join(os.path.dirname(self._path), path), os.path.abspath(path)):
            try:
                value = decoded_utf8(read_beside(candidate))
            except (OSError, UnicodeDecodeError):
                continue
            file = os.path.normpath(candidate)
            count = value.count("\n") + 1
            return Text(value, tuple((file, number) for number in range(1, count + 1)))
        return None

    def path(self, node: ast.expr | None) -> str | None:
        """A path spelled by literals, ``__file__`` and the usual functions on paths, or None."""
        if isinstance(node, ast.Name) and node.id == "__file__":
            return self._path
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return self._joined([node.left, node.right])
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            inner = self.path(node.value)
            return None if inner is None else os.path.dirname(inner)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
            if name in ("join", "joinpath"):
                own = [node.func.value] if name == "joinpath" else []  # type: ignore[attr-defined]
                return self._joined([*own, *node.args])
            if name == "dirname" and node.args:
                inner = self.path(node.args[0])
                return None if inner is None else os.path.dirname(inner)
            if name in ("Path", "abspath", "realpath", "str", "fspath") and node.args:
                return self._joined(node.args)
            if name in ("resolve", "absolute") and isinstance(node.func, ast.Attribute):
                return self.path(node.func.value)
            return None
        if isinstance(node, ast.Name):
            value = self._lookup(node)
            return None if value is None else self.path(value)
        text = self.text(node)
        return None if text is None else text.value

    def _joined(self, nodes: Sequence[ast.expr]) -> str | None:
        parts = [self.path(node) for node in nodes]
        return None if None in parts else os.path.join(*(part for part in parts if part))

    def _places(self, node: ast.expr, inserted: Iterator[Text]) -> list[Place]:
        """The place of each line of a literal, by walking its spelling."""
        assert node.end_lineno is not None
        segment = "".join(self._lines[node.lineno - 1 : node.end_lineno])
        segment = segment.encode()[node.col_offset :].decode("utf-8", "replace")
        walker = _Walker(self._path, node.lineno, inserted)
        walker.walk(segment, node.end_lineno)
        return walker.places


class _Walker:
    """Follows the spelling of adjacent string literals and notes where lines of text begin."""

    def __init__(self, path: str, line: int, inserted: Iterator[Text]) -> None:
        self._path, self._line, self._inserted = path, line, inserted
        self._empty = True
        self.places: list[Place] = [(path, line)]

    def walk(self, segment: str, last_line: int) -> None:
        position = 0
        while position < len(segment) and self._line <= last_line:
            match = _LITERAL.match(segment, position)
            if match is None:
                if segment[position] == "#":
                    position = segment.find("\n", position)
                    if position < 0:
                        return
                elif segment[position] == ")" or segment[position].isalpha():
                    return
                self._line += segment[position] == "\n"
                position += 1
                continue
            if self._empty:
                self.places[-1] = (self._path, self._line)
            prefix, quote = match.group(1).lower(), match.group(2)
            position = self._body(segment, match.end(), quote, "r" in prefix, "f" in prefix)

    def _body(self, segment: str, position: int, quote: str, raw: bool, formatted: bool) -> int:
        while position < len(segment) and not segment.startswith(quote, position):
            char = segment[position]
            if char == "\\" and position + 1 < len(segment):
                following = segment[position + 1]
                if raw:
                    self._text(char)
                    if following == "\n":
                        self._line += 1
                        self._text("\n")
                elif following == "\n":
                    self._line += 1
                elif following == "n":
                    self._text("\n")
                else:
                    self._text("x")
                position += 2
                continue
            if formatted and char == "{" and segment[position + 1 : position + 2] != "{":
                self._insert()
                position = segment.index("}", position) + 1
                continue
            if formatted and char in "{}":
                position += 1
            if char == "\n":
                self._line += 1
            self._text(char)
            position += 1
        return position + len(quote)

    def _text(self, char: str) -> None:
        if char == "\n":
            self.places.append((self._path, self._line))
        self._empty = char == "\n"

    def _insert(self) -> None:
        text = next(self._inserted, None)
        if text is not None and len(text.places) > 1:
            self.places += text.places[1:]
        self._empty = False


def _stripped(text: Text, how: str) -> Text:
    kept = getattr(text.value, how)()
    before = text.value.index(kept) if kept else 0
    first = text.value.count("\n", 0, before)
    return Text(kept, text.places[first : first + kept.count("\n") + 1])


def _is_open(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == "open" and bool(node.args)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""

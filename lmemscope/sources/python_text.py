"""Strings of a Python file without running it: literals, constants, f-strings, files read.

Each line of a string knows the line it stands on, so that what is compiled from it can be shown
where its author wrote it.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence

from lmemscope.files import decoded_text, read_beside
from lmemscope.sources.located_text import Place, Spelling, Text, at, joined

_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_STEPS = 500_000
"""What finding out all strings of a file may take: expressions looked at, and text put together.

Names that stand for each other's double would take for ever, or all memory.
"""
_LETTERS = 256
"""Letters that are put together in a step."""
_LARGEST = 1 << 64


class _BeyondError(Exception):
    """To find out what an expression is would take too long."""


class Scope:
    """What names stand for, as far as it can be known without running anything.

    Args:
        tree: the module.
        source: its text.
        path: absolute path of the file.

    Attributes:
        texts: the literals that the strings given by `text` are made of.
        files: absolute paths under which files were looked for, in order.
    """

    def __init__(self, tree: ast.Module, source: str, path: str) -> None:
        self._lines = [f"{line}\n".encode("utf-8", "surrogatepass") for line in source.split("\n")]
        self._path = path
        self._values: dict[tuple[ast.AST, str], ast.expr | None] = {}
        self._parents: dict[ast.AST, ast.AST] = {}
        self._files: dict[tuple[ast.AST, str], ast.expr] = {}
        self._literals: dict[ast.expr, Text] = {}
        self._left = _STEPS
        self._met: list[ast.expr] = []
        self.texts: list[ast.expr] = []
        self.files: dict[str, None] = {}
        self._collect(tree)

    def text(self, node: ast.expr | None) -> Text | None:
        """The string that an expression is, or None where only running it would tell."""
        self._met.clear()
        try:
            found = self._spent(self._text(node, 0))
        except (_BeyondError, RecursionError):
            return None
        if found is not None:
            self.texts += self._met
        return found

    def constant(self, node: ast.expr | None) -> object:
        """A number, string, None, or tuple of them that an expression is; ``...`` if unknown."""
        try:
            return self._constant(node)
        except (_BeyondError, RecursionError):
            return ...

    def file(self, node: ast.expr | None) -> Text | None:
        """The contents of the file that an expression names, or None."""
        try:
            return self._spent(self._file(node))
        except (_BeyondError, RecursionError):
            return None

    def path(self, node: ast.expr | None) -> str | None:
        """A path spelled by literals, ``__file__`` and the usual functions on paths, or None."""
        try:
            return self._path_of(node)
        except (_BeyondError, RecursionError):
            return None

    def _step(self, letters: int = 0) -> None:
        self._left -= 1 + letters // _LETTERS
        if self._left < 0:
            raise _BeyondError

    def _spent(self, text: Text | None) -> Text | None:
        if text is not None:
            self._step(len(text.value))
        return text

    def _constant(self, node: ast.expr | None) -> object:
        self._step()
        if isinstance(node, ast.Constant):
            return ... if _is_large(node.value) else node.value
        if isinstance(node, ast.Tuple | ast.List):
            items = tuple(self._constant(item) for item in node.elts)
            return ... if ... in items else items
        if isinstance(node, ast.Name):
            value = self._lookup(node)
            return ... if value is None else self._constant(value)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            left, right = self._constant(node.left), self._constant(node.right)
            if isinstance(left, int) and isinstance(right, int):
                with contextlib.suppress(ZeroDivisionError):
                    result = _ARITHMETIC[type(node.op)](left, right)
                    return ... if _is_large(result) else result
        found = self._spent(self._text(node, 0))
        return ... if found is None else found.value

    def _collect(self, tree: ast.Module) -> None:
        """Note every assignment; with a list of what is left, for trees may be very deep."""
        pending: list[tuple[ast.AST, ast.AST]] = [
            (child, tree) for child in ast.iter_child_nodes(tree)
        ]
        while pending:
            child, scope = pending.pop()
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
            inside = scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inside = child
                for argument in ast.walk(child.args):
                    if isinstance(argument, ast.arg):
                        self._values[child, argument.arg] = None
            pending += [(one, inside) for one in ast.iter_child_nodes(child)]

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
        self._step()
        if node is None or depth > 40:
            return None
        if isinstance(node, ast.Constant):
            return self._literal(node, node.value) if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._added(node, depth)
        if isinstance(node, ast.Name):
            return self._text(self._lookup(node), depth + 1)
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        return None

    def _added(self, node: ast.BinOp, depth: int) -> Text | None:
        """A sum of strings, which may have thousands of terms."""
        terms: list[Text] = []
        pending: list[ast.expr] = [node]
        while pending:
            one = pending.pop()
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add):
                self._step()
                pending += (one.right, one.left)
                continue
            text = self._spent(self._text(one, depth + 1))
            if text is None:
                return None
            terms.append(text)
        return joined(terms)

    def _literal(self, node: ast.Constant, value: str) -> Text:
        self._met.append(node)
        known = self._literals.get(node)
        if known is None:
            places = self._places(node, iter(()))
            if len(places) == value.count("\n") + 1:
                known = Text(value, tuple(places))
            else:
                known = at(value, (self._path, node.lineno))
            self._literals[node] = known
        return known

    def _formatted(self, node: ast.JoinedStr, depth: int) -> Text | None:
        values: list[str] = []
        inserted: list[Text] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                self._met.append(part)
                values.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            if part.format_spec is not None or part.conversion not in (-1, 115):
                return None
            text = self._text(part.value, depth + 1)
            if text is None:
                constant = self._constant(part.value)
                if not isinstance(constant, int | float):
                    return None
                text = at(str(constant), (self._path, part.lineno))
            inserted.append(text)
            self._step(len(text.value))
            values.append(text.value)
        value = "".join(values)
        self._step(len(value))
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
            return self._file(function.value)
        if name == "read":
            if _is_open(function.value):
                assert isinstance(function.value, ast.Call)
                return self._file(function.value.args[0])
            if isinstance(function.value, ast.Name):
                return self._file(self._opened(function.value))
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

    def _file(self, node: ast.expr | None) -> Text | None:
        path = self._path_of(node)
        if path is None:
            return None
        # A relative path starts where the program is run; most often that is beside the file.
        for candidate in (os.path.join(os.path.dirname(self._path), path), os.path.abspath(path)):
            self.files[os.path.abspath(candidate)] = None
            try:
                value = decoded_text(read_beside(candidate))
            except (OSError, ValueError):
                continue
            self._step(len(value))
            file = os.path.normpath(candidate)
            count = value.count("\n") + 1
            return Text(value, tuple((file, number) for number in range(1, count + 1)))
        return None

    def _path_of(self, node: ast.expr | None) -> str | None:
        self._step()
        if isinstance(node, ast.Name) and node.id == "__file__":
            return self._path
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return self._joined([node.left, node.right])
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            inner = self._path_of(node.value)
            return None if inner is None else os.path.dirname(inner)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
            if name in ("join", "joinpath"):
                own = [node.func.value] if name == "joinpath" else []  # type: ignore[attr-defined]
                return self._joined([*own, *node.args])
            if name == "dirname" and node.args:
                inner = self._path_of(node.args[0])
                return None if inner is None else os.path.dirname(inner)
            if name in ("Path", "abspath", "realpath", "str", "fspath") and node.args:
                return self._joined(node.args)
            if name in ("resolve", "absolute") and isinstance(node.func, ast.Attribute):
                return self._path_of(node.func.value)
            return None
        if isinstance(node, ast.Name):
            value = self._lookup(node)
            return None if value is None else self._path_of(value)
        text = self._text(node, 0)
        return None if text is None else text.value

    def _joined(self, nodes: Sequence[ast.expr]) -> str | None:
        parts = [self._path_of(node) for node in nodes]
        return None if None in parts else os.path.join(*(part for part in parts if part))

    def _places(self, node: ast.expr, inserted: Iterator[Text]) -> list[Place]:
        """The place of each line of a literal, by walking its spelling."""
        assert node.end_lineno is not None
        lines = self._lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        segment = b"".join(lines).decode("utf-8", "replace")
        self._step(len(segment))
        walker = Spelling(self._path, node.lineno, inserted)
        walker.walk(segment, node.end_lineno)
        return walker.places


def _stripped(text: Text, how: str) -> Text:
    kept = getattr(text.value, how)()
    before = text.value.index(kept) if kept else 0
    first = text.value.count("\n", 0, before)
    return Text(kept, text.places[first : first + kept.count("\n") + 1])


def _is_large(value: object) -> bool:
    """Whether a number is none that anybody counts with; its digits alone may take minutes."""
    return isinstance(value, int) and abs(value) >= _LARGEST


def _is_open(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == "open" and bool(node.args)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""

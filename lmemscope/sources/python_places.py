"""A Python file by the bytes at which its syntax tree's nodes stand."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

_LINE_END = re.compile(rb"\r\n|\r|\n")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_WORD = re.compile(rb"[A-Za-z_]\w*")


class PythonText:
    """A Python file's tree, with positions in its bytes.

    Args:
        data: the file's bytes, UTF-8 without a mark.

    Raises:
        ValueError: it is no such text, or no Python.
    """

    def __init__(self, data: bytes) -> None:
        if data.startswith(b"\xef\xbb\xbf"):
            raise ValueError("it begins with a byte order mark")
        try:
            self.tree = ast.parse(data.decode("utf-8"))
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError("it is no Python") from error
        self.data = data
        ends = [*_LINE_END.finditer(data)]
        self._starts = [0, *(found.end() for found in ends)]
        self._ends = [*(found.start() for found in ends), len(data)]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """The byte at which a node begins."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """The byte behind a node."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise ValueError("a node without an end")
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def source(self, node: ast.expr | ast.stmt) -> bytes:
        """A node as written."""
        return self.data[self.start(node) : self.end(node)]

    def line(self, number: int) -> bytes:
        """A physical line (from 1) without its end."""
        return self.data[self._starts[number - 1] : self._ends[number - 1]]

    def line_start(self, number: int) -> int:
        """The byte at which a physical line begins."""
        return self._starts[number - 1]

    def line_end(self, number: int) -> int:
        """The byte behind a physical line, in front of its end."""
        return self._ends[number - 1]

    def indent(self, node: ast.stmt) -> bytes | None:
        """The blanks before a statement; None where it is not the first of its line."""
        before = self.data[self._starts[node.lineno - 1] : self.start(node)]
        return before if not before.strip(b" \t\f") else None

    @cached_property
    def newline(self) -> bytes:
        """The file's own end of a line."""
        found = _LINE_END.search(self.data)
        return found[0] if found is not None else b"\n"

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Names in the text, comments and strings included."""
        return frozenset(_WORD.findall(self.data))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that holds each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def constants(self) -> dict[str, int]:
        """Module variables that are integers as written, and that nothing else of the file binds.

        Another module may still set them; who compiles the file sees them as it defines them. An
        import of all of a module's names may hide what stands above it.
        """
        return {
            target.id: node.value.value
            for node in self.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in [node.target if isinstance(node, ast.AnnAssign) else node.targets[0]]
            if isinstance(target, ast.Name)
            and isinstance(node.value, ast.Constant)
            and type(node.value.value) is int
            and self.bindings[target.id] == 1
            and node.lineno > self._starred
        }

    @cached_property
    def bindings(self) -> Counter[str]:
        """How often the text binds each name, whatever the scope: imports and parameters, too."""
        return Counter(_bound(self.tree))

    def integer(self, node: ast.expr) -> int | None:
        """The value of an expression that is an integer, or a name of a constant; else None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.integer(node.operand)
            return -value if value is not None else None
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        return self.constants.get(node.id) if isinstance(node, ast.Name) else None

    def integer_there(self, node: ast.expr) -> int | None:
        """The same, where it may also be a name that its own function gives one integer."""
        if isinstance(node, ast.Name) and node.id not in self.constants:
            return self._local_integer(node)
        return self.integer(node)

    def _local_integer(self, name: ast.Name) -> int | None:
        """What the one assignment to a name in its own function gives it, where it is an integer.

        None of a name that anything else of the file binds.
        """
        if self.bindings[name.id] != 1:
            return None
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and node.value is not None
                and _is_only(node, name.id)
                and self._function_of(node) is self._function_of(name)
            ):
                return self.integer(node.value) if self._is_sure(node) else None
        return None

    def _is_sure(self, node: ast.stmt) -> bool:
        """Whether a statement of the module itself is executed, behind all imports of all names."""
        if not isinstance(self._function_of(node), ast.Module):
            return True
        return node in self.tree.body and node.lineno > self._starred

    @cached_property
    def _starred(self) -> int:
        """The last line that imports all names of a module, which may hide what is above it."""
        lines = (
            node.lineno
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names)
        )
        return max(lines, default=0)

    def _function_of(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, (*_FUNCTIONS, ast.Module)):
            node = self.parents[node]
        return node

    def imports_from(self, directories: tuple[str, ...]) -> bool:
        """Whether it imports a module of some directories, or may."""
        names = [*_imported(self.tree)]
        return any(
            not name
            or os.path.exists(os.path.join(directory, f"{name}.py"))
            or os.path.isdir(os.path.join(directory, name))
            for name in names
            for directory in directories
        )


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that a statement gives values, and these; None of what differs from turn to turn."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _paired(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from _paired(node.target, node.value)
    elif isinstance(node, ast.AugAssign | ast.For):
        named = (one for one in ast.walk(node.target) if isinstance(one, ast.Name))
        yield from ((one.id, None) for one in named if isinstance(one.ctx, ast.Store))


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) and same else None
        for number, one in enumerate(target.elts):
            yield from _paired(one, parts[number] if parts is not None else value)


def _is_only(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    """Whether an assignment is to one name alone."""
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _bound(tree: ast.AST) -> Iterator[str]:
    """Every binding of a name, whatever its scope."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            yield from [node.name] if node.name is not None else []
        elif isinstance(node, ast.MatchMapping):
            yield from [node.rest] if node.rest is not None else []


def _imported(tree: ast.AST) -> Iterator[str]:
    """Top-level names of the modules that are imported; empty ones of relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield "" if node.level else (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)

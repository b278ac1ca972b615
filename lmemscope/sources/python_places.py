"""A Python file with its syntax tree and byte positions."""

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
        data: the file's bytes, UTF-8 without a byte order mark.

    Raises:
        ValueError: it is not such a text, or not Python.
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
        """Byte offset where a node begins."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Byte offset after a node."""
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
        """Byte offset where a physical line begins."""
        return self._starts[number - 1]

    def line_end(self, number: int) -> int:
        """Byte offset after a physical line, before its line end."""
        return self._ends[number - 1]

    def indent(self, node: ast.stmt) -> bytes | None:
        """The indentation of a statement; None if it is not the first on its line."""
        before = self.data[self._starts[node.lineno - 1] : self.start(node)]
        return before if not before.strip(b" \t\f") else None

    @cached_property
    def newline(self) -> bytes:
        """The file's line end."""
        found = _LINE_END.search(self.data)
        return found[0] if found is not None else b"\n"

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Names in the text, including comments and strings."""
        return frozenset(_WORD.findall(self.data))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def constants(self) -> dict[str, int]:
        """Module variables with a literal integer value that nothing else in the file binds.

        Another module may still change them; the compiler sees their values as defined. A star
        import may hide definitions above it.
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
        """How often the text binds each name in any scope, including imports and parameters."""
        return Counter(_bound(self.tree))

    def integer(self, node: ast.expr) -> int | None:
        """The value of an expression that is an integer or a constant's name; else None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.integer(node.operand)
            return -value if value is not None else None
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        return self.constants.get(node.id) if isinstance(node, ast.Name) else None

    def integer_there(self, node: ast.expr) -> int | None:
        """The same, also for a name to which its own function assigns a single integer."""
        if isinstance(node, ast.Name) and node.id not in self.constants:
            return self._local_integer(node)
        return self.integer(node)

    def _local_integer(self, name: ast.Name) -> int | None:
        """The integer assigned to a name by the only assignment in its function, if it is one.

        None if anything else in the file binds the name.
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
        """Whether a module-level statement is certainly executed, after all star imports."""
        if not isinstance(self._function_of(node), ast.Module):
            return True
        return node in self.tree.body and node.lineno > self._starred

    @cached_property
    def _starred(self) -> int:
        """The last line with a star import, which may hide definitions above it."""
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
        """Whether it imports, or may import, a module from given directories."""
        names = [*_imported(self.tree)]
        return any(
            not name
            or os.path.exists(os.path.join(directory, f"{name}.py"))
            or os.path.isdir(os.path.join(directory, name))
            for name in names
            for directory in directories
        )


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names assigned by a statement, with their values; None for values that vary per iteration."""
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
    """Whether an assignment has a single name as its target."""
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _bound(tree: ast.AST) -> Iterator[str]:
    """Every binding of a name, in any scope."""
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
    """Top-level names of imported modules; empty for relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield "" if node.level else (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)

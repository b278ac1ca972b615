"""Syntax trees of Python files, each parsed and listed once."""

from __future__ import annotations

import ast
import functools

from lmemscope.files import cached_while_unchanged, read_input
from lmemscope.sources.encoding import decoded_python


@cached_while_unchanged(512)
def parsed(path: str) -> ast.Module:
    """The tree of a file, which must not be modified.

    Raises:
        OSError: it cannot be read.
        SyntaxError, ValueError, RecursionError, MemoryError: it is not Python, or nested too
            deeply.
    """
    return ast.parse(decoded_python(read_input(path)), path)


@functools.lru_cache(maxsize=512)
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a tree, in the order of `ast.walk`; cached in the tree itself."""
    return tuple(ast.walk(tree))

"""Read ``# lmemscope:`` comments in a Python file, and match each to a kernel.

A comment belongs to a Numba kernel if it is in its function or directly above it, decorators
included. It belongs to CuPy kernels if it is in the statement that makes them or directly above it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from lmemscope.model import Directive, KernelDirective

_ANYWHERE = re.compile(
    r"(?:#|//)[ \t]*lmemscope:[ \t]*(allow|expect|instantiate)[ \t]+([^\n]*)", re.IGNORECASE
)
_SAID = re.compile(r"#+[ \t]*lmemscope:[ \t]*([^\s]*)[ \t]*(.*)", re.IGNORECASE)


def comments_of(
    source: str, line: int, kernels: Sequence[str], others: Sequence[int]
) -> tuple[KernelDirective, ...]:
    """The comments that refer to the kernels of a line, and those that refer to none.

    Args:
        source: text of the file.
        line: of the function, or of the call that makes the kernels.
        kernels: their unqualified names.
        others: lines of all kernels in the file.

    Raises:
        SyntaxError, ValueError, RecursionError: it is not Python.
    """
    said = comments(source)
    if not said:
        return ()
    tree = ast.parse(source)
    lines = source.split("\n")
    own = _area(tree, lines, line)
    areas = [_area(tree, lines, other) for other in others]
    found = []
    for one in said:
        if one.line in own:
            place = (own.start, own.stop - 1)
            found += [
                KernelDirective(one.word, one.argument, one.line, kernel, kernel, place)
                for kernel in kernels
            ]
        elif not any(one.line in area for area in areas):
            found.append(KernelDirective(one.word, one.argument, one.line, ""))
    return tuple(found)


def anywhere(source: str) -> list[tuple[int, str, str]]:
    """Line, keyword and argument of comments, including those in CUDA C++ strings."""
    return [
        (source.count("\n", 0, said.start()) + 1, said[1].lower(), said[2].strip())
        for said in _ANYWHERE.finditer(source)
    ]


def comments(source: str) -> list[Directive]:
    """All such comments in a file, by line; empty if it is not Python."""
    if "lmemscope:" not in source.lower():
        return []
    return [*_comments(source)]


def _comments(source: str) -> Iterator[Directive]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            said = _SAID.match(token.string) if token.type == tokenize.COMMENT else None
            if said is not None:
                yield Directive(said[1], said[2].strip(), token.start[0])
    except (tokenize.TokenError, SyntaxError):
        return


def _area(tree: ast.Module, lines: Sequence[str], line: int) -> range:
    """Lines of the innermost statement or function around a line, with comments right above."""
    first, last = line, line
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        end = node.end_lineno or node.lineno
        is_function = isinstance(node, ast.FunctionDef) and node.lineno == line
        is_simple = not hasattr(node, "body") and node.lineno <= line <= end
        if is_function or is_simple:
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(one.lineno for one in decorators)])
            last = end
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return range(first, last + 1)

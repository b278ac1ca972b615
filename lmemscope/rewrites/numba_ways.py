"""``constant-parameter``: the number that all launches of a Numba kernel pass is told the kernel.

Indices that are made of it may then be constants. The promise is that nobody else launches the
kernel with another number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.numba_arrays import (
    NumbaArray,
    NumbaTarget,
)
from lmemscope.rewrites.numba_launches import (
    as_typed,
    check_number,
    launches,
    parameters,
    passed_number,
    ptx_numbers,
)
from lmemscope.sources.python_places import PythonText


def constant_parameter(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """A parameter's one number, said at the beginning of the kernel.

    Raises:
        DeclinedError: launches in the file do not pass one, or none that may index the array.
    """
    text, function = target.text, array.function
    calls = launches(target, array)
    if not calls:
        raise DeclinedError("no launch in its file shows the number of a parameter")
    indexing = _indexing(array, text)
    told: dict[str, int] = {}
    written: dict[str, str] = {}
    variables: set[str] = set()
    for position, name in enumerate(parameters(function)):
        known = [passed_number(call, position, text) for call in calls]
        said = {one.value for one in known if one is not None}
        if name in indexing and len(said) == 1 and None not in known:
            check_number(target, array, position, name)
            told[name] = said.pop()
            written[name] = as_typed(told[name], position, name, target, array)
            variables |= {one.variable for one in known if one is not None and one.variable}
    if not told:
        raise DeclinedError("no parameter that indexes it has one known number in all launches")
    for one in _names(function):
        if one.id in told and _is_bound(one):
            raise DeclinedError(f"the kernel gives {one.id} another value")
    first = next(one for one in function.body if not _is_docstring(one))
    indent = text.indent(first)
    if indent is None:
        raise DeclinedError("its first statement shares a line with another")
    lines = [f"{name} = {number}".encode() for name, number in written.items()]
    at = text.start(first)
    inserted = b"".join(line + text.newline + indent for line in lines)
    edits = [Edit(target.path, at, at, inserted), *_shortened(target, array, told)]
    names = " or ".join(sorted(variables))
    numbers = " and ".join(map(str, told.values()))
    return Rewriting(
        "constant-parameter",
        "unsafe",
        tuple(sorted(edits)),
        f"compile `{target.kernel}` for "
        + ", ".join(f"`{name}` = {number}" for name, number in told.items()),
        f"every launch of it passes {numbers}"
        + (f"; no other module gives {names} another value" if names else ""),
        takes=ptx_numbers(target, function, told),
    )


def _shortened(target: NumbaTarget, array: NumbaArray, told: dict[str, int]) -> Iterator[Edit]:
    """An array of one dimension as long as a parameter's number, below which all indices are."""
    text = target.text
    if len(array.extents) != 1:
        return
    extent = array.extents[0]
    for name, number in told.items():
        if number < (text.integer(extent) or 0) and all(
            _is_below(use, name, array, text) for use in array.uses
        ):
            yield Edit(target.path, text.start(extent), text.end(extent), b"%d" % number)
            return


def _is_below(use: ast.Name, name: str, array: NumbaArray, text: PythonText) -> bool:
    """Whether a use is an element below a parameter's number: ``i % n``, or ``i in range(n)``."""
    parent = text.parents[use]
    if not isinstance(parent, ast.Subscript) or parent.value is not use:
        return False
    index = parent.slice
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mod):
        return isinstance(index.right, ast.Name) and index.right.id == name
    if not isinstance(index, ast.Name):
        return False
    node: ast.AST = use
    while node is not array.function:
        node = text.parents[node]
        if isinstance(node, ast.For) and ast.unparse(node.target) == index.id:
            stored = [one for one in _names(node) if one.id == index.id and _is_bound(one)]
            return len(stored) == 1 and ast.unparse(node.iter) == f"range({name})"
    return False


def _is_bound(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _indexing(array: NumbaArray, text: PythonText) -> set[str]:
    """Names that the array's indices are made of, those that bound loops over it included."""
    found = {
        node.id
        for use in array.uses
        if isinstance(parent := text.parents[use], ast.Subscript)
        for node in ast.walk(parent.slice)
        if isinstance(node, ast.Name)
    }
    while True:
        more = {name for node in ast.walk(array.function) for name in _made_of(node, found)}
        if more <= found:
            return found
        found |= more


def _made_of(node: ast.AST, names: set[str]) -> Iterator[str]:
    """Names in what one of some names is assigned, or counts over."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, ast.For):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AugAssign):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.While):
        value = node.test if names & {one.id for one in _names(node)} else None
        targets = []
        if value is not None:
            yield from (one.id for one in _names(value))
        return
    if value is not None and any(isinstance(one, ast.Name) and one.id in names for one in targets):
        yield from (one.id for one in _names(value))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )

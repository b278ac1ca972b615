"""Variables that a loop of a Numba kernel carries from one turn to the next, and their types.

Numba gives a variable that a loop carries one type, that of its value before the loop and of those
in it: a ``float32`` that becomes a ``float64`` in the loop is a ``float64`` from the first turn on.
Written out, the first copy computes with the ``float32``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_SCALARS = frozenset(
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp".split()
)
_LARGEST = 2**63 - 1
"""Numba's type of a larger integer is another one than that of the others."""
_WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)


def changing_types(loop: ast.For, function: ast.FunctionDef) -> Iterator[str]:
    """Names of variables that a loop carries, and whose type may change in it.

    Args:
        loop: whose turns are written out.
        function: that it is in.
    """
    stored = {
        node.id
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    for name in sorted(stored):
        is_met = _is_carried(name, loop.body) or _is_elsewhere(name, loop, function)
        if is_met and not _has_one_type(name, function):
            yield name


def _is_carried(name: str, body: list[ast.stmt]) -> bool:
    """Whether a turn may use a value from before it: one that it does not set first."""
    for statement in body:
        if not any(_is_name(one, name) for one in ast.walk(statement)):
            continue
        if isinstance(statement, ast.For):
            if _loads_name(statement.iter, name):
                return True
            inner = [*statement.body, *statement.orelse]
            if not _is_name(statement.target, name) and _is_carried(name, inner):
                return True
            continue  # It may have no turn.
        is_set = isinstance(statement, ast.Assign) and _is_name(statement.targets[0], name)
        if not is_set or not isinstance(statement, ast.Assign):
            return True
        return _loads_name(statement.value, name)
    return False


def _is_elsewhere(name: str, loop: ast.For, function: ast.FunctionDef) -> bool:
    """Whether a variable is also set, and also read, outside of a loop."""
    inside = {*ast.walk(loop)}
    others = [one for one in ast.walk(function) if _is_name(one, name) and one not in inside]
    is_read = [isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) for one in others]
    return any(is_read) and not all(is_read)


def _has_one_type(name: str, function: ast.FunctionDef) -> bool:
    """Whether all that a variable is ever given is of one type, as far as the text tells."""
    if any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(function)):
        return False
    given: list[ast.expr] = []
    told: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and _is_name(node.target, name):
            told.append(node.target)
            given.append(ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            told += [one for one in node.targets if _is_name(one, name)]
            given += [node.value for one in node.targets if _is_name(one, name)]
        elif isinstance(node, ast.For) and _is_name(node.target, name) and _is_counted(node):
            told.append(node.target)
            given.append(ast.Constant(0))
    stores = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    if len(stores) != len(told):
        return False
    first = {_kind(one, name, None, function) for one in given if not _loads_name(one, name)}
    if len(first) != 1 or None in first:
        return False
    (own,) = first
    return all(_kind(one, name, own, function) == own for one in given)


def _loads_name(value: ast.expr, name: str) -> bool:
    return any(_is_name(one, name) for one in ast.walk(value))


def _kind(value: ast.expr, name: str, own: str | None, function: ast.FunctionDef) -> str | None:
    """What an expression's type is called; None where the text does not tell.

    Args:
        value: the expression.
        name: a variable.
        own: its type.
        function: that it is in.
    """
    if isinstance(value, ast.Constant):
        if type(value.value) is int and value.value > _LARGEST:
            return None  # A uint64, which with an int makes a float64.
        return {int: "int", float: "float64"}.get(type(value.value))
    if isinstance(value, ast.Name):
        return own if value.id == name else _counter(value.id, function)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub | ast.UAdd):
        return _kind(value.operand, name, own, function)
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func).rpartition(".")[2]
        return called if called in _SCALARS else None
    if isinstance(value, ast.BinOp):
        sides = {_kind(one, name, own, function) for one in (value.left, value.right)}
        if "float64" in sides and not isinstance(value.op, ast.MatMult):
            return "float64"  # With whatever real number.
        return "int" if sides == {"int"} and isinstance(value.op, _WHOLE) else None
    return None


def _counter(name: str, function: ast.FunctionDef) -> str | None:
    """The type of a variable that nothing but loops over ranges gives a value."""
    found = False
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            found = True
            loops = (one for one in ast.walk(function) if isinstance(one, ast.For))
            over = next((one for one in loops if one.target is node), None)
            if over is None or not _is_counted(over):
                return None
    return "int" if found else None


def _is_counted(loop: ast.For) -> bool:
    """Whether a loop runs over a range."""
    called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return called is not None and _is_name(called, "range")


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name

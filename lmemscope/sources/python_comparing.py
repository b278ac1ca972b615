"""Evaluate comparisons of values that a Python file's text determines."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from lmemscope.sources.located_text import Text
from lmemscope.sources.python_values import (
    Class,
    DataType,
    Method,
    Module,
    Named,
    Unknown,
    Value,
    data_type,
    plain,
    unknown_of,
)

_COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def compared(comparison: ast.cmpop, left: Value, right: Value) -> bool | None:
    """Whether a comparison holds; None if unknown."""
    if isinstance(comparison, ast.Is | ast.IsNot):
        if any(isinstance(one, Unknown | Method) for one in (left, right)):
            return None
        same = _is_same(left, right)
        return None if same is None else same is isinstance(comparison, ast.Is)
    types = data_type(left), data_type(right)
    is_typed = any(isinstance(one, Named) for one in (left, right)) and None not in types
    if is_typed and isinstance(comparison, ast.Eq | ast.NotEq):
        return (types[0] == types[1]) is isinstance(comparison, ast.Eq)
    if any(isinstance(one, Named | Method) for one in (left, right)):
        return None
    if unknown_of((left, right)) is not None:
        return None
    if isinstance(comparison, ast.In | ast.NotIn):
        if not isinstance(right, tuple | list | dict | range | Text):
            return None
        return _is_in(left, right) is isinstance(comparison, ast.In)
    return _COMPARISONS[type(comparison)](plain(left), plain(right))


def _is_in(left: Value, right: Value) -> bool:
    if isinstance(right, range) and not isinstance(left, int):
        # Python would iterate over the whole range.
        return isinstance(left, float) and left.is_integer() and int(left) in right
    return bool(plain(left) in plain(right))


def _is_same(left: Value, right: Value) -> bool | None:
    """Whether two values are the same object, if that is certain."""
    if None in (left, right) or all(isinstance(one, bool) for one in (left, right)):
        return left is right
    if all(isinstance(one, DataType) for one in (left, right)):
        return bool(left == right)
    if all(isinstance(one, Named) for one in (left, right)):
        return True if left == right else None
    is_named = any(isinstance(one, Named) for one in (left, right))
    return (
        False
        if is_named and not any(isinstance(o, Class | Module) for o in (left, right))
        else None
    )

"""The launches of a Numba kernel that its file shows, and what they pass.

A name is the kernel only where nothing else of the file is called so: parameters, local variables
and other imports may hide it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.numba_arrays import NumbaArray, NumbaTarget, configuration
from lmemscope.sources.python_places import PythonText, assigned

_ARRAY = re.compile(r"\w+\[([:, 1]+)\]")
_NUMBER = re.compile(r"u?int\d*|u?intp|float\d+|bool(?:ean|_)?")
_ARRAY_HEAD = 5
"""Of Numba's array model: memory's owner, its parent, elements, bytes of one, data."""
_BEHIND_BACKS = frozenset(
    b"globals setattr exec eval modules __dict__ vars importlib __import__".split()
)
"""Words of what sets or finds names that the text does not show."""
_TYPED = frozenset({"numba", "numpy"})
"""Modules whose ``int32`` and ``float32`` a kernel can name."""
_INTEGERS = frozenset({"int32", "int64"})


def launches(target: NumbaTarget, array: NumbaArray) -> list[ast.Call]:
    """The launches of the kernel in its file.

    Raises:
        DeclinedError: its name is used in another way, or for something else.
    """
    text, found = target.text, []
    if text.words & _BEHIND_BACKS:
        raise DeclinedError("the file may set or launch what its text does not name")
    if text.bindings[target.kernel] > 1:
        raise DeclinedError(f"{target.kernel} is the name of something else, too")
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and node.id == target.kernel:
            parent = text.parents[node]
            call = text.parents.get(parent)
            is_launch = (
                isinstance(call, ast.Call)
                and call.func is parent
                and len(configuration(node, text)) > 1
                and not any(isinstance(one, ast.Starred) for one in call.args)
                and not call.keywords
                and len(call.args) == len(parameters(array.function))
            )
            if not isinstance(call, ast.Call) or not is_launch:
                raise DeclinedError(f"line {node.lineno} uses {target.kernel} in another way")
            found.append(call)
    return found


def parameters(function: ast.FunctionDef) -> Sequence[str]:
    """The names of a kernel's parameters.

    Raises:
        DeclinedError: they are no plain list of one or more.
    """
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise DeclinedError("its parameters are no plain list")
    if not given.args:
        raise DeclinedError("it has no parameters")
    return [one.arg for one in given.args]


@dataclass(frozen=True, slots=True)
class PassedNumber:
    """A whole number that a launch passes.

    Attributes:
        value: the number.
        variable: the module's variable that it is made of, which another module may set; or None.
    """

    value: int
    variable: str | None


def passed_number(call: ast.Call, position: int, text: PythonText) -> PassedNumber | None:
    """The whole number that a launch passes in a place.

    None where it may be another one, or another type's: of a name that is given values in several
    places, or in another function.
    """
    given = call.args[position]
    number = text.integer_there(given)
    if number is None:
        return None
    named = (name for name in _names_in(given) if name in text.constants)
    return PassedNumber(number, next(named, None))


def check_number(target: NumbaTarget, array: NumbaArray, position: int, name: str) -> None:
    """Refuse a parameter with whose number Numba may choose other types.

    Raises:
        DeclinedError: it is no integer in the signature, may be an exponent, or a condition asks
            for it alone, of which Numba leaves out a branch then.
    """
    text = target.text
    for kinds in _every_signature(target, array.function):
        if len(kinds) <= position or kinds[position] not in _INTEGERS:
            raise DeclinedError(f"its signature does not say that {name} is an int32 or int64")
    if len({kinds[position] for kinds in _every_signature(target, array.function)}) > 1:
        raise DeclinedError(f"its signatures do not agree on what {name} is")
    for node in ast.walk(array.function):
        is_power = isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow)
        is_power = is_power or (isinstance(node, ast.Call) and "pow" in ast.unparse(node.func))
        if is_power and any(isinstance(one, ast.Name) for one in _exponent(node)):
            where = f"line {getattr(node, 'lineno', array.function.lineno)}"
            raise DeclinedError(f"{where} has a power, whose type may depend on {name}")
    if b"inline" in text.words:
        raise DeclinedError("a function that is inlined may choose types by it")
    told = _following(name, array.function, text)
    for node in ast.walk(array.function):
        if isinstance(node, ast.If | ast.IfExp):
            for one in ast.walk(node.test):
                names = _names_in(one)
                if isinstance(one, ast.Compare | ast.Name) and names and names <= told:
                    line = f"line {node.lineno}"
                    raise DeclinedError(f"{line} asks for {name}, by which Numba may choose types")


def _following(name: str, function: ast.FunctionDef, text: PythonText) -> set[str]:
    """A name, the file's constants, and what is only ever given values of these."""
    told = {name, *text.constants}
    given: dict[str, list[ast.expr | None]] = defaultdict(list)
    for node in ast.walk(function):
        for own, value in assigned(node):
            given[own].append(value)
    while True:
        more = {
            own
            for own, values in given.items()
            if own not in told and all(v is not None and _names_in(v) <= told for v in values)
        }
        if not more:
            return told
        told |= more


def _names_in(value: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}


def _exponent(power: ast.AST) -> Iterator[ast.AST]:
    """The nodes of what a power is raised to."""
    if isinstance(power, ast.BinOp):
        yield from ast.walk(power.right)
    elif isinstance(power, ast.AugAssign):
        yield from ast.walk(power.value)
    elif isinstance(power, ast.Call):
        for one in power.args[1:]:
            yield from ast.walk(one)


def _every_signature(target: NumbaTarget, function: ast.FunctionDef) -> list[list[str]]:
    """The parameters' types, of the decorator or else of all that the user says; empty if none."""
    own = _signature(function)
    if own is not None:
        return [own]
    return [
        _types(text)
        for text in target.signatures
        if text.partition("(")[0].strip() == target.kernel
    ]


def as_typed(number: int, position: int, name: str, target: NumbaTarget, array: NumbaArray) -> str:
    """A number as an expression of the type that a parameter has: of a plain one it is int64.

    Raises:
        DeclinedError: the file has no name for that type.
    """
    kinds = next(iter(_every_signature(target, array.function)), [])
    if len(kinds) <= position or kinds[position] != "int32":
        return str(number)  # A launch's own number is one.
    spelled = _spelled("int32", target.text)
    if spelled is None:
        raise DeclinedError(f"{name} is an int32, which nothing that its file imports can make")
    return f"{spelled}({number})"


def _spelled(kind: str, text: PythonText) -> str | None:
    """How the file can call one of Numba's or NumPy's types, by what it imports of them."""
    for node in text.tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            known_as = alias.asname or alias.name
            if text.bindings[known_as] != 1:
                continue
            if isinstance(node, ast.Import) and alias.name in _TYPED:
                return f"{known_as}.{kind}"
            if isinstance(node, ast.ImportFrom) and node.module in _TYPED and alias.name == kind:
                return known_as
    return None


def _signature(function: ast.FunctionDef) -> list[str] | None:
    """The types of a text of one signature; empty of another kind; None where there is none."""
    (decorator,) = function.decorator_list
    given = decorator.args if isinstance(decorator, ast.Call) else []
    if isinstance(decorator, ast.Call):
        words = (one.value for one in decorator.keywords if one.arg == "func_or_sig")
        given = [*given, *words]
    if not given:
        return None
    written = given[0].value if isinstance(given[0], ast.Constant) else None
    if not isinstance(written, str) or not written.rstrip().endswith(")"):
        return []
    return _types(written)


def _types(written: str) -> list[str]:
    """The parameters' types of ``void(float32[:, ::1], int32)``."""
    kinds, depth = [""], 0
    for character in written.rstrip()[:-1].partition("(")[2]:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            kinds.append("")
        else:
            kinds[-1] += character
    return [one.strip() for one in kinds]


def ptx_numbers(
    target: NumbaTarget, function: ast.FunctionDef, told: Mapping[str, int]
) -> tuple[tuple[str, str, int], ...]:
    """The kernels' PTX parameters that are some of a function's, with their numbers.

    Numba passes an array as five numbers and pointers, then its extents and its strides; of types
    that are neither that nor numbers nothing is known, and none behind them is found.
    """
    kinds = next(iter(_every_signature(target, function)), [])
    found, at = [], 0
    for name, kind in zip(parameters(function), kinds, strict=False):
        if name in told:
            found.append((at, told[name]))
        shape = _ARRAY.fullmatch(kind)
        if shape is None and _NUMBER.fullmatch(kind) is None:
            break
        at += 1 if shape is None else _ARRAY_HEAD + 2 * (shape[1].count(",") + 1)
    kernels = sorted({hit.facts.name for hit in target.hits})
    return tuple((one, f"{one}_param_{at}", number) for one in kernels for at, number in found)

"""Evaluate Python library functions on known values, if they have no side effects."""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from lmemscope.sources.located_text import Place, Text, at
from lmemscope.sources.python_modules import module_file
from lmemscope.sources.python_strings import (
    METHODS,
    UnknownPartError,
    braces,
    dedented,
    key_of,
    substituted,
)
from lmemscope.sources.python_values import (
    C_TYPES,
    DataType,
    Named,
    OpenFile,
    Template,
    Unknown,
    Value,
    data_type,
    elements,
    plain,
    promoted,
    shown,
)

_MOST = 10_000
"""Maximum number of elements in a container."""
_NOWHERE = ("", 0)


def _all(value: Value) -> list[Value]:
    found = elements(value, _NOWHERE)
    if found is None:
        raise UnknownPartError("what it goes through")
    listed = [*itertools.islice(found, _MOST + 1)]
    if len(listed) > _MOST:
        raise OverflowError
    return listed


def _path(value: Value) -> str:
    known = shown(value) if isinstance(value, Text | PurePosixPath) else None
    if known is None:
        raise TypeError
    return known


def _text(value: str) -> Text:
    return at(value, _NOWHERE)


def _of_numbers(function: Callable[..., Value]) -> Callable[..., Value]:
    def computed(*arguments: Value) -> Value:
        if not all(isinstance(one, bool | int | float) for one in arguments):
            raise TypeError
        return function(*arguments)

    return computed


def _of_elements(function: Callable[..., Value]) -> Callable[..., Value]:
    def computed(*arguments: Value) -> Value:
        values = arguments if len(arguments) > 1 else _all(arguments[0])
        return function([plain(one) for one in values])

    return computed


def _package(name: Value) -> PurePosixPath:
    """The directory of a user's package, found from the file that names it."""
    if not isinstance(name, Text) or not name.places:
        raise TypeError
    file = module_file(name.value, 0, name.places[0][0])
    if file is None or os.path.basename(file) != "__init__.py":
        raise UnknownPartError(f"the files of `{name.value}`, which is not found")
    return PurePosixPath(os.path.dirname(file))


def _string(value: Value = None) -> Value:
    if isinstance(value, Text):
        return value
    known = shown(value)
    if known is None:
        raise UnknownPartError("the text of an object")
    return _text(known)


def _number(kind: type[int | float]) -> Callable[..., Value]:
    def converted(value: Value) -> Value:
        known = plain(value)
        if not isinstance(known, str | int | float) or len(str(known)) > 100:
            raise TypeError
        return kind(known)

    return converted


def _length(value: Value) -> int:
    if isinstance(value, Text):
        return len(value.value)
    return len(value)


def _dict(pairs: Value = (), **words: Value) -> dict[Value, Value]:
    listed = [*pairs.items()] if isinstance(pairs, dict) else _all(pairs)
    return {key_of(key): value for key, value in listed} | words


def _product(*values: Value, repeat: int = 1) -> list[Value]:
    lists = [_all(value) for value in values] * repeat
    if math.prod(map(len, lists)) > _MOST:
        raise OverflowError
    return [*itertools.product(*lists)]


def _dtype(value: Value) -> Value:
    found = data_type(value)
    if found is None:
        raise TypeError
    return found


def _promoted(one: Value, other: Value) -> Value:
    return promoted(_dtype(one), _dtype(other))


def _type_name(value: Value) -> Value:
    found = data_type(value)
    if found is None:
        raise TypeError
    return _text(C_TYPES[found.name])


def _joined_path(*parts: Value) -> Text:
    return _text(os.path.join(*map(_path, parts)))


def _of_path(function: Callable[[str], str]) -> Callable[..., Value]:
    return lambda value: _text(function(_path(value)))


def _pure(*parts: Value) -> PurePosixPath:
    return PurePosixPath(*map(_path, parts))


def _opened(path: Value, mode: Value = None, *_: Value, **__: Value) -> OpenFile:
    _path(path)
    if mode is not None and plain(mode) not in ("r", "rt"):
        raise TypeError
    return OpenFile(path)


_BUILTINS: dict[str, Callable[..., Value]] = {
    "str": _string,
    "int": _number(int),
    "float": _number(float),
    "bool": lambda value: bool(plain(value)),
    "len": _length,
    "range": _of_numbers(range),
    "abs": _of_numbers(abs),
    "round": _of_numbers(round),
    "divmod": _of_numbers(divmod),
    "min": _of_elements(min),
    "max": _of_elements(max),
    "sum": _of_elements(sum),
    "any": _of_elements(any),
    "all": _of_elements(all),
    "list": lambda value=(): _all(value),
    "tuple": lambda value=(): tuple(_all(value)),
    "dict": _dict,
    "sorted": lambda value, **words: sorted(_all(value), key=plain, **words),
    "reversed": lambda value: [*reversed(_all(value))],
    "set": lambda value=(): [*{key_of(one): one for one in _all(value)}.values()],
    "zip": lambda *values, **_: [*zip(*map(_all, values), strict=False)],
    "enumerate": lambda value, start=0: [*enumerate(_all(value), start)],
    "open": _opened,
}
_MATH = ("ceil", "floor", "log", "log2", "log10", "sqrt", "gcd", "exp", "sin", "cos", "isqrt")
_OF_NUMPY = ("log", "log2", "log10", "sqrt", "exp", "sin", "cos")
"""For plain numbers, NumPy's results and their text equal those of Python's functions."""
FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **{f"builtins.{name}": function for name, function in _BUILTINS.items()},
    **{f"math.{name}": _of_numbers(getattr(math, name)) for name in _MATH},
    **{f"numpy.{name}": _of_numbers(getattr(math, name)) for name in _OF_NUMPY},
    "io.open": _opened,
    "itertools.product": _product,
    "itertools.chain": lambda *values: [one for value in values for one in _all(value)],
    "textwrap.dedent": dedented,
    "inspect.cleandoc": lambda text: METHODS["strip"](dedented(text)),
    "string.Template": Template,
    "os.path.join": _joined_path,
    "os.path.dirname": _of_path(os.path.dirname),
    "os.path.basename": _of_path(os.path.basename),
    **dict.fromkeys(
        ("os.path.abspath", "os.path.realpath", "os.path.normpath"), _of_path(os.path.normpath)
    ),
    "os.fspath": _of_path(str),
    **dict.fromkeys(("importlib.resources.files", "importlib_resources.files"), _package),
    **{f"pathlib.{name}": _pure for name in ("Path", "PosixPath", "PurePath", "PurePosixPath")},
    **dict.fromkeys(("numpy.dtype", "cupy.dtype"), _dtype),
    **dict.fromkeys(("numpy.promote_types", "cupy.promote_types"), _promoted),
    **dict.fromkeys(
        (
            "cupy._core._scalar.get_typename",
            "cupy._core._dtype._get_typename",
            "cupyx.scipy._lib._util._get_typename",
        ),
        _type_name,
    ),
}
"""Functions by dotted name."""

CONSTANTS: Mapping[str, Value] = {
    "math.pi": math.pi,
    "math.e": math.e,
    "math.inf": math.inf,
    "numpy.pi": math.pi,
    "cupy.pi": math.pi,
    "numpy.inf": math.inf,
    "cupy.inf": math.inf,
    "cupy.cuda.runtime.is_hip": False,
    "cupy.cuda.runtime._is_hip_environment": False,
    "cupy_backends.cuda.api.runtime.is_hip": False,
    "cupy_backends.cuda.api.runtime._is_hip_environment": False,
    "os.sep": at("/", _NOWHERE),
    "os.linesep": at("\n", _NOWHERE),
}
"""Attributes of modules, with their values on Linux, for CUDA."""

TYPES: Mapping[str, tuple[type, ...]] = {
    "builtins.str": (Text,),
    "builtins.int": (int,),
    "builtins.float": (float,),
    "builtins.bool": (bool,),
    "builtins.tuple": (tuple,),
    "builtins.list": (list,),
    "builtins.dict": (dict,),
}
"""Types that `isinstance` may test."""


def attribute(value: Value, name: str) -> Value | None:
    """An attribute of a known value; None if unknown."""
    if isinstance(value, Named):
        full = f"{value.name}.{name}"
        return CONSTANTS.get(full, Named(full))
    if isinstance(value, PurePosixPath):
        if name in ("name", "stem", "suffix"):
            return _text(getattr(value, name))
        if name == "parents":
            return [*value.parents]
        return value.parent if name == "parent" else None
    if isinstance(value, DataType):
        if name in ("kind", "char", "name"):
            return _text(getattr(value, name))
        return {"itemsize": value.size, "type": value, "num": None}.get(name)
    return None


def method(owner: Value, name: str) -> Callable[..., Value] | None:
    """A method that affects at most its own object; None if it is not supported."""
    if isinstance(owner, Text):
        if name == "format":
            return lambda *arguments, **words: braces(owner, arguments, words)
        if name == "format_map":
            return lambda words: braces(owner, (), words)
        known = METHODS.get(name)
        return None if known is None else lambda *arguments: known(owner, *arguments)
    if isinstance(owner, Template):
        return _template_method(owner, name)
    if isinstance(owner, PurePosixPath):
        return _path_method(owner, name)
    if isinstance(owner, dict):
        return _dict_method(owner, name)
    if isinstance(owner, list):
        return _list_method(owner, name)
    if isinstance(owner, tuple) and name in ("index", "count"):
        listed = [plain(one) for one in owner]
        return lambda value: getattr(listed, name)(plain(value))
    return None


def _template_method(owner: Template, name: str) -> Callable[..., Value] | None:
    if name not in ("substitute", "safe_substitute"):
        return None
    is_safe = name == "safe_substitute"
    return lambda given=None, **words: substituted(
        owner.text, {**(given or {}), **words}, is_safe=is_safe
    )


def _path_method(owner: PurePosixPath, name: str) -> Callable[..., Value] | None:
    if name in ("with_name", "with_suffix", "with_stem", "joinpath"):
        return lambda *parts: getattr(owner, name)(*map(_path, parts))
    if name in ("resolve", "absolute", "expanduser"):
        return lambda **_: owner
    if name == "open":
        return lambda *arguments, **words: _opened(owner, *arguments, **words)
    return (lambda: _text(str(owner))) if name == "as_posix" else None


def _dict_method(owner: dict[Value, Value], name: str) -> Callable[..., Value] | None:
    if name == "items":
        return lambda: [(_keyed(key), value) for key, value in owner.items()]
    if name == "get":
        return lambda key, default=None: owner.get(key_of(key), default)
    others: dict[str, Callable[..., Value]] = {
        "keys": lambda: [*map(_keyed, owner)],
        "values": lambda: [*owner.values()],
        "copy": lambda: dict(owner),
        "update": lambda given=(), **words: owner.update(_dict(given, **words)),
        "setdefault": lambda key, value=None: owner.setdefault(key_of(key), value),
    }
    return others.get(name)


def _keyed(key: Value) -> Value:
    return _text(key) if isinstance(key, str) else key


def _list_method(owner: list[Value], name: str) -> Callable[..., Value] | None:
    if name in ("append", "insert", "pop", "copy", "clear", "reverse"):
        return getattr(owner, name)  # type: ignore[no-any-return]
    if name == "extend":
        return lambda values: owner.extend(_all(values))
    if name in ("index", "count"):
        return lambda value: getattr([plain(one) for one in owner], name)(plain(value))
    return None


_ARITHMETIC: Mapping[str, Callable[[Value, Value], Value]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitOr": operator.or_,
    "BitAnd": operator.and_,
    "BitXor": operator.xor,
    "Pow": operator.pow,
}
_WIDEST_POWER = 64


def arithmetic(kind: str, left: Value, right: Value) -> Value:
    """A binary operation on numbers or containers.

    Raises:
        ValueError, TypeError, ArithmeticError: as Python, or if the result would be too large.
    """
    function = _ARITHMETIC[kind]
    are_numbers = all(isinstance(one, bool | int | float | complex) for one in (left, right))
    if kind in ("Pow", "LShift") and (not are_numbers or abs(right) > _WIDEST_POWER):
        raise OverflowError
    if are_numbers:
        return function(left, right)
    if kind == "Add" and type(left) is type(right) and isinstance(left, tuple | list):
        _within(len(left) + len(right))
        return left + right
    if kind == "Mult" and isinstance(left, tuple | list) and isinstance(right, int):
        _within(len(left) * right)
        return left * right
    if kind == "BitOr" and isinstance(left, dict) and isinstance(right, dict):
        return left | right
    raise TypeError


def _within(count: int) -> None:
    if count > _MOST:
        raise OverflowError


def place_of(place: Place, value: Value) -> Value:
    """A string of unknown origin, located at a place in the file."""
    if isinstance(value, Text) and _NOWHERE in value.places:
        return Text(value.value, tuple(place if one == _NOWHERE else one for one in value.places))
    return value


def known_arguments(arguments: Sequence[Value], words: Mapping[str, Value]) -> Unknown | None:
    """The first argument that is completely unknown; containers may be partly unknown."""
    for one in (*arguments, *words.values()):
        if isinstance(one, Unknown):
            return one
    return None

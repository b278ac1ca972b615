"""Value types for evaluating a Python file's expressions from its text alone.

Strings are `Text`, with a location for each line. Numbers, tuples, lists and dictionaries are
Python's own; the rest are the types defined here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from lmemscope.sources.located_text import Place, Text, at

Value = Any
"""A `Text`, a number, None, a container of values, or one of the types below."""

LARGEST = 1 << 64
"""Above any number used in kernels; formatting larger ones may take minutes."""
LONGEST = 1 << 22
"""Maximum length of a string: above any kernel's source."""
_MOST_HELD = 100_000
"""Maximum number of values in a container and those nested in it."""

_SIZES = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "int16", "uint16"), 2),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
}
C_TYPES = {
    "float16": "float16",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "complex64": "thrust::complex<float>",
    "complex128": "thrust::complex<double>",
}
"""NumPy types as CuPy spells them in C++ (`cupy._core._scalar.get_typename`)."""
_CHARS = {
    "e": "float16",
    "f": "float32",
    "d": "float64",
    "?": "bool",
    "F": "complex64",
    "D": "complex128",
    "b": "int8",
    "h": "int16",
    "i": "int32",
    "l": "int64",
    "q": "int64",
    "B": "uint8",
    "H": "uint16",
    "I": "uint32",
    "L": "uint64",
    "Q": "uint64",
}
"""NumPy's one-letter codes, where ``long`` has 64 bits."""
_ALIASES = {
    **_CHARS,
    "half": "float16",
    "single": "float32",
    "double": "float64",
    "float": "float64",
    "bool_": "bool",
    "byte": "int8",
    "short": "int16",
    "intc": "int32",
    "int": "int64",
    "int_": "int64",
    "intp": "int64",
    "longlong": "int64",
    "ubyte": "uint8",
    "ushort": "uint16",
    "uintc": "uint32",
    "uint": "uint64",
    "uintp": "uint64",
    "ulonglong": "uint64",
    "csingle": "complex64",
    "cdouble": "complex128",
    "complex": "complex128",
    "float_": "float64",
    "complex_": "complex128",
}
_LARGEST_INTEGER = 8
_MODULES = frozenset({"numpy", "cupy", "builtins"})


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value known only at run time; ``reason`` names what it depends on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Named:
    """An import or a builtin, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class DataType:
    """A NumPy data type, by its canonical name."""

    name: str

    @property
    def kind(self) -> str:
        """NumPy's letter for its kind."""
        return {"bool": "b", "uint": "u", "float": "f", "complex": "c", "int": "i"}[
            self.name.rstrip("0123456789")
        ]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return _SIZES[self.name]

    @property
    def char(self) -> str:
        """NumPy's one-letter code."""
        return next(char for char, name in _CHARS.items() if name == self.name)


def data_type(value: Value) -> DataType | None:
    """The data type that a value names, as in ``numpy.dtype``; None if it names none."""
    if isinstance(value, DataType):
        return value
    name = value.value if isinstance(value, Text) else ""
    if isinstance(value, Named):
        module, _, name = value.name.rpartition(".")
        if module not in _MODULES:
            return None
    name = _ALIASES.get(name, name)
    return DataType(name) if name in C_TYPES else None


def promoted(one: DataType, other: DataType) -> DataType:
    """The smallest type that holds both, as in ``numpy.promote_types``."""
    low, high = sorted((one, other), key=lambda kind: "buifc".index(kind.kind))
    if low.kind == high.kind:
        return max(low, high, key=lambda kind: kind.size)
    if low.kind == "b":
        return high
    # An unsigned type needs a wider signed one; an integer, a float with more digits.
    size = {"u": {"i": 2 * low.size}, "i": {}}.get(low.kind, {}).get(high.kind, 0)
    if high.kind in "fc" and low.kind in "ui":
        size = min(2 * low.size, 8)
    if high.kind == "c":
        size = 2 * max(size if low.kind in "ui" else low.size, 4)
    size = max(size, high.size)
    if high.kind == "i" and size > _LARGEST_INTEGER:
        return DataType("float64")
    return DataType({"i": "int", "f": "float", "c": "complex"}[high.kind] + str(8 * size))


@dataclass(slots=True, eq=False)
class Frame:
    """The names of a module, a class or a function call, and the enclosing frame."""

    values: dict[str, Value] = field(default_factory=dict)
    outer: Frame | None = None
    path: str = ""
    globals: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value | None:
        """The value of a name; None if it was never assigned."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.values and name not in frame.globals:
                return Held(frame.values[name])
            frame = frame.outer
        return None

    @property
    def module(self) -> Frame:
        """The outermost frame."""
        frame = self
        while frame.outer is not None:
            frame = frame.outer
        return frame


@dataclass(frozen=True, slots=True)
class Held:
    """A value that was found, which may be None."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function defined by the user.

    Attributes:
        node: its definition.
        outer: the frame that defines it.
        defaults: of its parameters, by name.
        decorator: one that may not return it unchanged, as written; else empty.
        owner: the class whose method it is.
    """

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    outer: Frame
    defaults: dict[str, Value]
    decorator: str = ""
    owner: Class | None = None

    @property
    def name(self) -> str:
        """Its name, for messages."""
        return "a lambda" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class defined by the user, by what its body defines."""

    name: str
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object of a user's class, of which only the class is known."""

    of: Class


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A function or a builtin type's method, bound to its object."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A ``string.Template``."""

    text: Text


@dataclass(frozen=True, slots=True, eq=False)
class OpenFile:
    """An open file, by its path."""

    path: Value


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A module of the user's own."""

    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """The result of importing a user's module, resolved on first use."""

    resolve: Callable[[], Value]


def settled(value: Value) -> Value:
    """A value, with pending imports resolved."""
    return value.resolve() if isinstance(value, Pending) else value


def is_vast(value: Value) -> bool:
    """Whether a container holds too many values, counting shared ones repeatedly.

    A few dozen lists that contain each other twice represent more values than can be visited; a
    list that contains itself, infinitely many.
    """
    pending, count = [value], 0
    while pending:
        one = pending.pop()
        if isinstance(one, tuple | list | dict):
            count += len(one)
            if count > _MOST_HELD:
                return True
            pending += one
            pending += one.values() if isinstance(one, dict) else ()
    return False


def unknown_of(values: Sequence[Value]) -> Unknown | None:
    """The first unknown value, also within containers."""
    if is_vast(values):
        return Unknown("a container of too many values")
    return _unknown_of(values)


def _unknown_of(values: Sequence[Value]) -> Unknown | None:
    for value in values:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, tuple | list):
            inner = _unknown_of(value)
        elif isinstance(value, dict):
            inner = _unknown_of([*value, *value.values()])
        else:
            inner = None
        if inner is not None:
            return inner
    return None


def is_large(value: Value) -> bool:
    """Whether a number is too large to compute with."""
    return isinstance(value, int) and abs(value) >= LARGEST


def plain(value: Value) -> Value:
    """A value with plain strings instead of texts, for comparison or formatting.

    Raises:
        OverflowError: it holds too many values (`is_vast`).
    """
    if is_vast(value):
        raise OverflowError
    return _plain(value)


def _plain(value: Value) -> Value:
    if isinstance(value, Text):
        return value.value
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def shown(value: Value) -> str | None:
    """A value as ``str`` shows it; None if unknown."""
    if isinstance(value, Text):
        return value.value
    if isinstance(value, PurePosixPath):
        return str(value)
    if isinstance(value, DataType):
        return value.name
    is_plain = value is None or isinstance(value, bool | int | float | complex)
    if is_plain and not is_large(value):
        return str(value)
    if isinstance(value, tuple | list) and all(map(_is_simple, value)):
        return str(plain(value))
    return None


def _is_simple(value: Value) -> bool:
    return isinstance(value, Text | bool | float) or (
        isinstance(value, int) and not is_large(value)
    )


def as_key(value: Value) -> Value:
    """A value as a dictionary key: equal texts at different locations are one key."""
    return plain(value)


def elements(value: Value, place: Place) -> Iterator[Value] | None:
    """The elements that a loop over a value visits; None if unknown.

    Args:
        value: the iterable.
        place: of the loop, for dictionary keys and characters of a string.
    """
    if isinstance(value, dict | Text):
        letters = value if isinstance(value, dict) else value.value
        return (at(one, place) if isinstance(one, str) else one for one in [*letters])
    return iter(value) if isinstance(value, tuple | list | range) else None


def merged(values: Sequence[Value], reason: str) -> Value:
    """The common value of several, if they are equal."""
    first, *others = values
    if all(_is_equal(first, other) for other in others):
        return first
    return unknown_of(values) or Unknown(f"{reason}, which a condition decides")


def _is_equal(one: Value, other: Value) -> bool:
    if one is other:
        return True
    try:
        return type(one) is type(other) and bool(plain(one) == plain(other))
    except OverflowError:
        return False


def copied(values: dict[str, Value]) -> dict[str, Value]:
    """Names and values, with copies of containers that may be modified separately."""
    return {
        name: value.copy() if isinstance(value, list | dict) else value
        for name, value in values.items()
    }


def spread(values: list[Value], count: int, starred: Sequence[int]) -> list[Value] | None:
    """Values distributed to targets, one of which may be starred; None if the counts do not match.

    Args:
        values: to distribute.
        count: number of targets.
        starred: the position of the starred target, if there is one.
    """
    if starred and len(values) >= count - 1:
        start, behind = starred[0], count - starred[0] - 1
        middle = values[start : len(values) - behind]
        values = [*values[:start], middle, *values[len(values) - behind :]]
    return values if len(values) == count else None

"""Predicates as trees: comparisons, and what joins them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, Vector
from lmemscope.formats.ptx_isa import COMPARISONS, UNSIGNED

_DEEPEST = 32
"""How deep a tree may be; what is deeper is a leaf of its own."""
_BITS = frozenset({"b16", "b32", "b64"})
_TRUTHS = {"0": False, "-1": True, "1": True}
_JOINING: dict[str, Literal["all", "any", "odd"]] = {"and": "all", "or": "any", "xor": "odd"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A ``setp`` of two numbers.

    Attributes:
        index: of the instruction, which reads the operands.
        relation, kind: as the opcode says: ``lt``, ``s32``.
        first, second: its operands.
        holds: whether the predicate is true where the numbers are so, or where they are not.
    """

    index: int
    relation: str
    kind: str
    first: str
    second: str
    holds: bool = True

    @property
    def is_unsigned(self) -> bool:
        """Whether it compares numbers without a sign."""
        return self.kind[:1] == "u" or self.relation in UNSIGNED

    def of(self, first: float, second: float) -> bool:
        """What the predicate is for two numbers; those of no sign are wrapped."""
        if self.is_unsigned or self.kind in _BITS:
            whole = 1 << int(self.kind[1:])
            first, second = first % whole, second % whole
        return COMPARISONS[self.relation](first, second) is self.holds


@dataclass(frozen=True, slots=True)
class Truth:
    """A predicate that is a constant."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Leaf:
    """What no comparison of numbers makes.

    Attributes:
        value: the instruction or join; None where nothing writes the register.
        holds: whether the predicate is true where that is.
    """

    value: Value | None
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Compound:
    """Predicates that are joined: true where all are, any is, or an odd number of them."""

    join: Literal["all", "any", "odd"]
    parts: tuple[Condition, ...]


Condition = Comparison | Truth | Leaf | Compound


def negated(condition: Condition) -> Condition:
    """The opposite."""
    if not isinstance(condition, Compound):
        return replace(condition, holds=not condition.holds)
    if condition.join == "odd":
        return replace(condition, parts=(negated(condition.parts[0]), *condition.parts[1:]))
    join: Literal["all", "any"] = "any" if condition.join == "all" else "all"
    return Compound(join, tuple(map(negated, condition.parts)))


def deciding(condition: Condition, outcome: bool) -> Iterator[Comparison]:
    """Comparisons that make a condition true, or false, each alone."""
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Compound) and condition.join == ("any" if outcome else "all"):
        for part in condition.parts:
            yield from deciding(part, outcome)


class Conditions:
    """Conditions of one function's predicates.

    Args:
        code: the function.
        values: its values.
    """

    def __init__(self, code: Definitions, values: Values) -> None:
        self._instructions, self._values = code.body.instructions, values

    def read(self, index: int, predicate: object) -> Condition:
        """What a predicate is, perhaps with ``!``, where an instruction reads it."""
        return self._read(index, predicate, _DEEPEST)

    def of(self, value: Value) -> Condition:
        """What a value is that is a predicate."""
        return self._of(value, _DEEPEST)

    def _read(self, index: int, predicate: object, depth: int) -> Condition:
        if not isinstance(predicate, str):
            return Leaf(None)
        if predicate.startswith("!"):
            return negated(self._read(index, predicate[1:], depth))
        if predicate in _TRUTHS:
            return Truth(_TRUTHS[predicate])
        value = self._values.read(index, predicate)
        return Leaf(None) if value is None else self._of(value, depth)

    def _of(self, value: Value, depth: int) -> Condition:
        if value < 0 or not depth:
            return Leaf(value)
        instruction = self._instructions[value]
        if instruction.predicate is not None or isinstance(instruction.operands[0], Vector):
            return Leaf(value)
        operation, operands = instruction.operation, instruction.operands[1:]
        if operation == "setp":
            return self._compared(value, instruction, depth)
        parts = tuple(self._read(value, one, depth - 1) for one in operands)
        if operation == "mov":
            return parts[0]
        if operation == "not":
            return negated(parts[0])
        if operation not in _JOINING:
            return Leaf(value)
        if operation == "xor" and isinstance(parts[1], Truth):
            return negated(parts[0]) if parts[1].holds else parts[0]
        return Compound(_JOINING[operation], parts)

    def _compared(self, value: Value, instruction: Instruction, depth: int) -> Condition:
        """A ``setp``, perhaps joined with another predicate (``setp.lt.and.s32 %p, a, b, %q``)."""
        relation, *joined, kind = instruction.modifiers[1:]
        first, second, *other = instruction.operands[1:]
        join = next((_JOINING[one] for one in joined if one in _JOINING), None)
        known = relation in COMPARISONS and isinstance(first, str) and isinstance(second, str)
        if not known or bool(other) != (join is not None) or len(other) > 1:
            return Leaf(value)
        assert isinstance(first, str)
        assert isinstance(second, str)
        compared = Comparison(value, relation, kind, first, second)
        if join is None:
            return compared
        return Compound(join, (compared, self._read(value, other[0], depth - 1)))

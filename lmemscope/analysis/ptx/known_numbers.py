"""What values are where some of what they are made of has known numbers."""

from __future__ import annotations

from collections.abc import Callable

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.conditions import Comparison, Condition, Truth
from lmemscope.analysis.ptx.forms import Form, Given, Term
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx_operands import folded

_DEEP = 64
"""Instructions that are no linear form, one on the way to the other."""
Number = int | float
"""A number, or, as a float, the mean of what loops count."""
Numbers = Callable[[Term], Number | None]
"""What terms are; None of one that is not known."""


def parameter_name(place: Given) -> str:
    """A parameter's PTX name; of what lies in a structure, with its place (``k_param_2+8``)."""
    return f"{place.name}+{place.offset}" if place.offset else place.name


class KnownNumbers:
    """Numbers of one function's values.

    Args:
        analyses: of the function.
        given: what terms are.
    """

    def __init__(self, analyses: Analyses, given: Numbers) -> None:
        self._instructions = analyses.code.body.instructions
        self._affine, self._conditions = analyses.affine, analyses.conditions
        self._given = given
        self._known: dict[Value, Number | None] = {}

    def of(self, form: Form | None, depth: int = 0) -> Number | None:
        """What a form is; None where anything in it is not known, or its registers wrap."""
        if form is None:
            return None
        total: Number = form.constant
        for term, factor in form.terms.items():
            number = self._term(term, depth)
            if number is None:
                return None
            total += factor * number
        return total if form.fits(total) else None

    def _term(self, term: Term, depth: int) -> Number | None:
        given = self._given(term)
        if given is not None:
            return given
        if not isinstance(term, int):
            return None
        form = self._affine.of(term)
        whole, rest = self._value(term, depth), self.of(form.without(term), depth)
        if whole is None or rest is None:
            return None
        return _quotient(whole - rest, form.factor(term))

    def _value(self, value: Value, depth: int) -> Number | None:
        """What an instruction computes that is no linear form."""
        if value not in self._known:
            self._known[value] = None
            if value >= 0 and depth <= _DEEP:
                self._known[value] = self._computed(value, depth + 1)
        return self._known[value]

    def _computed(self, value: Value, depth: int) -> Number | None:
        instruction = self._instructions[value]
        if instruction.predicate is not None:
            return None
        operands = instruction.operands[1:]
        if instruction.operation == "selp" and len(operands) == 3:
            chosen = self._holds(self._conditions.read(value, operands[2]), depth)
            if chosen is None:
                return None
            return self.of(self._affine.read(value, operands[not chosen]), depth)
        if instruction.isa.fold is None:
            return None
        numbers = [self.of(self._affine.read(value, one), depth) for one in operands]
        if instruction.operation == "and" and isinstance(numbers[0], float):
            return _masked(numbers[0], numbers[1])
        whole = [int(one) for one in numbers if one is not None and one == int(one)]
        if len(whole) != len(numbers):
            return None
        is_mean = any(isinstance(one, float) for one in numbers)
        if is_mean and (instruction.isa.kind == "logic" or instruction.operation == "rem"):
            return None  # The low bits of a mean are not the mean of the low bits.
        number = folded(instruction, whole)
        return float(number) if is_mean and number is not None else number

    def _holds(self, condition: Condition, depth: int) -> bool | None:
        """Whether a condition is true; None: not known."""
        if isinstance(condition, Truth):
            return condition.holds
        if not isinstance(condition, Comparison):
            return None
        operands = (condition.first, condition.second)
        first, second = (
            self.of(self._affine.read(condition.index, one), depth) for one in operands
        )
        return None if first is None or second is None else condition.of(first, second)


def _masked(mean: float, mask: Number | None) -> float | None:
    """The mean of what a mask leaves of numbers up to twice a mean; None of another mask.

    An unrolled loop runs to what is left without the low bits, its remainder to the low bits.
    """
    if not isinstance(mask, int) or not mask:
        return None
    low = mask if mask & 1 else (mask & -mask) - 1
    if low & (low + 1) or (mask != low and (mask + low + 1) & (mask + low)):
        return None
    left = min(mean, low / 2)
    return left if mask == low else mean - left


def _quotient(number: Number, divisor: int) -> Number:
    """What a multiple of a number is made of; of a mean it may be a fraction."""
    if isinstance(number, int) and number % divisor == 0:
        return number // divisor
    return number / divisor

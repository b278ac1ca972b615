"""Linear forms: a constant, and multiples of what varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import TypeGuard

from lmemscope.analysis.ptx.values import Value

WIDEST = 64


@dataclass(frozen=True, slots=True)
class Iteration:
    """How often a loop has begun anew: 0 in its first iteration.

    Attributes:
        header: index of the loop's first instruction.
    """

    header: int


@dataclass(frozen=True, slots=True)
class Given:
    """What a parameter of the function holds.

    Attributes:
        name: of the parameter.
        offset: bytes from its beginning.
    """

    name: str
    offset: int


Term = Value | str | tuple[Value, str] | Given | Iteration
"""What varies. A name is the address of a variable, or a special register; a value is some integer
that it decides; with a register, it is one of several results."""


@dataclass(slots=True)  # Not frozen: one is made for every instruction.
class Form:
    """A constant and multiples of terms, added up.

    Attributes:
        constant: may be negative.
        terms: their factors, none of them 0.
        bits: the fewest in which it was computed, where that depends on its terms.
    """

    constant: int
    terms: Mapping[Term, int] = field(default_factory=dict)
    bits: int = field(default=WIDEST, compare=False)

    @property
    def number(self) -> int | None:
        """The number that it is; None with terms."""
        return None if self.terms else self.constant

    def in_bits(self, bits: int) -> Form:
        """The same in registers of some bits."""
        if bits >= self.bits:
            return self
        return Form(self.constant, self.terms, bits)

    def factor(self, term: Term) -> int:
        """That of a term; 0 without it."""
        return self.terms.get(term, 0)

    def plus(self, other: Form, times: int = 1) -> Form:
        """The sum with a multiple of another form."""
        constant = self.constant + times * other.constant
        if not other.terms:
            return Form(constant, self.terms, self.bits)
        if not self.terms and times == 1:
            return other.plus(self)
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + times * factor
        kept = {term: factor for term, factor in terms.items() if factor}
        return Form(constant, kept, min(self.bits, other.bits))

    def times(self, factor: int) -> Form:
        """A multiple."""
        return ZERO.plus(self, factor) if factor else ZERO

    def without(self, term: Term) -> Form:
        """The rest beside a term."""
        if term not in self.terms:
            return self
        rest = {one: factor for one, factor in self.terms.items() if one != term}
        return Form(self.constant, rest, self.bits)

    def fits(self, number: float) -> bool:
        """Whether its registers hold a number, with a sign or without."""
        return -(1 << (self.bits - 1)) <= number < 1 << self.bits

    @property
    def divisor(self) -> int:
        """The largest number that divides all that may be added to its constant; 0 for none."""
        return gcd(*self.terms.values())


ZERO = Form(0)


def is_base(term: Term) -> TypeGuard[str]:
    """Whether a term is the address of a variable."""
    return isinstance(term, str) and term[:1] != "%"


def has_base(form: Form) -> bool:
    """Whether it has the address of a variable among its terms."""
    return any(map(is_base, form.terms))


def alone(value: Value) -> Form:
    """What nothing is known of but that a value decides it."""
    return Form(0, {value: 1})

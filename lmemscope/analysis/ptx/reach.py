"""How many addresses an instruction may use: few where masks, shifts or narrow loads bound them."""

from __future__ import annotations

from collections.abc import Callable

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.forms import Form, Given, Iteration, Term
from lmemscope.formats.ptx_body import number_of

_WIDTHS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16}
_BITS = 16
"""Those of numbers beyond which nothing is few."""
_COMBINING = frozenset("add sub mul mad or xor shl cvt".split())
"""Operations whose results are as many as their operands are together."""
_DEEP = 6
"""Joins and operations behind each other that are followed."""


class Reach:
    """The addresses that the instructions of one function use.

    Args:
        analyses: of the function.
        count: how often the loop that begins somewhere runs; None where nothing tells.
    """

    def __init__(self, analyses: Analyses, count: Callable[[int], float | None]) -> None:
        self._affine, self._values, self._control = (
            analyses.affine,
            analyses.values,
            analyses.control,
        )
        self._instructions, self._count = analyses.code.body.instructions, count

    def addresses(self, index: int) -> float | None:
        """How many an instruction may use, in all threads together; None: not bounded."""
        return self._of(self._affine.address(index), _DEEP)

    def _of(self, form: Form | None, depth: int) -> float | None:
        """How many numbers a form may be."""
        total = 1.0
        for term in form.terms if form is not None else ():
            numbers = self._of_term(term, depth)
            if numbers is None:
                return None
            total *= numbers
        return total if form is not None and total <= 1 << _BITS else None

    def _of_term(self, term: Term, depth: int) -> float | None:
        if isinstance(term, Given):
            return 1.0
        if isinstance(term, Iteration):
            return self._count(term.header)
        if not isinstance(term, int):
            return None
        return self._of_join(term, depth) if term < 0 else self._computed(term, depth)

    def _of_join(self, term: int, depth: int) -> float | None:
        """The same of what paths bring together; of a loop's, what its iterations bring."""
        join = self._values.join(term)
        if join is None or not depth:
            return None
        incoming, loop = self._values.incoming(join), self._control.loop_at.get(join.block)
        members = self._control.blocks_of(loop) if loop is not None else incoming.keys()
        total = 0.0
        for before, brought in incoming.items():
            if before in members:
                form = self._affine.of(brought) if brought is not None else None
                numbers = self._of(form, depth - 1)
                if numbers is None:
                    return None
                total += numbers
        return total

    def _computed(self, index: int, depth: int) -> float | None:
        """How many numbers an instruction may compute."""
        one = self._instructions[index]
        last, type_ = number_of(one.operands[-1]), one.modifiers[-1]
        if one.operation in ("ld", "ldu"):
            return float(1 << _WIDTHS[type_]) if type_ in _WIDTHS else None
        if one.operation in ("and", "min") and last is not None and last >= 0:
            return last + 1.0
        if one.operation == "rem" and last is not None and last > 0:
            return float(last) if type_.startswith("u") else 2.0 * last
        if one.operation == "shr" and last is not None and type_[0] in "ub":
            bits = int(type_[1:]) - last
            return float(1 << bits) if 0 < bits <= _BITS else None
        if one.operation not in _COMBINING or not depth:
            return None
        total = 1.0
        for operand in one.operands[1:]:
            if number_of(operand) is None:
                numbers = self._of(self._affine.read(index, operand), depth - 1)
                if numbers is None:
                    return None
                total *= numbers
        return total

"""Products with the bits of 2/pi: the library's range reduction of ``sin``, ``cos`` and ``tan``.

M. Payne and R. Hanek (1983): a large argument is multiplied, word by word, with the bits of 2/pi,
and the products are kept in an array that is read where the exponent says. Whether the compiler
reads those bits from a table or writes them as immediates, whether the code is inlined or called,
whatever functions and tables are named: what is stored are products with pieces of 2/pi, and their
carries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from lmemscope.analysis.ptx.components import reached
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.library import Library, is_piece
from lmemscope.analysis.ptx.points_to import PointsTo
from lmemscope.analysis.ptx.transfers import stored_values
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import number_of
from lmemscope.formats.ptx_isa import Kind
from lmemscope.formats.ptx_operands import defined, is_float

_ENOUGH = 4
"""Different words to be met where they are immediates; the smallest reduction has six."""
_CARRIES: tuple[Kind, ...] = ("copy", "shift", "sum")
"""What lies between a product and its store: carries, widenings, halves of a register."""


class Products:
    """The products with 2/pi of one function.

    Args:
        code: the function.
        values: its values.
        points_to: what its addresses point into.
        library: the module's; None where nothing is known of its tables.
    """

    def __init__(
        self, code: Definitions, values: Values, points_to: PointsTo, library: Library | None
    ) -> None:
        self._code, self._body = code, code.body
        self._values, self._points_to, self._library = values, points_to, library
        self._factors: dict[str, bool] = {}
        self._integers: dict[str, bool] = {}
        self._words: set[int] = set()
        self.tables: set[str] = set()
        """Tables that factors were read from, once `registers` was asked for."""

    def are_stored(self, stores: Iterable[int]) -> bool:
        """Whether any of these stores keeps a product."""
        stored = {
            value for index in stores for value, _ in stored_values(self._body.instructions[index])
        }
        # Most functions multiply a lot and keep none of it in an array.
        if not any(self._is_integer_result(value) for value in stored):
            return False
        return not self.registers.isdisjoint(stored)

    def arguments(self, store: int) -> list[tuple[int, str]]:
        """What the products that a store keeps are products of, with 2/pi.

        Returns:
            Registers, each with the instruction that reads it. Empty where anything else is stored.
        """
        registers = [one for one, _ in stored_values(self._body.instructions[store])]
        if any(register not in self.registers for register in registers):
            return []
        found: dict[tuple[int, str], None] = {}
        for value in reached(self._values.reads(store, registers), self._carried):
            passed = self._multiplied(value)
            if any(map(self._is_factor, passed)):
                others = (one for one in passed if one[:1] == "%" and not self._is_factor(one))
                found.update(((value, one), None) for one in others)
        return list(found)

    def _multiplied(self, value: Value) -> list[str]:
        """What a value is the product of; empty of any other."""
        instruction = self._body.instructions[value] if value >= 0 else None
        is_product = instruction is not None and instruction.isa.kind == "product"
        return list(map(str, instruction.operands[1:3])) if instruction and is_product else []

    def _carried(self, value: Value) -> Sequence[Value]:
        """Products, and their carries, that a value is made of."""
        join = self._values.join(value)
        if join is not None:
            return self._values.met(join)
        passed = [str(operand) for operand in self._body.instructions[value].operands[1:]]
        if any(map(self._is_factor, self._multiplied(value))):
            passed = passed[2:]
        return self._values.reads(value, (one for one in passed if one in self.registers))

    def _is_integer_result(self, register: str) -> bool:
        known = self._integers.get(register)
        if known is None:
            made = map(
                self._body.instructions.__getitem__, self._code.definitions.get(register, ())
            )
            known = self._integers[register] = any(
                instruction.isa.kind in ("product", *_CARRIES)
                and not is_float(instruction)
                and any(read.startswith("%") for read, _ in stored_values(instruction))
                for instruction in made
            )
        return known

    @cached_property
    def registers(self) -> frozenset[str]:
        """Registers that hold products with pieces of 2/pi, or their carries."""
        products: set[str] = set()
        users: dict[str, list[str]] = defaultdict(list)
        for instruction in self._body.instructions:
            kind = instruction.isa.kind
            if kind not in ("product", *_CARRIES) or is_float(instruction):
                continue
            made = defined(instruction)
            if kind == "product" and any(
                self._is_factor(str(operand)) for operand in instruction.operands[1:3]
            ):
                products.update(made)
            else:
                for value, _ in stored_values(instruction):
                    users[value] += made
        if not self.tables and len(self._words) < _ENOUGH:
            return frozenset()
        return frozenset(reached(products, users.__getitem__))

    def _is_factor(self, value: str) -> bool:
        """Whether a multiplicand is a piece of 2/pi: an immediate, or read from a table of it."""
        known = self._factors.get(value)
        if known is None:
            known = self._factors[value] = self._find_factor(value)
        return known

    def _find_factor(self, value: str) -> bool:
        return any(
            self._is_word(one)
            or any(
                self._is_from_table(index)
                for index in self._code.definitions.get(one, ())
                if self._body.instructions[index].isa.access == "load"
            )
            for one in reached([value], self._copied)
        )

    def _copied(self, register: str) -> list[str]:
        """What a register is a copy of."""
        return [
            source
            for index in self._code.definitions.get(register, ())
            if (one := self._body.instructions[index]).isa.kind == "copy" and not is_float(one)
            for source, _ in stored_values(one)
        ]

    def _is_word(self, operand: str) -> bool:
        number = number_of(operand)
        if number is None:
            return False
        size = 4 if -(2**31) <= number < 2**32 else 8
        found = number != 0 and is_piece((number % 2 ** (8 * size)).to_bytes(size, "little"))
        if found:
            self._words.add(number % 2 ** (8 * size))
        return found

    def _is_from_table(self, index: int) -> bool:
        if self._library is None:
            return False
        named = (one.name for one in self._points_to.address(index))
        tables = {n for n in named if n is not None and self._library.is_reduction_table(n)}
        self.tables |= tables
        return bool(tables)

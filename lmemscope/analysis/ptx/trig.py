"""The library's range reduction of ``sin``, ``cos`` and ``tan``, told by what it computes.

M. Payne and R. Hanek (1983): a large argument is multiplied, word by word, with the bits of 2/pi,
and the products are kept in an array that is read where the exponent says. Whether the compiler
reads those bits from a table or writes them as immediates, whether the code is inlined or called,
whatever functions and tables are named: what is stored are products with pieces of 2/pi, and their
carries. The result of a sine is reached from them through loads and floating-point arithmetic only,
which is not followed: an array that holds sines is none of the library's.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.flow import is_float, written
from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.analysis.ptx.transfers import stored_values
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_body import number_of
from lmemscope.model import Evidence, SourceLocation, calling_line

TWO_OVER_PI = bytes.fromhex(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"
    "b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484"
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b"
    "3d0739f78a5292ea6bfb5fb11f8d5d08"
)[::-1]
"""The 1152 bits of 2/pi behind the binary point, as they lie in memory: sines of doubles need all,
those of floats the first 192, which are the last bytes."""

_WORD = 4
_ENOUGH = 4
"""Different words to be met where they are immediates; the smallest reduction has six."""
_SCRATCH = {4: 7 * 4, 8: 5 * 8}
"""Bytes of the array by the width of its products: those of floats and of doubles."""
_PRODUCTS = frozenset({"mul", "mad", "madc"})
_CARRIES = frozenset({"add", "addc", "cvt", "mov", "shr", "shf"})
"""What lies between a product and its store: carries, widenings, halves of a register."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a range reduction keeps in an object.

    Attributes:
        stores: indices of the instructions that store its products there.
        evidence: the table that it multiplies with, or the first of the products.
        size: bytes of its array; the object may have padding behind it.
    """

    stores: frozenset[int]
    evidence: Evidence
    size: int


class Reductions:
    """The range reductions of one function.

    Args:
        module: that the function belongs to, for the contents of its tables.
        objects: of the function.
    """

    def __init__(self, module: PtxModule, objects: FunctionObjects) -> None:
        self._module, self._code, self._body = module, objects.dataflow, objects.body
        self._words: set[int] = set()
        self._tables: set[str] = set()

    def of_object(self, found: StackObject) -> Reduction | None:
        """The reduction whose products are stored in an object, or None."""
        stored = {
            access: [value for value, _ in stored_values(self._body.instructions[access.index])]
            for access in found.accesses
            if access.is_store
        }
        # Most functions multiply a lot and keep none of it in an array.
        if not any(
            self._is_integer_result(value) for values in stored.values() for value in values
        ):
            return None
        stores = {
            access.index: access.width
            for access, values in stored.items()
            if not self._products.isdisjoint(values)
        }
        if not stores:
            return None
        first = self._body.instructions[min(stores)]
        shown = Evidence("reduction-words", ptx_line=first.line, opcode=first.opcode)
        if self._tables:
            shown = Evidence("library-table", min(self._tables))
        size = _SCRATCH.get(min(stores.values()), found.size)
        return Reduction(frozenset(stores), shown, min(size, found.size))

    def _is_integer_result(self, value: str) -> bool:
        return any(
            instruction.operation in _PRODUCTS | _CARRIES
            and not is_float(instruction)
            and any(read.startswith("%") for read, _ in stored_values(instruction))
            for instruction in map(
                self._body.instructions.__getitem__, self._code.definitions.get(value, ())
            )
        )

    @cached_property
    def _products(self) -> frozenset[str]:
        """Registers that hold products with pieces of 2/pi, or their carries."""
        products: set[str] = set()
        users: dict[str, list[str]] = defaultdict(list)
        for instruction in self._body.instructions:
            operation = instruction.operation
            if operation not in _PRODUCTS | _CARRIES or is_float(instruction):
                continue
            made = tuple(written(instruction))
            if operation in _PRODUCTS and any(
                self._is_factor(str(operand)) for operand in instruction.operands[1:3]
            ):
                products.update(made)
            else:
                for value, _ in stored_values(instruction):
                    users[value] += made
        if not self._tables and len(self._words) < _ENOUGH:
            return frozenset()
        work = list(products)
        while work:
            for user in users[work.pop()]:
                if user not in products:
                    products.add(user)
                    work.append(user)
        return frozenset(products)

    def _is_factor(self, value: str) -> bool:
        """Whether a multiplicand is a piece of 2/pi: an immediate, or read from a table of it."""
        found = False
        seen: set[str] = set()
        work = [value]
        while work:
            factor = work.pop()
            if factor in seen:
                continue
            seen.add(factor)
            found = found or self._is_word(factor)
            for index in self._code.definitions.get(factor, ()):
                instruction = self._body.instructions[index]
                if instruction.operation in ("ld", "ldu"):
                    found = found or self._is_from_table(index)
                elif instruction.operation in ("mov", "cvt") and not is_float(instruction):
                    work += [source for source, _ in stored_values(instruction)]
        return found

    def _is_word(self, operand: str) -> bool:
        number = number_of(operand)
        if number is None:
            return False
        size = 4 if -(2**31) <= number < 2**32 else 8
        found = number != 0 and _is_piece((number % 2 ** (8 * size)).to_bytes(size, "little"))
        if found:
            self._words.add(number % 2 ** (8 * size))
        return found

    def _is_from_table(self, index: int) -> bool:
        address = self._body.instructions[index].address
        if address is None or address.base is None:
            return False
        made_of = self._code.leaves(address.base, index)
        symbols = [address.base, *(leaf.name for leaf in made_of if leaf.kind == "symbol")]
        tables = {s for s in symbols if s is not None and self._is_table(s)}
        self._tables |= tables
        return bool(tables)

    def _is_table(self, symbol: str) -> bool:
        content = None if symbol.startswith("%") else self._module.initial_value(symbol)
        return content is not None and len(content) >= _ENOUGH * _WORD and _is_piece(content)


def call_lines(module: ModuleFlow, kernel: str, function: str) -> tuple[SourceLocation, ...]:
    """Lines below a kernel that call a function which has no lines of its own, sorted.

    A caller without lines, another of the library's, stands for the lines that call it. Empty for
    a function of the user's.
    """
    found: set[SourceLocation] = set()
    seen: set[str] = set()
    work = [function]
    while work:
        callee = work.pop()
        target = module.ptx.function(callee)
        if callee in seen or callee == kernel or target is None or target.first_loc is not None:
            continue
        seen.add(callee)
        for caller, call in module.calls_of(callee, kernel):
            dataflow = module.dataflow(caller)
            assert dataflow is not None
            line = calling_line(module.ptx.chain(dataflow.body.instructions[call.index]))
            if line is not None:
                found.add(line)
            work.append(caller)
    return tuple(sorted(found))


def _is_piece(data: bytes) -> bool:
    """Whether bytes are whole words of 2/pi, in the order of memory."""
    start = TWO_OVER_PI.find(data)
    while start >= 0 and start % _WORD:
        start = TWO_OVER_PI.find(data, start + 1)
    return start >= 0

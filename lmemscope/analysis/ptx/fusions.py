"""What ptxas makes one machine instruction of, and which copies it cannot avoid.

``IADD3`` adds three numbers, ``LEA`` and ``IMAD`` add to what they shift or multiply, ``LOP3``
combines three: each does two instructions of PTX. A copy between registers is only needed where
both are live beyond it, as in a window that is shifted in each iteration.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.graph import Block
from lmemscope.formats.ptx_operands import is_float, registers_of


class Fusions:
    """Pairs of instructions of one function.

    Args:
        code: the function.
    """

    def __init__(self, code: Definitions) -> None:
        self._code = code

    def in_block(self, block: Block) -> frozenset[int]:
        """Instructions that are done by the one whose result they take."""
        open_: dict[str, bool] = {}
        found: set[int] = set()
        for index in range(block.start, block.end):
            one = self._code.body.instructions[index]
            fuses = one.isa.fuses
            if fuses is None or is_float(one) or one.predicate is not None:
                continue
            combines = fuses == "combines"
            sources = [name for operand in one.operands[1:] for name in registers_of(operand)]
            if fuses != "scales" and any(open_.get(name) is combines for name in sources):
                found.add(index)
                continue
            target = str(one.operands[0])
            if self._reads[target] == 1:
                open_[target] = combines
        return frozenset(found)

    def is_copy(self, index: int) -> bool:
        """Whether an instruction moves what a loop carries to where it carries another value."""
        one = self._code.body.instructions[index]
        if one.operation != "mov" or len(one.operands) != 2:
            return False
        definitions = self._code.definitions
        return all(
            isinstance(operand, str) and len(definitions.get(operand, ())) > 1
            for operand in one.operands
        )

    @cached_property
    def _reads(self) -> Counter[str]:
        """How often each register is read."""
        count = range(len(self._code.body.instructions))
        return Counter(name for index in count for name in self._code.depends_on(index))

"""Where the registers of a PTX function are written, and what each instruction reads."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from lmemscope.analysis.ptx.blocks import UNKNOWN, Blocks
from lmemscope.analysis.ptx.depot import Depot
from lmemscope.analysis.ptx.graph import ControlFlow
from lmemscope.analysis.ptx.leaves import Leaf, special
from lmemscope.formats.ptx import PtxFunction
from lmemscope.formats.ptx_operands import defined, read
from lmemscope.model import Uniformity

_THREAD = frozenset({"%tid.x", "%tid.y", "%tid.z"})


class Definitions:
    """Definitions and uses of one PTX function.

    Attributes:
        function, body: the function, parsed.
        blocks: that run it.
        flow: its control flow.
        definitions: instruction indices that write each register, ascending.
    """

    def __init__(self, function: PtxFunction, blocks: Blocks = UNKNOWN) -> None:
        self.function = function
        self.blocks = blocks
        self.body = function.body
        self.flow = ControlFlow(self.body)
        self._reads: dict[int, tuple[str, ...]] = {}
        self.definitions: dict[str, list[int]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            for register in defined(instruction):
                self.definitions[register].append(index)

    @cached_property
    def depot(self) -> Depot:
        """Its local memory."""
        return Depot(self.body, self.definitions)

    @cached_property
    def by_line(self) -> dict[int, list[int]]:
        """Instruction indices by PTX line."""
        result: dict[int, list[int]] = defaultdict(list)
        for index, instruction in enumerate(self.body.instructions):
            result[instruction.line].append(index)
        return result

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Names of the function's own parameters."""
        return frozenset(name for name, _, _ in self.function.parameters)

    def special(self, register: str) -> tuple[Leaf, Uniformity] | None:
        """What a special register is, and whether lanes read one value; None of another one.

        In a block of unknown shape, lanes of a warp may have one row or several.
        """
        known = special(register)
        if known is None or register not in _THREAD or self.blocks.thread(register).lanes:
            return known
        return known[0], "uniform" if self.blocks.knows(register) else "unknown"

    def depends_on(self, index: int) -> tuple[str, ...]:
        """Registers that an instruction reads, its predicate included."""
        if index not in self._reads:
            self._reads[index] = read(self.body.instructions[index])
        return self._reads[index]

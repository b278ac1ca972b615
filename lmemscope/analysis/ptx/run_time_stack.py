"""The sizes of a kernel's ``alloca``, as text that changes with what computes them.

A size that is known only at run time has no number. Its computation can still be compared: the
text holds the operations, constants and inputs that lead to it, and no names of registers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.values import Value
from lmemscope.formats.ptx_body import Address, Instruction, Operand, Vector
from lmemscope.formats.ptx_operands import defined, registers_of

_LONGEST = 200
"""Letters of a text; of a longer one a digest stands for it."""


@dataclass(frozen=True, slots=True)
class _Node:
    """What a text is made for.

    Attributes:
        function: its name.
        value: of a register, or None.
        parameter: of the function, whose arguments are meant, or empty.
    """

    function: str
    value: Value | None = None
    parameter: str = ""


_Parts = list[str | _Node]


def run_time_sizes(flow: ModuleFlow, kernel: str) -> tuple[str, ...]:
    """The size of each ``alloca`` that a kernel reaches, sorted.

    Args:
        flow: of the kernel's module.
        kernel: mangled name.
    """
    texts = _Texts(flow, kernel)
    return tuple(sorted(size for name in flow.reached(kernel) for size in texts.sizes(name)))


class _Texts:
    def __init__(self, flow: ModuleFlow, kernel: str) -> None:
        self._flow, self._kernel = flow, kernel
        self._known: dict[_Node, str] = {}

    def sizes(self, name: str) -> Iterator[str]:
        """Of a function's own ``alloca``."""
        function = self._flow.ptx.function(name)
        if function is None or b"alloca" not in function.text:
            return
        code = self._flow.dataflow(name)
        for index, instruction in enumerate(code.body.instructions if code is not None else ()):
            if instruction.operation == "alloca":
                assert code is not None
                parts = self._of_operand(code, index, instruction.operands[1])
                yield "".join(self._text(one) if isinstance(one, _Node) else one for one in parts)

    def _text(self, root: _Node) -> str:
        """The text of a node; with a list of what is left, for chains may be very long."""
        pending, parts_of = [root], dict[_Node, _Parts]()
        while pending:
            node = pending[-1]
            if node in self._known:
                pending.pop()
                continue
            if node not in parts_of:
                parts = parts_of[node] = self._parts(node)
                # What is open already is a loop's.
                pending += [p for p in parts if isinstance(p, _Node) and p not in parts_of]
                continue
            pending.pop()
            text = "".join(
                self._known.get(part, "again") if isinstance(part, _Node) else part
                for part in parts_of[node]
            )
            if len(text) > _LONGEST:
                text = hashlib.sha256(text.encode()).hexdigest()[:16]
            self._known[node] = text
        return self._known[root]

    def _parts(self, node: _Node) -> _Parts:
        if node.parameter:
            return self._of_arguments(node)
        code = self._flow.dataflow(node.function)
        if code is None or node.value is None:
            return ["undefined"]
        join = code.values.join(node.value)
        if join is not None:
            incoming = sorted(code.values.incoming(join).items())
            return self._listed("either", [_Node(node.function, value) for _, value in incoming])
        instruction = code.body.instructions[node.value]
        address = instruction.address
        is_own = address is not None and address.base in code.parameters
        if is_own and instruction.modifiers[:2] == ("ld", "param"):
            assert address is not None
            assert address.base is not None
            return [_Node(node.function, parameter=address.base), f"+{address.offset}"]
        operands = [
            self._of_operand(code, node.value, operand) for operand in _operands_read(instruction)
        ]
        return [instruction.opcode, "(", *(p for parts in operands for p in (*parts, ",")), ")"]

    def _of_operand(self, code: Dataflow, index: int, operand: Operand | None) -> _Parts:
        if operand is None:
            return []
        if isinstance(operand, Vector):
            return [
                p for item in operand.items for p in (*self._of_operand(code, index, item), ",")
            ]
        if isinstance(operand, Address):
            return ["[", *self._of_operand(code, index, operand.base), f"+{operand.offset}]"]
        name = code.function.name
        if operand in code.parameters:
            return [_Node(name, parameter=operand)]
        registers = registers_of(operand)
        if not registers or code.special(registers[0]) is not None:
            return [operand.replace(name, "")]
        return [_Node(name, code.values.read(index, registers[0]))]

    def _of_arguments(self, node: _Node) -> _Parts:
        """A parameter: of a kernel its position, else what the calls give for it."""
        function = self._flow.ptx.function(node.function)
        assert function is not None
        names = [name for name, _, _ in function.parameters]
        position = names.index(node.parameter)
        if node.function == self._kernel:
            return [f"parameter {position}"]
        given: list[_Parts] = []
        for caller, call in self._flow.calls_of(node.function, self._kernel):
            code = self._flow.dataflow(caller)
            assert code is not None
            given.append(
                [
                    part
                    for one in reversed(call.passed[position] if call.passed[position:] else ())
                    for part in self._of_operand(code, one.store, one.value)
                ]
            )
        return ["either(", *(p for parts in given for p in (*parts, ",")), ")"]

    @staticmethod
    def _listed(head: str, nodes: list[_Node]) -> _Parts:
        return [f"{head}(", *(p for node in nodes for p in (node, ",")), ")"]


def _operands_read(instruction: Instruction) -> Iterator[Operand | None]:
    """Operands that decide a result, the predicate first."""
    written = defined(instruction)
    yield instruction.predicate
    for position, operand in enumerate(instruction.operands):
        if (
            position
            or isinstance(operand, Address)
            or not set(registers_of(operand)) & set(written)
        ):
            yield operand

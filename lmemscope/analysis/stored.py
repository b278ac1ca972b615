"""What an object's loads and stores say of the variable that it is: a parameter's value, numbers.

PTX moves 32 bits whatever they are. What computes a stored value, and what a loaded one is used
for, tells floating-point numbers from integers, unless the source takes the one for the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lmemscope.analysis.layout import NumberKind, number_at
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.analysis.ptx.places import Place
from lmemscope.analysis.ptx.transfers import access_width, stored_values
from lmemscope.formats.ptx_body import Instruction, Vector
from lmemscope.formats.ptx_operands import is_float_opcode, read, registers_of
from lmemscope.model import Variable

_DEEPEST = 8
"""Moves and selections behind a value that are followed."""
_BITS = ("logic", "shift", "bits")


def stored_parameter(objects: FunctionObjects, found: StackObject) -> str | None:
    """The parameter whose value a kernel's object is filled with at once, by its name in PTX.

    That is a parameter, or a variable that begins with its value, in memory for its address.
    """
    function = objects.dataflow.function
    if function.kind != "entry":
        return None
    sizes = {name: size for name, _, size in function.parameters}
    names: set[str] = set()
    for access in found.accesses:
        if not access.is_store or access.offset != found.offset:
            continue
        for value, _ in stored_values(objects.body.instructions[access.index]):
            name = _loaded(objects, value)
            if name is not None and sizes.get(name) == access.width:
                names.add(name)
    return names.pop() if len(names) == 1 else None


def _loaded(objects: FunctionObjects, register: str) -> str | None:
    """The parameter that a register has the first bytes of; None where it may have others."""
    at = objects.dataflow.definitions.get(register, ())
    if len(at) != 1:
        return None
    load = objects.body.instructions[at[0]]
    if load.modifiers[:2] != ("ld", "param") or load.address is None or load.address.offset:
        return None
    return load.address.base


@dataclass(frozen=True, slots=True)
class Number:
    """A number that an access moves.

    Attributes:
        place: of its bytes.
        kind: what it is computed, or used, as.
        shown: the instructions that show it: the access, and the one that computes.
    """

    place: Place
    kind: NumberKind
    shown: tuple[Instruction, Instruction]


class Numbers:
    """The numbers that loads and stores of one function move.

    Args:
        objects: of the function.
    """

    def __init__(self, objects: FunctionObjects) -> None:
        self._objects, self._instructions = objects, objects.body.instructions

    def of(self, access: PtxAccess, place: Place) -> Iterator[Number]:
        """The numbers of one access, which begins at a place."""
        instruction = self._instructions[access.index]
        if access.is_store:
            moved = stored_values(instruction)
        else:
            target = instruction.operands[0]
            items = target.items if isinstance(target, Vector) else registers_of(target)
            moved = [(item, number) for number, item in enumerate(items)]
            moved = [(item, n * access.width // len(items)) for item, n in moved]
        width = access_width(instruction) // max(len(moved), 1)
        for register, behind in moved:
            start = None if place.start is None else place.start + behind
            typed = _kind(instruction, is_result=not access.is_store)
            shown = {access.index: typed} if typed is not None else {}
            if access.is_store:
                shown |= self._made(access.index, register, _DEEPEST)
            else:
                shown |= self._used(access.index, register)
            for index, kind in shown.items():
                both = (instruction, self._instructions[index])
                yield Number(Place(start, place.step, width), kind, both)

    def _made(self, at: int, register: str, depth: int) -> dict[int, NumberKind]:
        """What computes a register's value, before an instruction, and as what."""
        values = self._objects.dataflow.values
        value = values.read(at, register) if register[:1] == "%" else None
        if value is None or not depth:
            return {}
        join = values.join(value)
        made: dict[int, NumberKind] = {}
        for one in (value,) if join is None else values.met(join):
            if one < 0:
                continue
            instruction = self._instructions[one]
            kind = _kind(instruction, is_result=True)
            if kind is not None:
                made[one] = kind
            elif instruction.operation in ("mov", "selp"):
                for operand in instruction.operands[1:3]:
                    if isinstance(operand, str):
                        made |= self._made(one, operand, depth - 1)
        return made

    def _used(self, at: int, register: str) -> dict[int, NumberKind]:
        """What uses the value that an instruction puts into a register, and as what."""
        read_by = self._objects.dataflow.values.read
        return {
            index: kind
            for index in self._readers.get(register, ())
            if read_by(index, register) == at
            and (kind := _kind(self._instructions[index], is_result=False)) is not None
        }

    @cached_property
    def _readers(self) -> Mapping[str, list[int]]:
        """The instructions that read each register as a number."""
        readers: dict[str, list[int]] = defaultdict(list)
        for index, instruction in enumerate(self._instructions):
            for register in read(instruction):
                if register != (instruction.predicate or "").lstrip("!"):
                    readers[register].append(index)
        return readers


def _kind(instruction: Instruction, *, is_result: bool) -> NumberKind | None:
    """What an instruction computes, or uses, its operands as; None where its opcode does not tell.

    Compilers move floating-point numbers as bits, and never bits as floating-point numbers.
    """
    row, parts = instruction.isa, instruction.modifiers
    converts = instruction.operation in ("cvt", "set")
    typed = parts[-2] if converts and is_result and len(parts) > 2 else parts[-1]
    if is_float_opcode(f"{instruction.operation}.{typed}"):
        return "float"
    moves = row.origin != "operands" or row.kind in ("copy", "choice")
    if not row.results or (moves and not converts) or row.control is not None:
        return None
    if typed[:1] in ("s", "u") and typed[1:].isdigit():
        return "integer"
    return "integer" if typed[:1] == "b" and row.kind in _BITS else None


def may_hold(variable: Variable, offset: int | None, numbers: Iterable[Number]) -> bool:
    """Whether a variable may be what is accessed, its bytes from some offset on, if that is known.

    Numbers of one kind alone exclude what is of the other kind there; of what has both it is not
    known what is what.
    """
    seen: dict[int | None, set[NumberKind]] = defaultdict(set)
    types: dict[int | None, NumberKind] = {}
    for number in numbers:
        start = number.place.start
        at = None if start is None or offset is None else start + offset
        leaf = number_at(variable, at, number.place.step, number.place.width)
        if leaf is not None:
            key, kind = leaf
            types[key] = kind
            seen[key].add(number.kind)
    return all(kinds == {types[key]} or len(kinds) > 1 for key, kinds in seen.items())

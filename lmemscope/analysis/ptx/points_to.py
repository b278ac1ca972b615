"""What the addresses of a PTX function point into, and what is kept at addresses of its own.

One flow over values: each has all that it may point into. Where something is added up, the operand
that is a pointer for surest leads, not its index. Pointers that are kept in local memory are
followed through the bytes that hold them, as long as only this function can write there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.components import reached, strong_components
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.leaves import Leaf, is_symbol
from lmemscope.analysis.ptx.transfers import (
    access_width,
    is_pointer_load,
    moves_pointers,
    stored_values,
)
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import Instruction, Loc, Operand, number_of
from lmemscope.formats.ptx_operands import is_float, pointers, registers_of

_ROUNDS = 8
"""How often what local memory holds is computed anew: chains of more pointers are not followed."""


class Pointee(NamedTuple):
    """What an address points into.

    Attributes:
        kind: ``depot``, an object of the function's own stack; ``alloca``; ``argument``, a
            parameter that is itself in memory; ``parameter``, what a parameter points into;
            ``variable`` of the module; ``shared`` memory; ``memory``, what a pointer out of
            memory points into; nothing: ``null``, or a ``number`` that is no known address.
        offset: of an object, its first byte in the depot; of ``alloca`` its line; else 0.
        name: of the parameter or variable.
    """

    kind: Literal[
        "depot", "alloca", "argument", "parameter", "variable", "shared", "memory", "null", "number"
    ]
    offset: int = 0
    name: str | None = None

    @property
    def leaf(self) -> Leaf:
        """What a value that is loaded from there comes from."""
        if self.kind == "depot":
            return Leaf("memory", None, offset=self.offset)
        return Leaf("parameter" if self.kind == "argument" else "memory", self.name)


Pointees = frozenset[Pointee]


class Told(NamedTuple):
    """What names tell of a load or a store of the depot that PTX alone does not.

    Attributes:
        place: bytes of the depot that it stays in, at a computed place: those of the array that the
            source indexes there. PTX does not tell where an array ends and the next member of its
            structure begins.
        lifetime: of a variable of an inlined function: the call that brings it into being. Nothing
            of it outlives that call.
    """

    place: range | None = None
    lifetime: Loc | None = None


OBJECTS = frozenset({"depot", "alloca", "argument"})
"""Memory of a thread's own stack."""
_NOWHERE = frozenset({"null", "number"})


class _Flow(NamedTuple):
    """What a value may point into, and how surely it is a pointer.

    Of the operands of a sum, the one of the highest rank is the pointer: the address of a variable
    or a parameter that is made one of a state space (3), a parameter of 64 bits (2), a loaded value
    of 64 bits (1), a number (0).
    """

    rank: int
    pointees: Pointees


_NOTHING_TOLD = Told()
_UNKNOWN = _Flow(0, frozenset())
_NUMBER = _Flow(0, frozenset({Pointee("number")}))
_NULL = _Flow(0, frozenset({Pointee("null")}))
_MEMORY = _Flow(1, frozenset({Pointee("memory")}))


class PointsTo:
    """Pointers of one function.

    Args:
        code: the function.
        values, affine: its own.
        told: what names tell of loads and stores of the depot, by the index of the instruction.
    """

    def __init__(
        self,
        code: Definitions,
        values: Values,
        affine: Affine,
        told: Mapping[int, Told] | None = None,
    ) -> None:
        self._code, self._values, self._affine = code, values, affine
        self._instructions, self._depot = code.body.instructions, code.depot
        self._told = told or {}
        self._known: dict[Value, _Flow] = {}
        self._places: dict[int, range | None] = {}
        self._held: dict[int, list[tuple[range | None, Pointees]]] = {}
        self._handed_on: frozenset[int] = frozenset()
        self._is_settled = not any(map(is_pointer_load, self._instructions))

    def address(self, index: int) -> Pointees:
        """What an instruction's address points into; empty without one, or where nothing tells."""
        address = self._instructions[index].address
        if address is None or address.base is None:
            return frozenset()
        base = address.base
        if base in self._depot.bases or base in self._depot.names:
            return frozenset({Pointee("depot", self._depot.object_at(address.offset))})
        return frozenset(one for one in self.at(index, base) if one.kind not in _NOWHERE)

    def at(self, index: int, operand: str) -> Pointees:
        """What a register or symbol points into where an instruction reads it."""
        self._settle()
        return self._read(index, operand).pointees

    def objects(self, index: int, operand: str) -> Pointees:
        """Of these, the thread's own stack, and what a caller passed a pointer to."""
        return self.own(self.at(index, operand))

    def own(self, pointees: Pointees) -> Pointees:
        """Those of pointees that may be in local memory for what this function shows.

        A kernel's parameters are not: its caller is on the host.
        """
        kinds = ("depot", "alloca") if self._is_entry else (*OBJECTS, "parameter")
        return frozenset(one for one in pointees if one.kind in kinds)

    def place(self, index: int) -> range | None:
        """Bytes of the depot that a load or a store stays in; None where they are not known."""
        if index not in self._places:
            start = self._affine.depot_offset(index)
            known = None if start is None else range(start, start + self._width(index))
            self._places[index] = self.told(index).place if known is None else known
        return self._places[index]

    def told(self, index: int) -> Told:
        """What names tell of an access."""
        return self._told.get(index, _NOTHING_TOLD)

    def stores(self, offset: int, place: range | None = None) -> list[int]:
        """Stores to a stack object, in the order of the text.

        Args:
            offset: byte of the depot at which it begins.
            place: only those that may write to these bytes of the depot.
        """
        found = self._stores.get(offset, [])
        if place is None:
            return found
        return [index for index in found if _overlap(self.place(index), place)]

    def covers(self, index: int, place: range | None) -> bool:
        """Whether a store writes all of some bytes of the depot; not where these are not known."""
        start = self._affine.depot_offset(index)
        if place is None or start is None or self._instructions[index].predicate is not None:
            return False
        return start <= place.start and place.stop <= start + self._width(index)

    @cached_property
    def escaping(self) -> frozenset[int]:
        """Offsets of stack objects whose address is passed on, or stored elsewhere.

        Kept in another object of the stack, an address is handed on if that object's is.
        """
        self._settle()
        return self._find_escaping() if self._depot.names else frozenset()

    def passed(self, index: int, operand: str) -> Iterator[int]:
        """The instructions that an address comes through, those where it begins included."""
        self._settle()
        first = self._value(index, operand)
        found = reached([first] if first is not None else [], self.leading)
        return (value for value in found if value >= 0)

    def leading(self, value: Value) -> Sequence[Value]:
        """Of the values that one is made of, those that lead where it does; none of a beginning."""
        join = self._values.join(value)
        if join is not None:
            return self._values.met(join)
        if value in self._depot.starts or value in self._depot.copies:
            return ()
        instruction = self._instructions[value]
        operands = {one: self._read(value, one).rank for one in pointers(instruction)}
        best = 0 if _moves(instruction) else max(operands.values(), default=0)
        return self._reads(value, [one for one, rank in operands.items() if rank >= best])

    def holders(self, index: int, operand: str) -> frozenset[int]:
        """Offsets of the stack objects out of which an address is loaded."""
        passed = self.passed(index, operand)
        loads = (at for at in passed if is_pointer_load(self._instructions[at]))
        found = (one for at in loads for one in self.address(at))
        return frozenset(one.offset for one in found if one.kind == "depot")

    @cached_property
    def _is_entry(self) -> bool:
        return self._code.function.kind == "entry"

    def _width(self, index: int) -> int:
        return access_width(self._instructions[index])

    def _reads(self, index: int, operands: Iterable[str]) -> tuple[Value, ...]:
        return self._values.reads(index, (one for one in operands if one[:1] == "%"))

    def _value(self, index: int, operand: str) -> Value | None:
        return self._values.read(index, operand) if operand[:1] == "%" else None

    def _read(self, index: int, operand: str) -> _Flow:
        """What an operand is: a constant, a symbol, a register."""
        value = self._value(index, operand)
        if value is not None:
            self._follow(value)
            return self._known[value]
        if is_symbol(operand):
            return _Flow(3, frozenset({self._named(operand)}))
        return _NULL if number_of(operand) == 0 else _NUMBER

    def _is_address(self, index: int, operand: Operand) -> bool:
        return isinstance(operand, str) and self._read(index, operand).rank > 2

    def _named(self, name: str) -> Pointee:
        if name in self._depot.names:
            return Pointee("depot", self._depot.object_at(0))
        return Pointee("argument" if name in self._code.parameters else "variable", 0, name)

    def _follow(self, value: Value) -> None:
        """Find what a value points into, and all that it is made of."""
        if value in self._known:
            return
        for group in strong_components([value], self._sources, self._known):
            self._known.update(dict.fromkeys(group, _UNKNOWN))
            if len(group) == 1:  # Nearly all.
                self._changes(*group)
                continue
            users: dict[Value, list[Value]] = defaultdict(list)
            for one in group:
                for source in self._sources(one):
                    users[source].append(one)
            self._go_round(group, users)
            # The ranks are known now, and so which operands lead: only theirs count.
            for one in group:
                self._known[one] = _Flow(self._known[one].rank, frozenset())
            self._go_round(group, users)

    def _go_round(self, group: Iterable[Value], users: Mapping[Value, Iterable[Value]]) -> None:
        """Compute the flows of values that are made of each other until none changes."""
        work = dict.fromkeys(group)
        while work:
            one, _ = work.popitem()
            if self._changes(one):
                work.update(dict.fromkeys(users.get(one, ())))

    def _changes(self, value: Value) -> bool:
        before, found = self._known[value], self._flow(value)
        if found.rank <= before.rank:
            # Nothing is taken back, so that what is made of itself comes to an end.
            found = _Flow(before.rank, before.pointees | found.pointees)
        self._known[value] = found
        return found != before

    def _sources(self, value: Value) -> Sequence[Value]:
        """Values that lead where a value does."""
        join = self._values.join(value)
        if join is not None:
            return self._values.met(join)
        instruction = self._instructions[value]
        begins = value in self._depot.starts or value in self._depot.copies
        read = [] if begins or is_float(instruction) else pointers(instruction)
        if instruction.operation == "sub":
            read += registers_of(instruction.operands[2])
        if is_pointer_load(instruction) and instruction.address is not None:
            read = registers_of(instruction.address)
        if instruction.predicate is not None:
            read += registers_of(instruction.operands[0])
        return self._reads(value, read)

    def _flow(self, value: Value) -> _Flow:
        join = self._values.join(value)
        if join is not None:
            return _either(*map(self._known.__getitem__, self._values.met(join)))
        found = self._computed(value, self._instructions[value])
        if self._instructions[value].predicate is None:
            return found
        kept = registers_of(self._instructions[value].operands[0])
        return _either(found, *map(self._known.__getitem__, self._reads(value, kept)))

    def _computed(self, index: int, instruction: Instruction) -> _Flow:
        start = 0 if index in self._depot.copies else self._depot.starts.get(index)
        if start is not None:
            return _Flow(3, frozenset({Pointee("depot", self._depot.object_at(start))}))
        row = instruction.isa
        if row.access == "load":
            return self._loaded(index, instruction)
        if instruction.operation == "alloca":
            return _Flow(3, frozenset({Pointee("alloca", instruction.line)}))
        if not row.pointers or is_float(instruction):
            return _NUMBER
        if instruction.operation == "sub" and self._is_address(index, instruction.operands[2]):
            return _NUMBER  # a distance between two addresses
        flows = [self._read(index, one) for one in pointers(instruction)]
        if _moves(instruction):
            numbers = (number_of(instruction.operands[position]) for position in row.pointers)
            flows += [_NUMBER if one else _NULL for one in numbers if one is not None]
            found = _either(*flows)
        else:
            best = max((flow.rank for flow in flows), default=0)
            found = _either(*(flow for flow in flows if flow.rank == best)) if best else _NUMBER
        if instruction.operation == "cvta":
            return self._converted(instruction, found)
        return found

    def _converted(self, instruction: Instruction, flow: _Flow) -> _Flow:
        """What is made an address of a state space, or a generic one."""
        if "shared" in instruction.modifiers and "to" not in instruction.modifiers:
            known = (one for one in flow.pointees if one.kind in ("variable", "shared"))
            shared = frozenset(one._replace(kind="shared") for one in known)
            return _Flow(3, shared or frozenset({Pointee("shared")}))
        return flow._replace(rank=3) if flow.rank > 1 else flow

    def _loaded(self, index: int, instruction: Instruction) -> _Flow:
        if not moves_pointers(instruction):
            return _NUMBER
        address = instruction.address
        if "param" in instruction.modifiers:
            if address is None or address.base not in self._code.parameters:
                return _MEMORY  # what a function returned
            return _Flow(2, frozenset({Pointee("parameter", 0, address.base)}))
        if not self._held or address is None or address.base is None:
            return _MEMORY
        return self._kept(index, self._address(index))

    def _address(self, index: int) -> Pointees:
        """As `address`, while flows are computed."""
        address = self._instructions[index].address
        assert address is not None
        base = str(address.base)
        if base in self._depot.bases or base in self._depot.names:
            return frozenset({Pointee("depot", self._depot.object_at(address.offset))})
        value = self._value(index, base)
        return self._known[value].pointees if value is not None else frozenset()

    def _kept(self, index: int, holders: Pointees) -> _Flow:
        """What is loaded out of memory that pointers are kept in."""
        place = self.place(index)
        found: set[Pointee] = set()
        for holder in holders:
            kept = self._held.get(holder.offset, []) if holder.kind == "depot" else []
            inside = [into for bytes_, into in kept if place is None or _overlap(bytes_, place)]
            found.update(*inside)
            if not inside or holder.offset in self._handed_on:
                found.add(Pointee("memory"))
        if found <= _NUMBER.pointees | _MEMORY.pointees:
            return _MEMORY
        return _Flow(3, frozenset(found)) if found else _MEMORY

    def _settle(self) -> None:
        """Find what local memory holds, which says where pointers lead that are loaded from it."""
        if self._is_settled:
            return
        self._is_settled = True
        for _ in range(_ROUNDS):
            held = self._find_held()
            escaping = self._find_escaping() if held else frozenset()
            if (held, escaping) == (self._held, self._handed_on):
                return
            self._held, self._handed_on = held, escaping
            self._known.clear()

    def _find_held(self) -> dict[int, list[tuple[range | None, Pointees]]]:
        """Addresses that are kept in stack objects, by the objects' offsets, with their bytes.

        Empty where none of the addresses is one of local memory.
        """
        found: dict[int, list[tuple[range | None, Pointees]]] = {}
        is_any = False
        for index in self._local_stores:
            holders = [one.offset for one in self.address(index) if one.kind == "depot"]
            if not holders:
                continue
            place = self.place(index)
            values = stored_values(self._instructions[index])
            size = self._width(index) // max(len(values), 1)
            for value, position in values:
                is_wide = moves_pointers(self._instructions[index])
                into = self._read(index, value).pointees if is_wide else _NUMBER.pointees
                is_any = is_any or bool(self.own(into))
                bytes_ = None
                if self.told(index).place is None and place is not None:
                    bytes_ = range(place.start + position, place.start + position + size)
                elif not is_wide:
                    continue  # no part of a pointer
                for holder in holders:
                    found.setdefault(holder, []).append((bytes_ or place, into))
        return found if is_any else {}

    def _find_escaping(self) -> frozenset[int]:
        found: set[int] = set()
        kept: dict[int, set[int]] = defaultdict(set)
        for index, instruction in enumerate(self._instructions):
            if instruction.isa.access != "store" or not moves_pointers(instruction):
                continue
            registers = [one for rest in instruction.operands[1:] for one in registers_of(rest)]
            into = {one for register in registers for one in self._read(index, register).pointees}
            stored = {one.offset for one in into if one.kind == "depot"}
            holders = self.address(index) if stored else frozenset()
            if not holders or any(one.kind != "depot" for one in holders):
                found |= stored
            for holder in holders:
                kept[holder.offset] |= stored
        return frozenset(reached(found, kept.__getitem__))

    @cached_property
    def _local_stores(self) -> list[int]:
        """Stores that may be to a stack object."""
        return [
            index
            for index, instruction in enumerate(self._instructions)
            if instruction.isa.access == "store" and "param" not in instruction.modifiers
        ]

    @cached_property
    def _stores(self) -> dict[int, list[int]]:
        result: dict[int, list[int]] = {}
        for index in self._local_stores:
            for one in self.address(index):
                if one.kind == "depot":
                    result.setdefault(one.offset, []).append(index)
        return result


def _moves(instruction: Instruction) -> bool:
    """Whether a result is one of the operands, and not computed from them."""
    return instruction.isa.kind == "copy" or instruction.isa.is_either


def _either(*flows: _Flow) -> _Flow:
    if len(flows) == 1:
        return flows[0]
    rank = max((flow.rank for flow in flows), default=0)
    return _Flow(rank, frozenset().union(*(flow.pointees for flow in flows)))


def _overlap(one: range | None, other: range) -> bool:
    return one is None or (one.start < other.stop and other.start < one.stop)

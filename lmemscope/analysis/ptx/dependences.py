"""What one value of a PTX function depends on: operands, addresses, and what chose it.

A value joined from several paths depends on the branches that choose between them, and a value that
leaves a loop on what ended the loop: control dependence, through post-dominators. What an unrolled
loop leaves over for its remainder has not left it: there a value is made of no limit. Lanes whose
limits differ come there with other counters all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.butterflies import Butterflies
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.flow import is_generic_access
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.inputs import Inputs, Node
from lmemscope.analysis.ptx.iterations import Iterations
from lmemscope.analysis.ptx.lane_bits import LaneBits
from lmemscope.analysis.ptx.lanes import broadcast_lane, counts_alike, counts_itself
from lmemscope.analysis.ptx.leaves import Leaf, is_symbol, special, worst
from lmemscope.analysis.ptx.library import Library
from lmemscope.analysis.ptx.points_to import Pointee, PointsTo, Told
from lmemscope.analysis.ptx.products import Products
from lmemscope.analysis.ptx.remainders import Remainders
from lmemscope.analysis.ptx.values import Join, Value
from lmemscope.formats.ptx_body import Instruction, Loc
from lmemscope.formats.ptx_operands import defined, may_change, pointers, registers_of
from lmemscope.model import Uniformity

_NOTHING = Inputs()
"""What most values come with, for no loop lies behind them; nobody adds to it."""


class Dependences:
    """Dependences of one function's values.

    Args:
        code: its definitions.
        given: how uniform what callers give for a parameter is.
        library: what of the module is the mathematical library's; None where that is not known.
        told: what names tell of loads and stores of the depot, by the index of the instruction.

    Attributes:
        analyses, values, control, affine, points_to, products, lane_bits: of the function.
    """

    def __init__(
        self,
        code: Definitions,
        given: Callable[[str], Uniformity],
        library: Library | None = None,
        told: Mapping[int, Told] | None = None,
    ) -> None:
        self._given = given
        self._code, self._body, self._flow = code, code.body, code.flow
        self.analyses = of = Analyses(code)
        self.values, self.control, self.affine = of.values, of.control, of.affine
        self.points_to = PointsTo(code, self.values, self.affine, told)
        self.products = Products(code, self.values, self.points_to, library)
        self._library = library
        self._iterations = Iterations(of)
        self._remainders = Remainders(of, self._iterations)
        self._butterflies = Butterflies(of)
        self.lane_bits = LaneBits(code, self.values, self.node)
        self._nodes: dict[Value, Node] = {}
        self._named: dict[tuple[int, range | None, Loc | None], str] = {}
        self._bytes: dict[str, Told] = {}
        self._held: dict[tuple[str, Value], Value] = {}
        self._held_of: list[tuple[str, Value]] = []
        self._scratch: dict[int, dict[int, list[tuple[int, str]]]] = {}
        self._ended: dict[tuple[int, Value], Inputs] = {}

    def node(self, value: Value) -> Node:
        """What a value depends on.

        Numbers above the instructions stand for what bytes of a stack object hold: behind a store,
        or where paths meet.
        """
        known = self._nodes.get(value)
        if known is None:
            known = self._nodes[value] = self._make(value)
        return known

    def is_one_of_constants(self, index: int, register: str, *, once: bool = False) -> bool:
        """Whether a register holds one of several constants, whatever chooses between them.

        Args:
            index: of the instruction that reads it.
            register: which.
            once: whether a choice may not be made of another: ``if (…) ++i;`` twice.
        """
        seen: set[tuple[Value, bool, bool]] = set()
        work = [(self.values.read(index, register), False, False)]
        while work:
            value, chosen, computed = work.pop()
            if value is None or (value, chosen, computed) in seen:
                continue
            seen.add((value, chosen, computed))
            join = self.values.join(value)
            if join is not None:
                if join.block in self.control.loop_at or (once and computed):
                    return False
                work += [(one, True, False) for one in self.values.incoming(join).values()]
                continue
            instruction = self._body.instructions[value]
            read = [r for r in self._code.depends_on(value) if r not in _chosen_by(instruction)]
            is_special = any(special(one) is not None for one in read)
            if may_change(instruction) or is_special:
                return False
            if instruction.isa.kind == "choice" and once and computed:
                return False
            chosen = chosen or instruction.isa.kind == "choice"
            computed = chosen and (computed or instruction.isa.kind not in ("copy", "choice"))
            work += [(self.values.read(value, one), chosen, computed) for one in read]
        return True

    def _make(self, value: Value) -> Node:
        join = self.values.join(value)
        if join is not None:
            return self._joined(join)
        beyond = value - len(self._body.instructions)
        return self._computed(value) if beyond < 0 else self._content(*self._held_of[beyond])

    def read(self, index: int, register: str) -> Inputs:
        """What an instruction's register holds, and what ended the loops it comes out of."""
        found = Inputs()
        self._add(found, index, (register,))
        return found

    def _joined(self, join: Join) -> Node:
        incoming = self.values.incoming(join)
        loop = self.control.loop_at.get(join.block)
        deciding = self._deciding(join.block, self._told_apart(incoming))
        found = Inputs()
        for value in incoming.values():
            if value is not None:
                found.add(value)
                found.update(self._when_left(join.block, value))
        guards = self._guards(join, loop, deciding) if deciding else set()
        found.update(self._conditions(deciding - guards))
        # How many iterations came before: no part of the value, but lanes may differ in it.
        if not any(map(self._iterations.are_even, self._remainders.holding(join.block))):
            found.update(self._conditions(guards).only_between_lanes())
        return Node(tuple(found.values), tuple(found.lanes))

    def _deciding(self, block: int, incoming: Mapping[int, Value | None]) -> set[int]:
        """Blocks whose branches choose between what the predecessors of a block bring."""
        loop = self.control.loop_at.get(block)
        if loop is None:
            return self.control.choosing(block, incoming, None)
        members = self.control.blocks_of(loop)
        latches = {before: one for before, one in incoming.items() if before in members}
        entries = {before: one for before, one in incoming.items() if before not in members}
        deciding = self.control.choosing(block, latches, members)
        return deciding | self.control.choosing(block, entries, None)

    def _told_apart(self, incoming: Mapping[int, Value | None]) -> dict[int, Value | None]:
        """What predecessors of a join bring, the same for copies of one value."""
        found: dict[int, Value | None] = {}
        first: dict[tuple[str, object], Value] = {}
        for before, value in incoming.items():
            found[before] = value
            if value is not None and value >= 0:
                instruction = self._body.instructions[value]
                copied: object = instruction.operands[-1]
                is_mov = instruction.operation == "mov" and instruction.predicate is None
                if isinstance(copied, str) and copied.startswith("%"):
                    copied = self.values.read(value, copied)
                if is_mov and isinstance(copied, (str, int)):
                    found[before] = first.setdefault((instruction.opcode, copied), value)
        return found

    def _guards(self, join: Join, loop: Loop | None, deciding: set[int]) -> set[int]:
        """Of the branches before a join, those that only decide how often its loop runs.

        Whether that loop is entered at all is part of it, and so is which of its parts runs.
        """
        bounds = [self._iterations.bound(loop)] if loop is not None else []
        ran = self._iterations.ran(join)
        for other in self._remainders.holding(join.block):
            bounds.append(self._iterations.bound(other) & ran)
        return {
            one
            for one in deciding
            if any(bound and self._iterations.tested(one) <= bound for bound in bounds)
            or self._iterations.goes_ahead(one, join)
        }

    def _computed(self, index: int) -> Node:
        instruction = self._body.instructions[index]
        found = Inputs()
        predicate = registers_of(instruction.predicate) if instruction.predicate else ()
        if predicate:
            # Where the predicate is false the register keeps what it had.
            self._add(found, index, [*predicate, *defined(instruction)])
        registers = [r for r in self._code.depends_on(index) if r not in predicate]
        origin = instruction.isa.origin
        if origin == "memory":
            return self._memory(index, instruction, found, registers)
        if instruction.operation == "shfl" and "sync" in instruction.modifiers:
            # The last operand says which lanes take part.
            registers = [r for r in registers if r != instruction.operands[-1]]
        leaves = self._symbols(instruction)
        level: Uniformity = "lane-varying" if instruction.isa.lanes == "own" else "uniform"
        if origin == "unknown":
            leaves.add(Leaf("other", instruction.operation))
            level = "unknown"
        for register in registers:
            known = self._code.special(register)
            if known is not None:
                leaves.add(known[0])
                level = worst((level, known[1]))
        if self._remainders.is_start(index):
            self._add(found, index, registers)
            even = all(map(self._iterations.are_even, self._iterations.rounded(index)))
            between = () if even else tuple(found.only_between_lanes().lanes)
            return Node((), between, frozenset({Leaf("loop-counter")}), level)
        shared = (
            instruction.isa.lanes == "same"
            or self._butterflies.is_complete(index)
            or counts_alike(self._code, self.affine, index)
            or counts_itself(self._code, self.affine, index)
        )
        lane = broadcast_lane(self._code, self.affine, index)
        named = None
        if lane is not None and special(lane) is None:
            named = self.values.reads(index, registers_of(lane))
        self._add(found, index, registers)
        return Node(
            tuple(found.values), tuple(found.lanes), frozenset(leaves), level, shared, named
        )

    def _memory(
        self, index: int, instruction: Instruction, found: Inputs, registers: list[str]
    ) -> Node:
        """A load: of the pointer that is dereferenced; as uniform as its address."""
        address = instruction.address
        if "param" in instruction.modifiers and address is not None:
            name = address.base
            if name is not None and name.startswith("%"):
                # An array in a parameter, read at a computed place.
                self._add(found, index, registers)
                named = {one.name for one in self.points_to.address(index)}
                name = named.pop() if len(named) == 1 else None
            return self._parameter(index, name, found)
        pointees = self.points_to.address(index)
        offsets = {one.offset for one in pointees if one.kind == "depot"}
        level: Uniformity = "uniform"
        if instruction.isa.access == "atomic":
            level = "data-dependent"
        elif "local" in instruction.modifiers and not offsets:
            level = "unknown"
        elif self._code.function.kind != "entry" and is_generic_access(instruction.opcode):
            # Where a caller's pointer points is not known: each lane may have its own there.
            through = {one.name for one in pointees} & self._code.parameters
            level = "unknown" if through else "uniform"
        if pointees and all(map(self._is_table, pointees)):
            # The library's constants: which of them is what the value depends on.
            self._add(found, index, registers)
            return Node(tuple(found.values), tuple(found.lanes))
        behind = Inputs()
        self._add(behind, index, registers)
        for offset in offsets:
            if offset in self.points_to.escaping:
                level = "unknown"
            place = self.points_to.place(index) if len(pointees) == 1 else None
            self._add_content(behind, index, offset, place)
        found.update(behind.only_between_lanes())
        reduced = self._reduced(index, pointees)
        for at, register in reduced:
            self._add(found, at, [register])
        leaves = {one.leaf for one in pointees} or {Leaf("memory")}
        if reduced:
            leaves = set()
        return Node(
            tuple(found.values),
            tuple(found.lanes),
            frozenset(leaves),
            level,
            loaded=not offsets,
        )

    def _is_table(self, pointee: Pointee) -> bool:
        if pointee.name is None or self._library is None:
            return False
        return self._library.is_table(pointee.name)

    def _reduced(self, index: int, pointees: Iterable[Pointee]) -> list[tuple[int, str]]:
        """Where a load reads what a range reduction keeps: what that reduces; else empty.

        One array may serve several reductions, one after the other: the last that must run counts.
        """
        kinds = {(one.kind, one.offset) for one in pointees}
        if len(kinds) != 1:
            return []
        ((kind, offset),) = kinds
        if kind != "depot":
            return []
        reductions = self._reductions(offset)
        last: int | None = None
        for store in reductions:
            if self._flow.dominates(store, index) and (
                last is None or self._flow.dominates(last, store)
            ):
                last = store
        return [] if last is None else reductions[last]

    def _reductions(self, offset: int) -> dict[int, list[tuple[int, str]]]:
        """What each store to a stack object keeps products of; empty if any keeps anything else."""
        if offset not in self._scratch:
            stores = self.points_to.stores(offset)
            kept = stores if stores and self.products.are_stored(stores) else []
            reduced = {store: self.products.arguments(store) for store in kept}
            self._scratch[offset] = reduced if all(reduced.values()) else {}
        return self._scratch[offset]

    def _parameter(self, index: int, base: str | None, found: Inputs) -> Node:
        level: Uniformity = "unknown"
        if base is not None and base in self._code.parameters:
            leaf = Leaf("parameter", base)
            level = "uniform" if self._code.function.kind == "entry" else self._given(base)
        else:
            call = self._flow.result_of(index)
            callee = call.callee if call is not None else None
            is_librarys = self._library is not None and self._library.is_function(callee or "")
            if call is not None and is_librarys:
                for argument in call.arguments:
                    self._add(found, call.index, argument)
                return Node(tuple(found.values), tuple(found.lanes))
            leaf = Leaf("call", callee)
        return Node(tuple(found.values), tuple(found.lanes), frozenset({leaf}), level)

    def _add(self, found: Inputs, index: int, registers: Iterable[str]) -> None:
        block = self._flow.block_of(index)
        for register in registers:
            value = self.values.read(index, register)
            if value is not None:
                found.add(value)
                left = self._when_left(block, value)
                if left is not _NOTHING:
                    found.update(left)

    def _conditions(self, blocks: Iterable[int]) -> Inputs:
        """What the branches at the ends of blocks test."""
        found = Inputs()
        for block in sorted(blocks):
            index, registers = self.control.condition(block)
            self._add(found, index, registers)
        return found

    def _when_left(self, block: int, value: Value) -> Inputs:
        """What decided in which iteration a value left the loops around it, seen from a block."""
        key = (block, value)
        if key not in self._ended:
            loops = self._iterations.loops_left(block, value)
            found = Inputs() if loops else _NOTHING
            for loop in loops:
                exits = self.control.exits(loop)
                counting = {one for one in exits if self._iterations.counts(one, loop)}
                leading = {one for one in counting if not self.control.passes_by(one, loop, block)}
                ended = exits - counting
                if block in self._remainders.zone(loop):
                    # Lanes that run other numbers of iterations come with other counters.
                    if not self._iterations.are_even(loop):
                        found.update(self._conditions(leading).only_between_lanes())
                else:
                    ended |= leading
                found.update(self._conditions(ended))
            self._ended[key] = found
        return self._ended[key]

    def _symbols(self, instruction: Instruction) -> set[Leaf]:
        """Addresses of named variables that an instruction takes; the function's own are none."""
        own = {declaration.name for declaration in self._body.locals}
        return {
            Leaf("symbol", operand)
            for operand in pointers(instruction)
            if is_symbol(operand) and operand not in own
        }

    def _add_content(self, found: Inputs, index: int, offset: int, place: range | None) -> None:
        """Add what bytes of a stack object hold before an instruction.

        They are a register that each store to them defines, with what it held before in the rest.
        """
        lifetime = self.points_to.told(index).lifetime
        held = self._named.setdefault((offset, place, lifetime), f"[{len(self._named)}]")
        if held not in self._bytes:
            stores = self.points_to.stores(offset, place)
            begun = {one: self.points_to.told(one).lifetime for one in stores}
            if lifetime not in begun.values():
                lifetime = None  # Others fill it.
            if lifetime is not None:
                stores = [one for one in stores if begun[one] in (None, lifetime)]
            self._bytes[held] = Told(place, lifetime)
            self.values.define(held, stores)
        self._add_held(found, self._flow.block_of(index), held, self.values.read(index, held))

    def _add_held(self, found: Inputs, block: int, held: str, value: Value | None) -> None:
        """Add such a value as a block reads it; nothing where none has been stored."""
        if value is None:
            return
        key = (held, value)
        if key not in self._held:
            self._held[key] = len(self._body.instructions) + len(self._held)
            self._held_of.append(key)
        found.add(self._held[key])
        for loop in self.control.loops_of.get(self.values.block_of(value), ()):
            if block not in self.control.blocks_of(loop):
                found.update(self._conditions(self.control.exits(loop)))

    def _ends(self, block: int, lifetime: Loc) -> bool:
        """Whether a block ends outside of the call that brings a variable into being."""
        loc = self._body.instructions[self._flow.blocks[block].end - 1].loc
        if loc is None or not loc.line:
            return False
        return all(one.inlined_at != lifetime for one in loc.chain)

    def _content(self, held: str, value: Value) -> Node:
        """What makes such a value differ between lanes: what is stored and where, which stores."""
        found, join = Inputs(), self.values.join(value)
        if join is not None:
            # What nothing has been stored in holds no value, and is not read.
            lifetime = self._bytes[held].lifetime
            incoming = {
                before: one
                for before, one in self.values.incoming(join).items()
                if one is not None and (lifetime is None or not self._ends(before, lifetime))
            }
            found.update(self._conditions(self._deciding(join.block, incoming)))
            for one in incoming.values():
                self._add_held(found, join.block, held, one)
        else:
            self._add(found, value, self._code.depends_on(value))
            if not self.points_to.covers(value, self._bytes[held].place):
                before = self.values.read(value, held)
                self._add_held(found, self._flow.block_of(value), held, before)
        return Node((), tuple(found.only_between_lanes().lanes))


def _chosen_by(instruction: Instruction) -> list[str]:
    """The predicate that an instruction runs under, or selects by."""
    found = registers_of(instruction.predicate or "")
    if instruction.isa.kind == "choice":
        found += registers_of(instruction.operands[-1])
    return found

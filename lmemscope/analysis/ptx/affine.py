"""Addresses and indices as linear forms: a base, multiples of what varies, a constant.

The model is LLVM's scalar evolution: what a loop counts is ``start + step * iteration``; what
nothing more is known of is a term of its own, with the largest factor that divides it.

Registers wrap at 32 or 64 bits, and an extension of a sum is taken to be the sum of extensions. An
address loses nothing by that: one that wraps is 4 GB away, outside of any local memory. A number
may: a form says in how few bits it was computed, and who counts with it asks `Form.fits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from math import gcd

from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.conditions import Conditions, negated
from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.forms import (
    WIDEST,
    ZERO,
    Form,
    Given,
    Iteration,
    Term,
    alone,
    has_base,
    is_base,
)
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.values import Join, Value, Values
from lmemscope.formats.ptx_body import Instruction, Vector, number_of
from lmemscope.formats.ptx_isa import parts_of_opcode, row_of
from lmemscope.formats.ptx_operands import (
    INEXACT,
    folded,
    is_float_opcode,
    registers_of,
    result_bits,
)

LANES = 32
"""What ``WARP_SZ`` is."""
_WORD, _MOST_TERMS = 32, 16


class Affine:
    """Linear forms of one function's values.

    Args:
        code: the function.
        values: its values.
        control: its loops.
        conditions: its predicates.
    """

    def __init__(
        self, code: Definitions, values: Values, control: Control, conditions: Conditions
    ) -> None:
        self._code, self._values, self._control = code, values, control
        self._conditions, self._instructions = conditions, code.body.instructions
        self._closed: dict[Value, Form] = {}
        self._open: dict[Value, Form] = {}
        self._asked: set[Value] = set()

    def address(self, index: int) -> Form | None:
        """The address that an instruction accesses; None without one."""
        address = self._instructions[index].address
        if address is None:
            return None
        found = self.read(index, address.base) if address.base is not None else ZERO
        if found is None or not address.offset:
            return found
        return found.plus(Form(address.offset))

    def depot_offset(self, index: int) -> int | None:
        """The byte of the function's own memory that an instruction accesses, if it is constant."""
        name, offset = self.place(index) or ("", 0)
        return offset if name in self._alignments else None

    def place(self, index: int) -> tuple[str, int] | None:
        """The variable and the byte that an instruction accesses, where they are constant."""
        form = self.address(index)
        if form is None or len(form.terms) != 1:
            return None
        ((term, factor),) = form.terms.items()
        return (term, form.constant) if is_base(term) and factor == 1 else None

    def read(self, index: int, operand: object) -> Form | None:
        """What an instruction reads; None of what is no integer or address."""
        return self._read(index, operand, self._closed)

    def of(self, value: Value) -> Form:
        """What a value is."""
        self._follow(value, self._closed)
        return self._closed[value]

    def change(self, form: Form, loop: Loop, inner: Iterable[Loop] = ()) -> int | None:
        """By how much each iteration of a loop changes a form; None where that is no constant.

        Args:
            form: what changes.
            loop: whose iterations count.
            inner: loops inside it whose own iterations do not count.
        """
        members = self._control.blocks_of(loop)
        headers = {one.header for one in inner}
        for term in form.terms:
            if isinstance(term, Iteration):
                inside = term.header in loop.members and term.header != loop.header
                if inside and term.header not in headers:
                    return None
            elif isinstance(term, (int, tuple)):
                value = term if isinstance(term, int) else term[0]
                if self._values.block_of(value) in members:
                    return None
        return form.factor(Iteration(loop.header))

    # What is below computes the forms of values. Those of a loop's latches are found with the joins
    # of all headers as terms of their own ("open"): what one adds to its own join is the step.

    def _read(self, index: int, operand: object, known: dict[Value, Form]) -> Form | None:
        if not isinstance(operand, str):
            return None
        number = LANES if operand == "WARP_SZ" else number_of(operand)
        if number is not None:
            return Form(number)
        if operand[:1] == "!":
            return None
        value = self._values.read(index, operand) if operand[:1] == "%" else None
        if value is None:
            return Form(0, {operand: 1})
        if value >= 0 and not isinstance(self._instructions[value].operands[0], str):
            return Form(0, {(value, operand): 1})
        if value not in known:
            self._follow(value, known)
        return known[value]

    def _follow(self, value: Value, known: dict[Value, Form]) -> None:
        """Find the form of a value, and of what it is made of."""
        work, entered = [value], set[Value]()
        while work:
            one = work[-1]
            left = [] if one in known else [v for v in self._sources(one, known) if v not in known]
            if left and one in entered:
                self._break_circle(one, known)
            elif left:
                entered.add(one)
                work += left
            else:
                if one not in known:
                    known[one] = self._form(one, known)
                work.pop()

    def _break_circle(self, value: Value, known: dict[Value, Form]) -> None:
        """Find the form of what is made of itself: of that nothing is known.

        A register may be read before it is written, and blocks may lead into each other without a
        header.
        """
        for group in strong_components([value], lambda one: self._sources(one, known), known):
            for one in group:
                circular = len(group) > 1 or one in self._sources(one, known)
                known[one] = alone(one) if circular else self._form(one, known)

    def _sources(self, value: Value, known: dict[Value, Form]) -> list[Value]:
        """Values that a form is made of."""
        join = self._values.join(value)
        if join is not None:
            loop = self._control.loop_at.get(join.block)
            if loop is not None and known is self._open:
                return []
            return [one for one in self._entering(join, loop) if one is not None]
        instruction = self._instructions[value]
        if not _is_followed(instruction):
            return []
        read = [one for one in instruction.operands[1:] if isinstance(one, str) and one[:1] == "%"]
        return [*self._values.reads(value, (*read, *registers_of(instruction.address)))]

    def _entering(self, join: Join, loop: Loop | None) -> list[Value | None]:
        """What is brought to a join; of a loop's header from outside."""
        members = self._control.blocks_of(loop) if loop is not None else ()
        incoming = self._values.incoming(join)
        return [one for before, one in incoming.items() if before not in members]

    def _form(self, value: Value, known: dict[Value, Form]) -> Form:
        join = self._values.join(value)
        if join is None:
            return self._computed(value, known)
        loop = self._control.loop_at.get(join.block)
        if loop is not None and known is self._open:
            return alone(value)
        brought = self._entering(join, loop)
        forms = [self._form_of(one, join.register, known) for one in brought]
        met = self._either(value, forms)
        return met if loop is None else self._counted(value, join, loop, met)

    def _form_of(self, value: Value | None, register: str, known: dict[Value, Form]) -> Form | None:
        if value is None:
            return None
        if value >= 0 and not isinstance(self._instructions[value].operands[0], str):
            return Form(0, {(value, register): 1})
        return known[value]

    def _counted(self, value: Value, join: Join, loop: Loop, start: Form) -> Form:
        """What a loop makes of what it begins with."""
        steps: list[Form] = []
        for latch in self._latches(join, loop):
            if latch is None:
                return alone(value)
            follows = latch.factor(value) == 1
            steps.append(latch.without(value) if follows else latch.plus(start, -1))
        if any(map(has_base, steps)):
            return alone(value)
        first = steps[0] if steps else ZERO
        if first.number is not None and all(step == first for step in steps):
            return self._stepped(start, first.constant, join, loop)
        if value in self._asked:
            return alone(value)  # Of a register that is read before it is written.
        self._asked.add(value)
        behind = self._behind(value, join, loop, start)
        self._asked.discard(value)
        if behind is not None:
            return behind
        return self._spread(value, start, gcd(*(gcd(s.constant, s.divisor) for s in steps)))

    def _latches(self, join: Join, loop: Loop) -> list[Form | None]:
        """What each latch of a loop brings, with the joins of headers as terms."""
        members = self._control.blocks_of(loop)
        found: list[Form | None] = []
        for before, brought in self._values.incoming(join).items():
            if before in members:
                if brought is not None:
                    self._follow(brought, self._open)
                form = self._form_of(brought, join.register, self._open)
                found.append(self._going_on(form, loop) if form is not None else None)
        return found

    def _going_on(self, form: Form, loop: Loop) -> Form:
        """A form with the choices made that the loop's own end decides: it has not ended."""
        for term in form.terms:
            if isinstance(term, int) and term >= 0:
                instruction = self._instructions[term]
                if instruction.operation == "selp" and self._open.get(term) == alone(term):
                    chosen = self._chosen(term, instruction, loop)
                    if chosen is not None:
                        form = form.without(term).plus(chosen, form.factor(term))
        return form

    def _chosen(self, index: int, instruction: Instruction, loop: Loop) -> Form | None:
        """The operand that a choice takes where a loop goes on; None where that is not told."""
        asked = self._conditions.read(index, instruction.operands[3])
        for branch, register, when in self._control.endings(loop):
            ends = self._conditions.read(branch, register)
            ends = ends if when else negated(ends)
            if asked in (ends, negated(ends)):
                return self._read(index, instruction.operands[1 + (asked == ends)], self._open)
        return None

    def _stepped(self, start: Form, step: int, join: Join, loop: Loop) -> Form:
        if not step:
            return start
        found = start.plus(Form(0, {Iteration(loop.header): step}))
        indices = self._code.definitions[join.register]
        bits = min(result_bits(self._instructions[one]) for one in indices)
        return found.in_bits(bits)

    def _behind(self, value: Value, join: Join, loop: Loop, start: Form) -> Form | None:
        """What a loop computes of its counters for the next iteration; None for any other.

        It counts as they do if it begins with what an iteration before the first would have made.
        """
        latches = self._latches(join, loop)
        first = latches[0]
        if first is None or any(one != first for one in latches):
            return None
        found, step = Form(first.constant), 0
        for term, factor in first.terms.items():
            made = Form(0, {term: 1})
            if isinstance(term, int):
                other = self._values.join(term)
                counts = other is not None and self._control.loop_at.get(other.block) is loop
                own = self._own_step(term, other, loop) if counts and other is not None else 0
                if own is None or term == value or (not counts and self._is_inside(term, loop)):
                    return None
                made, step = self.of(term), step + factor * own
            elif isinstance(term, tuple) and self._is_inside(term[0], loop):
                return None
            found = found.plus(made, factor)
        before = found.without(Iteration(loop.header)).plus(Form(-step))
        return self._stepped(start, step, join, loop) if before == start else None

    def _is_inside(self, value: Value, loop: Loop) -> bool:
        return self._values.block_of(value) in self._control.blocks_of(loop)

    def _own_step(self, value: Value, join: Join, loop: Loop) -> int | None:
        """What a loop adds to a join of its header; None where that is no constant."""
        steps = set()
        for latch in self._latches(join, loop):
            follows = latch is not None and latch.factor(value) == 1
            steps.add(latch.without(value).number if latch is not None and follows else None)
        return steps.pop() if len(steps) == 1 else None

    def _either(self, value: Value, forms: Iterable[Form | None]) -> Form:
        """One of several forms."""
        known: list[Form] = []
        for form in forms:
            if form is None:
                return alone(value)
            if form not in known:
                known.append(form)
        if len(known) == 1:
            return known[0]
        if any(form.number is not None for form in known) and any(form.terms for form in known):
            # A limit, or a default: the other one is no part of it.
            return Form(0, {value: gcd(*map(self._multiple, known)) or 1})
        first = min(known, key=lambda form: form.constant)
        rests = [form.plus(first, -1) for form in known if form is not first]
        if not known or any(has_base(rest) for rest in rests):
            return alone(value)
        return self._spread(value, first, gcd(*(gcd(r.constant, r.divisor) for r in rests)))

    def _spread(self, value: Value, first: Form, divisor: int) -> Form:
        """A form, and some multiple of a number more."""
        if divisor < 2 and not has_base(first):
            return alone(value)
        return first.plus(Form(0, {value: divisor}))

    def _computed(self, value: Value, known: dict[Value, Form]) -> Form:
        instruction = self._instructions[value]
        if not _is_followed(instruction):
            return alone(value)
        if instruction.isa.access is not None:
            return self._parameter(value, instruction, known)
        given = [self._read(value, operand, known) for operand in instruction.operands[1:]]
        if instruction.isa.kind == "choice":
            return self._either(value, given[:2])
        forms = [form for form in given if form is not None]
        if not forms or len(forms) != len(given):
            return alone(value)
        numbers, bits = [form.number for form in forms], result_bits(instruction)
        if None not in numbers:
            number = folded(instruction, numbers)
            return Form(_signed(number, bits)) if number is not None else alone(value)
        return self._shortened(value, self._combined(value, instruction, forms)).in_bits(bits)

    def _shortened(self, value: Value, form: Form) -> Form:
        """A form of not too many terms: sums of hundreds of loads are no addresses."""
        if len(form.terms) <= _MOST_TERMS:
            return form
        rest = gcd(*(factor for term, factor in form.terms.items() if not is_base(term)))
        kept: dict[Term, int] = {value: rest}
        kept.update((term, factor) for term, factor in form.terms.items() if is_base(term))
        return Form(form.constant, kept, form.bits)

    def _parameter(self, value: Value, instruction: Instruction, known: dict[Value, Form]) -> Form:
        """What is loaded from a parameter of the function."""
        address = instruction.address
        base = self._read(value, address.base, known) if address is not None else None
        if base is None or address is None or len(base.terms) != 1:
            return alone(value)
        ((name, factor),) = base.terms.items()
        if not isinstance(name, str) or name not in self._code.parameters or factor != 1:
            return alone(value)
        place = Given(name, base.constant + address.offset)
        return Form(0, {place: 1}, result_bits(instruction))

    def _combined(self, value: Value, instruction: Instruction, forms: list[Form]) -> Form:
        """What an instruction computes from forms of which not all are numbers."""
        operation, kind = instruction.operation, instruction.isa.kind
        first, last = forms[0], forms[-1]
        number = last.number
        if kind == "copy":
            return first if result_bits(instruction) >= _WORD else alone(value)
        if operation == "add" or (operation == "or" and self._are_disjoint(first, last)):
            return first.plus(last)
        if operation == "sub":
            return first.plus(last, -1)
        if operation == "neg":
            return first.times(-1)
        if operation == "not":
            return Form(-1).plus(first, -1)
        if operation == "shl" and number is not None and 0 <= number < WIDEST:
            return first.times(1 << number)
        if operation in ("mul", "mad") and "hi" not in instruction.modifiers:
            added = last if operation == "mad" else ZERO
            for factor, other in ((forms[1], first), (first, forms[1])):
                if factor.number is not None:
                    return added.plus(other, factor.number)
            return added.plus(alone(value)) if has_base(added) else alone(value)
        if kind == "extreme":
            return self._either(value, forms)
        if operation == "and" and number is not None:
            # What a mask leaves is a multiple of its lowest bit.
            return Form(0, {value: max(map(_lowest, (number, self._multiple(first)))) or 1})
        if kind == "logic":
            return Form(0, {value: _lowest(gcd(*map(self._multiple, forms))) or 1})
        return alone(value)

    def _are_disjoint(self, first: Form, second: Form) -> bool:
        """Whether no bit is set in both: one is less than what divides the other."""
        return any(
            small.number is not None and 0 <= small.number < _lowest(self._multiple(large))
            for small, large in ((first, second), (second, first))
        )

    def _multiple(self, form: Form) -> int:
        """A number that divides a form."""
        factors = [
            factor * (self._alignments.get(term, 1) if isinstance(term, str) else 1)
            for term, factor in form.terms.items()
        ]
        return gcd(form.constant, *factors)

    @cached_property
    def _alignments(self) -> Mapping[str, int]:
        """Of the function's own variables."""
        return {one.name: one.align for one in self._code.body.locals}


def _is_followed(instruction: Instruction) -> bool:
    """Whether an instruction's result may be a form of more than itself."""
    if instruction.predicate is not None or not _may_be_linear(instruction.opcode):
        return False
    return bool(instruction.operands) and not isinstance(instruction.operands[0], Vector)


@lru_cache(maxsize=1 << 12)
def _may_be_linear(opcode: str) -> bool:
    row, modifiers = row_of(opcode), parts_of_opcode(opcode)
    if is_float_opcode(opcode) or not INEXACT.isdisjoint(modifiers):
        return False
    if row.access == "load":
        return "param" in modifiers
    return row.is_pure and not row.carries and (row.fold is not None or row.kind == "choice")


def _signed(number: int, bits: int) -> int:
    """What a register holds as a number with a sign, whatever its type: compilers mix them."""
    return number - (1 << bits) if number >> (bits - 1) == 1 else number


def _lowest(number: int) -> int:
    """The lowest bit that is set."""
    return number & -number

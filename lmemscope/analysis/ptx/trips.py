"""How often loops run: the number where counting from a constant to a constant shows it.

Beyond that a weight: what a loop's count is not known from is the same before and after a rewrite,
so any weight serves, as long as a loop that is unrolled four times weighs a fourth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.doublings import Doublings
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.known_numbers import KnownNumbers
from lmemscope.analysis.ptx.ranges import Ranges
from lmemscope.analysis.ptx.values import Value, Values
from lmemscope.formats.ptx_body import number_of
from lmemscope.formats.ptx_isa import COMPARISONS
from lmemscope.formats.ptx_operands import displaced

UNKNOWN = 32.0
"""Times that a loop runs whose count is not known (docs/fix.md)."""
_NESTED = 8.0
"""The same of a loop within another: what is searched or shifted in each iteration is short.
Chosen on measured speed-ups (`benchmarks/model.py`)."""
_MOST = 1 << 16
_STEPS = 64
"""Instructions between a counter and what is compared; masks of unrolled loops' remainders."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """What a loop counts.

    Attributes:
        start: the value that it begins with, or None.
        number: the same as a number, where it is known.
        offset: what is added to it where it is compared.
        step: by which each iteration changes it.
    """

    start: Value | None
    number: float | None
    offset: int
    step: int


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison that ends a loop.

    Attributes:
        index: of the instruction.
        first, second: what it compares.
        holds: whether it does for two numbers.
        when: the outcome that ends the loop.
        is_last: whether it stands at the loop's end, so that an iteration has run before it.
    """

    index: int
    first: str
    second: str
    holds: Callable[[float, float], bool]
    when: bool
    is_last: bool


class Trips:
    """Counts of one function's loops.

    Args:
        code: the function.
        values: its values.
        control: its control dependence.
        largest: numbers that parameters are at most, by their PTX names; they are taken to be it.
        limits: iterations after which a loop leaves an array that it walks, by its header; a loop
            whose count is not known exactly runs no further.
        factors: by header, how many times as often such a loop runs as would be taken otherwise.
        means: whether what counts from, or to, the counter of a loop around it has a mean count.
    """

    def __init__(
        self,
        code: Definitions,
        values: Values,
        control: Control,
        largest: Mapping[str, int] | None = None,
        *,
        limits: Mapping[int, float] | None = None,
        factors: Mapping[int, float] | None = None,
        means: bool = True,
    ) -> None:
        self._code, self._values, self._control = code, values, control
        self._limits, self._factors = limits or {}, factors or {}
        self._means = means
        self._largest = dict(largest or {})
        self._numbers = KnownNumbers(code, values, self._largest)
        self._weights: dict[int, float] = {}
        self._constants: dict[int, int | None] = {}
        self._asking: set[int] = set()

    def weight(self, index: int, headers: Collection[int] | None = None) -> float:
        """How often an instruction is executed for each call of its function.

        Args:
            index: of the instruction.
            headers: count only loops that begin at these; None counts all.
        """
        product = 1.0
        for loop in self._control.loops_of.get(self._code.flow.block_of(index), ()):
            if headers is None or loop.header in headers:
                product *= self.count(loop)
        return product

    def count(self, loop: Loop) -> float:
        """How often a loop's body runs each time it is reached."""
        if loop.header not in self._weights:
            self._weights[loop.header] = self._unknown(loop)  # while loops around it are looked at
            self._weights[loop.header] = self._estimated(loop)
        return self._weights[loop.header]

    def _estimated(self, loop: Loop) -> float:
        """The count of a loop, within its array and as often as it was told where that is none."""
        limit, factor = self._limits.get(loop.header), self._factors.get(loop.header)
        if limit is None and factor is None:
            return self._find(loop)
        exact = self.exact_count(loop)
        if exact is not None:
            return exact
        found = self._find(loop)
        if limit is not None:
            # From anywhere to anywhere of it within another loop: half of it on average.
            found = min(found, (limit + 1) / 2 if self._is_nested(loop) else limit)
        return max(1.0, found * (factor or 1.0))

    def source_count(self, loop: Loop) -> float:
        """How often the loop of the source runs that a loop was made of, by unrolling or not."""
        return self.count(loop) * self._unrolled(loop)

    def exits(self, loop: Loop) -> int:
        """Ways out of a loop that the line has which its way back is of: a copy of its body each,
        where a loop that counts by no constant was unrolled."""
        instructions = self._code.body.instructions
        ends = [self._code.flow.blocks[one].end - 1 for one in self._control.leaving(loop)]
        own = instructions[min(loop.latches)].loc
        return sum(own is not None and instructions[end].loc == own for end in ends)

    def _unrolled(self, loop: Loop) -> int:
        """How many iterations of the source one of a loop is."""
        for test in self._tests(loop):
            for register in (test.first, test.second):
                counter = self._counter(self._values.read(test.index, register), loop)
                if counter is not None:
                    return self._copies(loop, min(abs(counter.step), _STEPS))
        return 1

    def written_out(self, loop: Loop) -> int | None:
        """Instructions that a loop is when each iteration stands for itself, at most.

        Loops in it whose number of iterations is a constant then, such as that of its own counter,
        stand for themselves as well; others count once, as they are. None where it does not count
        from a number to a number.
        """
        turns = self.exact_count(loop)
        if turns is None:
            return None
        inner = [one for one in self._code.flow.loops if one.header in loop.members - {loop.header}]
        inner = [one for one in inner if one.members < loop.members]
        often = {one.header: self.exact_count(one) or 1.0 for one in inner}
        size = 0.0
        for index in loop.members:
            size += math.prod(often[one.header] for one in inner if index in one.members)
        return math.ceil(turns * size)

    def exact_count(self, loop: Loop) -> float | None:
        """How often a loop runs that counts from a number to a number; the mean where these are
        made of a counter around it."""
        found = [count for test in self._tests(loop) for count in self._exactly(test, loop)]
        return max(min(found), 1.0) if found else None

    def count_with(self, loop: Loop, numbers: Mapping[str, int]) -> float | None:
        """How often a loop runs where parameters have some numbers; None where that says nothing.

        Args:
            loop: which.
            numbers: by the PTX names of parameters.
        """
        return Trips(self._code, self._values, self._control, numbers).exact_count(loop)

    def constant_count(self, loop: Loop) -> int | None:
        """How often a loop runs at most, whatever the counters of loops around it."""
        if loop.header not in self._constants:
            found = self._without_means.exact_count(loop)
            self._constants[loop.header] = math.ceil(found) if found is not None else None
        return self._constants[loop.header]

    @cached_property
    def _without_means(self) -> Trips:
        return Trips(self._code, self._values, self._control, means=False)

    def parameters(self, loop: Loop) -> set[str]:
        """Parameters that a loop begins or ends with, perhaps with constants added and the like."""
        found: set[str] = set()
        for test in self._tests(loop):
            for register in (test.first, test.second):
                value = self._values.read(test.index, register)
                counter = self._counter(value, loop)
                found |= self._numbers.parameters(counter.start if counter is not None else value)
        return found

    def step(self, value: Value, loop: Loop) -> int | None:
        """By how much each turn of a loop changes a value; None of what it does not count."""
        counter = self._counter(value, loop)
        return counter.step if counter is not None else None

    def _exactly(self, test: _Test, loop: Loop) -> list[float]:
        """Iterations until a test ends the loop, from a number to a number; empty if not."""
        for first, bound in ((test.first, test.second), (test.second, test.first)):
            counter = self._counter(self._values.read(test.index, first), loop)
            if counter is None or counter.number is None:
                continue
            limit = self._number(self._values.read(test.index, bound), number_of(bound))
            count = None
            if limit is not None:
                count = _passed(test, counter, limit, swapped=first == test.second)
            return [count] if count is not None else []
        return []

    def _find(self, loop: Loop) -> float:
        found: list[float] = []
        for test in self._tests(loop):
            count = self._until(test, loop)
            if count is not None:
                found.append(count)
        if not found:
            turns = Ranges(self._code, self._values, self._control, self.count).turns(loop)
            found += [turns] if turns is not None else []
        if not found:
            found += self._doubled(loop)
        return max(min(found), 1.0) if found else self._unknown(loop)

    def _unknown(self, loop: Loop) -> float:
        """How often a loop is taken to run where nothing tells."""
        is_called = self._code.function.kind == "function"
        return _NESTED if is_called or self._is_nested(loop) else UNKNOWN

    def _is_nested(self, loop: Loop) -> bool:
        """Whether a loop is within another."""
        around = self._control.loops_of.get(self._code.flow.block_of(loop.header), ())
        return any(one.header != loop.header for one in around)

    def _doubled(self, loop: Loop) -> list[float]:
        """Iterations of a loop whose counter is multiplied or divided by a power of two."""
        doublings = Doublings(self._code, self._values, self._control)
        for test in self._tests(loop):
            for first, bound in ((test.first, test.second), (test.second, test.first)):
                counter = doublings.counter(self._values.read(test.index, first), loop)
                if counter is not None:
                    start = self._number(counter.start) if counter.start is not None else None
                    limit = self._number(self._values.read(test.index, bound), number_of(bound))
                    return [counter.turns(start, limit, UNKNOWN)]
        return []

    def _tests(self, loop: Loop) -> Iterator[_Test]:
        """The comparisons that may end a loop, of what every iteration comes to."""
        for index, register, when in self._control.endings(loop):
            yield from self._compared(index, register, when, is_last=index in loop.latches)

    def _compared(self, index: int, register: str, when: bool, *, is_last: bool) -> Iterator[_Test]:
        """The comparisons that make a predicate, perhaps negated, where each decides alone."""
        value = self._values.read(index, register)
        while value is not None and value >= 0:
            test = self._code.body.instructions[value]
            operands = [one for one in test.operands[1:] if isinstance(one, str)]
            if test.operation == "not":
                when = not when
                value = self._values.read(value, operands[0])
                continue
            if test.operation == ("or" if when else "and") and len(operands) == 2:
                for one in operands:
                    yield from self._compared(value, one, when, is_last=is_last)
                return
            holds = COMPARISONS.get(test.modifiers[1]) if len(test.modifiers) > 2 else None
            if test.operation == "setp" and len(operands) == 2 and holds is not None:
                yield _Test(value, operands[0], operands[1], holds, when, is_last)
            return

    def _until(self, test: _Test, loop: Loop) -> float | None:
        """Iterations until a test ends the loop; None where nothing tells."""
        for first, bound in ((test.first, test.second), (test.second, test.first)):
            counter = self._counter(self._values.read(test.index, first), loop)
            if counter is None:
                continue
            read = self._values.read(test.index, bound)
            limit = self._number(read, number_of(bound))
            if counter.number is not None and limit is not None:
                return _passed(test, counter, limit, swapped=first == test.second)
            begin, end = self._added(counter.start), self._added(read)
            if begin is not None and end is not None and begin[0] == end[0]:
                # From a value, perhaps with something added, to the same with something added.
                apart = replace(counter, number=float(begin[1]))
                return _passed(test, apart, end[1], swapped=first == test.second)
            # Of an unrolled loop's remainder half of the steps are left on average.
            mask = self._mask_of(read) or self._mask_of(counter.start)
            if mask is not None:
                return mask / 2
            step = min(abs(counter.step), _STEPS)
            # With something added to it the limit is another one.
            if counter.start is not None and limit is not None and limit > 0 and counter.step > 0:
                # From anywhere up to a constant: half of it on average.
                return min(UNKNOWN, max(limit / 2, 1.0)) / step
            # What it leaves over runs in the remainder, and both together as often as before.
            copies = self._copies(loop, step)
            turns = self._unknown(loop)
            return max(1.0, turns - (copies - 1) / 2) / copies if copies > 1 else None
        return None

    def _counter(self, value: Value | None, loop: Loop) -> _Counter | None:
        """The counter that a loop's test compares, perhaps with something added that is fixed."""
        begin = self._added(value)
        if begin is None:
            return None
        value, offset = begin
        members = self._control.blocks_of(loop)
        if value >= 0:
            instruction = self._code.body.instructions[value]
            if instruction.operation not in ("add", "sub"):
                return None
            read = [
                self._values.read(value, one)
                for one in instruction.operands[1:]
                if isinstance(one, str) and one[:1] == "%"
            ]
            inside = [one for one in read if one is None or self._values.block_of(one) in members]
            counter = (
                self._counter(inside[0], loop) if len(read) == 2 and len(inside) == 1 else None
            )
            return None if counter is None else _Counter(None, None, 0, counter.step)
        join = self._values.join(value)
        if join is None or self._control.loop_at.get(join.block) is not loop:
            return None
        starts, steps = set(), set()
        for before, brought in self._values.incoming(join).items():
            if before not in members:
                starts.add(brought)
                continue
            ended = self._added(brought)
            if ended is None or ended[0] != value:
                return None
            steps.add(ended[1])
        if len(steps) != 1 or len(starts) != 1 or steps == {0}:
            return None
        (start,), (step,) = starts, steps
        return _Counter(start, self._number(start), offset, step)

    def _added(self, value: Value | None) -> tuple[Value, int] | None:
        """What constants were added to, and their sum."""
        total = 0
        for _ in range(_STEPS):
            if value is None:
                return None
            if value < 0:
                return value, total
            instruction = self._code.body.instructions[value]
            moved = displaced(instruction)
            if instruction.predicate is not None or moved is None:
                return value, total
            before = self._values.read(value, moved[0])
            if before is None:
                return value, total
            value, total = before, total + moved[1]
        return None

    def _number(self, value: Value | None, written: int | None = None) -> float | None:
        """A constant; of the counter of a loop around, its mean."""
        begin = self._added(value) if written is None else None
        if begin is None:
            return written
        if begin[0] < 0:
            return self._mean(begin[0], begin[1]) if self._means else None
        instruction = self._code.body.instructions[begin[0]]
        number = number_of(instruction.operands[-1])
        # What a minimum with a constant bounds is taken to reach it: NVVM unrolls loops that far.
        is_known = instruction.operation in ("mov", "min") and instruction.predicate is None
        if not is_known or number is None:
            number = self._numbers.of(begin[0]) if self._largest else None
        return number + begin[1] if number is not None else None

    def _mean(self, value: Value, offset: int) -> float | None:
        join = self._values.join(value)
        loop = self._control.loop_at.get(join.block) if join is not None else None
        if loop is None or loop.header in self._asking:
            return None
        self._asking.add(loop.header)
        counter = self._counter(value, loop)
        self._asking.discard(loop.header)
        if counter is None or counter.number is None:
            return None
        return counter.number + counter.step * (self.count(loop) - 1) / 2 + offset

    def _mask_of(self, value: Value | None) -> int | None:
        """The small mask that a value, perhaps negated, was made with."""
        for _ in range(_STEPS):
            if value is None or value < 0:
                return None
            instruction = self._code.body.instructions[value]
            operands = instruction.operands
            mask = number_of(operands[-1])
            if instruction.operation == "and" and mask is not None and 0 < mask < _STEPS:
                return mask
            if instruction.operation != "neg" and instruction.isa.kind != "copy":
                return None
            source = operands[-1]
            value = self._values.read(value, source) if isinstance(source, str) else None
        return None

    def _copies(self, loop: Loop, step: int) -> int:
        """How often a loop's body stands in it: a step of the source's own makes no copy.

        Unrolling by four leaves ``n & 3`` over, which is computed in front of the loop of what that
        ends or begins at; or each copy has a test of its own.
        """
        around = self._control.loops_of[self._code.flow.block_of(loop.header)]
        outside = {one.header for one in around} - {loop.header}
        own = self._ends_of(loop)
        masks = (mask for mask, headers, made in self._masks if headers <= outside and made & own)
        found = [mask + 1 for mask in masks if step % (mask + 1) == 0]
        tests = sum(self._is_counted(test, loop, step) for test in self._tests(loop))
        return max([1, *found, tests if tests and step % tests == 0 else 1])

    def _is_counted(self, test: _Test, loop: Loop, step: int) -> bool:
        """Whether a test compares what the loop counts by a step."""
        read = (self._values.read(test.index, one) for one in (test.first, test.second))
        counters = (self._counter(one, loop) for one in read)
        return any(one is not None and abs(one.step) == step for one in counters)

    @cached_property
    def _masks(self) -> tuple[tuple[int, frozenset[int], frozenset[Value]], ...]:
        """Masks of remainders, with the headers of the loops that they are computed in, and what
        they are computed of."""
        found: dict[tuple[int, frozenset[int], frozenset[Value]], None] = {}
        for index, instruction in enumerate(self._code.body.instructions):
            mask = number_of(instruction.operands[-1]) if instruction.operation == "and" else None
            if mask is not None and 0 < mask < _STEPS and mask & (mask + 1) == 0:
                loops = self._control.loops_of.get(self._code.flow.block_of(index), ())
                masked = self._values.read(index, str(instruction.operands[1]))
                made = frozenset(self._made_of([masked]))
                found[mask, frozenset(one.header for one in loops), made] = None
        return tuple(found)

    def _ends_of(self, loop: Loop) -> set[Value]:
        """What a loop's end, and the start of its counter, are computed of."""
        compared: list[Value | None] = []
        for test in self._tests(loop):
            for register in (test.first, test.second):
                value = self._values.read(test.index, register)
                counter = self._counter(value, loop)
                compared.append(counter.start if counter and counter.start is not None else value)
        return self._made_of(compared)

    def _made_of(self, values: Iterable[Value | None]) -> set[Value]:
        """What values are computed of by arithmetic: loads, calls, and what paths bring together.

        The number of a thread or block is in all that differs between threads, and tells nothing.
        """
        work, seen, found = list(values), set[Value](), set[Value]()
        while work:
            value = work.pop()
            if value is None or value in seen or len(seen) > _STEPS:
                continue
            seen.add(value)
            if value < 0 or not self._code.body.instructions[value].isa.is_pure:
                found.add(value)
                continue
            operands = self._code.body.instructions[value].operands[1:]
            registers = [one for one in operands if isinstance(one, str) and one[:1] == "%"]
            work += [self._values.read(value, one) for one in registers]
        return found


def _passed(test: _Test, counter: _Counter, limit: float, *, swapped: bool) -> float | None:
    """Iterations of a loop that counts from a number to another; None where it would not end."""
    assert counter.number is not None
    begin = counter.number + counter.offset

    def ends(passed: int) -> bool:
        at = begin + counter.step * passed
        return test.holds(*((limit, at) if swapped else (at, limit))) is test.when

    # No comparison changes but where the counter comes to the limit, and behind it.
    before, rest = divmod(limit - begin, counter.step)
    for passed in sorted({0, int(before) + bool(rest), int(before) + 1}):
        if 0 <= passed < _MOST and ends(passed):
            return float(passed + test.is_last)
    return None

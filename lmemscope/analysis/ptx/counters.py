"""Loop counters: cycles of values, and whether their loops' trip counts are constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.graph import Loop, registers_of
from lmemscope.analysis.ptx.leaves import Leaf, entering


def loop_counters(code: Definitions, values: Mapping[str, Sequence[str]]) -> dict[str, Leaf]:
    """The counter that each register takes part in, for those that take part in one.

    A cycle outside of any loop is of another kind: its value is not followed.

    Args:
        code: the function.
        values: the registers that each register's value comes from.
    """
    result: dict[str, Leaf] = {}
    trips: dict[int, bool] = {}
    for group in strong_components(values):
        first = next(iter(group))
        if len(group) == 1 and first not in values[first]:
            continue
        indices = frozenset(i for register in group for i in code.definitions[register])
        # What starts the counter again, in a loop around its own, is no step of it.
        steps = frozenset(i for i in indices if not group.isdisjoint(code.depends_on(i)))
        loop = _loop_of_cycle(code, steps)
        leaf = Leaf("other", None, uniformity="unknown")
        if loop is not None:
            if loop.header not in trips:
                trips[loop.header] = has_constant_trip(code, loop)
            leaf = Leaf("loop-counter", None, trips[loop.header], loop.header)
        result |= dict.fromkeys(group, leaf)
    return result


def has_constant_trip(code: Definitions, loop: Loop) -> bool:
    """Whether an exit of the loop compares a counter with constants only."""
    for index in sorted(loop.members):
        branch = code.body.instructions[index]
        if branch.operation != "bra" or branch.predicate is None:
            continue
        target = code.body.labels.get(str(branch.operands[0]))
        if target in loop.members and index + 1 in loop.members:
            continue  # it stays in the loop either way
        if any(_only_counts(code, r, loop) for r in registers_of(branch.predicate)):
            return True
    return False


def _loop_of_cycle(code: Definitions, indices: frozenset[int]) -> Loop | None:
    """The loop whose header the cycle passes: the smallest one that holds an advancing step."""
    candidates = [
        loop for loop in code.flow.loops if any(index in loop.members for index in indices)
    ]
    # Of nested loops, the one that holds most of the cycle's steps; the smallest among those.
    return min(
        candidates,
        key=lambda loop: (-sum(index in loop.members for index in indices), len(loop.members)),
        default=None,
    )


def _only_counts(code: Definitions, predicate: str, loop: Loop) -> bool:
    """Whether a predicate is made of constants and registers that only count in this loop."""
    reached: set[str] = set()
    work = [predicate]
    counts = False
    while work:
        register = work.pop()
        if register in reached:
            counts = counts or register != predicate
            continue
        reached.add(register)
        indices = code.definitions.get(register)
        if not indices:
            return False
        for index in indices:
            instruction = code.body.instructions[index]
            if entering(code, index) is not None or instruction.predicate is not None:
                return False
            work += code.depends_on(index)
    return counts and any(
        len(code.definitions[r]) > 1 and any(i in loop.members for i in code.definitions[r])
        for r in reached
    )

"""What single instructions do to the lanes of a warp: share a value, or only count iterations."""

from __future__ import annotations

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.forms import Iteration
from lmemscope.formats.ptx_operands import is_float

_WHOLE_WARP = 31
"""The ``c`` operand of ``shfl`` that makes the whole warp one segment."""


def broadcast_lane(code: Definitions, affine: Affine, index: int) -> str | None:
    """The operand that says which one lane's value all lanes get, or None where none does."""
    instruction = code.body.instructions[index]
    if instruction.operation != "shfl" or "idx" not in instruction.modifiers:
        return None
    operands = [o for o in instruction.operands if isinstance(o, str)]
    position = len(operands) - (2 if "sync" in instruction.modifiers else 1)
    # d, a, b, c and, with sync, the mask of lanes.
    last = affine.read(index, operands[position]) if position >= 2 else None
    if last is None or last.number != _WHOLE_WARP:
        return None
    return operands[position - 1]


def counts_itself(code: Definitions, affine: Affine, index: int) -> bool:
    """Whether a sum is made of nothing but how often loops around it have begun anew, such as
    ``x - first`` in ``for (x = first; …; ++x)``: the same in all lanes that are there."""
    instruction = code.body.instructions[index]
    if instruction.isa.kind != "sum" or instruction.predicate is not None or is_float(instruction):
        return False
    terms = affine.of(index).terms
    inside = {loop.header for loop in code.flow.loops if index in loop.members} if terms else ()
    return bool(terms) and all(isinstance(t, Iteration) and t.header in inside for t in terms)


def counts_alike(code: Definitions, affine: Affine, index: int) -> bool:
    """Whether a comparison asks only how far a loop has counted, from a value of the lane to the
    same with a constant added, such as ``for (i = x - 1; i <= x + 1; ++i)``."""
    instruction = code.body.instructions[index]
    if instruction.operation != "setp" or len(instruction.operands) != 3:
        return False
    relation, kind = instruction.modifiers[1], instruction.modifiers[-1]
    if kind[:1] != "s" and relation not in ("eq", "ne"):
        return False  # Without a sign, one lane's sum may wrap where another's does not.
    first, second = (affine.read(index, one) for one in instruction.operands[1:])
    if first is None or second is None:
        return False
    terms = first.plus(second, -1).terms
    return bool(terms) and all(isinstance(one, Iteration) for one in terms)

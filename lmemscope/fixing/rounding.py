"""Whether a rewriting that keeps every operation may round otherwise.

nvcc contracts ``a * b + c`` into one instruction that rounds once (``-fmad=true``, its default).
Which additions and multiplications it takes for that depends on the code around them, so that an
array in registers may have other ones contracted than an array in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.fixing.judge import later_of
from lmemscope.model import UnitReport


def may_round(before: UnitReport, after: UnitReport) -> bool | None:
    """Whether a kernel has its operations contracted in another proportion; None: not known.

    Unrolling multiplies all of a loop's operations and leaves the proportion.

    Args:
        before, after: the whole unit, without and with the rewriting.
    """
    later = later_of(before, after)
    known = True
    for was in before.kernels:
        made = later.get(was.name)
        if made is None:
            continue  # It is judged elsewhere.
        own = [one.work.floats if one.work is not None else () for one in (was, made)]
        if not all(own):
            known = False
        elif any(_differ(own[0][at : at + 3], own[1][at : at + 3]) for at in range(0, 9, 3)):
            return True
    return False if known else None


def _differ(was: Sequence[int], made: Sequence[int]) -> bool:
    """Whether additions, multiplications and fused ones are in another proportion.

    Without fused ones nothing is contracted.
    """
    pairs = ((0, 1), (0, 2), (1, 2))
    return bool(was[2] or made[2]) and any(was[a] * made[b] != was[b] * made[a] for a, b in pairs)

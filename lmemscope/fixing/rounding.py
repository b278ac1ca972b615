"""Whether a rewriting that keeps every operation may round otherwise.

nvcc contracts ``a * b + c`` into one instruction that rounds once (``-fmad=true``, its default).
Which additions and multiplications it takes for that depends on the code around them, so that an
array in registers may have other ones contracted than an array in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.fixing.judge import later_of
from lmemscope.formats.float_code import KINDS
from lmemscope.model import UnitReport


def may_round(before: UnitReport, after: UnitReport) -> bool | None:
    """Whether a kernel has another share of its products contracted; None: not known.

    Unrolling multiplies all of a loop's products and leaves their share, as far as its loops have
    the same. That equally many are contracted with other sums is not seen.

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
        elif any(_differ(own[0][at : at + 3], own[1][at : at + 3]) for at in range(0, KINDS, 3)):
            return True
    return False if known else None


def _differ(was: Sequence[int], made: Sequence[int]) -> bool:
    """Whether multiplications and fused ones, behind the additions, are in another proportion."""
    return was[1] * made[2] != was[2] * made[1]

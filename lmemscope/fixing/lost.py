"""What a rewrite may take from a program besides its local memory: effects that others see."""

from __future__ import annotations

from lmemscope.analysis.ptx.effects import POINTED, PRINT, is_store
from lmemscope.model import KernelReport


def missing_effects(rewrite: str, before: KernelReport, after: KernelReport | None) -> list[str]:
    """Kinds of what a kernel did that others can see, and does no more, or not as often.

    Loops that are unrolled otherwise have other numbers of them; of what only makes a parameter
    const they are the same. It may tell which memory a pointer leads to.
    """
    if before.work is None or after is None or after.work is None:
        return []
    left = dict(after.work.effects)
    is_counted = "grid-constant" in rewrite.split("+")
    kinds = [
        kind
        for kind, number in before.work.effects
        if left.get(kind, 0) < (number if is_counted else 1)
    ]
    if is_counted:
        was = sum(number for kind, number in before.work.effects if is_store(kind))
        now = sum(number for kind, number in left.items() if is_store(kind))
        return [one for one in kinds if one != POINTED or now < was]
    return [one for one in kinds if one not in (POINTED, PRINT)]

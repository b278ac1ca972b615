"""Use sinpi and cospi

If the argument of a sine or cosine is written as pi times something, `sinpi`, `cospi` or `sincospi`
of that factor replace the call: they have no slow path. `tan` has no such function.

Unsafe: results differ by the rounding of the product with pi (the last bits for a small argument,
all bits for a large one), and more if pi has few digits.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.likelihood import always
from lmemscope.rewrites.trigonometry import TURNS, beside, calls_of, half_turns, rewriting


def propose(target: Target) -> Iterator[Rewriting]:
    """What the findings' lines call; then all that their functions do, which may share the path.

    Raises:
        DeclinedError: no line shows a call of such a function.
    """
    own = calls_of(target)
    seen: set[tuple[Edit, ...]] = set()
    for calls in (own, beside(own)):
        turned = [edits for call in calls if (edits := half_turns(call)) is not None]
        if not turned:
            continue
        what = "half turns where an argument has a factor of pi"
        one = rewriting("half-turns", turned, what, [TURNS])
        if one.edits not in seen:
            seen.add(one.edits)
            yield one


REWRITE = Rewrite(
    "half-turns",
    frozenset({"math-slow-path"}),
    propose,
    __name__,
    nothing="no argument of the calls has a factor of pi",
    is_likely=always,
)

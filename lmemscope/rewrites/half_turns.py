"""Call functions of half turns

Where the argument of a sine or cosine is written as pi times something, `sinpi`, `cospi` or
`sincospi` of that factor take the place of the call: they have no slow path. `tan` has no such
function.

It is unsafe: results differ by what rounding does to the product with pi, the last bits of a small
argument and all of a large one, and by more where pi is written with few digits, being nearer to
what is meant. An angle that grows with the program is reduced exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.base import Rewrite, Target
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
)

"""What is tried beside rewritings that remove an object, for the kernel's speed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from lmemscope.fixing.attempts import Attempt
from lmemscope.fixing.edits import together
from lmemscope.model import Rewriting, Trial
from lmemscope.rewrites import additions
from lmemscope.rewrites.base import Target

_BEST = 2
"""Places in the order whose rewritings are tried with an addition: one of them may change the order
of two that are near each other."""


def beside(
    attempts: Sequence[Attempt], trials: Iterable[Trial]
) -> Iterator[tuple[Attempt, Rewriting]]:
    """The best rewritings of each target with what may be added.

    Args:
        attempts: that were made.
        trials: what came of them, ranked.

    Returns:
        A rewriting with the attempt that it adds to.
    """
    best = {
        (one.fingerprint, one.declared, one.rewriting.edits)
        for one in trials
        if one.verdict == "removed" and one.rank is not None and one.rank <= _BEST
    }
    tried = {(id(one.target), frozenset(one.rewriting.edits)) for one in attempts}
    for one in attempts:
        target, edits = one.target, one.rewriting.edits
        if not isinstance(target, Target) or not any(
            (hit.finding.fingerprint, target.declared_at, edits) in best for hit in target.hits
        ):
            continue
        for added in additions(target, edits):
            made = together([one.rewriting, added])
            if made is not None and (id(target), frozenset(made.edits)) not in tried:
                tried.add((id(target), frozenset(made.edits)))
                yield one, replace(made, base=edits)

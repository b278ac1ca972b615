"""One rewriting for all objects of a kernel: loops that index several are written out for all.

Each object alone stays where another's loop is rolled, and what removes one may cost more than what
removes all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from lmemscope.fixing.attempts import Attempt
from lmemscope.fixing.edits import merged, together
from lmemscope.model import Rewriting

_WRITING_OUT = ("bounded-loop", "unroll")
"""Rewrites that leave indices constant, as each is wanted."""


def joint(attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, Rewriting]]:
    """What writes out the loops over all objects of the same kernels, as far as that goes together.

    Safe ones are also tried by themselves.

    Args:
        attempts: that were made, each object's alone.

    Returns:
        A rewriting with an attempt at each object that it is for.
    """
    groups: dict[tuple[str, frozenset[str]], dict[int, list[Attempt]]] = defaultdict(dict)
    for one in attempts:
        if one.rewriting.rewrite not in _WRITING_OUT or any(
            outcome.report is None for outcome in one.outcomes
        ):
            continue
        kernels = frozenset(hit.facts.name for hit in one.target.hits)
        groups[one.target.path, kernels].setdefault(id(one.target), []).append(one)
    for group in groups.values():
        wanted = [
            min(own, key=lambda one: _WRITING_OUT.index(one.rewriting.rewrite))
            for own in group.values()
        ]
        safe = [one for one in wanted if one.rewriting.applicability == "safe"]
        known = {one.rewriting.edits for own in group.values() for one in own}
        for some in (wanted, safe):
            taken = _compatible(some)
            made = together([one.rewriting for one in taken]) if len(taken) > 1 else None
            if made is not None and made.edits not in known:
                known.add(made.edits)
                yield from ((one, made) for one in taken)


def _compatible(attempts: Sequence[Attempt]) -> list[Attempt]:
    taken: list[Attempt] = []
    for one in attempts:
        if merged(other.rewriting.edits for other in (*taken, one)) is not None:
            taken.append(one)
    return taken

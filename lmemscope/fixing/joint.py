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
_VERSIONS = "dispatch"
"""Another that makes one thing of a kernel for all of its objects."""


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
        if one.rewriting.rewrite not in (*_WRITING_OUT, _VERSIONS) or any(
            outcome.report is None for outcome in one.outcomes
        ):
            continue
        kernels = frozenset(hit.facts.name for hit in one.target.hits)
        groups[one.target.path, kernels].setdefault(id(one.target), []).append(one)
    for group in groups.values():
        written = [_written_out(own) for own in group.values()]
        wanted = [one for one in written if one is not None]
        safe = [one for one in wanted if one.rewriting.applicability == "safe"]
        known = {one.rewriting.edits for own in group.values() for one in own}
        for some in (wanted, safe, _in_versions(group.values())):
            taken = _compatible(some)
            made = together([one.rewriting for one in taken]) if len(taken) > 1 else None
            if made is not None and made.edits not in known:
                known.add(made.edits)
                yield from ((one, made) for one in taken if not _is_enough(one))


def _written_out(attempts: Iterable[Attempt]) -> Attempt | None:
    """The first of an object's attempts by how they are wanted."""
    found = [one for one in attempts if one.rewriting.rewrite in _WRITING_OUT]
    return min(found, key=lambda one: _WRITING_OUT.index(one.rewriting.rewrite), default=None)


def _is_enough(attempt: Attempt) -> bool:
    """Whether versions for one object leave nothing of a kernel in local memory."""
    return attempt.rewriting.rewrite == _VERSIONS and all(
        outcome.report is not None
        and not any(one.facts.uses_local_memory for one in outcome.report.kernels)
        for outcome in attempt.outcomes
    )


def _in_versions(group: Iterable[Sequence[Attempt]]) -> list[Attempt]:
    """Versions of a kernel for several objects, with the others' loops unrolled; empty: none.

    Those of different numbers are different kernels, which do not go together.
    """
    found = [
        one
        for own in group
        for one in [next(_of(own, _VERSIONS), None) or next(_of(own, "unroll"), None)]
        if one is not None
    ]
    versions = {one.rewriting.version for one in found if one.rewriting.version}
    found.sort(key=lambda one: one.rewriting.rewrite != _VERSIONS)
    return found if len(versions) == 1 else []


def _of(attempts: Iterable[Attempt], rewrite: str) -> Iterator[Attempt]:
    return (one for one in attempts if one.rewriting.rewrite == rewrite)


def _compatible(attempts: Sequence[Attempt]) -> list[Attempt]:
    taken: list[Attempt] = []
    for one in attempts:
        if merged(other.rewriting.edits for other in (*taken, one)) is not None:
            taken.append(one)
    return taken

"""Edits of several rewritings as those of one."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lmemscope.model import Edit, Rewriting, ThreadRoom
from lmemscope.sources.edits import overlap

_WORD = re.compile(rb"\w")
_PAIRS = 6
"""Combinations that are tried for one target, where no rewrite removes it alone."""


def merged(groups: Iterable[Sequence[Edit]]) -> tuple[Edit, ...] | None:
    """The edits of several rewritings; None where two of them touch the same text.

    What a file needs once stays where it comes first, and what two of them do alike is done once.
    Two versions of one object's rewriting (``shift``, and it with loops unrolled) are not merged:
    the larger of them stands for both, and where none holds the other, they exclude each other.
    """
    needed: dict[tuple[str, bytes], Edit] = {}
    made: list[Edit] = []
    wanted = _without_parts([tuple(group) for group in groups])
    steps = Counter(edit for group in wanted for edit in set(filter(_is_step, group)))
    if any(times > 1 for times in steps.values()):
        return None
    for edit in (edit for group in wanted for edit in group):
        if edit.counts != "file":
            if edit.counts == "each" or edit not in made:
                made.append(edit)
            continue
        key = (edit.file, edit.text)
        needed[key] = min(edit, needed.get(key, edit))
    together = tuple(sorted((*made, *needed.values())))
    return None if overlap(together) else together


def _without_parts(groups: Sequence[tuple[Edit, ...]]) -> list[tuple[Edit, ...]]:
    """The groups without those that are part of another, and each of equal ones once."""
    distinct = list(dict.fromkeys(groups))
    return [
        one
        for one in distinct
        if not any(set(one) < set(other) for other in distinct if other is not one)
    ]


def _is_step(edit: Edit) -> bool:
    """Whether an edit is one step of an object's rewriting, and not a bracket around some code."""
    return edit.counts == "each" and _WORD.search(edit.text) is not None


def pairs(rewritings: Sequence[Rewriting]) -> Iterator[Rewriting]:
    """Two rewritings of one target as one, as many as are tried.

    Two rewrites' likeliest proposals come before the others of any, however many those are.
    """
    earlier: Counter[str] = Counter()
    ranked = []
    for one in rewritings:
        ranked.append((earlier[one.rewrite], one))
        earlier[one.rewrite] += 1
    made = 0
    for (_, one), (_, other) in sorted(
        itertools.combinations(ranked, 2), key=lambda both: both[0][0] + both[1][0]
    ):
        found = together((one, other)) if one.rewrite != other.rewrite else None
        if found is None:
            continue
        if made == _PAIRS:
            return
        made += 1
        yield found


def together(rewritings: Sequence[Rewriting]) -> Rewriting | None:
    """Several rewritings as one; None where two of them touch the same text."""
    edits = merged(one.edits for one in rewritings)
    if edits is None:
        return None
    unsafe = [one for one in rewritings if one.applicability == "unsafe"]
    promises = tuple(
        (edit, text)
        for one in unsafe
        for edit, text in one.promises
        if all(edit not in other.edits or _promised(edit, other) for other in rewritings)
    )
    caveats = [one.caveat for one in unsafe if one.caveat and not one.promises]
    caveats += [text for _, text in promises]
    return Rewriting(
        rewrite="+".join(dict.fromkeys(one.rewrite for one in rewritings)),
        applicability="unsafe" if caveats else "safe",
        edits=edits,
        summary="; ".join(dict.fromkeys(one.summary for one in rewritings)),
        caveat="; ".join(dict.fromkeys(caveats)) or None,
        promises=promises if all(one.promises for one in unsafe) else (),
        room=_least_room([one.room for one in rewritings if one.room is not None]),
    )


def _least_room(rooms: Sequence[ThreadRoom]) -> ThreadRoom | None:
    """What several make at least, for the kernels that all of them know of."""
    if not rooms:
        return None
    kernels = frozenset.intersection(*(one.kernels for one in rooms))
    return ThreadRoom(min(one.threads for one in rooms), kernels)


def _promised(edit: Edit, rewriting: Rewriting) -> bool:
    return any(edit == one for one, _ in rewriting.promises)

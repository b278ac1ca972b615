"""Edits of several rewritings as those of one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lmemscope.model import Edit, Rewriting

_PAIRS = 6
"""Combinations that are tried for one target, where no rewrite removes it alone."""


def merged(groups: Iterable[Sequence[Edit]]) -> tuple[Edit, ...] | None:
    """The edits of several rewritings; None where two of them touch the same text.

    What a file needs once stays where it comes first, and what two of them do alike is done once.
    """
    needed: dict[tuple[str, bytes], Edit] = {}
    made: list[Edit] = []
    for edit in (edit for group in groups for edit in group):
        if edit.counts != "file":
            if edit.counts == "each" or edit not in made:
                made.append(edit)
            continue
        key = (edit.file, edit.text)
        needed[key] = min(edit, needed.get(key, edit))
    together = sorted((*made, *needed.values()))
    for one, other in itertools.pairwise(together):
        if one.file == other.file and other.start < one.end:
            return None
    return tuple(together)


def pairs(rewritings: Sequence[Rewriting]) -> Iterator[Rewriting]:
    """Two rewritings of one target as one, as many as are tried."""
    made = 0
    for first, second in itertools.combinations(rewritings, 2):
        edits = merged((first.edits, second.edits))
        if edits is None or first.rewrite == second.rewrite:
            continue
        if made == _PAIRS:
            return
        made += 1
        unsafe = [one for one in (first, second) if one.applicability == "unsafe"]
        yield replace(
            first,
            rewrite=f"{first.rewrite}+{second.rewrite}",
            applicability="unsafe" if unsafe else "safe",
            edits=edits,
            summary=f"{first.summary}; {second.summary}",
            caveat="; ".join(one.caveat for one in unsafe if one.caveat) or None,
        )

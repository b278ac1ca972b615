"""The rewrites: one file each, its docstring the rewrite's page.

A rewrite looks at one target, says which edits may help, and whether they can change what the
program does. It proves nothing: `lmemscope.fixing` compiles what it says.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.model import Declined, Edit, Rewriting
from lmemscope.model.fix import CLEARLY, NOTICED, UNSURE
from lmemscope.rewrites import (
    bounded_loop,
    const_indices,
    dispatch,
    drop_volatile,
    force_inline,
    grid_constant,
    keep_rolled,
    launch_bounds,
    narrow,
    packed,
    partial_unroll,
    select,
    shared_memory,
    shared_row,
    shift,
    smem_spilling,
    sort,
    static_table,
    unroll,
)
from lmemscope.rewrites.arrays import is_for_device
from lmemscope.rewrites.base import Addition, DeclinedError, Rewrite, Target, declined_by
from lmemscope.rewrites.cooperative import Program
from lmemscope.rewrites.likelihood import always
from lmemscope.rewrites.modelled import gain
from lmemscope.rewrites.readable import unread
from lmemscope.rules.indexing import listed

REWRITES: tuple[Rewrite, ...] = (
    drop_volatile.REWRITE,
    unroll.REWRITE,
    static_table.REWRITE,
    const_indices.REWRITE,
    grid_constant.REWRITE,
    force_inline.REWRITE,
    bounded_loop.REWRITE,
    dispatch.REWRITE,
    sort.REWRITE,
    shift.REWRITE,
    packed.REWRITE,
    select.REWRITE,
    shared_memory.REWRITE,
    narrow.REWRITE,
    shared_row.REWRITE,
    launch_bounds.REWRITE,
    keep_rolled.REWRITE,
    smem_spilling.REWRITE,
)
"""In the order in which they are tried: the cheapest to run first."""
ADDITIONS: tuple[Addition, ...] = (partial_unroll.REWRITE,)
"""What is tried beside the best of them."""


_FOR_ANY_COMPILER = frozenset(
    {"unroll", "keep-rolled", "bounded-loop", "const-indices", "drop-volatile"}
)
"""Rewrites that use no word of CUDA's: a host's compiler takes what they make."""
_HOST = "host code may include its header, too"


def _is_for_the_host_too(target: Target) -> bool:
    """Whether a header's function may be compiled without CUDA: it does not say where it runs."""
    if target.path.endswith((".cu", ".py")) or target.place is None:
        return False
    line = target.declared_at.line if target.declared_at is not None else target.place.line
    return not all(is_for_device(one, target.syntax) for one in target.syntax.functions_at(line))


def proposals(target: Target) -> tuple[tuple[Rewriting, ...], tuple[Declined, ...]]:
    """Whatever may take a target out of local memory, and why other rewrites do not apply.

    Each rewrite of the target's cause has a proposal or a reason. A reason is that of a rewrite,
    which it names: what stands in the way of one may not be in that of another, nor of a person,
    unless it is ruled out.
    """
    if (unreadable := unread(target)) is not None:
        return (), (Declined(unreadable),)
    found: list[Rewriting] = []
    reasons: dict[Declined, list[str]] = {}
    is_shared = _is_for_the_host_too(target)
    program = Program(target)
    for rewrite in _of_cause(target):
        if rewrite.instead_of in {one.rewrite for one in found}:
            why = Declined(f"`{rewrite.instead_of}` is tried instead")
            reasons.setdefault(why, []).append(rewrite.name)
            continue
        made, declined = _proposed(rewrite, target, is_shared=is_shared)
        found += (program.promised(one) for one in made)
        for reason in declined:
            reasons.setdefault(reason, []).append(rewrite.name)
    # What is in a rewrite's way says more than what it looks for.
    general = {one.nothing for one in REWRITES}
    return tuple(found), tuple(
        replace(why, rewrites=tuple(names))
        for why, names in sorted(reasons.items(), key=lambda item: item[0].reason in general)
    )


class Likely(Struct, frozen=True):
    """A proposal that is likely to help.

    Attributes:
        rewrite: whose it is.
        rewriting: as the rewrite proposes it, for what the kernel computes.
        applied: the same with what is promised of the rest of the program.
        speed: how many times as fast the kernels are modelled with it, before anything is compiled;
            None where that is not known.
    """

    rewrite: Rewrite
    rewriting: Rewriting
    applied: Rewriting
    speed: float | None = None

    @property
    def is_slower(self) -> bool:
        """Whether leaving the object where it is is better, by the model."""
        return self.speed is not None and self.speed < 1 / NOTICED

    @property
    def is_alike(self) -> bool:
        """Whether the model is not sure which of the two is faster."""
        return self.speed is not None and not self.is_slower and self.speed <= UNSURE

    @property
    def order(self) -> tuple[bool, float]:
        """What comes first is smallest: as trials are ranked, an unsafe one's cost counts more."""
        if self.speed is None:
            return False, 0.0
        weight = CLEARLY if self.applied.applicability == "unsafe" else 1.0
        return self.speed < 1.0, weight / self.speed if self.speed else math.inf


def likely(target: Target) -> tuple[tuple[Likely, ...], tuple[Declined, ...]]:
    """The first proposal of each rewrite that is likely to help a target, those that cost least by
    the model first; if none, the reasons.

    Reasons that say what is in the way of a general rewrite come first, then those of special ones,
    then what rewrites look for.
    """
    asked = [one for one in _of_cause(target) if one.is_likely and one.is_likely(target)]
    if not asked:
        return (), ()
    if (unreadable := unread(target)) is not None:
        return (), (Declined(unreadable),)
    is_shared = _is_for_the_host_too(target)
    program = Program(target)
    found: list[Likely] = []
    reasons: list[Declined] = []
    for rewrite in asked:
        if rewrite.instead_of in {one.rewrite.name for one in found}:
            continue
        made, declined = _proposed(rewrite, target, most=1, is_shared=is_shared)
        found += (
            Likely(rewrite, one, program.promised(one), _speed(rewrite, target, one))
            for one in made
        )
        speed = _speed(rewrite, target) if declined else None
        is_slower = speed is not None and speed < 1 / NOTICED
        reasons += (
            replace(one, rewrites=(rewrite.name,), is_ruled_out=one.is_ruled_out or is_slower)
            for one in declined
        )
    # A rewrite that only looks for a special form says little of an object that has none.
    special = {one.name for one in asked if one.is_likely is always}
    general = {one.nothing for one in asked}
    nearest = sorted(
        reasons, key=lambda one: (one.reason in general, not special.isdisjoint(one.rewrites))
    )
    return tuple(sorted(found, key=lambda one: one.order)), tuple(nearest)


def tried_beside(target: Target, likely: Collection[str]) -> tuple[Rewrite, ...]:
    """Rewrites beside some that have a proposal for a target: a trial tells what it does.

    Args:
        target: what is to leave local memory.
        likely: names of the rewrites that need not be asked.
    """
    if unread(target) is not None:
        return ()
    is_shared = _is_for_the_host_too(target)
    others = [one for one in _of_cause(target) if one.name not in likely]
    found = {one.name for one in others if _proposed(one, target, most=1, is_shared=is_shared)[0]}
    taken = found.union(likely)
    return tuple(one for one in others if one.name in found and one.instead_of not in taken)


def _of_cause(target: Target) -> list[Rewrite]:
    return [one for one in REWRITES if target.cause in one.causes]


def _speed(rewrite: Rewrite, target: Target, made: Rewriting | None = None) -> float | None:
    """How many times as fast the kernels are modelled with a rewrite, or None."""
    return gain(target, rewrite.replaces(target, made)) if rewrite.replaces is not None else None


def said(declined: Iterable[Declined]) -> str:
    """Reasons with the rewrites that they are of, for a person."""
    return "; ".join(
        f"{quoted(one.rewrites)}: {one.reason}" if one.rewrites else one.reason for one in declined
    )


def additions(target: Target, edits: Sequence[Edit]) -> tuple[Rewriting, ...]:
    """What may make the kernels faster beside a rewriting of a target that removes it."""
    every = (one.beside(target, edits) for one in ADDITIONS if target.cause in one.causes)
    program = Program(target)
    return tuple(program.as_compiled(one) for one in every if one is not None)


def quoted(names: Sequence[str]) -> str:
    """Rewrites in a sentence."""
    return listed([f"`{name}`" for name in names])


def second_thoughts(target: Target, failed: Collection[str]) -> tuple[Rewriting, ...]:
    """What stands in for rewrites that did not compile.

    Args:
        target: that nothing removes so far.
        failed: names of the rewrites.
    """
    if unread(target) is not None:
        return ()
    others = (rewrite for rewrite in _of_cause(target) if rewrite.instead_of in failed)
    program = Program(target)
    made = (one for rewrite in others for one in _proposed(rewrite, target)[0])
    return tuple(program.promised(one) for one in made)


def _proposed(
    rewrite: Rewrite, target: Target, most: int | None = None, *, is_shared: bool = False
) -> tuple[list[Rewriting], list[Declined]]:
    """What a rewrite of a target's cause proposes for it, or why it declines it.

    Args:
        rewrite, target: what is asked of what.
        most: how many variants are wanted; None means all.
        is_shared: whether a host's compiler may read what is rewritten, too.
    """
    found: list[Rewriting] = []
    if is_shared and rewrite.name not in _FOR_ANY_COMPILER:
        return found, [Declined(_HOST)]
    try:
        for one in islice(rewrite.propose(target), most):
            found.append(one)
    except DeclinedError as declined:
        # Why a second variant is none is nothing to say of the first.
        return found, [] if found else [declined_by(declined)]
    return found, [] if found else [Declined(rewrite.nothing)]

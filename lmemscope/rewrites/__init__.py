"""The rewrites: one file each, its docstring the rewrite's page.

A rewrite looks at one target, says which edits may help, and whether they can change what the
program does. It proves nothing: `lmemscope.fixing` compiles what it says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from msgspec.structs import replace

from lmemscope.model import Declined, Edit, Rewriting
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
from lmemscope.rewrites.both_compilers import host_word
from lmemscope.rewrites.cooperative import Program
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


FOR_ANY_ARRAY = frozenset({"select", "shared-memory"})
"""Rewrites that ask for no special form: why these do not apply says most of an object."""
_FOR_ANY_COMPILER = frozenset(
    {"unroll", "keep-rolled", "bounded-loop", "const-indices", "drop-volatile"}
)
"""Rewrites that use no word of CUDA's: a host's compiler takes what they make."""
_FOR_BOTH = _FOR_ANY_COMPILER | {"select", "packed", "narrow", "sort", "shift", "static-table"}
"""Rewrites that a host's compiler takes where a macro tells both what is the device's."""
_HOST = "host code may include its header, too"


def _taken(target: Target) -> frozenset[str] | None:
    """Rewrites whose result a host's compiler takes, too; None where it does not read the function.

    It may read that of a header which does not say itself that it is the device's.
    """
    if target.path.endswith((".cu", ".py")) or target.place is None:
        return None
    syntax = target.syntax
    line = target.declared_at.line if target.declared_at is not None else target.place.line
    shared = [one for one in syntax.functions_at(line) if not is_for_device(one, syntax)]
    if not shared:
        return None
    words = (host_word(target.path, one, syntax, target.meanings) for one in shared)
    return _FOR_BOTH if all(one is not None for one in words) else _FOR_ANY_COMPILER


def proposals(
    target: Target, most: int | None = None
) -> tuple[tuple[Rewriting, ...], tuple[Declined, ...]]:
    """Whatever may take a target out of local memory, and why other rewrites do not apply.

    Each rewrite of the target's cause has a proposal or a reason. A reason is that of a rewrite,
    which it names: what stands in the way of one may not be in that of another, nor of a person,
    unless it is ruled out.

    Args:
        target: what is to leave local memory.
        most: how many variants of a rewrite are wanted; None means all.
    """
    if (unreadable := unread(target)) is not None:
        return (), (Declined(unreadable),)
    found: list[Rewriting] = []
    reasons: dict[Declined, list[str]] = {}
    taken = _taken(target)
    program = Program(target)
    for rewrite in of_cause(target.cause):
        if rewrite.instead_of in {one.rewrite for one in found}:
            why = Declined(f"`{rewrite.instead_of}` is tried instead")
            reasons.setdefault(why, []).append(rewrite.name)
            continue
        made, declined = _proposed(rewrite, target, most, taken)
        found += (program.promised(one) for one in made)
        for reason in declined:
            reasons.setdefault(reason, []).append(rewrite.name)
    # What is in a rewrite's way says more than what it looks for.
    return tuple(found), tuple(
        replace(why, rewrites=tuple(names))
        for why, names in sorted(reasons.items(), key=lambda item: item[0].is_absent)
    )


def suits(target: Target, rewriting: Rewriting) -> bool:
    """Whether the facts leave a rewriting a chance to remove a target's object alone."""
    rewrite = next(one for one in REWRITES if one.name == rewriting.rewrite)
    return all(rewrite.suits(hit.case) for hit in target.hits)


def of_cause(cause: str) -> tuple[Rewrite, ...]:
    """The rewrites that are tried on a cause, in their order."""
    return tuple(one for one in REWRITES if cause in one.causes)


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
    others = (rewrite for rewrite in of_cause(target.cause) if rewrite.instead_of in failed)
    program, taken = Program(target), _taken(target)
    made = (one for rewrite in others for one in _proposed(rewrite, target, taken=taken)[0])
    return tuple(program.promised(one) for one in made)


def _proposed(
    rewrite: Rewrite,
    target: Target,
    most: int | None = None,
    taken: Collection[str] | None = None,
) -> tuple[list[Rewriting], list[Declined]]:
    """What a rewrite of a target's cause proposes for it, or why it declines it.

    Args:
        rewrite, target: what is asked of what.
        most: how many variants are wanted; None means all.
        taken: names of those whose result a host's compiler takes that reads it, too; None: none
            does.
    """
    found: list[Rewriting] = []
    if taken is not None and rewrite.name not in taken:
        return found, [Declined(_HOST)]
    try:
        for one in islice(rewrite.propose(target), most):
            found.append(one)
    except DeclinedError as declined:
        # Why a second variant is none is nothing to say of the first.
        return found, [] if found else [declined_by(declined)]
    return found, [] if found else [Declined(rewrite.nothing, is_absent=True)]

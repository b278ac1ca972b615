"""What a trial showed: every kernel of the file before and after, and the verdict of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from lmemscope.exporters.proven import factor
from lmemscope.fixing.effect import NO_CLASSES, Classes, effect
from lmemscope.fixing.kernel_totals import frame_bytes, is_less_known, spill_bytes
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import (
    Cause,
    Figures,
    KernelFacts,
    KernelReport,
    TrialVerdict,
    UnitReport,
)
from lmemscope.model.fix import NOTICED
from lmemscope.rewrites.base import Hit
from lmemscope.rules.inlining import is_librarys
from lmemscope.rules.shared import STATIC_BYTES

NOTHING = Figures(0, 0, 0, 0, 0, 0, 0, 0, None)
"""Of a function that is not there any more."""
Speed = Callable[[KernelReport, KernelReport], float | None]
"""How many times as fast a kernel is with a rewriting, by the model; None where that is not
known."""


def _unmodelled(was: KernelReport, made: KernelReport) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial's verdict for one kernel.

    Attributes:
        verdict: of the contract.
        after: the kernel, compiled with the rewriting; None where it is not there: of one that is
            removed, a library's function that nothing calls any more.
        error: why it is not offered, where another kernel is the reason.
        is_slowing: whether all that is wrong is another kernel's modelled speed.
    """

    verdict: TrialVerdict
    after: KernelReport | None
    error: str | None = None
    is_slowing: bool = False


def judge(
    before: UnitReport,
    after: UnitReport,
    hits: Collection[Hit],
    *,
    classes: Classes = NO_CLASSES,
    speed: Speed = _unmodelled,
    is_named: bool = False,
) -> Mapping[str, Judged]:
    """The verdict for each kernel that a target is in, by mangled name.

    Args:
        before, after: the whole unit, without and with the rewriting.
        hits: the target's findings in the unit.
        classes: that the rewriting writes.
        speed: of the unit's kernels.
        is_named: whether objects were given names with it.
    """
    later = later_of(before, after)
    own: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        own[hit.facts.name].append(hit)
    harmed = _harm(before, later)
    slowed = _slowed(before, later, own, speed)
    verdicts = {}
    for one in before.kernels:
        name = one.facts.name
        if name not in own:
            continue
        made = later.get(name)
        if made is None and _is_librarys_own(one.facts) and harmed is None:
            verdicts[name] = Judged("removed", None)
        elif made is None:
            verdicts[name] = Judged("failed", None, _gone(one.facts))
        elif harmed:
            verdicts[name] = Judged("worse", made, harmed)
        elif slowed:
            verdicts[name] = Judged("worse", made, slowed, is_slowing=True)
        else:
            verdicts[name] = Judged(effect(one, made, own[name], classes, is_named=is_named), made)
    return verdicts


def _gone(facts: KernelFacts) -> str:
    """Why nothing is offered after which a kernel is not there."""
    if facts.kind == "entry":
        return "the kernel is gone"
    return "nothing is left of the function, which other sources may call"


def frees(before: UnitReport, after: UnitReport, hits: Collection[Hit]) -> bool:
    """Whether findings' own bytes are gone, not those of something else in their frames.

    Their cause has as many bytes fewer, or none, where they have no name that tells them apart. It
    is asked of what was made for another object, whose bytes may be many more than theirs.

    Args:
        before, after: the whole unit, without and with a rewriting.
        hits: the findings, all of one cause, in the unit.
    """
    later = later_of(before, after)
    sizes: dict[str, int] = defaultdict(int)
    causes = {hit.finding.cause for hit in hits}
    for hit in hits:
        sizes[hit.facts.name] += hit.case.share.frame_bytes
    for one in before.kernels:
        size, made = sizes.get(one.facts.name), later.get(one.facts.name)
        if size is None:
            continue
        if made is None or _bytes_of(one.facts, causes) - _bytes_of(made.facts, causes) < size:
            return False
        if not _is_told_apart(one.facts, hits) and _bytes_of(made.facts, causes):
            return False
    return True


def _is_told_apart(facts: KernelFacts, hits: Iterable[Hit]) -> bool:
    """Whether findings are of variables whose names no other object of the kernel has."""
    own = {hit.finding.object for hit in hits if hit.facts.name == facts.name}
    named = [one.name for one in facts.objects]
    return None not in own and all(named.count(name) == 1 for name in own)


def _bytes_of(facts: KernelFacts, causes: Collection[Cause]) -> int:
    return sum(one.frame_bytes for one in facts.causes if one.cause in causes)


def refusal(was: Figures, found: Figures, block: int | None, *, is_modelled: bool) -> str | None:
    """Why figures rule a rewriting out; None where they do not.

    Args:
        was, found: of a kernel, without and with it.
        block: threads of its blocks, where that is known.
        is_modelled: whether a modelled cost tells what it costs.
    """
    if found.occupancy == 0 and was.occupancy and block is not None:
        return f"a block of {block} threads does not fit a multiprocessor with it"
    if (found.shared or 0) > STATIC_BYTES >= (was.shared or 0):
        # Of what is compiled for linking ptxas does not ask this.
        return (
            f"it takes {found.shared} bytes of static shared memory, and a block has {STATIC_BYTES}"
        )
    before, after = ((one.ldl or 0) + (one.stl or 0) for one in (was, found))
    if not is_modelled and after > before > 0:
        # Nothing tells whether what became smaller is worth what is done more often.
        return f"it accesses local memory more often ({before} → {after} LDL/STL)"
    return None


def harm(
    before: UnitReport,
    after: UnitReport,
    own: Collection[str] = (),
    speed: Speed = _unmodelled,
) -> str | None:
    """Which kernel is gone, has more local memory or new spills, or is slower; None: none.

    Args:
        before, after: the whole unit, without and with edits.
        own: mangled names of kernels whose speed is looked at elsewhere: the target's.
        speed: of the unit's kernels.
    """
    later = later_of(before, after)
    return _harm(before, later) or _slowed(before, later, own, speed)


def later_of(before: UnitReport, after: UnitReport) -> Mapping[str, KernelReport]:
    """What kernels have become, by the names that they had; without those that are gone.

    Compilers number anew. Numba's names hold the types of parameters, of which a rewriting may add
    one: its units are one function, whose signatures keep their order.
    """
    if before.frontend == "numba" and len(before.kernels) == len(after.kernels):
        return {was.facts.name: one for was, one in zip(before.kernels, after.kernels, strict=True)}
    named = {stable_name(one.facts.name): one for one in after.kernels}
    found = {one.facts.name: named.get(stable_name(one.facts.name)) for one in before.kernels}
    return {name: one for name, one in found.items() if one is not None}


def _harm(before: UnitReport, later: Mapping[str, KernelReport]) -> str | None:
    for one in before.kernels:
        name, made = short_name(one.facts.demangled), later.get(one.facts.name)
        if made is None:
            if _is_librarys_own(one.facts):
                continue  # Nothing calls it any more.
            return f"{name} is not compiled any more"
        if is_less_known(one.facts, made.facts):
            return f"what {name} keeps in local memory is not known any more"
        if _spills(made.facts) > _spills(one.facts):
            return f"{name} spills more"
        if frame_bytes(made.facts) > frame_bytes(one.facts):
            return f"{name} has a larger stack frame"
    return None


def _slowed(
    before: UnitReport, later: Mapping[str, KernelReport], own: Collection[str], speed: Speed
) -> str | None:
    """Which kernel of others is slower: a helper of several may be rewritten for one of them."""
    for one in before.kernels:
        made = later.get(one.facts.name)
        gained = speed(one, made) if made is not None and one.facts.name not in own else None
        if gained is not None and gained < 1 / NOTICED:
            name = short_name(one.facts.demangled)
            return f"{name} is modelled to be slower with it (× {factor(gained)})"
    return None


def _spills(facts: KernelFacts) -> int:
    """Bytes that registers of a kernel and of its functions are spilled or saved with."""
    every = [facts.ptxas, *(one.ptxas for one in facts.callees)]
    shown = sum((one.spill_stores or 0) + (one.spill_loads or 0) for one in every if one)
    return max(shown, spill_bytes(facts))


def _is_librarys_own(facts: KernelFacts) -> bool:
    """Whether a library's function stands by itself, as in code that is linked later."""
    return facts.kind == "function" and is_librarys(facts, facts.name)

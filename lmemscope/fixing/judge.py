"""What a trial showed: every kernel of the file before and after, and the verdict of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lmemscope.analysis.cost import bounded
from lmemscope.analysis.occupancy import occupancy
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import (
    Cause,
    CauseShare,
    Figures,
    KernelFacts,
    KernelReport,
    TrialVerdict,
    UnitReport,
    traits_of,
)
from lmemscope.rewrites.base import Hit
from lmemscope.rules.inlining import is_librarys
from lmemscope.rules.shared import STATIC_BYTES

_SLOTS = frozenset({"register-spill", "callee-save"})
_COMPILERS: frozenset[Cause] = frozenset({"printf-args", "math-slow-path"})
_NUMBER = re.compile(r"(?<=\$__internal_)\d+(?=_\$)")
"""What ptxas counts its own routines by, in the order in which a file's kernels need them."""
_LESS = 1.5
"""How many times fewer lines are fewer: what is left over of an unrolled loop is taken to run half
of its copies, of up to 16, then 8 and 4, less than half of the loop, and is gone where it is
unrolled otherwise."""
NOTHING = Figures(0, 0, 0, 0, 0, 0, 0, 0, None)
"""Of a function that is not there any more."""
ALIGNMENT = 16
"""Bytes by which frames grow: an object's own may be fewer, or padded."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial's verdict for one kernel.

    Attributes:
        verdict: of the contract.
        after: the kernel, compiled with the rewriting; None where it is not there: of one that is
            removed, a library's function that nothing calls any more.
        error: why it is not offered, where another kernel is the reason.
    """

    verdict: TrialVerdict
    after: KernelReport | None
    error: str | None = None


def judge(before: UnitReport, after: UnitReport, hits: Collection[Hit]) -> Mapping[str, Judged]:
    """The verdict for each kernel that a target is in, by mangled name.

    Args:
        before, after: the whole unit, without and with the rewriting.
        hits: the target's findings in the unit.
    """
    later = _later(before, after)
    harmed = _harm(before, later)
    removable: dict[str, int] = {}
    names: dict[str, set[str]] = defaultdict(set)
    shares: dict[str, list[CauseShare]] = defaultdict(list)
    spilled = {hit.facts.name for hit in hits if hit.finding.cause in _SLOTS}
    for hit in hits:
        if hit.finding.object is not None:
            names[hit.facts.name].add(hit.finding.object)
        removable[hit.facts.name] = removable.get(hit.facts.name, 0) + hit.case.share.frame_bytes
        shares[hit.facts.name].append(hit.case.share)
    causes = {hit.finding.cause for hit in hits}
    compilers = causes if _are_compilers(hits) else set()
    verdicts = {}
    for one in before.kernels:
        if one.facts.name not in removable:
            continue
        made = later.get(one.facts.name)
        if made is None and _is_librarys_own(one.facts) and harmed is None:
            verdicts[one.facts.name] = Judged("removed", None)
        elif made is None:
            verdicts[one.facts.name] = Judged("failed", None, _gone(one.facts))
        elif harmed:
            verdicts[one.facts.name] = Judged("worse", made, harmed)
        else:
            name = one.facts.name
            verdict = _verdict(one, made, removable[name], is_slots=name in spilled)
            if verdict == "removed" and _is_there(one, made, names[name], causes):
                verdict = "no-effect"  # It is another object that is gone.
            if verdict in ("removed", "reduced") and _is_untouched(
                shares[name], one.facts, made.facts
            ):
                verdict = "no-effect"  # What is less is another's.
            if verdict == "reduced" and compilers and not _has(made.facts, compilers):
                verdict = "removed"  # Something else has its place of the frame.
            verdicts[one.facts.name] = Judged(verdict, made)
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
    later = _later(before, after)
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


def _are_compilers(hits: Iterable[Hit]) -> bool:
    """Whether findings are of what no variable is: it is what its cause says, and nothing else."""
    return all(hit.finding.cause in _COMPILERS for hit in hits)


def _has(facts: KernelFacts, causes: Collection[Cause]) -> bool:
    return any(one.cause in causes for one in facts.causes)


def _bytes_of(facts: KernelFacts, causes: Collection[Cause]) -> int:
    return sum(one.frame_bytes for one in facts.causes if one.cause in causes)


def figures(facts: KernelFacts, arch: str, threads: int) -> Figures:
    """A kernel's figures."""
    # ptxas prints no figure where a kernel has none of it.
    shared = (facts.ptxas.shared or 0) if facts.ptxas is not None else None
    held = None
    if facts.registers is not None:
        held = occupancy(arch, bounded(facts, threads), facts.registers, shared or 0)
    sites = facts.sass
    return Figures(
        registers=facts.registers,
        stack_frame=facts.stack_frame,
        spill_stores=facts.spill_stores,
        spill_loads=facts.spill_loads,
        shared=shared,
        ldl=sites.load_sites if sites is not None else None,
        stl=sites.store_sites if sites is not None else None,
        code_bytes=facts.cubin.code_bytes if facts.cubin is not None else None,
        occupancy=held,
    )


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


def _verdict(was: KernelReport, made: KernelReport, size: int, *, is_slots: bool) -> TrialVerdict:
    before, after = was.facts, made.facts
    if not after.uses_local_memory:
        return "removed"
    if _is_unknown(before, after):
        return "no-effect"
    less = _frames(before) - _frames(after)
    if not size:
        # Spills have no object: what counts is what the sites move.
        return "reduced" if _sites(after) < _sites(before) else "no-effect"
    freed = _slots(before) - _slots(after)
    # Frames are aligned: what an object leaves may be padding.
    gone = freed if is_slots else max(less - freed, _owned(before) - _owned(after))
    if gone >= size or (gone > max(0, size - ALIGNMENT) and _spills(before) == 0):
        # Arrays that registers held may be in local memory in the place of spills.
        is_swapped = is_slots and _owned(after) > _owned(before)
        return "reduced" if is_swapped else "removed"
    if less > 0 or (less == 0 and _runs_less(was, made)):
        return "reduced"
    return "no-effect"


def _is_there(
    was: KernelReport, made: KernelReport, names: Collection[str], causes: Collection[Cause]
) -> bool:
    """Whether all that had a name is still in local memory, as far as a trial has names.

    A parameter's copy is known by the parameter: what has its name for another cause is what a line
    makes of it.
    """
    are_copies = set(causes) == {"param-copy"}

    def having(report: KernelReport) -> int:
        return sum(
            one.object in names
            and traits_of(one.cause).verdict != "promoted"
            and (one.cause == "param-copy" or not are_copies)
            for one in report.findings
        )

    return 0 < having(was) <= having(made)


def _is_untouched(own: Iterable[CauseShare], was: KernelFacts, made: KernelFacts) -> bool:
    """Whether findings have the bytes and sites that they had, of objects whose bytes are known.

    Another object may come to have the same, but not the name; what has none may be any.
    """
    mine = [one for one in own if one.frame_bytes and one.cause not in _SLOTS]
    left = list(made.causes)
    # Those that have names find their own before those without take what is left.
    for one in sorted(mine, key=lambda share: _name(was, share) is None):
        name = _name(was, one)
        alike = [other for other in left if _share(other) == _share(one)]
        alike.sort(key=lambda other: _name(made, other) != name)
        same = next((a for a in alike if len({name, _name(made, a)} - {None}) < 2), None)
        if same is None:
            return False
        left.remove(same)
    return bool(mine)


def _share(one: CauseShare) -> tuple[object, ...]:
    return one.cause, one.frame_bytes, one.sites


def _name(facts: KernelFacts, one: CauseShare) -> str | None:
    return facts.objects[one.object].name if one.object is not None else None


def _runs_less(was: KernelReport, made: KernelReport) -> bool:
    """Whether a warp goes to local memory less often: sites alone tell how ptxas unrolls, too.

    Where there are more sites, copies of a loop, nobody knows how many of them run.
    """
    sites = _sites(made.facts) - _sites(was.facts)
    if was.work is None or made.work is None:
        return sites < 0
    return sites <= 0 and made.work.local_lines * _LESS < was.work.local_lines


def harm(before: UnitReport, after: UnitReport) -> str | None:
    """Which kernel is gone, has more local memory or new spills; None where none has."""
    return _harm(before, _later(before, after))


def _later(before: UnitReport, after: UnitReport) -> Mapping[str, KernelReport]:
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
        if _is_unknown(one.facts, made.facts):
            return f"what {name} keeps in local memory is not known any more"
        if _spills(made.facts) > _spills(one.facts):
            return f"{name} spills more"
        if _frames(made.facts) > _frames(one.facts):
            return f"{name} has a larger stack frame"
    return None


def _is_librarys_own(facts: KernelFacts) -> bool:
    """Whether a library's function stands by itself, as in code that is linked later."""
    return facts.kind == "function" and is_librarys(facts, facts.name)


def _is_unknown(before: KernelFacts, after: KernelFacts) -> bool:
    """Whether a figure is not known with a rewriting that is known without it.

    What is known on neither side, such as of a library's routine, is left out of comparisons.
    """
    return not _unknown(after) <= _unknown(before)


def _unknown(facts: KernelFacts) -> frozenset[str]:
    """Figures that are not known, and functions in the kernel of which none is.

    Of a routine such as that for a division ptxas reports nothing, and its machine code tells: a
    rewrite may bring another of them.
    """
    own = {"frame": facts.stack_frame, "spills": facts.spill_bytes, "sites": facts.sass}
    return frozenset(
        (
            *(name for name, figure in own.items() if figure is None),
            *(
                _NUMBER.sub("", one.name)
                for one in facts.callees
                if one.ptxas is None and one.sass is None
            ),
        )
    )


def _frames(facts: KernelFacts) -> int:
    """Stack frames of a kernel and of the functions in it, as far as they are known, in bytes.

    A routine of ptxas's that nothing is reported of stores each register that it saves once.
    """
    own = facts.stack_frame or 0
    called = (one.ptxas.stack_frame for one in facts.callees if one.ptxas is not None)
    silent = (
        one.sass.store_bytes for one in facts.callees if one.ptxas is None and one.sass is not None
    )
    return own + sum(frame or 0 for frame in called) + sum(silent)


def _slots(facts: KernelFacts) -> int:
    """Bytes of frames that hold registers: no object is gone where these are."""
    return sum(one.frame_bytes for one in facts.causes if one.cause in _SLOTS)


def _owned(facts: KernelFacts) -> int:
    """Bytes of frames that something other than registers has, padding left out."""
    return sum(one.frame_bytes for one in facts.causes if one.cause not in _SLOTS)


def _spills(facts: KernelFacts) -> int:
    """Bytes at sites that spill registers, in the kernel or in functions in it.

    What functions save for their callers, which ptxas counts with it, is in their frames.
    """
    every = (one.sites for one in facts.causes if one.cause == "register-spill")
    found = sum(one.load_bytes + one.store_bytes for one in every)
    return max(facts.spill_bytes or 0, found) if facts.kind == "entry" else found


def _sites(facts: KernelFacts) -> int:
    sites = facts.sass
    return 0 if sites is None else sites.load_bytes + sites.store_bytes

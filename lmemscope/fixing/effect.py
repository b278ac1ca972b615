"""What a rewrite did to one finding of a kernel: the verdict, from figures and its own ledger.

The ledger is the finding's own bytes and sites. The figures are those of the whole kernel, the
functions in its section included. In this order:

=============  ====================================================================================
``removed``    The kernel uses no local memory, or the finding's bytes are gone from the frames, and
               its sites with them.
``reduced``    Fewer of its bytes are left, or fewer of its accesses run.
``no-effect``  Neither: its bytes and sites are what they were. Where the kernel's figures fell all
               the same, something else of the kernel is gone.
=============  ====================================================================================

Before it is asked, a kernel whose frames or spills grew, or of which less is known, is ``worse``
(`lmemscope.fixing.judge`), whatever became of the finding.

Which of several objects is gone is decided by their names, as far as a trial has names, and by what
the rewriting writes: an object that it declares as a class of its own is accessed in that class's
functions, or it is not the object.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lmemscope.fixing.kernel_totals import (
    SLOTS,
    frame_bytes,
    is_less_known,
    object_bytes,
    site_bytes,
    slot_bytes,
    spill_bytes,
)
from lmemscope.model import (
    Cause,
    CauseShare,
    Edit,
    KernelFacts,
    KernelReport,
    LocalObject,
    SourceLocation,
    TrialVerdict,
    traits_of,
)
from lmemscope.rewrites.base import Hit
from lmemscope.sources.edits import patched

ALIGNMENT = 16
"""Bytes by which frames grow: an object's own may be fewer, or padded."""
_LESS = 1.5
"""How many times fewer lines are fewer: what is left over of an unrolled loop is taken to run half
of its copies, of up to 16, then 8 and 4, less than half of the loop, and is gone where it is
unrolled otherwise."""
_CLASS = re.compile(rb"\b(?:struct|class)\s+(\w+)\s*\{.*?^[ \t]*\};", re.DOTALL | re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_NAME = re.compile(r"(?:const\s+)?(?:\w+::)*(\w+)")


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes that a rewriting declares variables as, and where it leaves others' declarations.

    Attributes:
        lines: by name, the lines of the patched files that a class is on: file and number.
        added: by file, the lines before which it adds some, and how many.
    """

    lines: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    added: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, edits: Iterable[Edit], read: Mapping[str, bytes]) -> Classes:
        """Those of a rewriting's edits.

        Args:
            edits: of the rewriting.
            read: the files' bytes before, by path.
        """
        found: dict[str, frozenset[tuple[str, int]]] = {}
        added: dict[str, list[tuple[int, int]]] = {}
        every = [*edits]
        words = {word for edit in every for word in _WORD.findall(edit.text)}
        for file, data in read.items():
            own = [edit for edit in every if edit.file == file]
            made = patched(data, own)
            added[file] = [_added(data, edit) for edit in own]
            for known in _CLASS.finditer(made):
                if known[1] in words:
                    # An earlier patch may have written it.
                    first, last = (made.count(b"\n", 0, at) + 1 for at in known.span())
                    lines = frozenset((file, number) for number in range(first, last + 1))
                    found[known[1].decode()] = lines
        return cls(found, added)

    def moved(self, place: SourceLocation) -> tuple[str, int]:
        """Where a line of the files as they were is with the rewriting."""
        file = os.path.abspath(place.file)
        added = self.added.get(file, ())
        return file, place.line + sum(count for line, count in added if line <= place.line)

    def is_another(self, facts: KernelFacts, number: int) -> bool:
        """Whether an object that has such a class for its type is not accessed by that class.

        Then it has another variable's name: what the class does is done in its functions.

        Args:
            facts: of the kernel with the rewriting.
            number: of the object.
        """
        found = _NAME.match(facts.objects[number].type or "")
        lines = self.lines.get(found[1]) if found is not None else None
        if lines is None:
            return False
        own = [one for one in facts.accesses if number in one.touched]
        return bool(own) and not any(
            (os.path.abspath(frame.location.file), frame.location.line) in lines
            for one in own
            for frame in one.chain
        )


NO_CLASSES = Classes()


def _added(data: bytes, edit: Edit) -> tuple[int, int]:
    """The first line that an edit moves, and by how many lines."""
    removed = data[edit.start : edit.end]
    before = data.count(b"\n", 0, edit.start)
    is_whole = edit.start == 0 or data[edit.start - 1 : edit.start] == b"\n"
    first = 1 + before + (0 if is_whole else 1)
    return first, edit.text.count(b"\n") - removed.count(b"\n")


def effect(
    was: KernelReport,
    made: KernelReport,
    hits: Sequence[Hit],
    classes: Classes = NO_CLASSES,
    *,
    is_named: bool = False,
) -> TrialVerdict:
    """The verdict for a kernel that harm is not done to.

    Args:
        was, made: the kernel, without and with the rewriting.
        hits: the target's findings in the kernel, all of one cause.
        classes: that the rewriting writes.
        is_named: whether objects of the kernel with it were given names.
    """
    before, after = was.facts, made.facts
    if not after.uses_local_memory:
        return "removed"
    if is_less_known(before, after):
        return "no-effect"
    causes = {hit.finding.cause for hit in hits}
    shares = [hit.case.share for hit in hits]
    names = {hit.finding.object for hit in hits if hit.finding.object is not None}
    if names and is_named and _has_none_of(before, after, shares, names, classes):
        return "removed"  # Bytes alone mislead where what is inlined is there several times.
    if not any(_bytes_of(hit) for hit in hits):
        return _without_bytes(before, after, shares, causes)
    verdict = _by_bytes(was, made, sum(map(_bytes_of, hits)), is_slots=bool(causes & SLOTS))
    if verdict == "removed" and _is_there(was, made, names, causes, classes):
        return "no-effect"  # It is another object that is gone.
    if verdict != "no-effect" and _is_untouched(shares, before, after, classes):
        return "no-effect"  # What is less is another's.
    return verdict


def _bytes_of(hit: Hit) -> int:
    """Bytes of a finding in the frames: in a function of the kernel's, those of its object."""
    own = hit.case.object
    if hit.case.share.frame_bytes or own is None or own.function == hit.facts.name:
        return hit.case.share.frame_bytes
    return own.size


def _without_bytes(
    before: KernelFacts, after: KernelFacts, own: Iterable[CauseShare], causes: Collection[Cause]
) -> TrialVerdict:
    """Of what has no object, such as saved registers, counts what its sites move."""
    if any(one.object_index is not None for one in own):
        return "reduced" if site_bytes(after) < site_bytes(before) else "no-effect"
    moved, left = _moved_for(before, causes), _moved_for(after, causes)
    if not moved:
        return "reduced" if site_bytes(after) < site_bytes(before) else "no-effect"
    if not left:
        return "removed"
    return "reduced" if left < moved else "no-effect"


def _moved_for(facts: KernelFacts, causes: Collection[Cause]) -> int:
    """Bytes at the sites of some causes."""
    own = (one.sites for one in facts.causes if one.cause in causes)
    return sum(one.load_bytes + one.store_bytes for one in own)


def _by_bytes(was: KernelReport, made: KernelReport, size: int, *, is_slots: bool) -> TrialVerdict:
    before, after = was.facts, made.facts
    less = frame_bytes(before) - frame_bytes(after)
    freed = slot_bytes(before) - slot_bytes(after)
    fewer = object_bytes(before) - object_bytes(after)
    # Frames are aligned: what an object leaves may be padding.
    gone = freed if is_slots else max(less - freed, fewer)
    if gone >= size or (gone > max(0, size - ALIGNMENT) and spill_bytes(before) == 0):
        # Arrays that registers held may be in local memory in the place of spills.
        return "reduced" if is_slots and fewer < 0 else "removed"
    if gone > 0 or (less == 0 and _runs_less(was, made)):
        return "reduced"
    return "no-effect"


def _is_there(
    was: KernelReport,
    made: KernelReport,
    names: Collection[str],
    causes: Collection[Cause],
    classes: Classes,
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

    others = sum(
        one.name in names and classes.is_another(made.facts, number)
        for number, one in enumerate(made.facts.objects)
    )
    return 0 < having(was) <= having(made) - others


def _has_none_of(
    before: KernelFacts,
    after: KernelFacts,
    own: Sequence[CauseShare],
    names: Collection[str],
    classes: Classes,
) -> bool:
    """Whether less is left, every object that is has a name, and none is one of some findings'.

    Another variable of the name is told by where it is declared, if as many are gone.
    """
    mine = {one.object_index for one in own}
    was, left = _in_memory(before), _in_memory(after)
    at = {
        n: classes.moved(one.declared)
        for n, one in was.items()
        if one.name in names and one.declared is not None
    }
    others = {place for n, place in at.items() if n not in mine}
    others -= {place for n, place in at.items() if n in mine}
    if frame_bytes(after) >= frame_bytes(before):
        # Another variable may lie in the place that one has left.
        is_less = len(left) < len(was) and site_bytes(after) < site_bytes(before)
        if not (others and is_less):
            return False
    return all(one.cause != "unattributed" for one in after.causes) and all(
        classes.is_another(after, number)
        or (one.name is not None and (one.name not in names or _place(one) in others))
        for number, one in left.items()
    )


def _in_memory(facts: KernelFacts) -> Mapping[int, LocalObject]:
    """A kernel's objects but those that ptxas promoted, by number."""
    numbers = {one.object_index for one in facts.causes if one.cause != "promoted"}
    return {number: facts.objects[number] for number in numbers if number is not None}


def _place(one: LocalObject) -> tuple[str, int] | None:
    place = one.declared
    return (os.path.abspath(place.file), place.line) if place is not None else None


def _is_untouched(
    own: Iterable[CauseShare], was: KernelFacts, made: KernelFacts, classes: Classes
) -> bool:
    """Whether findings have the bytes and sites that they had, or more, of objects whose bytes are
    known.

    Another object may come to have the same, but not the name; what has none may be any.
    """
    every = [*own]
    mine = [one for one in every if _size(was, one) and one.cause not in SLOTS]
    left = [
        one
        for one in made.causes
        if one.object_index is None or not classes.is_another(made, one.object_index)
    ]
    for twin in (one for one in was.causes if one not in every and _name(was, one) is not None):
        if any(_twin(was, twin) == _twin(was, one) for one in mine):
            # Another variable of the name has what it had; the rewriting is of this one.
            same = next((one for one in left if _twin(made, one) == _twin(was, twin)), None)
            left = [one for one in left if one is not same]
    # Those that have names find their own before those without take what is left.
    for one in sorted(mine, key=lambda share: _name(was, share) is None):
        name = _name(was, one)
        alike = [other for other in left if _share(made, other) == _share(was, one)]
        alike.sort(key=lambda other: _name(made, other) != name)
        same = next((a for a in alike if len({name, _name(made, a)} - {None}) < 2), None)
        if same is None:
            return False
        left.remove(same)
    return bool(mine)


def _twin(facts: KernelFacts, one: CauseShare) -> tuple[object, ...]:
    return *_share(facts, one), _name(facts, one)


def _share(facts: KernelFacts, one: CauseShare) -> tuple[object, ...]:
    return one.cause, _size(facts, one), one.sites


def _size(facts: KernelFacts, one: CauseShare) -> int:
    found = _object(facts, one)
    return one.frame_bytes or (found.size if found is not None else 0)


def _object(facts: KernelFacts, one: CauseShare) -> LocalObject | None:
    return facts.objects[one.object_index] if one.object_index is not None else None


def _name(facts: KernelFacts, one: CauseShare) -> str | None:
    found = _object(facts, one)
    return found.name if found is not None else None


def _runs_less(was: KernelReport, made: KernelReport) -> bool:
    """Whether a warp goes to local memory less often: sites alone tell how ptxas unrolls, too.

    Where there are more sites, copies of a loop, nobody knows how many of them run.
    """
    sites = site_bytes(made.facts) - site_bytes(was.facts)
    if was.work is None or made.work is None:
        return sites < 0
    return sites <= 0 and made.work.local_lines * _LESS < was.work.local_lines

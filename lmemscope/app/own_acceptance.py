"""Local memory that passes only by what the change under review wrote itself.

With ``--new-since``, what the merge base has is known. A change can make more of it: by entries in
its baseline, and by options in its build files, with which the merge base is compiled too. Both are
found by asking the gate again without them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.app import earlier
from lmemscope.app.checkout import NewOptions
from lmemscope.discover.build_change import build_change
from lmemscope.errors import UsageError
from lmemscope.gate import baseline
from lmemscope.model import (
    CHANGED_BASELINE,
    CHANGED_OPTIONS,
    Baseline,
    BaselineEntry,
    GateFailure,
    GateResult,
    InputId,
    MissingEvidence,
    Report,
    listed,
)
from lmemscope.rules.clean_kernels import with_clean

if TYPE_CHECKING:
    from lmemscope.app.baseline_file import BaselineFile
    from lmemscope.app.judging import Judging
    from lmemscope.app.session import Session
    from lmemscope.discover.revision import Revision

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Before:
    """What the gate knows with ``--new-since``.

    Attributes:
        known: a baseline, with the report's paths, or None.
        report: of the earlier revision, by the tools and options of today.
        name: of the revision, for readers.
    """

    known: Baseline | None
    report: Report
    name: str


def by_architectures(
    judging: Judging, known: Baseline | None, theirs: Baseline | None, revision: Revision
) -> Iterator[MissingEvidence]:
    """Architectures of a revision's baseline that are not looked at, for today's has others."""
    if judging.configuration.settings.archs or known is None or theirs is None:
        return  # The command line or the configuration names them, which is compared by itself.
    settings = judging.settings
    left = sorted(_archs(theirs) - {*(settings.archs or settings.default_archs)})
    if left and _archs(known) != _archs(theirs):
        reason = f"{listed(left)}, which the baseline of {revision.name} names, is not checked"
        yield MissingEvidence(None, CHANGED_BASELINE, reason)


def _archs(known: Baseline) -> set[str]:
    default = {known.default_arch} if known.default_arch is not None else set()
    return {*known.archs} or default


def by_baseline(
    result: GateResult, strict: GateResult, before: Before
) -> Iterator[MissingEvidence]:
    """What passes only by entries that the earlier revision's baseline does not have.

    Args:
        result: the gate's answer.
        strict: its answer with the baseline of the earlier revision.
        before: what it knows.
    """
    where = f"in the baseline of this change, but not in that of {before.name}"
    for one in _more(strict, result):
        yield MissingEvidence(one.input, CHANGED_BASELINE, f"{_named(one)}: {where}")
    gaps = Counter(strict.missing) - Counter(result.missing)
    for gap in gaps:
        if before.known is not None and gap in before.known.gaps:
            yield replace(gap, stage=CHANGED_BASELINE, reason=f"{gap.reason}: {where}")


@dataclass(frozen=True, slots=True)
class ByBuild:
    """What the options of a change let pass: the evidence that is missing, and what to know."""

    missing: tuple[MissingEvidence, ...] = ()
    notes: tuple[str, ...] = ()


def by_build(
    judging: Judging, result: GateResult, before: Before, revision: Revision, session: Session
) -> ByBuild:
    """What passes only because the earlier revision was compiled with today's options.

    It is compiled again without the words of commands that its build files do not explain. Where a
    changed statement explains no word, nothing is known of what its build compiles.

    Args:
        judging: what asks the gate.
        result: its answer with the baseline of the earlier revision.
        before: what it knows of that, with that baseline.
        revision: the earlier one.
        session: how to compile.

    Raises:
        LmemscopeError: as `earlier.known_at`.
    """
    change = build_change(revision)
    if change is None:
        return ByBuild()
    files = listed(change.files, _NAMED)
    said = f"{files} changed, in no option known: {before.name} is compiled as it is today"
    same = (said,) if change.says_how else ()
    if not change.words and not change.removed:
        return ByBuild(notes=same)
    new = NewOptions(change)
    report = judging.report
    without = with_clean(earlier.known_at(revision, judging.paths, session, report, new))
    words = tuple(dict.fromkeys(chain.from_iterable(new.words.values())))
    unclear = change.unexplained(words)
    if not words and not unclear:
        return ByBuild(notes=same)
    if unclear:
        kept = (u for u in without.units if not new.compiles(InputId.parse(u.input).file))
        without = replace(without, units=tuple(kept))
    strict = judging.answer(before.known, without)
    statements = listed([" ".join(one.head) for one in unclear], _NAMED)
    said = f"{files} changed options: {listed(words, _NAMED)}" if words else ""
    said = said or f"{files} may have changed options, in {statements}"
    missing = (
        MissingEvidence(
            one.input, CHANGED_OPTIONS, f"{_named(one)}: {before.name} may not have it, as {said}"
        )
        for one in _more(strict, result)
    )
    return ByBuild(tuple(missing), (said,))


def _more(strict: GateResult, result: GateResult) -> Iterator[GateFailure]:
    """The failures of an answer that another does not have."""
    left = Counter(map(_key, result.failures))
    for one in strict.failures:
        key = _key(one)
        if left[key] > 0:
            left[key] -= 1
        else:
            yield one


def _key(one: GateFailure) -> Hashable:
    own = (one.input, one.arch, one.symbol)
    if one.kind in ("new", "worse") and one.finding is not None:
        return (*own, one.finding.fingerprint, one.finding.bytes)
    return (*own, one.kind, one.expected)


def _named(one: GateFailure) -> str:
    where = f" at {one.location.file}:{one.location.line}" if one.location is not None else ""
    return f"{one.kernel} ({one.arch}): {one.found}{where}"


def added(known: Baseline | None, theirs: Baseline | None) -> list[BaselineEntry]:
    """Entries of a baseline that accept what an earlier one's do not, sorted."""
    has = Counter(known.findings if known is not None else ())
    had = Counter(theirs.findings if theirs is not None else ())
    left = [*(had - has).elements()]
    new = []
    for one in sorted((has - had).elements(), key=str):
        # The same in a file that was moved, or smaller.
        same = next((e for e in left if _same(e) == _same(one) and e.bytes >= one.bytes), None)
        if same is None:
            new.append(one)
        else:
            left.remove(same)
    return new


def _same(entry: BaselineEntry) -> Hashable:
    return entry.arch, entry.kernel, entry.cause, entry.object


@dataclass(frozen=True, slots=True)
class Theirs:
    """The baseline of a revision, with the report's paths; None where it has none.

    Attributes:
        known: what it holds.
        unreadable: why it cannot be read; empty where it can.
    """

    known: Baseline | None
    unreadable: str = ""


def theirs_of(
    file: BaselineFile | None, known: Baseline | None, revision: Revision, report: Report
) -> Theirs:
    """What a revision has for the baseline.

    One that git does not know, here or there, is no part of any change.
    """
    if file is None:
        return Theirs(None)
    path = os.path.realpath(file.path)
    if path not in revision.changed:
        return Theirs(known)
    data = revision.content(path)
    if data is None:
        return Theirs(None)
    name = f"{file.path} of {revision.name}"
    try:
        return Theirs(file.reported(baseline.SAVED.parse(data, name), report))
    except UsageError as error:
        return Theirs(None, f"the baseline of {revision.name} is not used: {error.message}")

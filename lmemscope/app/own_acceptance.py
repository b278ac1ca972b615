"""Find local memory that passes the gate only because the change under review accepts it.

A change can widen what is accepted: by adding baseline entries or, with ``--new-since``, by adding
options in build files, which are then used to compile the base as well. Both are found by running
the gate again without them. An entry for something that does not exist is reported too: a later
change could rely on it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.app import earlier
from lmemscope.app.checkout import NewOptions
from lmemscope.discover.build_change import BuildChange, build_change
from lmemscope.discover.build_statements import Statement
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError
from lmemscope.gate import baseline, matching
from lmemscope.model import (
    CHANGED_BASELINE,
    CHANGED_OPTIONS,
    Baseline,
    BaselineEntry,
    GateFailure,
    GateResult,
    MissingEvidence,
    Report,
    count,
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
        known: a baseline with the report's paths, or None.
        report: of the earlier revision, by today's tools and options.
        name: of the revision, for display.
    """

    known: Baseline | None
    report: Report
    name: str


def by_architectures(
    judging: Judging, known: Baseline | None, theirs: Baseline | None, revision: Revision
) -> Iterator[MissingEvidence]:
    """Architectures of the revision's baseline that are skipped because today's lists others."""
    if judging.configuration.settings.archs or known is None or theirs is None:
        return  # They are named by the user or the configuration, which is compared separately.
    settings = judging.settings
    left = sorted(_archs(theirs) - {*(settings.archs or settings.default_archs)})
    if left and _archs(known) != _archs(theirs):
        reason = f"{listed(left)}, which the baseline of {revision.name} names, is not checked"
        yield MissingEvidence(None, CHANGED_BASELINE, reason)


def _archs(known: Baseline) -> set[str]:
    default = {known.default_arch} if known.default_arch is not None else set()
    return {*known.archs} or default


def by_baseline(
    result: GateResult, strict: GateResult, known: Baseline | None, name: str
) -> Iterator[MissingEvidence]:
    """Findings that pass only by entries that the earlier revision's baseline lacks.

    Args:
        result: the gate's answer.
        strict: the gate's answer with the earlier revision's baseline.
        known: today's baseline.
        name: of the revision, for display.
    """
    where = f"accepted by the baseline of this change, but not by that of {name}"
    for one in _more(strict, result):
        yield MissingEvidence(one.input, CHANGED_BASELINE, f"{_named(one)}: {where}")
    gaps = Counter(strict.missing) - Counter(result.missing)
    for gap in gaps:
        if known is not None and gap in known.gaps:
            yield replace(gap, stage=CHANGED_BASELINE, reason=f"{gap.reason}: {where}")


def since_alone(
    judging: Judging,
    result: GateResult,
    known: Baseline | None,
    theirs: Baseline | None,
    name: str,
    of_revision: Callable[[], Report],
) -> Iterator[MissingEvidence]:
    """As `by_baseline`, when the baseline alone says what is known: with ``--changed``.

    Findings that the revision itself has may be added to its baseline; it is compiled to find them.

    Args:
        judging: runs the gate.
        result: its answer with today's baseline.
        known, theirs: today's baseline and the revision's.
        name: of the revision, for display.
        of_revision: builds the revision's report of what was checked.
    """
    if known == theirs:
        return
    strict = judging.answer(theirs)
    if not any(map(is_saved, judging.paths)) and any(_more(strict, result)):
        strict = judging.answer(theirs, of_revision())
    yield from by_baseline(result, strict, known, name)


def in_advance(
    judging: Judging, known: Baseline | None, theirs: Baseline | None, name: str
) -> Iterator[MissingEvidence]:
    """Entries of a changed baseline that accept more than what exists now.

    Args:
        judging: runs the gate.
        known, theirs: today's baseline and the revision's.
        name: of the revision, for display.
    """
    if known is None or known == theirs:
        return
    report, result = judging.report, judging.answer(known)
    new = Counter(added(known, theirs))
    tools = ", ".join(f"{tool} {version}" for tool, version in sorted(known.toolchain.items()))
    is_older = matching.is_by_others(known, report)
    if is_older and theirs is not None and not matching.is_by_others(theirs, report):
        percent = judging.configuration.toolchain_tolerance
        reason = (
            f"the baseline of this change says that {tools} wrote it, unlike that of {name}: known "
            f"findings may grow by {percent} %"
        )
        yield MissingEvidence(None, CHANGED_BASELINE, reason)
    for entry in result.gone:
        if new[entry] > 0:
            new[entry] -= 1
            reason = f"{_entry(entry)}: new in the baseline since {name}, but not in the code"
            yield MissingEvidence(entry.input, CHANGED_BASELINE, reason)
    for one in result.better:
        # Another toolkit gives other numbers, within limits.
        most = one.bytes * (100 + is_older * judging.configuration.toolchain_tolerance) // 100
        if new[one.entry] > 0 and one.entry.bytes > most:
            new[one.entry] -= 1
            has = count(one.bytes, "byte")
            reason = f"{_entry(one.entry)}: in the baseline since {name}, but the code has {has}"
            yield MissingEvidence(one.entry.input, CHANGED_BASELINE, reason)
    gaps = Counter(known.gaps) - Counter(theirs.gaps if theirs is not None else ())
    for gap in gaps - Counter(judging.answer(theirs).missing):
        reason = f"{gap.reason}: accepted by the baseline since {name}, but not missing"
        yield replace(gap, stage=CHANGED_BASELINE, reason=reason)


def _entry(entry: BaselineEntry) -> str:
    named = f" `{entry.object}`" if entry.object is not None else ""
    size = count(entry.bytes, "byte")
    return f"{entry.kernel} ({entry.arch}): {entry.cause}{named}, {size}"


@dataclass(frozen=True, slots=True)
class ByBuild:
    """What passes because of a change's build options: the missing evidence, and notes on it."""

    missing: tuple[MissingEvidence, ...] = ()
    notes: tuple[str, ...] = ()


def by_build(
    judging: Judging, result: GateResult, before: Before, revision: Revision, session: Session
) -> ByBuild:
    """Findings that pass only because the earlier revision was compiled with today's options.

    The revision is compiled again without the arguments that its build files do not account for. If
    a changed build statement accounts for no argument, it is unknown what its build compiles; so
    are sources that the statement newly names, and inputs that read files it generates.

    Args:
        judging: runs the gate.
        result: its answer with the earlier revision's baseline.
        before: what it knows about the earlier revision, with that baseline.
        revision: the earlier revision.
        session: how to compile.

    Raises:
        LmemscopeError: as `earlier.known_at`.
    """
    change = build_change(revision)
    if change is None:
        return ByBuild()
    said = f"{listed(change.files, _NAMED)} changed, in no option known"
    same = (f"{said}: {before.name} is compiled as it is today",) if change.says_how else ()
    if not (change.words or change.removed or change.sources or change.inputs or change.names):
        return ByBuild(notes=same)
    new = NewOptions(change)
    report = judging.report
    without = with_clean(earlier.known_at(revision, judging.paths, session, report, new))
    words = tuple(dict.fromkeys(chain.from_iterable(new.words.values())))
    unclear = change.unexplained((*words, *new.elsewhere))
    made = _generated(change, (report, without), revision, new.directories)
    files = {unit.input: unit.file for unit in without.units}
    added = {name for name in files if os.path.basename(files[name]) in change.sources}
    unknown = {name for name in files if unclear and new.compiles(files[name])}
    if not (words or unclear or added or made):
        return ByBuild(notes=same)
    said = "; ".join(_said_of_build(change, words, unclear, added, made))
    kept = (unit for unit in without.units if unit.input not in {*added, *unknown, *made})
    strict = judging.answer(before.known, replace(without, units=tuple(kept)))
    missing = (
        MissingEvidence(
            one.input, CHANGED_OPTIONS, f"{_named(one)}: {before.name} may not have it, as {said}"
        )
        for one in _more(strict, result)
    )
    return ByBuild(tuple(missing), (said,))


def _generated(
    change: BuildChange, reports: Iterable[Report], revision: Revision, directories: Collection[str]
) -> dict[str, str]:
    """Inputs that read generated files whose sources may have changed.

    Args:
        change: the build's changes.
        reports: of the revision and of today.
        revision: a git revision.
        directories: absolute paths of the directories that the build's commands run in.

    Returns:
        By input, a file in the repository or in these directories that git does not track.
    """
    within = tuple(os.path.join(os.path.realpath(one), "") for one in (revision.top, *directories))
    found: dict[str, str] = {}
    for unit in chain.from_iterable(report.units for report in reports):
        for name in unit.sources or ():
            path = os.path.realpath(name)
            is_tracked = path in revision.known or path in revision.changed
            above = next((one for one in reversed(within) if path.startswith(one)), None)
            if above is None or is_tracked:
                continue
            if change.inputs or change.may_have_made(os.path.relpath(path, above)):
                found.setdefault(unit.input, name)
    return found


def _said_of_build(
    change: BuildChange,
    words: Sequence[str],
    unclear: Sequence[Statement],
    added: Collection[str],
    made: Mapping[str, str],
) -> Iterator[str]:
    """What changed in the build, as clauses of a sentence."""
    files = listed(change.files, _NAMED)
    if words:
        yield f"{files} changed options: {listed(words, _NAMED)}"
    elif unclear:
        # A file outside the build files stands for itself.
        said = dict.fromkeys(" ".join(one.head) for one in unclear)
        heads = [one for one in said if one not in change.files]
        where = f", in {listed(heads, _NAMED)}" if heads else ""
        yield f"{files} may have changed options{where}"
    if added:
        yield f"{files} did not name {listed(sorted(added), _NAMED)}"
    if made:
        generated = listed(sorted({*made.values()}), _NAMED)
        yield f"{listed(change.inputs or change.files, _NAMED)} may have changed {generated}"


def _more(strict: GateResult, result: GateResult) -> Iterator[GateFailure]:
    """Failures in the first answer that the second does not have."""
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
    """Entries of a baseline that accept what an earlier baseline does not, sorted."""
    has = Counter(known.findings if known is not None else ())
    had = Counter(theirs.findings if theirs is not None else ())
    left = [*(had - has).elements()]
    new = []
    for one in sorted((has - had).elements(), key=str):
        # The same finding in a moved file, or a smaller one.
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
    """A revision's baseline with the report's paths, if it has one.

    Attributes:
        known: its content; None if there is none.
        unreadable: why it cannot be read; empty if it can.
    """

    known: Baseline | None
    unreadable: str = ""


def theirs_of(
    file: BaselineFile | None, known: Baseline | None, revision: Revision, report: Report
) -> Theirs:
    """The baseline as it is in a revision.

    A baseline that git does not track, now or then, is not part of any change.
    """
    if file is None:
        return Theirs(None)
    if not revision.has_changed(file.path):
        return Theirs(known)
    data = revision.content(file.path)
    if data is None:
        return Theirs(None)
    name = f"{file.path} of {revision.name}"
    try:
        return Theirs(file.reported(baseline.SAVED.parse(data, name), report))
    except UsageError as error:
        return Theirs(None, f"the baseline of {revision.name} is not used: {error.message}")

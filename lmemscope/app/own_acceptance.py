"""Local memory that passes only by what the change under review wrote itself.

A change can have more accepted than its base does: by entries in its baseline, and, where what the
base has itself is known (``--new-since``), by options in its build files, with which the base is
compiled too. Both are found by asking the gate again without them. An entry for what is not there
is a change of its own: the next one would need nothing else.
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
    result: GateResult, strict: GateResult, known: Baseline | None, name: str
) -> Iterator[MissingEvidence]:
    """What passes only by entries that the earlier revision's baseline does not have.

    Args:
        result: the gate's answer.
        strict: its answer with the baseline of the earlier revision.
        known: the baseline of today.
        name: of the revision, for readers.
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
    """The same where only the baseline says what is known: with ``--changed``.

    What the revision has itself may be written into its baseline; it is compiled to know.

    Args:
        judging: what asks the gate.
        result: its answer with the baseline of today.
        known, theirs: the baseline of today and that of the revision.
        name: of the revision, for readers.
        of_revision: makes its report of what was looked at.
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
    """What a changed baseline accepts that is not there, or not yet.

    Args:
        judging: what asks the gate.
        known, theirs: the baseline of today and that of the revision.
        name: of the revision, for readers.
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
        # Another toolkit has other figures, within limits.
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
    """What the options of a change let pass: the evidence that is missing, and what to know."""

    missing: tuple[MissingEvidence, ...] = ()
    notes: tuple[str, ...] = ()


def by_build(
    judging: Judging, result: GateResult, before: Before, revision: Revision, session: Session
) -> ByBuild:
    """What passes only because the earlier revision was compiled with today's options.

    It is compiled again without the words of commands that its build files do not explain. Where a
    changed statement explains no word, nothing is known of what its build compiles, nor of a source
    that it newly names, nor of what reads a file that it makes of a changed one.

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
    """Inputs that read what the build makes, where what it makes that of may have changed.

    Args:
        change: of the build.
        reports: of the revision and of today.
        revision: of git.
        directories: that the build's commands run in, absolute.

    Returns:
        By input, a file of the repository or of these directories that git does not know.
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
    """What changed in the build, in clauses."""
    files = listed(change.files, _NAMED)
    if words:
        yield f"{files} changed options: {listed(words, _NAMED)}"
    elif unclear:
        # A file that is no build file's is its own statement.
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

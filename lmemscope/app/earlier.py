"""Analyse inputs as they were in another git revision, and compare the gate's answer with it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.app.checkout import BuildCopy, Checkout, NewOptions, written_out
from lmemscope.app.execute import run
from lmemscope.discover.changed import Narrowed
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError
from lmemscope.gate import baseline, matching
from lmemscope.gate.compare import compare
from lmemscope.gate.evidence import lasting
from lmemscope.model import (
    Account,
    Baseline,
    BaselineEntry,
    Finding,
    GapKind,
    GateFailure,
    GateResult,
    InputId,
    MissingEvidence,
    Policy,
    Report,
    count,
    verdict_of,
)

if TYPE_CHECKING:
    from lmemscope.app.plan import Narrow
    from lmemscope.app.session import Session
    from lmemscope.config.settings import Settings
    from lmemscope.discover.revision import Revision
    from lmemscope.discover.walk import Discovery


def report_at(
    revision: str,
    paths: Sequence[str],
    session: Session,
    settings: Settings,
    files: Collection[str] | None = None,
    new: NewOptions | None = None,
) -> Report:
    """Scan paths as they were in a revision, in a temporary checkout.

    Args:
        revision: a git revision.
        paths: as typed; the report uses the same names.
        session, settings: how to compile.
        files: absolute working-tree paths of the only files to analyse; None for all.
        new: removes options that the revision's build did not have; None keeps all.

    Raises:
        UsageError: this is not a repository, or it has no such revision.
        LmemscopeError: as `run`.
    """
    with written_out(revision) as checkout:
        here = os.getcwd()
        if settings.build_database:
            gone = (path for path in files or () if not os.path.lexists(path))
            paths = BuildCopy(checkout, new, gone).write(paths)
        os.chdir(checkout.directory)
        try:
            own = [checkout.relative(path) for path in paths]
            narrow = None
            if files is not None:
                narrow = _only(files, checkout)
                own = [path for path in own if os.path.lexists(path)]
            without = new.environment() if new is not None else nullcontext()
            # Workers inherit the environment when they start.
            with without, session.anew(checkout.mapped(settings)) as there:
                report = run(own, there, narrow)
            checkout.refuse_live_files(report)
        finally:
            os.chdir(here)
        return report


def _only(files: Collection[str], checkout: Checkout) -> Narrow:
    # What is a link today may have been a regular file.
    named = (os.path.join(checkout.tree, os.path.relpath(path, checkout.live)) for path in files)
    there = {os.path.realpath(path) for path in (*map(checkout.path, files), *named)}

    def narrow(discovery: Discovery) -> Narrowed:
        chosen = (one for one in discovery.inputs if os.path.realpath(one.path) in there)
        return Narrowed(tuple(chosen), frozenset())

    return narrow


def merge_base(revision: str, paths: Sequence[str]) -> str:
    """The merge base (a commit hash) of a revision and HEAD.

    Raises:
        UsageError: there is no repository, no such revision or no merge base; or a path is a saved
            report, which has no other revision.
    """
    from lmemscope.discover.revision import commit_of, repository_of

    saved = next(filter(is_saved, paths), None)
    if saved is not None:
        raise UsageError(
            "git",
            f"--new-since: {saved} is a saved report, which has no other revision in git",
            hint="name the sources, or compare two reports with: lmemscope diff",
        )
    repository = repository_of(revision, paths, "--new-since")
    found = repository.merge_base(commit_of(revision, repository, "--new-since"), "HEAD")
    if found is None:
        raise UsageError(
            "git",
            f"--new-since: {revision} and HEAD have no commit in common here",
            hint="fetch more of the history (git fetch --unshallow; fetch-depth: 0 for "
            "actions/checkout)",
        )
    return found


def known_at(
    revision: Revision,
    paths: Sequence[str],
    session: Session,
    report: Report,
    new: NewOptions | None = None,
) -> Report:
    """The report of a revision for the inputs of today's report, and for files removed since.

    Args:
        revision: a git revision.
        paths: as typed.
        session: how to compile.
        report: today's report.
        new: as for `report_at`.

    Raises:
        LmemscopeError: as `report_at`.
    """
    files = {InputId.parse(name).file for name in _inputs(report)}
    both = frozenset((*map(os.path.abspath, files), *revision.deleted))
    return report_at(revision.commit, paths, session, session.settings, both, new)


def _unread(report: Report) -> list[tuple[str, GapKind]]:
    """Files that no unit covers, and how the gate classifies each."""
    return [
        (gap.input, gap.kind)
        for gap in report.gaps
        if gap.input is not None and gap.stage != "walk"
    ]


def joined(known: Baseline | None, before: Report, tolerance: int) -> Baseline:
    """Combine the committed baseline with an earlier revision's findings, without duplicates.

    The result counts as written by today's tools, which compiled the earlier revision. So nothing
    may grow because of a newer toolkit, as it may with an older baseline.

    Args:
        known: the baseline, or None.
        before: report of the earlier revision.
        tolerance: bytes by which a finding may grow since the baseline, including any growth that
            the earlier revision already had.
    """
    earlier = baseline.from_report(before)
    if known is None:
        return earlier
    pairs, left = matching.paired(known, before)
    is_older = matching.is_by_others(known, before)

    def most(one: BaselineEntry, had: BaselineEntry) -> int:
        return one.bytes if is_older else max(one.bytes - tolerance, had.bytes)

    findings = [
        *(replace(one, bytes=most(one, had)) for one, had in pairs if had is not None),
        *(one for one, had in pairs if had is None),
        *left,
    ]
    return replace(earlier, findings=tuple(sorted(findings, key=baseline.order)), gaps=known.gaps)


_NAMED = 20


def without_old(
    result: GateResult,
    report: Report,
    before: Report,
    policy: Policy,
    name: str,
    untouched: Callable[[Collection[str]], frozenset[str]],
) -> GateResult:
    """The gate's answer without the problems that an earlier revision already had.

    The baseline has already been applied to findings. Limits and expectations fail only if their
    numbers have grown. Evidence that was already missing for the same reason becomes a note, unless
    an input that may have changed could not be analysed at all.

    Args:
        result: today's answer.
        report: today's report.
        before: report of the earlier revision.
        policy: today's policy, applied to both.
        name: name of the revision.
        untouched: given files as the user typed them, returns those unchanged since the revision.
    """
    was = compare(before, policy, None)
    failures = _grown(result.failures, was.failures, report, before)
    old = len(result.failures) - len(failures)
    missing, unseen = _missing_anew(result.missing, was.missing, report, before, untouched)
    failed = _failed(before) - _failed(report)
    notes = [
        f"{each} could not be analysed as it was at {name}: all local memory in it counts as new"
        for each in sorted(failed)
    ]
    if old:
        notes.append(f"{count(old, 'limit')} exceeded at {name} already, by as much or more")
    said = [f"not checked, as at {name}: {piece.text}" for piece in unseen]
    said += _newly_accepted(result, report, before, name)
    if len(said) > _NAMED:
        said[_NAMED:] = [f"… and {len(said) - _NAMED} more (--format json shows all accounts)"]
    return replace(
        result,
        verdict=verdict_of(failures, missing, allow_incomplete=result.allow_incomplete),
        failures=tuple(failures),
        missing=tuple(missing),
        notes=(*notes, *result.notes),
        accounts=(
            *result.accounts,
            *(Account("change", "", "left-out", sentence) for sentence in said),
        ),
    )


def _missing_anew(
    pieces: Iterable[MissingEvidence],
    were: Iterable[MissingEvidence],
    report: Report,
    before: Report,
    untouched: Callable[[Collection[str]], frozenset[str]],
) -> tuple[list[MissingEvidence], list[MissingEvidence]]:
    """Evidence missing only now, and evidence already missing for the same reason.

    If an input could not be analysed before either, whatever a branch adds to it goes unseen.
    """
    failed = {
        unit.input
        for unit in report.units
        if unit.failure is not None and unit.failure.kind != "uninstantiated"
    } | {name for name, kind in _unread(report) if kind == "evidence"}
    files = {name: InputId.parse(name).file for name in failed}
    known = _inputs(before)
    same = untouched(frozenset(files.values())) if files else frozenset()
    changed = {name for name, file in files.items() if file not in same}
    had, has = list(were), list(pieces)
    left = Counter(map(lasting, had))
    # A new file may lack what a deleted file lacked: it was probably moved.
    gone = {one.input for one in had} - _inputs(report)
    moved = Counter(_anywhere(one) for one in had if one.input in gone)
    new: list[MissingEvidence] = []
    old: list[MissingEvidence] = []
    for piece in has:
        is_same = left[lasting(piece)] > 0
        is_moved = not is_same and moved[_anywhere(piece)] > 0 and piece.input not in known
        left[lasting(piece)] -= is_same
        moved[_anywhere(piece)] -= is_moved
        is_old = (is_same or is_moved) and piece.input not in changed
        (old if is_old else new).append(piece)
    return new, old


def _anywhere(piece: MissingEvidence) -> tuple[str, str]:
    """Missing evidence as a key that ignores the input's name."""
    name, stage, reason = lasting(piece)
    return stage, reason.replace(name, "") if name else reason


def _inputs(report: Report) -> set[str]:
    return {*(unit.input for unit in report.units), *(name for name, _ in _unread(report))}


def _newly_accepted(result: GateResult, report: Report, before: Report, name: str) -> Iterator[str]:
    """Accepted findings that are new or larger than before."""
    moved = _inputs(before) - _inputs(report)
    found = matching.match(
        report,
        matching.items_of(report),
        baseline.from_report(before),
        by_cause=False,
        movable=moved,
    )
    grown = (item for item, entry in found.known if item.finding.bytes > entry.bytes)
    left = Counter(_told(one.unit.input, one.finding) for one in (*found.new, *grown))
    for one in result.accepted:
        key = _told(one.input, one.finding)
        if left[key] > 0:
            left[key] -= 1
            named = f" `{one.finding.object}`" if one.finding.object is not None else ""
            by = one.by if one.in_source else "the baseline has it"
            yield (
                f"new since {name}, and accepted: {one.kernel} ({one.input}, {one.arch}): "
                f"{one.finding.cause}{named}, {count(one.finding.bytes, 'byte')}: {by}"
            )


def _told(name: str, finding: Finding) -> tuple[str, str, str, int]:
    """A key that identifies a finding within a report."""
    return name, finding.fingerprint, finding.message, finding.bytes


def _grown(
    failures: Iterable[GateFailure], were: Iterable[GateFailure], report: Report, before: Report
) -> list[GateFailure]:
    """The failures whose numbers are larger than in the earlier revision.

    Kernels are matched by symbol, else by name within the file, else as the only kernel removed and
    the only one added in a file.
    """
    looked_at = {unit.file for unit in report.units}
    gone, new = _symbols(before) - _symbols(report), _symbols(report) - _symbols(before)
    most: dict[tuple[str, ...], int] = {}
    renamed: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for one in were:
        if one.figure is not None:
            # The content of a deleted file may have moved to another.
            for key in _keys(one, moved=InputId.parse(one.input).file not in looked_at):
                most[key] = max(one.figure, most.get(key, 0))
            if (one.input, one.symbol) in gone:
                renamed[one.kind, one.arch, one.bound, one.input].append(one.figure)
    grown = []
    for one in failures:
        figure = one.figure
        if figure is None:
            grown.append(one)
            continue
        if any(figure <= most.get(key, -1) for key in _keys(one, moved=True)):
            continue
        left = renamed[one.kind, one.arch, one.bound, one.input]
        old = min((had for had in left if had >= figure), default=None)
        if (one.input, one.symbol) in new and old is not None:
            left.remove(old)
        else:
            grown.append(one)
    return grown


def _failed(report: Report) -> set[str]:
    return {unit.input for unit in report.units if unit.failure is not None}


def _symbols(report: Report) -> set[tuple[str, str]]:
    return {(unit.input, kernel.facts.name) for unit in report.units for kernel in unit.kernels}


def _keys(one: GateFailure, *, moved: bool) -> Iterator[tuple[str, ...]]:
    own = (one.kind, one.arch, one.bound)
    yield (*own, "symbol", one.symbol, one.input)
    yield (*own, "name", one.kernel, one.input)
    if moved:
        yield (*own, "moved", one.symbol)

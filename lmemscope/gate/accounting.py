"""Account for everything the gate was given: checked, gone, left out, or missing.

An input was checked, or could not be. A file's baseline entries are checked with the file, or are
gone with it. A file that still exists but was not checked is missing evidence, unless the command
line selects a part: other files or directories, ``--exclude``, ``--arch``, ``--changed``. The
configuration does not count as such a selection, because any change may edit it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.model import (
    BUILD_LOG,
    Account,
    AccountSubject,
    Baseline,
    BaselineEntry,
    InputId,
    MissingEvidence,
    Report,
    is_part_of,
    kind_of,
)

_SUBJECTS: Mapping[str, AccountSubject] = {"walk": "directory", "build": "configuration"}
"""Subjects of gaps that are only notes, by stage."""

UNREAD = frozenset({"unread", "cupy"})
"""Gap stages for parts of a unit that were not read."""
UNCHANGED = "unchanged"
"""Reason for what ``--changed`` leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a command covers, and which files in the baseline are on disk.

    Attributes:
        directories: absolute paths of the directories that were named.
        build: whether a build was named, which covers every source in the project.
        saved: whether a saved report was named, which covers everything.
        only_sources: whether only source files were named, with all of their kernels.
        present: files in the baseline that exist on disk, as the baseline spells them.
        aliases: those of them that were checked, by the name under which they were checked.
        excluded: those of them that ``include`` and ``exclude`` leave out.
        globs_typed, archs_typed: whether the globs and the architectures come from the command
            line; otherwise they come from the configuration.
        deleted: absolute paths of files that the change under review deletes, if everything in the
            earlier revision is known; None if a file may have been gone before.
    """

    directories: tuple[str, ...] = ()
    build: bool = False
    saved: bool = False
    only_sources: bool = False
    present: frozenset[str] = frozenset()
    aliases: Mapping[str, str] | None = None
    excluded: frozenset[str] = frozenset()
    globs_typed: bool = False
    archs_typed: bool = False
    deleted: frozenset[str] | None = None

    def may_have_moved(self, file: str) -> bool:
        """Whether the content of a deleted file may now be in another file."""
        return self.deleted is None or os.path.realpath(file) in self.deleted

    def stand_for(self, file: str) -> bool:
        """Whether the inputs should have covered a file."""
        kind = kind_of(file)
        # A build database covers only CUDA sources.
        if self.saved or (self.build and (kind is None or kind.is_cuda)):
            return True
        path = os.path.abspath(file)
        return any(os.path.commonpath([one, path]) == one for one in self.directories)


NO_INPUTS = Inputs()
"""For a report alone: nothing is on disk."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """The account of everything.

    Attributes:
        entries: one per input, file in the baseline, filter, and directory.
        missing: evidence missing for baseline entries; what the report itself lacks is not
            repeated.
        gone: inputs in the baseline that no longer exist.
        movable: those of them whose file is gone, so that its findings may have moved.
    """

    entries: tuple[Account, ...]
    missing: tuple[MissingEvidence, ...]
    gone: frozenset[str]
    movable: frozenset[str]


def account(
    report: Report,
    baseline: Baseline | None,
    inputs: Inputs,
    unchanged: Collection[str] = (),
) -> Accounts:
    """Account for each thing that the gate was given.

    Args:
        report: of what was checked.
        baseline: that it is compared with, or None.
        inputs: of the command.
        unchanged: files that ``--changed`` left out.
    """
    known = () if baseline is None else baseline.findings
    judge = _Judge(report, inputs, frozenset(map(os.path.abspath, unchanged)))
    of_baseline = [judge.of(name) for name in sorted({entry.input for entry in known})]
    of_architectures = list(_architectures(report, known, typed=inputs.archs_typed))
    entries = (
        *_of_report(report),
        *(Account("input", file, "left-out", UNCHANGED) for file in sorted(set(unchanged))),
        *(one for one, _ in of_baseline),
        *(one for one, _ in of_architectures),
        *_of_filters(report.filters),
    )
    return Accounts(
        entries,
        tuple(piece for _, piece in (*of_baseline, *of_architectures) if piece is not None),
        frozenset(one.name for one, _ in of_baseline if one.state == "gone"),
        frozenset(judge.movable),
    )


_Judged = tuple[Account, MissingEvidence | None]


class _Judge:
    """Decides what happened to each file in a baseline."""

    def __init__(self, report: Report, inputs: Inputs, unchanged: frozenset[str]) -> None:
        self._inputs, self._unchanged = inputs, unchanged
        self._failed = {unit.input for unit in report.units if unit.failure is not None}
        self._units = {unit.input for unit in report.units} - self._failed
        self._looked_at = {InputId.parse(name).file for name in self._units}
        self._logs = {u.file for u in report.units if u.frontend == "log"}
        self._lacking = {gap.input for gap in report.gaps if gap.input and gap.kind != "note"}
        # A file that was read but has no kernel has no unit, only a gap that says so.
        self._looked_at |= {gap.input for gap in report.gaps if gap.input} - self._lacking
        self.movable: set[str] = set()

    def of(self, name: str) -> _Judged:
        """The account of a baseline input, and missing evidence on it that is not yet reported."""
        file = InputId.parse(name).file
        if is_part_of(name, self._unchanged):
            return Account("baseline", name, "left-out", UNCHANGED), None
        if name in self._units:
            return Account("baseline", name, "looked-at"), None
        if name in self._failed or file in self._lacking:
            return Account("baseline", name, "missing", "it could not be checked"), None
        if file in self._looked_at:
            if file in self._logs and name in self._inputs.present:
                return _missing(name, "the log does not mention it, but the file still exists")
            return Account(
                "baseline", name, "gone", (f"{file} was checked and no longer contains it")
            ), None
        alias = (self._inputs.aliases or {}).get(file)
        if alias is not None:
            self.movable.add(name)
            return Account("baseline", name, "looked-at", f"as {alias}"), None
        successor = self._in_another_log(name, file)
        if successor is not None:
            self.movable.add(name)
            return Account("baseline", name, "looked-at", f"as {successor}"), None
        if file not in self._inputs.present:
            if self._inputs.may_have_moved(file):
                self.movable.add(name)
            return Account("baseline", name, "gone", "the file is gone"), None
        return self._not_looked_at(name, file)

    def _in_another_log(self, name: str, file: str) -> str | None:
        """The input for the same source in a later log: each log records one build."""
        if not self._logs or kind_of(file) is not BUILD_LOG:
            return None
        source = name[len(file) :]
        later = (log + source for log in sorted(self._logs))
        return next((one for one in later if one in self._units), None)

    def _not_looked_at(self, name: str, file: str) -> _Judged:
        if not self._inputs.stand_for(file):
            return Account("baseline", name, "left-out", "not among the given inputs"), None
        if file not in self._inputs.excluded:
            return _missing(name, "it is in the baseline and still exists, but was not checked")
        if self._inputs.globs_typed:
            return Account("baseline", name, "left-out", "--include or --exclude"), None
        return _missing(
            name,
            "it is in the baseline, but include or exclude in the configuration leaves it "
            "out; if intended, rewrite the baseline with: lmemscope baseline PATH...",
        )


def _missing(name: str, reason: str) -> _Judged:
    return Account("baseline", name, "missing", reason), MissingEvidence(name, "baseline", reason)


def _of_filters(filters: Sequence[str]) -> Iterator[Account]:
    if filters:
        typed = " ".join(filters)
        yield Account("filter", typed, "left-out", f"only what {typed} leaves was checked")


def _of_report(report: Report) -> Iterator[Account]:
    """Accounts of inputs, one per file, and of directories and files without a unit."""
    failures: dict[str, str] = {}
    files: dict[str, None] = {}
    for unit in report.units:
        file = unit.file
        files[file] = None
        if unit.failure is not None:
            failures.setdefault(file, f"[{unit.failure.stage}] {unit.failure.message}")
    for file in files:
        why = failures.get(file)
        yield Account("input", file, "looked-at" if why is None else "missing", why or "")
    for unit in report.units:
        for gap in unit.gaps:
            if gap.stage in UNREAD and gap.kind == "note":
                yield Account("input", unit.input, "left-out", gap.reason)
    for gap in report.gaps:
        walked = gap.stage == "walk"
        if gap.kind != "note":
            subject = Account("directory" if walked else "input", gap.input or "", "missing")
            yield Account(subject.subject, subject.name, "missing", gap.reason)
        elif gap.stage in _SUBJECTS:
            yield Account(_SUBJECTS[gap.stage], "", "left-out", gap.reason)
        elif gap.input is not None:
            yield Account("input", gap.input, "looked-at", gap.reason)


def _architectures(
    report: Report, known: Iterable[BaselineEntry], *, typed: bool
) -> Iterator[_Judged]:
    """Accounts of baseline entries for architectures for which a file was not compiled now."""
    compiled: dict[str, set[str]] = defaultdict(set)
    for unit in report.units:
        compiled[unit.input].add(unit.arch)
    for name, arch in sorted({(entry.input, entry.arch) for entry in known}):
        if name not in compiled or arch in compiled[name] or compiled[name] == {""}:
            continue
        if typed:
            reason = f"known for {arch}, which --arch does not name"
            yield Account("baseline", name, "left-out", reason), None
            continue
        reason = f"the baseline has it for {arch}, for which it was not compiled"
        yield Account("baseline", name, "missing", reason), MissingEvidence(name, "arch", reason)


def grouped(accounts: Sequence[Account]) -> Iterator[tuple[Account, tuple[str, ...]]]:
    """Accounts of what was left out, grouped: the first of each kind, and all names."""
    names: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], Account] = {}
    for one in accounts:
        if one.state == "left-out":
            first.setdefault((one.subject, one.reason), one)
            names.setdefault((one.subject, one.reason), []).append(one.name)
    for key, one in first.items():
        yield one, tuple(dict.fromkeys(name for name in names[key] if name))

"""A report against a policy and a baseline: what is new, worse, better, gone, accepted.

Bytes of known findings may drift by a tolerance; after a change of the toolchain, which moves
bytes without anybody's doing, by a share of what they were, and a note says so. Limits and
expectations count a kernel with all that it calls.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from lmemscope.errors import UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches
from lmemscope.gate.baseline import IGNORED, toolchain_of
from lmemscope.gate.evidence import weigh
from lmemscope.gate.figures import Figure, figures
from lmemscope.gate.matching import Item, is_of, match
from lmemscope.gate.policy import check_directives, from_sources, holds_for
from lmemscope.model import (
    Accepted,
    Allowance,
    Baseline,
    BaselineEntry,
    FailureKind,
    Finding,
    GateFailure,
    GateResult,
    GateVerdict,
    Improvement,
    KernelReport,
    Limit,
    MissingEvidence,
    Policy,
    Report,
    UnitReport,
)
from lmemscope.rules.base import FINGERPRINTS

_EXPECTATION = re.compile(r"^(frame|spill|sites|registers|stack)(<=|=|<)(\d+)$")


def compare(
    report: Report,
    policy: Policy,
    baseline: Baseline | None,
    *,
    tolerance: int = 0,
    toolchain_tolerance: int = 50,
    allow_incomplete: bool = False,
    deleted: Collection[str] = (),
    kernels: Collection[str] = (),
    archs_chosen: bool = False,
    unchanged: Collection[str] = (),
    today: date | None = None,
) -> GateResult:
    """Judge a report.

    Args:
        report: with causes.
        policy: of the configuration; allowances in sources are added.
        baseline: known findings, or None.
        tolerance: bytes by which a known finding may grow.
        toolchain_tolerance: percent by which it may grow where the toolchain changed.
        allow_incomplete: missing evidence does not undecide the gate.
        deleted: inputs of the baseline that are no longer there.
        kernels: globs over those that the report was limited to; the others are not gone.
        archs_chosen: whether somebody named the architectures; else those of the baseline count.
        unchanged: files that were not looked at; nothing is said of what is known of them.
        today: decides which allowances have expired.

    Raises:
        UsageError: a comment in a source cannot be read.
    """
    if baseline is not None and unchanged:
        files = frozenset(map(os.path.abspath, unchanged))
        entries = tuple(one for one in baseline.entries if not is_of(one.input, files))
        baseline = replace(baseline, entries=entries)
    gate = _Gate(report, policy, baseline, today or date.today())
    gate.tolerance, gate.toolchain_tolerance = tolerance, toolchain_tolerance
    gate.deleted, gate.kernels = frozenset(deleted), tuple(kernels)
    gate.archs_chosen, gate.partial = archs_chosen, bool(unchanged)
    return gate.result(allow_incomplete)


class _Gate:
    def __init__(
        self, report: Report, policy: Policy, baseline: Baseline | None, today: date
    ) -> None:
        self.tolerance = self.toolchain_tolerance = 0
        self.deleted: frozenset[str] = frozenset()
        self.kernels: tuple[str, ...] = ()
        self.archs_chosen = self.partial = False
        self._report, self._policy = report, policy
        self._baseline, self._today = baseline, today
        check_directives(report.units)
        self._allowances = (*policy.allowances, *from_sources(report.units))
        self._used: set[Allowance] = set()
        self._failures: list[GateFailure] = []
        self._accepted: list[Accepted] = []
        self._better: list[Improvement] = []
        gaps = {gap.reason for gap in report.gaps}
        self._notes = [note for note in report.notes if note not in gaps]
        self._unknown: dict[MissingEvidence, None] = {}
        self._changed_tools = "" if baseline is None else self._toolchain_change(baseline)

    def result(self, allow_incomplete: bool) -> GateResult:
        open_items: list[Item] = []
        settled: list[Item] = []
        for unit, kernel in self._kernels():
            limits = [limit for limit in self._policy.limits if _applies(limit, unit, kernel)]
            found = figures(unit, kernel.facts)
            self._check_numbers(unit, kernel, limits, found)
            self._check_expectations(unit, kernel, found)
            for finding in kernel.findings:
                item = Item(unit, kernel, finding)
                if not _forbidden(finding, limits):
                    settled.append(item)
                    continue
                allowance = self._allowed(item)
                if allowance is not None:
                    settled.append(item)
                    by = f"allowed at {allowance.place}: {allowance.reason}"
                    self._accept(item, by, in_source=True)
                else:
                    open_items.append(item)
        gone = self._against_baseline(open_items, settled)
        self._say_what_numbers_leave(settled)
        evidence = weigh(self._report, self._policy, partial=self.partial)
        missing = tuple(dict.fromkeys((*evidence.missing, *self._unknown)))
        verdict: GateVerdict = "passed"
        if self._failures:
            verdict = "failed"
        elif missing and not allow_incomplete:
            verdict = "undecided"
        return GateResult(
            verdict=verdict,
            allow_incomplete=allow_incomplete,
            failures=tuple(sorted(self._failures, key=_failure_order)),
            accepted=tuple(self._accepted),
            better=tuple(self._better),
            gone=tuple(gone),
            unused=tuple(self._unused()),
            missing=missing,
            notes=(*self._notes, *evidence.notes),
        )

    def _kernels(self) -> Iterator[tuple[UnitReport, KernelReport]]:
        for unit in self._report.units:
            for kernel in unit.kernels:
                yield unit, kernel

    def _check_numbers(
        self,
        unit: UnitReport,
        kernel: KernelReport,
        limits: Sequence[Limit],
        found: dict[str, Figure],
    ) -> None:
        for limit in limits:
            for what, allowed in (
                ("frame", limit.max_frame),
                ("spill", limit.max_spill),
                ("sites", limit.max_sites),
                ("registers", limit.max_registers),
            ):
                figure = found[what]
                if allowed is None or (figure.value is not None and figure.value <= allowed):
                    continue
                if figure.value is None and figure.why is None:
                    reason = f"{what} of {short_name(kernel.facts.demangled)} is not known"
                    self._unknown[MissingEvidence(unit.input, "limit", reason)] = None
                    continue
                expected = f"max-{what} {allowed} for {limit.kernel}"
                self._fail(
                    "limit",
                    unit,
                    kernel,
                    expected,
                    f"{what} {figure.shown}",
                    about_registers=what == "registers",
                )

    def _check_expectations(
        self, unit: UnitReport, kernel: KernelReport, found: dict[str, Figure]
    ) -> None:
        for directive in unit.directives:
            if directive.word != "expect" or not holds_for(directive, unit, kernel):
                continue
            for part in directive.argument.split():
                match_ = _EXPECTATION.match(part)
                place = f"{unit.input}:{directive.line}"
                if match_ is None:
                    raise UsageError(
                        "policy",
                        f"{place}: not an expectation: {part}",
                        hint="write frame=0, spill<=16, sites=0, registers<=64 or stack=0",
                    )
                what, operator, text = match_.groups()
                figure, wanted = found[what], int(text)
                if not _holds(figure.value, operator, wanted):
                    expected = f"{what}{operator}{wanted} ({place})"
                    self._fail(
                        "expectation",
                        unit,
                        kernel,
                        expected,
                        f"{what} {figure.shown}",
                        about_registers=what == "registers",
                    )

    def _allowed(self, item: Item) -> Allowance | None:
        for allowance in self._allowances:
            if (
                allowance.cause == item.finding.cause
                and self._speaks_of(allowance, item)
                and (allowance.bytes is None or item.finding.bytes <= allowance.bytes)
                and (allowance.expires is None or allowance.expires >= self._today)
            ):
                self._used.add(allowance)
                return allowance
        return None

    @staticmethod
    def _speaks_of(allowance: Allowance, item: Item) -> bool:
        if allowance.comment is not None:
            there = allowance.comment.input == item.unit.input
            return there and holds_for(allowance.comment.directive, item.unit, item.kernel)
        return _is_kernel(allowance.kernel, item.kernel)

    def _say_what_numbers_leave(self, settled: Sequence[Item]) -> None:
        """A limit that only has numbers judges numbers; who reads "passed" should know."""
        unjudged = {
            (item.unit.input, item.kernel.facts.name)
            for item in settled
            if item.finding.cause not in IGNORED
            and any(_has_number(limit) for limit in self._policy.limits)
            and not any(limit.forbid or limit.allow for limit in self._policy.limits)
        } - {(entry.input, entry.symbol) for entry in self._accepted}
        if unjudged:
            kernels = f"{len(unjudged)} kernel{'' if len(unjudged) == 1 else 's'}"
            self._notes.append(
                f"local memory of {kernels} is not judged, for the limits there give numbers only; "
                "`forbid` adds causes"
            )

    def _against_baseline(self, items: list[Item], settled: Sequence[Item]) -> list[BaselineEntry]:
        """Match findings with known ones; returns the entries that nothing matches.

        Args:
            items: that something has to accept.
            settled: that limits do not forbid, or that allowances accept: they are not gone.
        """
        if self._baseline is None:
            for item in items:
                self._new(item)
            return []
        if self._changed_tools:
            self._notes.append(
                f"the toolchain changed since the baseline ({self._changed_tools}): bytes may grow "
                f"by {self.toolchain_tolerance} %; `lmemscope baseline` takes the new figures"
            )
        if self._baseline.fingerprints != FINGERPRINTS:
            self._notes.append(
                "another lmemscope wrote the baseline, which made fingerprints in another way: "
                "compared by file, kernel, cause, object and bytes; write it again with: "
                "lmemscope baseline"
            )
        found = match(self._report, items, self._baseline, by_cause=bool(self._changed_tools))
        for item, entry in found.known:
            if entry.kernel != item.name:
                self._notes.append(f"{entry.kernel} is taken for renamed to {item.name}")
            self._matched(item, entry)
        for item in found.new:
            self._new(item)
        seen = {(unit.input, unit.arch) for unit in self._report.units if unit.failure is None}
        self._miss_architectures(self._baseline)
        others = replace(self._baseline, entries=tuple(found.left))
        left = match(self._report, settled, others, by_cause=bool(self._changed_tools)).left
        return sorted(
            (
                entry
                for entry in left
                if ((entry.input, entry.arch) in seen or entry.input in self.deleted)
                and matches(self.kernels, entry.kernel, entry.kernel)
            ),
            key=str,
        )

    def _miss_architectures(self, baseline: Baseline) -> None:
        """What the baseline knows of a file on an architecture that it was not compiled for now."""
        if self.archs_chosen:
            return
        compiled: dict[str, set[str]] = defaultdict(set)
        for unit in self._report.units:
            compiled[unit.input].add(unit.arch)
        for input_, arch in sorted({(entry.input, entry.arch) for entry in baseline.entries}):
            if input_ in compiled and arch not in compiled[input_]:
                reason = f"the baseline knows it on {arch}, for which it was not compiled now"
                self._unknown[MissingEvidence(input_, "arch", reason)] = None

    def _matched(self, item: Item, entry: BaselineEntry) -> None:
        found, most = item.finding.bytes, entry.bytes + self.tolerance
        if self._changed_tools:
            most += entry.bytes * self.toolchain_tolerance // 100
        if found > most:
            named = _named(item.finding)
            expected = f"at most {entry.bytes} bytes of {entry.cause}, as the baseline has it"
            self._fail(
                "worse",
                item.unit,
                item.kernel,
                expected,
                f"{entry.cause}{named}, {found} bytes",
                item.finding,
            )
            return
        if found < entry.bytes:
            self._better.append(Improvement(entry, found))
        self._accept(item, "known in the baseline")

    def _toolchain_change(self, baseline: Baseline) -> str:
        """Versions that differ, in words; empty where none does."""
        before, now = dict(baseline.toolchain), dict(toolchain_of(self._report))
        return ", ".join(
            f"{name} {before[name]} → {version}"
            for name, version in sorted(now.items())
            if name in before and before[name] != version
        )

    def _new(self, item: Item) -> None:
        finding = item.finding
        self._fail(
            "new",
            item.unit,
            item.kernel,
            "no local memory that is not known or allowed",
            f"{finding.cause}{_named(finding)}, {finding.bytes} bytes",
            finding,
        )

    def _fail(
        self,
        kind: FailureKind,
        unit: UnitReport,
        kernel: KernelReport,
        expected: str,
        found: str,
        finding: Finding | None = None,
        *,
        about_registers: bool = False,
    ) -> None:
        # No local memory explains how many registers there are.
        why = finding or (None if about_registers else next(iter(kernel.findings), None))
        location = why.location if why is not None else kernel.facts.location
        self._failures.append(
            GateFailure(
                kind,
                unit.input,
                unit.arch,
                short_name(kernel.facts.demangled),
                kernel.facts.name,
                expected,
                found,
                why,
                location,
            )
        )

    def _accept(self, item: Item, by: str, *, in_source: bool = False) -> None:
        self._accepted.append(
            Accepted(
                item.unit.input,
                item.unit.arch,
                item.name,
                item.kernel.facts.name,
                item.finding,
                by,
                in_source,
            )
        )

    def _unused(self) -> list[str]:
        said = []
        for allowance in self._allowances:
            if allowance in self._used:
                continue
            what = f"{allowance.place}: allowance of {allowance.cause} for {allowance.kernel}"
            if allowance.expires is not None and allowance.expires < self._today:
                said.append(f"{what} expired on {allowance.expires}")
            elif not self.partial or self._seen_whole(allowance):
                said.append(f"{what} accepts nothing")
        return said

    def _seen_whole(self, allowance: Allowance) -> bool:
        """Whether all that an allowance may speak of was looked at: a comment's own file was."""
        comment = allowance.comment
        return comment is not None and any(u.input == comment.input for u in self._report.units)


def _named(finding: Finding) -> str:
    return f" `{finding.object}`" if finding.object is not None else ""


def _forbidden(finding: Finding, limits: Sequence[Limit]) -> bool:
    if finding.cause in IGNORED:
        return any(limit.forbid and finding.cause in limit.forbid for limit in limits)
    if any(finding.cause in limit.allow for limit in limits):
        return False
    explicit = [limit for limit in limits if limit.forbid is not None]
    if explicit:
        return any(finding.cause in (limit.forbid or ()) for limit in explicit)
    return not any(_has_number(limit) for limit in limits)


def _has_number(limit: Limit) -> bool:
    numbers = (limit.max_frame, limit.max_spill, limit.max_sites, limit.max_registers)
    return any(number is not None for number in numbers)


def _applies(limit: Limit, unit: UnitReport, kernel: KernelReport) -> bool:
    return fnmatchcase(unit.arch, limit.arch) and _is_kernel(limit.kernel, kernel)


def _is_kernel(pattern: str, kernel: KernelReport) -> bool:
    return matches((pattern,), kernel.facts.name, kernel.facts.demangled)


def _holds(found: int | None, operator: str, wanted: int) -> bool:
    if found is None:
        return False
    return {"=": found == wanted, "<=": found <= wanted, "<": found < wanted}[operator]


def _failure_order(failure: GateFailure) -> tuple[str, ...]:
    return (failure.input, failure.kernel, failure.arch, failure.kind, failure.expected)

"""A report against a policy and a baseline: what is new, worse, better, gone, accepted.

Findings are compared by fingerprint as multisets, so that a second array beside a known one is
seen. Bytes may drift by a tolerance. After a change of the toolchain, exact bytes mean little:
then causes are compared per kernel, and a note says so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from lmemscope.errors import UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches
from lmemscope.gate.baseline import IGNORED, toolchain_of
from lmemscope.gate.policy import from_sources
from lmemscope.model import (
    Accepted,
    Allowance,
    Baseline,
    BaselineEntry,
    Finding,
    GateFailure,
    GateResult,
    KernelReport,
    Limit,
    Policy,
    Report,
    UnitReport,
)

_EVIDENCE = frozenset({"ptxas", "ptx", "kernels", "instantiate"})
_EXPECTATION = re.compile(r"^(frame|spill|sites|registers|stack)(<=|=|<)(\d+)$")


@dataclass(frozen=True, slots=True)
class _Item:
    unit: UnitReport
    kernel: KernelReport
    finding: Finding

    @property
    def name(self) -> str:
        return short_name(self.kernel.facts.demangled)


def compare(
    report: Report,
    policy: Policy,
    baseline: Baseline | None,
    *,
    tolerance: int = 0,
    today: date | None = None,
) -> GateResult:
    """Judge a report.

    Args:
        report: with causes.
        policy: of the configuration; allowances in sources are added.
        baseline: known findings, or None.
        tolerance: bytes by which a known finding may grow.
        today: decides which allowances have expired.

    Raises:
        UsageError: a comment in a source cannot be read.
    """
    return _Gate(report, policy, baseline, tolerance, today or date.today()).result()


class _Gate:
    def __init__(
        self,
        report: Report,
        policy: Policy,
        baseline: Baseline | None,
        tolerance: int,
        today: date,
    ) -> None:
        self._report, self._policy = report, policy
        self._baseline, self._tolerance, self._today = baseline, tolerance, today
        self._allowances = (*policy.allowances, *from_sources(report.units))
        self._used: set[Allowance] = set()
        self._failures: list[GateFailure] = []
        self._accepted: list[Accepted] = []
        self._better: list[BaselineEntry] = []
        self._notes = list(report.notes)

    def result(self) -> GateResult:
        open_items: list[_Item] = []
        for unit, kernel in self._kernels():
            limits = [limit for limit in self._policy.limits if _applies(limit, unit, kernel)]
            self._check_numbers(unit, kernel, limits)
            self._check_expectations(unit, kernel)
            for finding in kernel.findings:
                item = _Item(unit, kernel, finding)
                if not _forbidden(finding, limits):
                    continue
                allowance = self._allowed(item)
                if allowance is not None:
                    self._accept(item, f"allowed at {allowance.place}: {allowance.reason}")
                else:
                    open_items.append(item)
        gone = self._against_baseline(open_items)
        return GateResult(
            failures=tuple(sorted(self._failures, key=_failure_order)),
            accepted=tuple(self._accepted),
            better=tuple(self._better),
            gone=tuple(gone),
            unused=tuple(self._unused()),
            missing=tuple(self._missing()),
            notes=tuple(self._notes),
        )

    def _kernels(self) -> Iterator[tuple[UnitReport, KernelReport]]:
        for unit in self._report.units:
            for kernel in unit.kernels:
                yield unit, kernel

    def _check_numbers(
        self, unit: UnitReport, kernel: KernelReport, limits: Sequence[Limit]
    ) -> None:
        figures = _figures(kernel)
        for limit in limits:
            for what, allowed in (
                ("frame", limit.max_frame),
                ("spill", limit.max_spill),
                ("sites", limit.max_sites),
                ("registers", limit.max_registers),
            ):
                found = figures[what]
                if allowed is not None and found is not None and found > allowed:
                    expected = f"max-{what} {allowed} for {limit.kernel}"
                    self._fail("limit", unit, kernel, expected, f"{what} {found}")

    def _check_expectations(self, unit: UnitReport, kernel: KernelReport) -> None:
        for directive in unit.directives:
            if directive.word != "expect" or not _is_kernel(directive.kernel, kernel):
                continue
            for part in directive.argument.split():
                match = _EXPECTATION.match(part)
                place = f"{unit.input}:{directive.line}"
                if match is None:
                    raise UsageError(
                        "policy",
                        f"{place}: not an expectation: {part}",
                        hint="write frame=0, spill<=16, sites=0, registers<=64 or stack=0",
                    )
                what, operator, text = match.groups()
                found, wanted = _figures(kernel)[what], int(text)
                if not _holds(found, operator, wanted):
                    shown = "unknown" if found is None else str(found)
                    expected = f"{what}{operator}{wanted} ({place})"
                    self._fail("expectation", unit, kernel, expected, f"{what} {shown}")

    def _allowed(self, item: _Item) -> Allowance | None:
        for allowance in self._allowances:
            if (
                allowance.cause == item.finding.cause
                and _is_kernel(allowance.kernel, item.kernel)
                and (allowance.bytes is None or item.finding.bytes <= allowance.bytes)
                and (allowance.expires is None or allowance.expires >= self._today)
            ):
                self._used.add(allowance)
                return allowance
        return None

    def _against_baseline(self, items: list[_Item]) -> list[BaselineEntry]:
        """Match findings with known ones; returns the entries that nothing matches."""
        if self._baseline is None:
            for item in items:
                self._new(item)
            return []
        changed = self._toolchain_change()
        if changed:
            self._notes.append(changed)
        known: dict[tuple[str, str], list[BaselineEntry]] = defaultdict(list)
        for entry in self._baseline.entries:
            known[entry.arch, entry.fingerprint].append(entry)
        unmatched: list[_Item] = []
        for item in items:
            candidates = known[item.unit.arch, item.finding.fingerprint]
            if candidates:
                self._matched(item, candidates.pop(0), by_cause=bool(changed))
            else:
                unmatched.append(item)
        left = [entry for entries in known.values() for entry in entries]
        for item in unmatched:
            moved = next((e for e in left if _same_elsewhere(e, item, bool(changed))), None)
            if moved is None:
                self._new(item)
                continue
            left.remove(moved)
            if moved.kernel != item.name:
                self._notes.append(f"{moved.kernel} is taken for renamed to {item.name}")
            self._matched(item, moved, by_cause=bool(changed))
        seen = {(unit.input, unit.arch) for unit in self._report.units if unit.failure is None}
        return sorted(
            (entry for entry in left if (entry.input, entry.arch) in seen), key=lambda e: str(e)
        )

    def _matched(self, item: _Item, entry: BaselineEntry, *, by_cause: bool) -> None:
        found = item.finding.bytes
        if found > entry.bytes + self._tolerance and not by_cause:
            expected = f"at most {entry.bytes} bytes of {entry.cause}, as the baseline has it"
            self._fail("worse", item.unit, item.kernel, expected, f"{found} bytes", item.finding)
            return
        if found < entry.bytes:
            self._better.append(entry)
        self._accept(item, "known in the baseline")

    def _toolchain_change(self) -> str | None:
        assert self._baseline is not None
        before, now = dict(self._baseline.toolchain), dict(toolchain_of(self._report))
        changes = [
            f"{name} {before[name]} → {version}"
            for name, version in sorted(now.items())
            if name in before and before[name] != version
        ]
        if not changes:
            return None
        return (
            f"the toolchain changed since the baseline ({', '.join(changes)}): compared by cause, "
            "not by bytes; `lmemscope baseline` takes the new figures"
        )

    def _new(self, item: _Item) -> None:
        finding = item.finding
        named = f" `{finding.object}`" if finding.object is not None else ""
        self._fail(
            "new",
            item.unit,
            item.kernel,
            "no local memory that is not known or allowed",
            f"{finding.cause}{named}, {finding.bytes} bytes",
            finding,
        )

    def _fail(
        self,
        kind: str,
        unit: UnitReport,
        kernel: KernelReport,
        expected: str,
        found: str,
        finding: Finding | None = None,
    ) -> None:
        why = finding or next(iter(kernel.findings), None)
        location = why.location if why is not None else kernel.facts.location
        self._failures.append(
            GateFailure(
                kind,  # type: ignore[arg-type]
                unit.input,
                unit.arch,
                short_name(kernel.facts.demangled),
                expected,
                found,
                why,
                location,
            )
        )

    def _accept(self, item: _Item, by: str) -> None:
        self._accepted.append(
            Accepted(item.unit.input, item.unit.arch, item.name, item.finding, by)
        )

    def _unused(self) -> list[str]:
        said = []
        for allowance in self._allowances:
            if allowance in self._used:
                continue
            what = f"{allowance.place}: allowance of {allowance.cause} for {allowance.kernel}"
            if allowance.expires is not None and allowance.expires < self._today:
                said.append(f"{what} expired on {allowance.expires}")
            else:
                said.append(f"{what} accepts nothing")
        return said

    def _missing(self) -> list[str]:
        said = []
        for unit in self._report.units:
            if unit.failure is not None:
                said.append(f"{unit.input}: [{unit.failure.stage}] {unit.failure.message}")
            said += [
                f"{unit.input}: [{gap.stage}] {gap.reason}"
                for gap in unit.gaps
                if gap.stage in _EVIDENCE
            ]
        return list(dict.fromkeys(said))


def _figures(kernel: KernelReport) -> dict[str, int | None]:
    facts = kernel.facts
    return {
        "frame": facts.stack_frame,
        "spill": facts.spill_bytes,
        "sites": None if facts.sass is None else facts.sass.count,
        "registers": facts.registers,
        "stack": facts.cumulative_stack,
    }


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


def _same_elsewhere(entry: BaselineEntry, item: _Item, by_cause: bool) -> bool:
    """The same finding under another fingerprint: a renamed kernel, or an edited line."""
    if (entry.arch, entry.cause) != (item.unit.arch, item.finding.cause):
        return False
    if entry.input != item.unit.input:
        return False
    if by_cause and entry.kernel == item.name:
        return True
    return entry.object == item.finding.object and entry.bytes == item.finding.bytes


def _failure_order(failure: GateFailure) -> tuple[str, ...]:
    return (failure.input, failure.kernel, failure.arch, failure.kind, failure.expected)

"""Compare a report with a policy and a baseline: new, worse, better, gone, accepted.

Limits and expectations apply to a kernel with everything it calls. Limits and allowances are
applied first, then the baseline.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

from msgspec.structs import replace
from packaging.version import Version

from lmemscope.errors import UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.formats.kernel_names import matches
from lmemscope.gate.accounting import NO_INPUTS, Accounts, Inputs, account
from lmemscope.gate.comments import doubtful, holds_for
from lmemscope.gate.evidence import Evidence, said_of_known, unaccepted, weigh
from lmemscope.gate.figures import Figure, figures
from lmemscope.gate.known import Answer, Drift, ask
from lmemscope.gate.limits import (
    Ruling,
    bounds,
    lets_all_pass,
    limits_for,
    rule,
    unexplained,
)
from lmemscope.gate.linked import linked_figures, of_no_unit
from lmemscope.gate.matching import Item
from lmemscope.gate.policy import (
    check_directives,
    doubt_of,
    file_of,
    from_sources,
    speaks_of,
)
from lmemscope.gate.toolkits import is_within, toolkit_of
from lmemscope.model import (
    Accepted,
    Allowance,
    Baseline,
    FailureKind,
    Finding,
    GateFailure,
    GateResult,
    KernelReport,
    Limit,
    MissingEvidence,
    Policy,
    Report,
    UnitReport,
    count,
    is_part_of,
    verdict_of,
)

_EXPECTATION = re.compile(r"^(frame|spill|sites|registers|stack)(<=|=|<)(\d+)$")


def compare(
    report: Report,
    policy: Policy,
    baseline: Baseline | None,
    *,
    tolerance: int = 0,
    toolchain_tolerance: int = 50,
    allow_incomplete: bool = False,
    inputs: Inputs = NO_INPUTS,
    kernels: Collection[str] = (),
    unchanged: Collection[str] = (),
    known_in: str = "the baseline",
    today: date | None = None,
) -> GateResult:
    """Judge a report.

    Args:
        report: with causes.
        policy: from the configuration; allowances in sources are added.
        baseline: known findings, or None.
        tolerance: bytes by which a known finding may grow.
        toolchain_tolerance: percent by which a known finding may grow if the toolchain changed.
        allow_incomplete: pass even if evidence is missing.
        inputs: what the command covers, and which files in the baseline are on disk.
        kernels: globs that the report was limited to; entries of other kernels are not gone.
        unchanged: files that were not checked; their baseline entries are not mentioned.
        known_in: where known findings are recorded, as text.
        today: decides which allowances have expired.

    Raises:
        UsageError: a comment in a source cannot be read.
    """
    accounts = account(report, baseline, inputs, unchanged)
    if baseline is not None and unchanged:
        files = frozenset(map(os.path.abspath, unchanged))
        entries = tuple(one for one in baseline.findings if not is_part_of(one.input, files))
        baseline = replace(baseline, findings=entries)
    check_directives(report.units, every_kernel=not (unchanged or kernels or report.filters))
    gate = _Gate(
        report,
        policy,
        today or date.today(),
        partial=bool(unchanged),
        chosen=bool(kernels),
        known_in=known_in,
    )
    open_items, settled = gate.judge()
    answer = Answer(new=tuple(open_items))
    if baseline is not None:
        answer = ask(
            report,
            open_items,
            settled,
            baseline,
            Drift(tolerance=tolerance, toolchain_tolerance=toolchain_tolerance),
            gone=accounts.gone,
            movable=accounts.movable,
            kernels=kernels,
        )
    evidence = weigh(
        report, policy, partial=bool(unchanged), only_sources=inputs.only_sources and not kernels
    )
    gaps = baseline.gaps if baseline is not None else ()
    return gate.result(answer, accounts, evidence, gaps, allow_incomplete)


class _Gate:
    def __init__(
        self,
        report: Report,
        policy: Policy,
        today: date,
        *,
        partial: bool,
        chosen: bool,
        known_in: str,
    ) -> None:
        self._known_in = known_in
        self._report, self._policy, self._today = report, policy, today
        self._partial, self._chosen = partial, chosen
        self._allowances = (*policy.allowances, *from_sources(report.units))
        self._used: set[Allowance] = set()
        self._beyond: dict[Allowance, float] = {}
        self._idle: dict[Allowance, str] = {}
        self._failures: list[GateFailure] = []
        self._accepted: list[Accepted] = []
        self._unknown: dict[MissingEvidence, None] = {}
        self._lenient: dict[Limit, None] = {}

    def judge(self) -> tuple[list[Item], list[Item]]:
        """Apply limits and allowances: findings that something else must accept, and the others."""
        open_items: list[Item] = []
        settled: list[Item] = []
        linked = linked_figures(self._report.links)
        for one in of_no_unit(self._report, self._policy.limits):
            if isinstance(one, GateFailure):
                self._failures.append(one)
            else:
                self._unknown[one] = None
        self._note_doubtful_expectations()
        for unit, kernel in self._kernels():
            named = kernel.facts.name, kernel.facts.demangled
            toolkit = self._toolkit(unit)
            limits = limits_for(self._policy.limits, unit.arch, toolkit, *named)
            found = linked.replaced(unit, kernel.facts, figures(unit, kernel.facts))
            if lets_all_pass(limits):
                self._lenient.update(dict.fromkeys(one for one in limits if one.forbid is not None))
            self._check_numbers(unit, kernel, limits, found)
            untold = unexplained(kernel, limits, found)
            if untold is not None:
                name = short_name(kernel.facts.demangled)
                reason = f"{name} has {untold}, and no finding says of what"
                self._unknown[MissingEvidence(unit.input, "causes", reason)] = None
            self._check_expectations(unit, kernel, found)
            for finding in kernel.findings:
                item = Item(unit, kernel, finding)
                known = unit.frontend != "log" and (
                    unit.frontend != "binary" or finding.cause != "unattributed"
                )
                ruling = rule(finding, limits, found, causes_known=known)
                allowance = self._allowed(item, ruling)
                if allowance is not None:
                    by = f"allowed at {allowance.place}: {allowance.reason}"
                    self._accept(item, by, in_source=True)
                elif ruling.answer == "accepted":
                    self._accept(item, ruling.by, in_source=True)
                elif ruling.answer == "unknown":
                    item = replace(item, asked_by=ruling.by)
                is_open = ruling.answer in ("forbidden", "unknown") and allowance is None
                (open_items if is_open else settled).append(item)
        return open_items, settled

    def result(
        self,
        answer: Answer,
        accounts: Accounts,
        evidence: Evidence,
        known_gaps: Sequence[MissingEvidence],
        allow_incomplete: bool,
    ) -> GateResult:
        """The gate's result, from the baseline's answer to the open findings, and from the gaps."""
        for item in answer.known:
            self._accept(item, f"known in {self._known_in}")
        for item, entry in answer.worse:
            if self._depends(item):
                continue
            expected = f"at most {entry.bytes} bytes of {entry.cause}, as in {self._known_in}"
            self._fail("worse", item.unit, item.kernel, expected, _described(item), item.finding)
        for item in answer.new:
            if self._depends(item):
                continue
            expected = f"no local memory beyond {self._known_in} and allowances"
            self._fail("new", item.unit, item.kernel, expected, _described(item), item.finding)
        left = unaccepted(evidence.missing, known_gaps)
        accepted = len(evidence.missing) - len(left)
        known = (said_of_known(accepted),) if accepted else ()
        missing = tuple(dict.fromkeys((*left, *self._unknown, *accounts.missing)))
        gaps = {gap.reason for gap in self._report.gaps}
        notes = (note for note in self._report.notes if note not in gaps)
        return GateResult(
            verdict=verdict_of(self._failures, missing, allow_incomplete=allow_incomplete),
            allow_incomplete=allow_incomplete,
            failures=tuple(sorted(self._failures, key=_failure_order)),
            accepted=tuple(self._accepted),
            better=answer.better,
            gone=answer.gone,
            unused=(*self._unused(), *self._idle_limits()),
            missing=missing,
            notes=(*notes, *known, *answer.notes, *evidence.notes, *self._leniencies()),
            accounts=accounts.entries,
        )

    def _depends(self, item: Item) -> bool:
        """Whether a limit depends on the finding's unknown cause; if so, note missing evidence."""
        if not item.asked_by:
            return False
        what = f"cause of {count(item.finding.bytes, 'byte')} of {item.name}"
        reason = f"{what} is unknown, and a limit depends on it: {item.asked_by}"
        self._unknown[MissingEvidence(item.unit.input, "limit", reason)] = None
        return True

    def _leniencies(self) -> Iterator[str]:
        for limit in self._lenient:
            yield f"limit for {limit.kernel}: forbid is empty, so local memory of any cause passes"

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
        for bound in bounds(limits):
            # A function's depth is part of those of the kernels that call it.
            if bound.what == "stack" and kernel.facts.kind == "function":
                continue
            holds = bound.holds(found)
            if holds:
                continue
            if holds is None:
                reason = f"{bound.what} of {short_name(kernel.facts.demangled)} is not known"
                self._unknown[MissingEvidence(unit.input, "limit", reason)] = None
                continue
            self._fail(
                "limit",
                unit,
                kernel,
                bound.text,
                f"{bound.what} {found[bound.what].shown}",
                figure=found[bound.what].value,
                bound=bound.text,
                about_registers=bound.what == "registers",
            )

    def _check_expectations(
        self, unit: UnitReport, kernel: KernelReport, found: dict[str, Figure]
    ) -> None:
        for directive in unit.directives:
            if directive.word != "expect" or not holds_for(directive, unit, kernel):
                continue
            for part in directive.argument.split():
                match_ = _EXPECTATION.match(part)
                place = f"{file_of(directive, unit)}:{directive.line}"
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
                        figure=figure.value,
                        bound=part,
                        about_registers=what == "registers",
                    )

    def _note_doubtful_expectations(self) -> None:
        """Record expectations whose kernel is unclear: they were not checked."""
        for unit in self._report.units:
            for directive, why in doubtful(unit, "expect"):
                reason = f"line {directive.line} of {file_of(directive, unit)}: {why}"
                self._unknown[MissingEvidence(unit.input, "expectation", reason)] = None

    def _allowed(self, item: Item, ruling: Ruling) -> Allowance | None:
        """The allowance for a finding that limits forbid; others that match it are recorded."""
        size = item.finding.bytes if _is_bounded(item.finding, item.kernel) else math.inf
        beyond = []
        for allowance in self._allowances:
            if (
                allowance.cause != item.finding.cause
                or not self._speaks_of(allowance, item)
                or (allowance.expires is not None and allowance.expires < self._today)
            ):
                continue
            if ruling.answer not in ("forbidden", "unknown"):
                self._idle[allowance] = ruling.by or "no limit forbids it"
            elif allowance.bytes is not None and size > allowance.bytes:
                beyond.append(allowance)
            else:
                self._used.add(allowance)
                return allowance
        for allowance in beyond:
            self._beyond[allowance] = max(size, self._beyond.get(allowance, 0))
        return None

    def _speaks_of(self, allowance: Allowance, item: Item) -> bool:
        if allowance.comment is not None:
            return speaks_of(allowance.comment, item.unit, item.kernel)
        is_for = fnmatchcase(item.unit.arch, allowance.arch)
        is_within_ = is_within(allowance.toolkit, toolkit_of(item.unit.tools))
        return is_for and bool(is_within_) and _is_kernel(allowance.kernel, item.kernel)

    def _toolkit(self, unit: UnitReport) -> Version | None:
        """The toolkit that compiled a unit; if a limit depends on it, it must be known."""
        toolkit = toolkit_of(unit.tools)
        asked = next((one for one in self._policy.limits if one.toolkit is not None), None)
        if toolkit is None and asked is not None:
            reason = f"its toolkit is not known, and a limit is for {asked.toolkit}"
            self._unknown[MissingEvidence(unit.input, "limit", reason)] = None
        return toolkit

    def _fail(
        self,
        kind: FailureKind,
        unit: UnitReport,
        kernel: KernelReport,
        expected: str,
        found: str,
        finding: Finding | None = None,
        *,
        figure: int | None = None,
        bound: str = "",
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
                unit.frontend,
                why is None or _is_bounded(why, kernel),
                figure,
                bound,
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
            largest = self._beyond.get(allowance)
            if allowance in self._used and largest is None:
                continue
            what = f"{allowance.place}: allowance of {allowance.cause} for {allowance.kernel}"
            if allowance.expires is not None and allowance.expires < self._today:
                said.append(f"{what} expired on {allowance.expires}")
            elif largest is not None:
                most = f"there are {largest}" if largest != math.inf else "no bound is known"
                said.append(f"{what} accepts {count(allowance.bytes or 0, 'byte')}, and {most}")
            elif (why := self._doubt(allowance)) != "":
                said.append(f"{what} accepts nothing: {why}")
            elif allowance in self._idle:
                said.append(f"{what} is not needed: {self._idle[allowance]}")
            elif not self._partial or self._seen_whole(allowance):
                said.append(f"{what} accepts nothing: there is no such finding")
        return said

    def _doubt(self, allowance: Allowance) -> str:
        comment = allowance.comment
        return "" if comment is None else doubt_of(comment, self._report.units)

    def _idle_limits(self) -> Iterator[str]:
        """Limits whose kernels do not exist, if every kernel was checked."""
        kernels = [kernel for _, kernel in self._kernels()]
        if self._partial or self._chosen or not kernels:
            return
        for pattern in dict.fromkeys(limit.kernel for limit in self._policy.limits):
            if not any(_is_kernel(pattern, kernel) for kernel in kernels):
                yield f"limit for {pattern}: there is no such kernel"

    def _seen_whole(self, allowance: Allowance) -> bool:
        """Whether everything an allowance may refer to was checked: for a comment, its file."""
        comment = allowance.comment
        return comment is not None and any(u.input == comment.input for u in self._report.units)


def _described(item: Item) -> str:
    finding = item.finding
    named = f" `{finding.object}`" if finding.object is not None else ""
    return f"{finding.cause}{named}, {count(finding.bytes, 'byte')}"


def _is_bounded(finding: Finding, kernel: KernelReport) -> bool:
    """Whether a finding's bytes are an upper bound: not so for ``alloca`` or recursive calls."""
    calls = kernel.facts.calls
    is_recursive = calls is not None and bool(calls.recursive)
    return finding.cause != "alloca" and not (finding.cause == "call-frame" and is_recursive)


def _is_kernel(pattern: str, kernel: KernelReport) -> bool:
    return matches((pattern,), kernel.facts.name, kernel.facts.demangled)


def _holds(found: int | None, operator: str, wanted: int) -> bool:
    if found is None:
        return False
    return {"=": found == wanted, "<=": found <= wanted, "<": found < wanted}[operator]


def _failure_order(failure: GateFailure) -> tuple[str, ...]:
    return (failure.input, failure.kernel, failure.arch, failure.kind, failure.expected)

"""Ask the rewrites for advice, only on the findings that fail the gate.

Rewrites parse an input's sources, which can take as long as compiling it. Known or allowed findings
need no advice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from lmemscope.app.execute import Analysed
from lmemscope.app.session import Session
from lmemscope.app.worker import propose
from lmemscope.errors import LmemscopeError
from lmemscope.model import (
    Advice,
    Cause,
    Finding,
    GateResult,
    KernelReport,
    Report,
    SourceLocation,
    Unit,
    UnitReport,
)

_Place = tuple[str, str, str]
"""A unit's input, its architecture and a kernel's symbol."""
_Input = tuple[str, str]
"""A file and its option variant."""
_Line = tuple[Cause, str | None, SourceLocation | None]
"""The cause, object and location that identify a finding."""
_Found = dict[tuple[_Place, Finding], tuple[Advice, ...]]


def with_advice(
    report: Report, result: GateResult, analysed: Analysed, session: Session
) -> tuple[Report, GateResult]:
    """The report and the gate's answer, with rewrite advice added to what fails.

    Args:
        report, result: without that advice.
        analysed: the units behind the report; others get no advice.
        session: supplies the workers.
    """
    failing = frozenset(
        (one.input, one.arch, one.symbol) for one in result.failures if one.finding is not None
    )
    futures = [
        session.workers.submit(propose, results, failing) for results in _alike(analysed, failing)
    ]
    found: _Found = {}
    for future in futures:
        try:
            proposed = future.result()
        except LmemscopeError as error:
            # The gate's answer still stands, with the advice from the rules.
            said = f"rewrites could not be asked about what fails: {error.message}"
            result = replace(result, notes=(*result.notes, said))
            continue
        for made in proposed:
            for kernel in made.kernels:
                for one in kernel.findings:
                    found[_place(made, kernel), _bare(one)] = one.advice
    return (_reported(report, found), _answered(result, found)) if found else (report, result)


def _alike(analysed: Analysed, failing: Collection[_Place]) -> Iterator[Analysed]:
    """Units that have failing kernels, grouped where they share an array.

    A rewrite of an array in a header must suit every kernel that uses it.
    """
    inputs: dict[_Input, list[tuple[Unit, UnitReport]]] = defaultdict(list)
    for unit, made in analysed:
        inputs[unit.path, unit.variant].append((unit, made))
    groups: list[tuple[set[_Input], set[_Line]]] = []
    for name, results in inputs.items():
        lines = {
            (one.cause, one.object, one.location)
            for _, made in results
            for kernel in made.kernels
            if _place(made, kernel) in failing
            for one in kernel.findings
            # A finding without a source line has nothing that could be rewritten.
            if one.location or one.related
        }
        names = {name}
        if lines:
            for group in [one for one in groups if one[1] & lines]:
                groups.remove(group)
                names, lines = names | group[0], lines | group[1]
            groups.append((names, lines))
    for names, _ in groups:
        yield tuple(one for name, results in inputs.items() if name in names for one in results)


def _place(made: UnitReport, kernel: KernelReport) -> _Place:
    return made.input, made.arch, kernel.facts.name


def _bare(finding: Finding) -> Finding:
    return replace(finding, advice=())


def _reported(report: Report, found: _Found) -> Report:
    units = []
    for unit in report.units:
        kernels = tuple(
            replace(
                kernel,
                findings=tuple(
                    _advised(one, (_place(unit, kernel), _bare(one)), found)
                    for one in kernel.findings
                ),
            )
            for kernel in unit.kernels
        )
        units.append(replace(unit, kernels=kernels))
    return replace(report, units=tuple(units))


def _answered(result: GateResult, found: _Found) -> GateResult:
    failures = []
    for one in result.failures:
        if one.finding is not None:
            key = (one.input, one.arch, one.symbol), _bare(one.finding)
            one = replace(one, finding=_advised(one.finding, key, found))
        failures.append(one)
    return replace(result, failures=tuple(failures))


def _advised(finding: Finding, key: tuple[_Place, Finding], found: _Found) -> Finding:
    return replace(finding, advice=found[key]) if key in found else finding

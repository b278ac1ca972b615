"""What would remove that for which the gate fails: rewrites are asked for this alone.

To ask them reads an input's sources as syntax trees, which can take as long as to compile it; what
is known or allowed needs no advice.
"""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from lmemscope.app.execute import Analysed
from lmemscope.app.session import Session
from lmemscope.app.worker import propose
from lmemscope.errors import LmemscopeError
from lmemscope.model import (
    Advice,
    Finding,
    GateResult,
    KernelReport,
    Report,
    Unit,
    UnitReport,
)

_Place = tuple[str, str, str]
"""A unit's name, its architecture and a kernel's symbol."""
_Found = dict[tuple[_Place, Finding], tuple[Advice, ...]]


def with_advice(
    report: Report, result: GateResult, analysed: Analysed, session: Session
) -> tuple[Report, GateResult]:
    """A report and the gate's answer to it, with rewrites' advice on what fails.

    Args:
        report, result: without.
        analysed: the units behind the report; of others nothing is asked.
        session: whose workers ask.
    """
    failing = {
        (one.input, one.arch, one.symbol) for one in result.failures if one.finding is not None
    }
    inputs: dict[tuple[str, str], list[tuple[Unit, UnitReport]]] = defaultdict(list)
    for unit, made in analysed:
        kernels = tuple(one for one in made.kernels if _place(made, one) in failing)
        if kernels:
            inputs[unit.path, unit.variant].append((unit, replace(made, kernels=kernels)))
    futures = [session.workers.submit(propose, tuple(results)) for results in inputs.values()]
    found: _Found = {}
    for future in futures:
        try:
            proposed = future.result()
        except LmemscopeError as error:
            # The answer stands, and the rules' own advice is there.
            said = f"rewrites could not be asked about what fails: {error.message}"
            result = replace(result, notes=(*result.notes, said))
            continue
        for made in proposed:
            for kernel in made.kernels:
                for one in kernel.findings:
                    found[_place(made, kernel), _bare(one)] = one.advice
    return (_reported(report, found), _answered(result, found)) if found else (report, result)


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

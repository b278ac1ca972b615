"""Analyse a build log: the compilers' output is the only evidence, and is assessed as such."""

from __future__ import annotations

from lmemscope.analysis.reported import facts_of_report
from lmemscope.formats.kernel_names import select
from lmemscope.formats.ptxas_log import parse_ptxas_log
from lmemscope.lowering.log import checked
from lmemscope.model import KernelReport, Unit, UnitReport, Wanted
from lmemscope.rules.reported import find_reported
from lmemscope.rules.verdict import judge


def report_of_log(unit: Unit, wanted: Wanted) -> UnitReport:
    """The report of one compilation in a log.

    Raises:
        LmemscopeError: the log changed in the meantime.
    """
    excerpt = checked(unit)
    log = parse_ptxas_log(excerpt.text)
    reported = facts_of_report(log)
    names, others = select([fact.name for fact in reported], wanted.kernels)
    facts = [fact for fact in reported if fact.name in names]
    sources = dict(excerpt.sources)
    found = {
        fact.name: find_reported(fact, sources.get(fact.name), unit.arch)
        for fact in facts
        if wanted.causes
    }
    return UnitReport(
        input=unit.name,
        frontend="log",
        arch=unit.arch,
        options=(),
        failure=None,
        gaps=excerpt.gaps,
        kernels=tuple(KernelReport.of(f, judge(f), found.get(f.name, ())) for f in facts),
        unknown_log_lines=log.unknown_lines,
        others=others,
    )

"""One rewriting compiled: a worker's half of `lmemscope fix`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from lmemscope.app.worker import analyse_unit
from lmemscope.fixing.overlay import overlaid
from lmemscope.formats import codec
from lmemscope.lowering.analysed import own_code
from lmemscope.lowering.store import slot_for
from lmemscope.model import Edit, LoopCounts, Unit, UnitReport, Wanted

EVERY_KERNEL = Wanted(names=False, work=True)
"""What a trial is to give: other kernels may be harmed. Names tell objects of one size apart."""


def counts_of(report: UnitReport) -> tuple[LoopCounts, ...]:
    """How often the loops of a unit's kernels are taken to run, for trials to take as well."""
    return tuple(
        LoopCounts(one.facts.name, one.work.largest, one.work.loops, one.work.heads)
        for one in report.kernels
        if one.work is not None
    )


def report_with(
    unit: Unit,
    edits: Sequence[Edit],
    cache: str | None,
    names: bool = False,
    counts: tuple[LoopCounts, ...] = (),
) -> UnitReport:
    """The report of a unit with edits made, which nobody sees but who compares it.

    Args:
        unit: of the original.
        edits: of the user's files.
        cache: directory where results of trials are kept, or None.
        names: whether variables are to have their names, which takes one more compilation.
        counts: how often loops are taken to run, as in the original.

    Raises:
        LmemscopeError: the patched copy cannot be analysed.
    """
    # A Python file that is run may import what no key tells of.
    is_run = unit.options.run_python and unit.path.endswith(".py")
    slot = slot_for(cache, unit) if not is_run else None
    asked = codec.encode((tuple(edits), own_code(), names, counts))
    stage = f"trial-{hashlib.sha256(asked).hexdigest()[:24]}"
    known = slot.load(stage, UnitReport) if slot is not None else None
    if known is not None:
        return known[0]
    with overlaid(unit, edits, is_run=is_run) as copy:
        report = analyse_unit(copy, replace(EVERY_KERNEL, names=names, counts=counts))
    report = replace(report, source_lines=(), directives=(), headers=())
    if slot is not None:
        slot.store(stage, report, [], report.tools)
    return report

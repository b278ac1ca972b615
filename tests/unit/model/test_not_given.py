"""What a report leaves out is the same thing in every process."""

from __future__ import annotations

import pickle

from lmemscope.app.binaries import as_wanted
from lmemscope.model import NOT_GIVEN, Wanted
from tests.support.builders import access, changed, report_of, with_object


def test_it_stays_what_it_is_on_its_way() -> None:
    assert pickle.loads(pickle.dumps(NOT_GIVEN, pickle.HIGHEST_PROTOCOL)) is NOT_GIVEN


def test_accesses_are_left_out_where_nobody_reads_them() -> None:
    (unit,) = report_of(changed(with_object(), accesses=(access(),))).units
    (kernel,) = unit.kernels
    assert kernel.accesses
    assert as_wanted(unit, Wanted()) is unit
    (without,) = as_wanted(unit, Wanted(accesses=False)).kernels
    assert without.accesses is NOT_GIVEN
    assert (without.causes, without.findings, without.frame) == (
        kernel.causes,
        kernel.findings,
        kernel.frame,
    )

"""Whether a rewriting may round otherwise is read from what machine code multiplies and adds."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lmemscope.fixing.rounding import may_round
from lmemscope.formats.float_code import float_operations
from lmemscope.model import UnitReport
from lmemscope.model.work import Work
from tests.support.builders import judged, report

FADD, FMUL, FFMA, DFMA, IADD = 0x7221, 0x7220, 0x7223, 0x722B, 0x7210


def code(*opcodes: int, source: int = 4) -> bytes:
    """Instructions with that register for their first source."""
    return b"".join(struct.pack("<QQ", source << 24 | opcode, 0) for opcode in opcodes)


def test_operations_are_counted_by_kind_and_what_reads_no_number_is_none() -> None:
    assert float_operations(code(FADD, FFMA, FFMA, IADD, DFMA)) == (1, 0, 2, 0, 0, 1, 0, 0, 0)
    # ``FADD R1, -RZ, R2`` changes a sign, and ``FFMA2`` is two.
    assert float_operations(code(FADD, FMUL, source=255) + code(0x7249)) == (0, 0, 2, *[0] * 6)
    assert not any(float_operations(b""))


def unit(*floats: Sequence[int]) -> UnitReport:
    works = (Work(floats=tuple(one)) for one in floats)
    kernels = [replace(judged(f"k{n}"), work=work) for n, work in enumerate(works)]
    return report(*kernels).units[0]


NONE = (0,) * 6


@pytest.mark.parametrize(
    ("was", "made", "rounds"),
    [
        ((2, 4, 6, *NONE), (2, 4, 6, *NONE), False),
        # Unrolled three times.
        ((2, 4, 6, *NONE), (6, 12, 18, *NONE), False),
        # A multiplication and an addition are one now.
        ((2, 4, 6, *NONE), (1, 3, 7, *NONE), True),
        # Of doubles alone.
        ((2, 4, 6, 1, 1, 0, 0, 0, 0), (2, 4, 6, 0, 0, 1, 0, 0, 0), True),
        # Nothing is fused, with -fmad=false, or every product is: loops have other lengths.
        ((5, 4, 0, *NONE), (4, 7, 0, *NONE), False),
        ((17, 0, 32, *NONE), (17, 0, 8, *NONE), False),
        ((), (2, 4, 6, *NONE), None),
    ],
)
def test_another_proportion_of_fused_operations_may_round_otherwise(
    was: Sequence[int], made: Sequence[int], rounds: bool | None
) -> None:
    same = (7, 0, 7, *NONE)
    assert may_round(unit(was), unit(made)) is rounds
    assert may_round(unit(same, was), unit(same, made)) is rounds

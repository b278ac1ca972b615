"""Memory that few addresses reach stays in L1, whatever data chooses among them."""

from __future__ import annotations

import pytest

from lmemscope.analysis.work import work_of
from tests.support.builders import attributed, layers, program

START = (
    "ld.param.u64 %d, [k_param_0];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %w, %t, 4;\n"
    "add.s64 %a, %d, %w;\nld.global.u32 %x, [%a];\n"
)
READ = (
    "mul.wide.u32 %o, %i, 4;\nadd.s64 %b, %d, %o;\nld.global.f32 %f, [%b];\n"
    "st.global.f32 [%d], %f;\nret;"
)


@pytest.mark.parametrize(
    ("index", "is_small"),
    [
        ("and.b32 %i, %x, 31;", True),
        ("shr.u32 %i, %x, 27;", True),
        ("rem.u32 %i, %x, 40;", True),
        ("min.u32 %i, %x, 40;", True),
        ("ld.global.u8 %i, [%a];", True),
        ("and.b32 %y, %x, 31;\nxor.b32 %i, %y, 1;", True),
        (
            "and.b32 %y, %x, 31;\nshr.u32 %z, %x, 29;\nmul.lo.s32 %v, %y, %z;\nadd.s32 %i, %v, 3;",
            True,
        ),
        ("mov.u32 %i, %x;", False),
        ("and.b32 %i, %x, 65535;", False),
        ("shr.u32 %i, %x, 4;", False),
        ("and.b32 %y, %x, 31;\nadd.s32 %i, %y, %x;", False),
    ],
)
def test_it_is_a_table_where_its_index_is_bounded(index: str, is_small: bool) -> None:
    given = layers(program(f"{START}{index}\n{READ}"))
    found = work_of(given, attributed(given))
    assert found is not None
    # The index itself is read once by each lane, or by four of a word.
    assert (found.streamed_sectors <= 8) == is_small

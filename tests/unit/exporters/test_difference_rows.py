"""The rows of a comparison of many kernels."""

from __future__ import annotations

from msgspec.structs import replace

from lmemscope.exporters.difference_groups import rows
from lmemscope.model import KernelDifference

SPILLS = KernelDifference(
    kernel="ns::mul<float, 4>",
    input="a.so",
    arch="sm_80",
    change="worse",
    figures=(("spill_stores", 0, 8),),
    appeared=("register-spill",),
    vanished=(),
    why=("why",),
)
CLEAN = replace(
    SPILLS, change="added", figures=(("registers", None, 32), ("ldl", None, 0)), appeared=(), why=()
)


def test_few_kernels_have_a_row_each() -> None:
    listed, others = rows([SPILLS, CLEAN, CLEAN])
    assert [(one.change, one.name, one.number) for one in listed] == [
        ("worse", "ns::mul<float, 4>", 1),
        ("added", "ns::mul<float, 4>", 1),
        ("added", "ns::mul<float, 4>", 1),
    ]
    assert others is None


def test_instances_that_changed_alike_are_one() -> None:
    other = replace(
        SPILLS, kernel="ns::mul<int, 8>", arch="sm_120", figures=(("spill_stores", 4, 24),)
    )
    elsewhere = replace(SPILLS, input="b.so")
    better = replace(SPILLS, change="better", appeared=(), vanished=("register-spill",))
    listed, others = rows([SPILLS, other, elsewhere, better, *[CLEAN] * 50])
    grouped, alone = listed
    assert (grouped.title, grouped.archs) == ("ns::mul ×3", ("sm_80", "sm_120"))
    assert grouped.inputs == ("a.so", "b.so")
    assert grouped.figures == (("spill_stores", "0–4", "8–24"),)
    assert (alone.change, alone.number) == ("better", 1)
    assert others is not None
    assert "50 added" in others


def test_what_a_side_does_not_know_is_listed() -> None:
    unknown = replace(CLEAN, change="changed", figures=(("stack_frame", None, 0),))
    registers = replace(CLEAN, change="changed", figures=(("registers", 30, 32),))
    listed, others = rows([unknown, *[registers] * 50])
    assert [one.change for one in listed] == ["changed"]
    assert others is not None
    assert "50 with other registers" in others

"""The ways in which a kernel is assembled, and what ptxas is told."""

from __future__ import annotations

from lmemscope.model import CompileOptions
from lmemscope.rules.register_cap import registers_for
from lmemscope.tuning.settings import (
    NATURAL,
    OWN,
    Directives,
    Setting,
    bounds_for,
    caps_below,
    undone_in_text,
    words_for,
)

BOUNDED = Directives.of(".visible .entry k(\n)\n.maxntid 256, 1, 1\n.minnctapersm 4\n")


def test_directives_of_a_kernel() -> None:
    assert Directives((".maxntid", ".minnctapersm"), 256, limits=True) == BOUNDED
    assert Directives.of(".entry k(.param .u64 p)\n") == Directives()
    assert Directives.of(".entry k()\n.reqntid 8, 8, 2\n") == Directives((".reqntid",), 128)
    # A block of 1024 threads has 64 registers for each of them.
    assert Directives.of(".entry k()\n.maxntid 1024, 1, 1\n").limits
    assert Directives.of(".entry k()\n.maxnreg 48\n") == Directives(
        (".maxnreg",), None, limits=True
    )


def test_caps_fall_by_what_warps_are_given() -> None:
    assert [one.cap for one in caps_below(45)] == [40, 32, 24]
    assert [one.cap for one in caps_below(48)] == [40, 32, 24]
    assert [*caps_below(24)] == []


def test_bounds_are_those_that_leave_other_registers() -> None:
    found = [*bounds_for("sm_90", 256)]
    assert [one.min_blocks for one in found] == [1, 2, 3, 4, 5, 6, 8]
    assert all(one.cap == registers_for(256, one.min_blocks or 0) for one in found)
    assert len({one.cap for one in found}) == len(found)
    # A multiprocessor of 7.5 holds half the warps.
    assert [one.min_blocks for one in bounds_for("sm_75", 256)][-1] == 4


def test_a_kernels_own_directives_are_overridden_and_nothing_else() -> None:
    options = CompileOptions(ptxas_args=("-O2",), maxrregcount=64)
    free = Directives()
    assert words_for(NATURAL, "sm_90", options, free) == ("-O2",)
    assert words_for(Setting(40), "sm_90", options, free) == ("-O2", "-maxrregcount=40")
    assert words_for(OWN, "sm_90", options, BOUNDED) == ("-maxrregcount=64", "-O2")
    assert words_for(Setting(40), "sm_90", options, BOUNDED) == (
        *("-O2", "-maxrregcount=40", "-override-directive-values"),
    )
    # A cap of 255 would be a limit too: bounds leave the text, and large blocks are smaller.
    assert words_for(NATURAL, "sm_90", options, BOUNDED) == ("-O2",)
    assert undone_in_text(NATURAL, BOUNDED) == {".minnctapersm"}
    large = Directives.of(".entry k()\n.maxntid 1024, 1, 1\n.maxnreg 48\n")
    assert words_for(NATURAL, "sm_90", options, large)[1:] == (
        *("-maxntid=256", "-override-directive-values"),
    )
    assert undone_in_text(NATURAL, large) == {".maxnreg"}
    assert undone_in_text(Setting(80, 3, 256), large) == {".maxnreg"}
    assert not undone_in_text(Setting(40), large)
    assert not undone_in_text(OWN, large)
    assert words_for(Setting(80, 3, 256), "sm_90", options, free) == (
        *("-O2", "-maxntid=256", "-minnctapersm=3"),
    )


def test_caps_among_the_users_own_words_are_left_out() -> None:
    words = ("-maxrregcount", "32", "--maxrregcount=48", "-override-directive-values", "-O3")
    options = CompileOptions(ptxas_args=words)
    assert words_for(Setting(40), "sm_90", options, Directives()) == ("-O3", "-maxrregcount=40")

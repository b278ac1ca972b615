"""The lines of a cubin from what ptxas makes of the PTX beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from lmemscope.analysis.reassembly import reassembly
from lmemscope.formats.line_table import line_at
from tests.support.builders import MachineCode, layers, ldl, program, stl

PTX = program(
    """
st.local.u32 [%rd1], %r1;
ld.local.u32 %r2, [%rd1];
ld.global.u32 %r3, [%rd9];
ret;"""
)
STORE, LOAD, OTHER = "st.local", "ld.local", "ld.global"


def cubin(*code: MachineCode, ptx: Any = None, **changes: Any) -> Any:
    made: Any = layers(ptx, *code, **changes).cubin
    return made


def lines(mine: Sequence[MachineCode], again: Sequence[MachineCode]) -> list[str | None]:
    """The PTX that each access is found to come from."""
    own = cubin(*mine)
    found = reassembly(own, cubin(*again, ptx=PTX))
    table = found.ptx_lines[".text.k"]
    numbers = [line_at(table, site.pc) for site in own.functions[0].sites]
    return [PTX.line(one.line).split(".u32")[0] or None if one else None for one in numbers]


def test_accesses_of_the_same_bytes_have_the_same_lines_in_order() -> None:
    mine = [stl(at=8), ldl(at=4), ldl(at=8), ldl(at=4)]
    again = [ldl(LOAD, at=4), ldl(LOAD, at=8), ldl(OTHER, at=4), stl(STORE, at=8)]
    assert lines(mine, again) == [STORE, LOAD, LOAD, OTHER]


def test_what_is_there_more_or_fewer_times_has_none() -> None:
    assert lines([ldl(at=4), ldl(at=4), ldl(at=8)], [ldl(LOAD, at=4), ldl(LOAD, at=8)]) == [
        None,
        None,
        LOAD,
    ]


def test_the_register_of_an_address_is_the_allocators_choice_but_not_the_stack_pointer() -> None:
    again = [ldl(LOAD, base=7)]
    assert lines([ldl(base=9)], again) == [LOAD]
    assert lines([ldl()], again) == [None]


def differences(mine: Any, again: Any) -> dict[str, dict[str, int]]:
    found = reassembly(mine, again).differences.get("k", ())
    return {one.quantity: dict(one.values) for one in found}


def test_figures_that_differ_are_told() -> None:
    again = cubin(ldl(LOAD), ptx=PTX, frame=16)
    assert differences(cubin(ldl(), frame=16), again) == {}
    assert differences(cubin(ldl(), ldl(at=4), frame=24), again) == {
        "stack_frame": {"cubin": 24, "PTX": 16},
        "minimum_stack": {"cubin": 24, "PTX": 16},
        "LDL": {"cubin": 2, "PTX": 1},
    }
    assert differences(cubin(ldl(at=8), frame=16), again) == {
        "equal LDL and STL": {"cubin": 1, "PTX": 0}
    }
    mine = cubin(ldl(), frame=16)
    mine.functions = (replace(mine.functions[0], registers=40),)
    assert differences(mine, again) == {"registers": {"cubin": 40, "PTX": 32}}


def test_ptx_for_a_newer_architecture_is_told_even_where_all_is_equal() -> None:
    again = cubin(ldl(LOAD), ptx=PTX)
    (found,) = reassembly(cubin(ldl()), again, 121).differences["k"]
    assert (found.reason, dict(found.values)) == ("other-target", {"cubin": 90, "PTX": 121})
    assert reassembly(cubin(ldl()), again, 80).differences == {}


def test_a_kernel_that_the_ptx_lacks_has_no_lines() -> None:
    again = cubin(ldl(LOAD), ptx=PTX)
    again.functions = (replace(again.functions[0], name="other"),)
    found = reassembly(cubin(ldl()), again)
    assert (found.ptx_lines, found.differences) == ({}, {})

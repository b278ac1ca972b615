"""PTX with fewer functions: what some need stays, on its lines."""

from __future__ import annotations

from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptx_cut import PtxParts

TEXT = b"""//
.version 8.0
.target sm_90
.func (.param .b32 r) deep(.param .b32 a) ;
.func (.param .b32 r) leaf(.param .b32 a)
{
call (r), deep, (a);
}
.global .u64 table[2] = {held,
 0};
.func held() { ret; }
.visible .entry wanted(.param .u64 p)
{
{ .reg .b32 x; }
call.uni (r), leaf, (a);
}
.global .u32 between;
.visible .entry other()
{
ld.global.u32 %r1, [between];
call.uni only_other, ();
}
.func only_other() { /* } */ ret; }
.func (.param .b32 r) deep(.param .b32 a)
{
ret;
}
"""


def names(text: bytes) -> list[str]:
    return [function.name for function in PtxModule(text).functions]


def test_what_a_kernel_reaches_stays_and_what_a_variable_holds() -> None:
    found = PtxParts(TEXT).cut(["wanted"])
    assert names(found) == ["leaf", "held", "wanted", "deep"]
    assert b".global .u32 between;" in found


def test_lines_stay_where_they_are() -> None:
    found = PtxParts(TEXT).cut(["wanted"]).split(b"\n")
    whole = TEXT.split(b"\n")
    assert len(found) == len(whole)
    assert all(mine in (theirs, b"") for mine, theirs in zip(found, whole, strict=True))


def test_a_text_of_which_everything_is_needed_is_itself() -> None:
    parts = PtxParts(TEXT)
    assert parts.cut(parts.names) == TEXT


def test_a_name_that_is_defined_twice_keeps_the_text_in_order() -> None:
    twice = TEXT + TEXT
    found = PtxParts(twice).cut(["wanted"])
    assert len(found) < len(twice)
    assert found.count(b"\n") == twice.count(b"\n")
    assert PtxParts(twice).cut(["wanted", "other"]) == twice


def test_a_function_that_is_dropped_is_declared_no_longer() -> None:
    """ptxas would miss its body: "Unresolved extern function"."""
    before = b".visible .func only_other\n() ;\n.extern .func outside();\n.global .u64 table"
    declared = TEXT.replace(b".global .u64 table", before)
    found = PtxParts(declared).cut(["wanted"])
    assert b"only_other" not in found
    assert b".visible .func" not in found
    assert b".extern .func outside();" in found
    # What stays may be declared first.
    assert found.count(b"deep(.param .b32 a)") == 2
    assert found.count(b"\n") == declared.count(b"\n")


def test_only_the_kernels_own_maxnreg_is_taken_out_and_lines_stay() -> None:
    limited = b".visible .entry k(\n)\n.maxntid 64, 1, 1\n.maxnreg 48\n{\n// .maxnreg 8\nret;\n}\n"
    other = b".entry j()\n.maxnreg 32\n{\nret;\n}\n"
    text = PtxParts(limited + other).without("k", [".maxnreg"])
    assert text == limited.replace(b".maxnreg 48", b"") + other
    assert PtxParts(text).without("k", [".maxnreg"]) == text

"""Where a site comes from: one decision, which facts and causes share."""

from __future__ import annotations

import pytest
from msgspec.structs import astuple

from lmemscope.analysis.origin import Origin, OriginKind
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import SassSites
from tests.support.builders import (
    MachineCode,
    attributed,
    call,
    depot,
    layers,
    ldl,
    line_of,
    program,
    ptxas_report,
    stl,
)

BODY = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
st.local.u32 [%rd3], %r1;
ld.local.u32 %r2, [%rd3];
ld.global.u32 %r3, [%rd9];
ret;"""
STORE, LOAD, OTHER = "st.local", "ld.local", "ld.global"


def origin(ptx: PtxModule | None, code: MachineCode) -> Origin:
    given = layers(ptx, code)
    (kernel,) = given.cubin.functions
    return given.origins.of(kernel, kernel.all_sites[0])


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ldl(LOAD), "object"),
        (stl(STORE), "object"),
        (stl(LOAD), "save"),
        (ldl(STORE), "save"),
        (ldl(OTHER), "save"),
        (ldl(LOAD, marked=True), "spill"),
        (ldl(None, marked=True), "spill"),
        (ldl(None), "unknown"),
    ],
)
def test_the_ptx_line_and_the_direction_decide(code: MachineCode, kind: OriginKind) -> None:
    assert origin(program(BODY), code).kind == kind


def test_without_ptx_only_marks_tell() -> None:
    assert origin(None, ldl(None)) == Origin("unknown", None, None, None)
    assert origin(None, ldl(None, marked=True)).kind == "spill"


def test_an_object_leads_to_its_ptx_access() -> None:
    ptx = program(BODY)
    found = origin(ptx, ldl(LOAD))
    assert (found.ptx_line, found.function) == (line_of(ptx, LOAD), "k")
    assert found.instruction is not None
    assert ptx.functions[0].body.instructions[found.instruction].opcode == "ld.local.u32"


def test_of_several_instructions_on_a_line_the_one_of_its_direction_counts() -> None:
    ptx = program(BODY.replace("u32 [%rd3], %r1;\nld.local", "u32 [%rd3], %r1; ld.local"))
    for code, opcode in ((ldl(STORE), "ld.local.u32"), (stl(STORE), "st.local.u32")):
        found = origin(ptx, code)
        assert found.instruction is not None
        assert ptx.functions[0].body.instructions[found.instruction].opcode == opcode


LEAF = "ld.param.u64 %rd1, [leaf_param_0];\nld.u32 %r7, [%rd1];\nret;"


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        # Nobody's object is known to be behind the pointer: at R1 it is a saved register.
        (ldl("ld.u32"), "ret;", "save"),
        # Through another register it can be nothing but the pointer.
        (ldl("ld.u32", base=4), "ret;", "object"),
        # The caller's object is known.
        (ldl("ld.u32"), f"{BODY[:-4]}\n{call('leaf', '%rd1')}\nret;", "object"),
    ],
)
def test_a_pointer_of_the_callers_is_in_no_fixed_place(
    code: MachineCode, body: str, kind: OriginKind
) -> None:
    assert origin(program(body, leaf=LEAF), code).kind == kind


def test_what_alloca_made_is_the_programs_own() -> None:
    body = "alloca.u64 %rd1, %r1;\nld.param.u64 %rd2, [leaf_param_0];\n"
    leaf = f"{body}selp.b64 %rd3, %rd1, %rd2, %p1;\nld.u32 %r7, [%rd3];\nret;"
    assert origin(program("ret;", leaf=leaf), ldl("ld.u32")).kind == "object"


FILLED = f"""{depot(16)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 8;
st.local.v2.f32 [%rd1], {{%f1, %f2}};
st.local.f32 [%rd2+4], %f3;
ld.local.f32 %f4, [%rd4];
add.s64 %rd4, %rd1, %rd3;
{{mul.f16x2 %r1, %r1, %r2;
}}
ld.global.u32 %r3, [%rd9];
ret;"""
FIRST, SECOND, MOVED = "st.local.v2", "st.local.f32", "{mul.f16x2"
# Their lines say that the depot begins at byte 32 of the frame.
PLACED = (stl(FIRST, width=8, at=32), stl(SECOND, at=44))


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        # Branches stored the same bytes; ptxas stores them once, behind, on a neighbour's line.
        (stl(MOVED, width=8, at=32), "object", FIRST),
        (stl(MOVED, at=44), "object", SECOND),
        # Joined from two neighbouring accesses, and over two objects.
        (stl(MOVED, width=16, at=32), "object", SECOND),
        # In front of the depot, behind it, across its end, marked: slots of registers.
        (stl(MOVED, width=8, at=24), "save", MOVED),
        (stl(MOVED, width=8, at=48), "save", MOVED),
        (stl(MOVED, width=8, at=44), "save", MOVED),
        (stl(MOVED, width=8, at=32, marked=True), "spill", MOVED),
        # Another register says nothing of the place in the frame.
        (stl(MOVED, width=8, at=32, base=4), "save", MOVED),
        # The program loads nothing from there: what was stored is not restored by it.
        (ldl(MOVED, at=44), "save", MOVED),
    ],
)
def test_a_moved_access_is_known_by_its_place(
    code: MachineCode, kind: OriginKind, line: str
) -> None:
    ptx = program(FILLED)
    given = layers(ptx, code, *PLACED, frame=48)
    (kernel,) = given.cubin.functions
    found = given.origins.of(kernel, kernel.all_sites[0])
    assert (found.kind, found.ptx_line) == (kind, line_of(ptx, line))
    assert found.by_place == (kind == "object")


def test_a_place_that_sites_do_not_agree_on_tells_nothing() -> None:
    moved = stl(MOVED, width=8, at=32)
    disagreeing = (stl(FIRST, width=8, at=32), stl(SECOND, at=12))
    given = layers(program(FILLED), moved, *disagreeing, frame=48)
    (kernel,) = given.cubin.functions
    assert given.origins.of(kernel, kernel.all_sites[0]).kind == "save"


def test_a_moved_access_is_its_objects_and_no_spill() -> None:
    moved = stl(MOVED, width=8, at=32)
    fact = attributed(layers(program(FILLED), *PLACED, moved, frame=48, log=ptxas_report(frame=48)))
    last = fact.accesses[-1]
    assert last.object == 0
    assert [evidence.kind for evidence in last.evidence_facts] == ["ptx-instruction", "frame-place"]
    assert fact.disagreements == ()


SITES = (ldl(LOAD), stl(STORE, width=8), stl(LOAD, at=8), ldl(None), ldl(OTHER, marked=True))


def test_facts_and_causes_agree_on_every_site() -> None:
    fact = attributed(layers(program(BODY), *SITES, frame=64))
    split = fact.sites
    assert split is not None
    by_object = [a for a in fact.accesses if a.object is not None]
    assert split.local_object.count == len(by_object) == 2
    assert split.local_object.bytes == sum(a.width for a in by_object) == 12
    assert split.unknown.count == sum(a.ptx_line is None for a in fact.accesses) == 1
    assert split.spill.count == sum(
        a.ptx_line is not None and a.object is None for a in fact.accesses
    )
    whole = split.spill + split.local_object + split.unknown
    assert fact.sass == SassSites(*astuple(whole))


PASSING = """ld.param.u64 %rd1, [k_param_0];
st.param.b32 [param0+0], %f1;
st.param.b32 [param0+4], %f2;
ld.param.b32 %f3, [retval0];
add.f32 %f4, %f3, %f2;
ret;"""
TAKING = """ld.param.b32 %f1, [leaf_param_0];
ld.param.b32 %f2, [leaf_param_1+8];
add.f32 %f3, %f1, %f2;
st.param.b32 [func_retval0+40], %f3;
ret;"""
GIVEN = "st.param.b32 [func_retval0"
OWN, RESULT, BESIDE = "ld.param.u64", "ld.param.b32 %f3", "add.f32 %f4"
PASSED, NEXT = "st.param.b32 [param0+0", "st.param.b32 [param0+4"
TAKEN, TAKEN_TOO, AMID = "ld.param.b32 %f1", "ld.param.b32 %f2", "add.f32 %f3"


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ((stl(PASSED),), ("argument",)),
        ((stl(PASSED, marked=True),), ("spill",)),
        # A register that is restored, whatever the lines of either say.
        ((stl(PASSED), ldl(BESIDE)), ("save", "save")),
        ((stl(PASSED, width=8), ldl(RESULT, at=4)), ("save", "save")),
        ((ldl(RESULT, at=8), stl(PASSED)), ("argument", "argument")),
        # Stored the other way than the line goes; an entry's own parameter is no stack's.
        ((stl(RESULT),), ("save",)),
        ((ldl(OWN),), ("save",)),
        # On a neighbour's line: below what is known to be passed it is passed, above not.
        ((stl(BESIDE), stl(NEXT, at=4)), ("argument", "argument")),
        ((stl(BESIDE, at=8), stl(NEXT, at=4)), ("save", "argument")),
    ],
)
def test_what_calls_pass_on_the_stack_goes_one_way(
    code: tuple[MachineCode, ...], kinds: tuple[OriginKind, ...]
) -> None:
    given = layers(program(PASSING), *code, frame=16)
    (kernel,) = given.cubin.functions
    assert tuple(given.origins.of(kernel, one).kind for one in kernel.all_sites) == kinds


@pytest.mark.parametrize(
    ("code", "aligned", "kinds"),
    [
        ((ldl(TAKEN, at=16),), None, ("argument",)),
        ((stl(AMID, at=16), ldl(TAKEN, at=16)), None, ("save", "save")),
        # Above a parameter there are only more of them.
        ((ldl(TAKEN, at=16), ldl(AMID, at=20)), None, ("argument", "argument")),
        ((ldl(TAKEN_TOO, at=16), ldl(AMID, at=12)), None, ("argument", "save")),
        # The caller's stack pointer, where the function aligns its own, or the place of a result.
        ((ldl(TAKEN, at=16, base=3),), 16, ("argument",)),
        ((ldl(TAKEN, at=16, base=3),), None, ("argument",)),
        ((ldl(AMID, at=16, base=3),), 16, ("save",)),
        ((stl(GIVEN, at=40, base=4),), None, ("argument",)),
        ((stl(AMID, at=40, base=4),), None, ("save",)),
    ],
)
def test_a_function_finds_its_parameters_above_its_frame(
    code: tuple[MachineCode, ...], aligned: int | None, kinds: tuple[OriginKind, ...]
) -> None:
    given = layers(program("ret;", leaf=TAKING), *code, frame=16, stack_alignment=aligned)
    (kernel,) = given.cubin.functions
    assert tuple(given.origins.of(kernel, one).kind for one in kernel.all_sites) == kinds


def test_an_argument_that_is_read_through_its_address_is_the_callers_frame() -> None:
    body = """mov.b64 %rd1, leaf_param_0;
cvta.local.u64 %rd2, %rd1;
add.s64 %rd3, %rd2, 8;
ld.local.f32 %f1, [%rd3];
ret;"""
    given = layers(program("ret;", leaf=body), callees={"leaf": [ldl("ld.local.f32", at=24)]})
    fact = attributed(given)
    assert [access.cause for access in fact.accesses] == ["call-frame"]
    (evidence,) = fact.accesses[0].evidence_facts
    assert (evidence.opcode, evidence.subject) == ("ld.local.f32", "leaf")


def test_what_calls_pass_on_the_stack_is_their_frame_and_no_spill() -> None:
    passed = (stl(BESIDE), stl(NEXT, at=4))
    report = ptxas_report(frame=16)
    fact = attributed(layers(program(PASSING), *passed, frame=16, log=report))
    assert [access.cause for access in fact.accesses] == ["call-frame"] * 2
    assert {
        (one.kind, one.opcode) for access in fact.accesses for one in access.evidence_facts
    } == {("ptx-instruction", "st.param.b32")}
    assert fact.disagreements == ()
    assert fact.sites.spill.count == 0


BEHIND = "ld.global"


@pytest.mark.parametrize(
    ("saved", "at", "kind"),
    [
        (stl(BEHIND, at=56), 56, "save"),
        # Nothing is saved there, or the program's own store, or of another width.
        (stl(BEHIND, at=60), 56, "object"),
        (stl(FIRST, at=56), 56, "object"),
        (stl(BEHIND, at=56, width=8), 56, "object"),
        # Where the depot has the access, it is the access.
        (stl(BEHIND, at=32), 32, "object"),
    ],
)
def test_a_register_is_restored_on_the_line_of_an_access(
    saved: MachineCode, at: int, kind: OriginKind
) -> None:
    """As before a return, where the last access and the restoring loads are joined."""
    body = FILLED.replace("ld.local.f32 %f4, [%rd4]", "ld.local.f32 %f4, [%rd1]")
    given = layers(program(body), ldl("ld.local.f32", at=at), saved, *PLACED, frame=64)
    (kernel,) = given.cubin.functions
    assert given.origins.of(kernel, kernel.all_sites[0]).kind == kind


@pytest.mark.parametrize(
    ("saved", "kind"),
    [
        (stl(BEHIND, at=56), "save"),
        (stl(BEHIND, at=60), "object"),
        (stl(BEHIND, at=56, register=5), "object"),
        (stl(FIRST, at=56), "object"),
    ],
)
def test_where_nothing_tells_the_frame_the_same_register_goes_both_ways(
    saved: MachineCode, kind: OriginKind
) -> None:
    body = FILLED.replace("ld.local.f32 %f4, [%rd4]", "ld.local.f32 %f4, [%rd1]")
    given = layers(program(body), ldl("ld.local.f32", at=56), saved, frame=64)
    (kernel,) = given.cubin.functions
    assert given.origins.of(kernel, kernel.all_sites[0]).kind == kind

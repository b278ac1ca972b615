"""Causes of single accesses on hand-made PTX and machine code, and both ledgers at the end."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.analysis.kernel_objects import KernelObjects
from lmemscope.model import Cause, Evidence, LocalAccess, SourceLocation, SourceText
from lmemscope.rules import find
from tests.support.builders import (
    MachineCode,
    attributed,
    call,
    depot,
    layers,
    ldl,
    line_of,
    local_object,
    program,
    ptxas_report,
    stl,
    variable,
)

INDEXED = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
st.local.u32 [%rd1+8], %r1;
ld.local.u32 %r2, [%rd3];
ld.global.u32 %r3, [%rd9];
ret;"""
LANES = INDEXED.replace("ld.param.u32 %r1, [k_param_1];", "mov.u32 %r1, %tid.x;")
TWO = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SPL, 32;
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
ld.local.u32 %r2, [%rd4];
selp.b64 %rd6, %rd4, %rd5, %p1;
"""


def accesses(body: str, *code: MachineCode, frame: int = 64) -> tuple[LocalAccess, ...]:
    return attributed(layers(program(body), *code, frame=frame)).accesses


def only(body: str, code: MachineCode) -> LocalAccess:
    (access,) = accesses(body, code)
    return access


def test_an_access_has_the_cause_of_its_object() -> None:
    access = only(INDEXED, ldl("ld.local", base=4))
    assert (access.cause, access.object, access.function) == ("dynamic-index", 0, "k")
    line = line_of(program(INDEXED), "ld.local")
    assert access.evidence_facts == (
        Evidence("ptx-instruction", ptx_line=line, opcode="ld.local.u32"),
    )


@pytest.mark.parametrize(
    ("body", "base", "uniformity", "sectors"),
    [
        (INDEXED, 4, "uniform", 4),
        (LANES, 4, "lane-varying", 32),
        # No per-thread register at all: one address, whatever PTX says.
        (LANES, None, "uniform", 4),
    ],
)
def test_lanes_and_sectors(body: str, base: int | None, uniformity: str, sectors: int) -> None:
    access = only(body, ldl("ld.local", base=base))
    assert (access.uniformity, access.sectors) == (uniformity, sectors)


def test_a_wide_access_makes_a_request_per_word() -> None:
    assert only(INDEXED, ldl("ld.local", width=16)).requests == 4


def test_loops_around_the_ptx_line_are_counted() -> None:
    body = f"{INDEXED[:-4]}\n$L1:\nld.local.u8 %r5, [%rd3];\n@%p1 bra $L1;\nret;"
    inside, outside = accesses(body, ldl("ld.local.u8"), ldl("ld.local.u32"))
    assert (inside.loop_depth, outside.loop_depth) == (1, 0)


def test_loops_are_unknown_where_neither_branches_nor_ptx_tell() -> None:
    found = attributed(layers(None, ldl(), ldl(marked=True)))
    assert [one.loop_depth for one in found.accesses] == [None, None]


def test_an_address_that_may_be_of_two_objects_counts_for_the_first_and_names_the_other() -> None:
    given = layers(
        program(f"{TWO}ld.local.u8 %r7, [%rd6];\nret;"), ldl("ld.local.u8", base=4), frame=64
    )
    fact = attributed(given)
    (access,) = fact.accesses
    assert (access.cause, access.object, access.others) == ("dynamic-index", 0, (1,))
    ledger = [share for share in fact.causes if share.object_index is not None]
    assert [(share.object_index, share.sites.bytes) for share in ledger] == [(0, 4), (1, 0)]
    assert all(share.concerns(access) for share in ledger)
    findings = [one for one in find(fact, SourceText(lambda _: ())) if one.cause == access.cause]
    assert len(findings) == 2
    assert all("leads to it or to another object" in one.message for one in findings)


def test_two_objects_of_different_causes_leave_it_open() -> None:
    body = f"{TWO}{call('leaf', '%rd2')}\nld.local.u8 %r7, [%rd6];\nret;"
    access = only(body, ldl("ld.local.u8", base=4))
    assert (access.cause, access.object, access.others) == ("unattributed", None, (0, 1))


def test_the_memory_of_alloca_is_no_object() -> None:
    body = "alloca.u64 %rd1, %r1;\nst.local.u32 [%rd1], 1;\nret;"
    assert only(body, stl("st.local", base=4)).cause == "alloca"


def test_alloca_has_its_own_line_and_not_that_of_an_access() -> None:
    """Of several, that of the one whose memory most sites access."""
    body = """.loc 1 3 0
alloca.u64 %rd1, %r1;
.loc 1 4 0
alloca.u64 %rd2, %r1;
.loc 1 5 0
st.local.u32 [%rd1], 1;
st.local.u32 [%rd2], 1;
ld.local.u32 %r2, [%rd2];
ret;"""
    sites = [stl(f"st.local.u32 [%rd{one}]", base=4) for one in (1, 2)]
    fact = attributed(layers(program(body), *sites, ldl("ld.local", base=4)))
    (share,) = fact.causes
    assert (share.cause, share.location) == ("alloca", SourceLocation("a.cu", 4))


def test_a_generic_address_that_nothing_explains_is_left_open() -> None:
    body = "ld.param.u64 %rd1, [k_param_0];\nld.u32 %r1, [%rd1];\nret;"
    access = only(body, ldl("ld.u32", base=4))
    assert (access.cause, access.uniformity) == ("unattributed", "unknown")


def test_marked_sites_are_spills_and_unplaced_ones_open() -> None:
    marked, unplaced = accesses(INDEXED, ldl("ld.local", marked=True), ldl(None))
    assert (marked.cause, marked.evidence_facts) == ("register-spill", (Evidence("spill-mark"),))
    assert (unplaced.cause, unplaced.evidence_facts, unplaced.sectors) == ("unattributed", (), 4)


def test_machine_code_alone_tells_uniform_addresses() -> None:
    found = attributed(layers(None, ldl(), ldl(base=9), ldl(base=None), ldl(marked=True)))
    told = [(a.cause, a.uniformity, [e.kind for e in a.evidence_facts]) for a in found.accesses]
    assert told == [
        ("unattributed", "uniform", []),
        ("unattributed", "unknown", []),
        ("unattributed", "uniform", []),
        ("register-spill", "uniform", ["spill-mark"]),
    ]


def test_a_debug_build_has_one_cause() -> None:
    given = layers(
        program(INDEXED, debug=True), ldl("ld.local"), ldl(None), stl(None, marked=True), frame=64
    )
    fact = attributed(given)
    assert {access.cause for access in fact.accesses} == {"debug-build"}
    assert {found.cause for found in fact.objects} == {"debug-build"}


# What ptxas made and does not mark.

LEAF = "ld.param.u64 %rd1, [leaf_param_0];\nadd.u32 %r9, %r8, 1;\nret;"
CALLS = "{ .param .b64 param0;\nst.param.b64 [param0+0], %rd9;\ncall.uni leaf, (param0);\n}\nret;"


def saved(
    code: MachineCode,
    body: str = CALLS,
    leaf: str = LEAF,
    *,
    inside: str | None = None,
    log: str = "",
) -> LocalAccess:
    """The access of a site in the kernel's own code, or in that of a function inside it."""
    ptx = program(body, leaf=leaf)
    own = () if inside else (code,)
    callees = {inside: [code]} if inside else {}
    (access,) = attributed(layers(ptx, *own, callees=callees, log=log or None)).accesses
    return access


SAVE = stl("add.u32 %r9")
RECURSIVE = LEAF.replace("ret;", CALLS)
BY_POINTER = LEAF.replace("ret;", "call %rd7, (), proto;\nret;")


@pytest.mark.parametrize(
    ("leaf", "inside", "cause", "kind"),
    [
        (LEAF, "leaf", "callee-save", "called-directly"),
        (RECURSIVE, "leaf", "call-frame", "calls-itself"),
        (LEAF, "elsewhere", "callee-save", "called-directly"),
        (
            LEAF.replace("ret;", "call %rd7, (), proto;\nret;"),
            "elsewhere",
            "call-frame",
            "called-by-pointer",
        ),
        (
            LEAF.replace("ret;", "call %rd7, (), proto;\nret;"),
            "leaf",
            "callee-save",
            "called-directly",
        ),
    ],
)
def test_why_a_function_saves_registers(leaf: str, inside: str, cause: Cause, kind: str) -> None:
    access = saved(SAVE, leaf=leaf, inside=inside)
    assert (access.cause, access.evidence_facts[0].kind) == (cause, kind)
    assert access.evidence_facts[0].subject == access.function == inside


NUMBER_AND_POINTER = "(.param .b64 _, .param .b32 _)"
THROUGH = "proto : .callprototype {what};\ncall {results}%rd7, (), proto;\nret;"


@pytest.mark.parametrize(
    ("body", "cause", "kind"),
    [
        (
            THROUGH.format(what=f"()_ {NUMBER_AND_POINTER}", results=""),
            "call-frame",
            "called-by-pointer",
        ),
        ("call %rd7, (), elsewhere;\nret;", "call-frame", "called-by-pointer"),
        (THROUGH.format(what="()_ (.param .b64 _)", results=""), "callee-save", "not-called"),
        (
            THROUGH.format(what="()_ (.param .b64 _, .param .b64 _)", results=""),
            "callee-save",
            "not-called",
        ),
        (
            THROUGH.format(what="()_ (.param .b64 _, .param .align 4 .b8 _[4])", results=""),
            "callee-save",
            "not-called",
        ),
        (
            THROUGH.format(what=f"(.param .b32 _) _ {NUMBER_AND_POINTER}", results="(retval0), "),
            "callee-save",
            "not-called",
        ),
        ("ret;", "callee-save", "not-called"),
        (CALLS, "callee-save", "called-directly"),
    ],
)
def test_what_a_call_through_a_pointer_can_reach(body: str, cause: Cause, kind: str) -> None:
    table = ".global .align 8 .u64 table[1] = {leaf};"
    ptx = program(body, leaf=LEAF, variables=(table,))
    (access,) = attributed(layers(ptx, callees={"leaf": [SAVE]})).accesses
    assert (access.cause, access.evidence_facts[0].kind) == (cause, kind)


def test_what_a_function_calls_that_a_pointer_reaches_is_called_directly() -> None:
    table = ".global .align 8 .u64 table[1] = {middle};"
    through = THROUGH.format(what=f"()_ {NUMBER_AND_POINTER}", results="")
    ptx = program(through, leaf=LEAF, middle=CALLS, variables=(table,))
    fact = attributed(layers(ptx, callees={"leaf": [SAVE]}))
    assert [(a.cause, a.evidence_facts[0].kind) for a in fact.accesses] == [
        ("callee-save", "called-directly")
    ]
    assert fact.calls is not None
    assert (fact.calls.reached, fact.calls.pointed) == ((), ("leaf", "middle"))


@pytest.mark.parametrize(
    ("table", "kind"),
    [("", "compiled-alone"), (".global .align 8 .u64 vtable[1] = {k};", "called-by-pointer")],
)
def test_a_function_of_a_table_is_called_through_it(table: str, kind: str) -> None:
    ptx = program("add.u32 %r9, %r8, 1;\nret;", variables=(table,) if table else ())
    fact = attributed(layers(ptx, SAVE, kind="function"))
    assert [(one.cause, one.evidence_facts[0].kind) for one in fact.accesses] == [
        ("callee-save", kind)
    ]
    (finding,) = find(replace(fact, kind="function"), SourceText(lambda _: ()))
    assert ("indirect calls" in finding.message) == bool(table)
    assert ("template parameter or a switch" in finding.advice[0].text) == bool(table)


@pytest.mark.parametrize(("stores", "cause"), [(255, "callee-save"), (256, "register-spill")])
def test_a_function_that_stores_more_than_registers_hold_spills_unmarked(
    stores: int, cause: Cause
) -> None:
    """ptxas loses marks of 8192 spills and more: the size of their record has 16 bits."""
    ptx = program(CALLS, leaf=LEAF)
    kept = [*[SAVE] * stores, stl("add.u32 %r9", marked=True)]
    *unmarked, last = attributed(layers(ptx, callees={"leaf": kept})).accesses
    assert {one.cause for one in unmarked} == {cause}
    assert last.cause == "register-spill"
    kind = "called-directly" if cause == "callee-save" else "unmarked-spill"
    assert unmarked[0].evidence_facts[0].kind == kind


@pytest.mark.parametrize(("bytes_", "cause"), [(64, "callee-save"), (2000, "register-spill")])
def test_no_more_is_spilled_than_ptxas_says(bytes_: int, cause: Cause) -> None:
    log = ptxas_report() + (
        "ptxas info    : Function properties for leaf\n"
        f"    0 bytes stack frame, {bytes_} bytes spill stores, 0 bytes spill loads\n"
    )
    ptx = program(CALLS, leaf=LEAF)
    found = attributed(layers(ptx, callees={"leaf": [SAVE] * 300}, log=log)).accesses
    assert {one.cause for one in found} == {cause}


def returning(read: str, *code: MachineCode, frame: int = 48) -> list[tuple[int, int, str]]:
    """The frame of a kernel that gets a structure of 40 bytes by a call through a pointer."""
    call = (
        "{ // callseq 0, 0\n.param .align 8 .b8 retval0[40];\n"
        "p0 : .callprototype (.param .align 8 .b8 _[40]) _ ();\ncall (retval0), %rd7, (), p0;\n"
    )
    fact = attributed(layers(program(f"{call}{read}\n}}\nret;"), *code, frame=frame))
    return [(part.offset, part.size, part.owner) for part in fact.frame]


def test_all_of_what_a_function_returns_in_memory_is_its_callers() -> None:
    second = "ld.param.v2.f32 {%f1, %f2}, [retval0+8];"
    # Of a pair, the second element: the buffer begins at a multiple of 8 bytes.
    assert returning(second, ldl("ld.param", at=12)) == [
        (0, 40, "saved registers"),
        (40, 8, "padding"),
    ]
    both = returning(
        second,
        ldl("ld.param", at=12),
        # Joined with the next pair, with the line of this one.
        ldl("ld.param", at=16, width=8),
        frame=40,
    )
    assert both[0] == (0, 40, "saved registers")


@pytest.mark.parametrize(
    ("ptx", "log", "cause", "kind"),
    [
        ("call.uni", "", "call-frame", "ptx-instruction"),
        ("st.param", "", "call-frame", "ptx-instruction"),
        ("add.u32 %r9", ptxas_report(8, 8), "register-spill", "reported-spill"),
        ("call.uni", ptxas_report(8, 8), "call-frame", "ptx-instruction"),
        ("add.u32 %r9", ptxas_report(0, 0), "call-frame", "no-local-access"),
    ],
)
def test_why_the_kernel_itself_saves_registers(ptx: str, log: str, cause: Cause, kind: str) -> None:
    access = saved(stl(ptx), log=log)
    assert (access.cause, access.evidence_facts[0].kind) == (cause, kind)


def test_a_kernel_that_calls_nothing_and_spills_nothing_leaves_it_open() -> None:
    access = only("add.u32 %r1, %r2, 1;\nret;", stl("add.u32"))
    assert access.cause == "unattributed"


# Objects.


def test_objects_are_named_and_indexed_as_the_source_says() -> None:
    body = INDEXED.replace("st.local", ".loc 1 4 0\nst.local").replace(
        "ld.local", ".loc 1 5 0\nld.local"
    )
    files = {"a.cu": "\n\n\nbins[2] = n;\nx = bins[n];\n"}
    fact = attributed(
        layers(program(body), ldl("ld.local", base=4), frame=64),
        [variable("bins", "int[16]", 64, 2), variable("n", "int", 4, 1, is_parameter=True)],
        files,
    )
    (found,) = fact.objects
    assert (found.name, found.type, found.size) == ("bins", "int[16]", 64)
    assert found.declared is not None
    assert (found.declared.file, found.declared.line) == ("a.cu", 2)
    assert found.index is not None
    assert found.index.expression == "n"
    assert [(s.kind, s.position) for s in found.index.sources] == [("parameter", 1)]


def test_objects_of_the_compilers_get_no_name() -> None:
    body = f"{depot(16)}\nadd.u64 %rd1, %SP, 0;\n.loc 1 4 0\n{call('vprintf', '%rd1')}\nret;"
    fact = attributed(
        layers(program(body), frame=16), [variable("line", "int[4]", 16)], {"a.cu": "\n\n\nline"}
    )
    assert [(found.cause, found.name) for found in fact.objects] == [("printf-args", None)]


def test_the_pieces_of_an_object_have_its_number_and_its_accesses_the_members() -> None:
    found = KernelObjects()
    found.add(local_object(size=32), [("k", 0), ("k", 16)], ())
    found.add(local_object(name="s.a", offset=32), [("k", 32)], [("k", 7)])
    found.add(local_object(name="s", offset=32), [("k", 32)], [("k", 8)])
    found.add(local_object(name="s.b", offset=32), [("k", 32)], [("k", 8)])
    assert [found.numbers(("k", at), ("k", 5)) for at in (0, 16, 99)] == [[0], [0], []]
    assert [found.numbers(("k", 32), ("k", index)) for index in (7, 8)] == [[1], [2, 3]]


def test_ptx_objects_without_frame_and_sites_were_promoted() -> None:
    fact = attributed(layers(program(INDEXED), frame=0))
    assert [share.cause for share in fact.causes] == ["promoted"]
    assert fact.objects == ()


def test_what_initialises_says_nothing_about_the_index() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
mov.u32 %r1, 0;
$L1:
.loc 1 4 0
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
st.local.u32 [%rd3], %r8;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, 16;
@%p1 bra $L1;
.loc 1 5 0
mov.u32 %r4, %tid.x;
mul.wide.s32 %rd4, %r4, 4;
add.s64 %rd5, %rd1, %rd4;
ld.local.u32 %r5, [%rd5];
ret;"""
    bins = variable("bins", "int[16]", 64)
    files = {"a.cu": "\n\n\nbins[j] = c;\nx = bins[threadIdx.x];\n"}
    (found,) = attributed(layers(program(body), frame=64), [bins], files).objects
    assert found.index is not None
    assert [(s.kind, s.name) for s in found.index.sources] == [("thread-id", "threadIdx.x")]
    assert found.index.expression == "threadIdx.x"
    assert found.index.uniformity == "lane-varying"
    # A loop that reads says something, and how lanes differ is still the run-time index's matter.
    reading = body.replace("st.local.u32 [%rd3], %r8;", "ld.local.u32 %r8, [%rd3];")
    (read,) = attributed(layers(program(reading), frame=64), [bins], files).objects
    assert read.index is not None
    assert [s.kind for s in read.index.sources] == ["thread-id"]
    assert [(s.kind, s.constant_trip) for s in read.index.other_sources] == [("loop-counter", True)]
    assert (read.index.expression, read.index.uniformity) == ("threadIdx.x", "lane-varying")
    assert read.index.other_uniformity is None


@pytest.mark.parametrize("looped", ["n", "threadIdx.x"])
def test_what_other_indices_are_made_of_stands_apart(looped: str) -> None:
    def shown(index: str, line: int, text: str) -> str:
        body = f".loc 1 {line} 0\n{text}\n"
        if index != looped:
            return body
        more = f"add.s32 %r9, %r9, 1;\nsetp.lt.s32 %p{line}, %r9, 99;\n@%p{line} bra $L{line};\n"
        return f"mov.u32 %r9, 0;\n$L{line}:\n{body}{more}"

    start, _, _ = INDEXED.partition("st.local")
    lanes = "mov.u32 %r6, %tid.x;\nmul.wide.s32 %rd6, %r6, 4;\nadd.s64 %rd7, %rd1, %rd6;\n"
    own = shown("n", 4, "ld.local.u32 %r2, [%rd3];")
    others = shown("threadIdx.x", 5, "ld.local.u32 %r3, [%rd7];")
    bins = variable("bins", "int[16]", 64)
    n = variable("n", "int", 4, 1, is_parameter=True)
    files = {"a.cu": "\n\n\nx = bins[n];\ny = bins[threadIdx.x];\n"}
    unit = layers(program(f"{start}{lanes}{own}{others}ret;"), frame=64)
    (found,) = attributed(unit, [bins, n], files).objects
    index = found.index
    assert index is not None
    assert (index.expression, index.location and index.location.line) == (
        looped,
        4 if looped == "n" else 5,
    )
    assert [source.kind for source in index.sources] == [
        "parameter" if looped == "n" else "thread-id"
    ]
    assert [source.kind for source in index.other_sources] == [
        "thread-id" if looped == "n" else "parameter"
    ]
    uniform = index.uniformity, index.other_uniformity, index.least_uniform
    assert uniform == (
        ("uniform", "lane-varying", "lane-varying")
        if looped == "n"
        else ("lane-varying", None, "lane-varying")
    )


def test_a_loop_is_named_only_where_counters_are_all_there_is() -> None:
    body = f"""{INDEXED[:-4]}
mov.u32 %r6, 0;
$L1:
.loc 1 6 0
add.s32 %r7, %r6, %r1;
mul.wide.s32 %rd6, %r7, 4;
add.s64 %rd7, %rd1, %rd6;
st.local.u8 [%rd7], %r8;
add.s32 %r6, %r6, 1;
setp.lt.s32 %p1, %r6, 16;
@%p1 bra $L1;
ret;"""
    (found,) = attributed(layers(program(body), frame=64)).objects
    assert found.index is not None
    assert {s.kind for s in found.index.sources} == {"parameter", "loop-counter"}
    assert found.index.loop is None


def test_the_owner_of_a_loop_counter_index_knows_its_loop() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
mov.u32 %r1, 0;
$L1:
.loc 1 6 0
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
ld.local.u32 %r2, [%rd3];
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, 16;
@%p1 bra $L1;
ret;"""
    (found,) = attributed(layers(program(body), ldl("ld.local"), frame=64)).objects
    assert found.cause == "rolled-loop"
    assert found.index is not None
    assert found.index.loop is not None
    assert found.index.loop.line == 6
    assert [(s.kind, s.constant_trip) for s in found.index.sources] == [("loop-counter", True)]


# Generic accesses, and what no ledger shows.


def test_generic_accesses_are_listed_beside_the_ledgers() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SP, 0;
st.global.u64 [%rd9], %rd1;
ld.u32 %r2, [%rd1+4];
ret;"""
    fact = attributed(layers(program(body), ldl("ld.u32", base=4, generic=True), frame=64))
    assert [(access.opcode, access.object) for access in fact.generic] == [("LD", 0)]
    assert fact.counted == ()
    assert fact.sass is not None
    assert fact.sass.count == 0


def test_a_generic_access_that_may_be_elsewhere_is_not_listed() -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SP, 0;
selp.b64 %rd2, %rd1, %rd9, %p1;
ld.u32 %r2, [%rd2];
ret;"""
    fact = attributed(layers(program(body), ldl("ld.u32", base=4, generic=True), frame=64))
    assert fact.generic == ()


@pytest.mark.parametrize(
    ("changes", "body", "causes"),
    [
        ({"shared_spills": 3}, "ret;", ["register-spill"]),
        ({"stack_known": False}, "ret;", ["call-frame"]),
        ({}, "call.uni (retval0), cudaCDP2LaunchDevice, (param0);\nret;", ["device-launch"]),
        ({}, "ret;", []),
    ],
)
def test_causes_that_no_byte_shows(
    changes: dict[str, object], body: str, causes: list[Cause]
) -> None:
    fact = attributed(layers(program(body), **changes))
    assert [share.cause for share in fact.causes] == causes
    assert all(share.frame_bytes == share.sites.count == 0 for share in fact.causes)


def test_a_launch_without_bytes_is_where_it_is_launched() -> None:
    body = """.loc 1 3 1
mov.u32 %r1, 0;
.loc 2 9 1, function_name $L__info_string0, inlined_at 1 5 2
call.uni (retval0), __cudaCDP2GetParameterBufferV2, (param0);
.loc 2 12 1, function_name $L__info_string0, inlined_at 1 5 2
call.uni (retval0), __cudaCDP2LaunchDeviceV2, (param0);
.loc 1 7 1
ret;"""
    library = '.file 2 "/opt/cuda/targets/x86_64-linux/include/api.h"'
    fact = attributed(layers(program(body, inlined=("launch",), variables=(library,))))
    (share,) = fact.causes
    assert (share.cause, share.location) == ("device-launch", SourceLocation("a.cu", 5))
    (finding,) = find(fact, SourceText(lambda file: ()))
    assert finding.location == share.location


def test_both_ledgers_close() -> None:
    fact = attributed(
        layers(
            program(INDEXED),
            stl("st.local", at=24),
            ldl("ld.local", base=4),
            stl("ld.global", at=80, marked=True),
            ldl("ld.global", at=80, marked=True),
            frame=96,
        )
    )
    assert sum(part.size for part in fact.frame) == 96
    assert (
        sum(share.frame_bytes for share in fact.causes)
        + sum(part.size for part in fact.frame if part.owner == "padding")
        == 96
    )
    assert fact.sass is not None
    assert sum(share.sites.bytes for share in fact.causes) == fact.sass.bytes == 16
    assert [(p.offset, p.size, p.owner) for p in fact.frame] == [
        (0, 16, "unknown"),
        (16, 64, "object"),
        (80, 4, "spill slots"),
        (84, 12, "padding"),
    ]


def test_a_copy_that_became_a_loop_is_told_from_the_sources_loops() -> None:
    body = (
        f"{depot(64)}\n.loc 1 8 0\nld.param.u32 %r9, [k_param_1];\n"
        "cvt.u64.u32 %rd9, %r9;\nsetp.eq.u32 %p1, %rd9, 0;\n"
        ".loc 1 9 0\n@%p1 bra $END;\n.loc 1 0 0\nmov.u64 %rd5, 0;\nadd.u64 %rd8, %SPL, 0;\n"
        "$LOOP:\nadd.u64 %rd6, %rd8, %rd5;\nst.local.u8 [%rd6], 1;\n"
        "add.u64 %rd5, %rd5, 1;\nsetp.lt.u64 %p2, %rd5, %rd9;\n@%p2 bra $LOOP;\n"
        "$END:\nret;"
    )
    (found,) = attributed(layers(program(body), stl("st.local"), frame=64)).objects
    assert found.cause == "dynamic-index"
    assert found.index is not None
    assert [(s.kind, s.name, s.constant_trip) for s in found.index.sources] == [
        ("copy", None, None)
    ]


@pytest.mark.parametrize(
    ("length", "cause", "kinds"),
    [
        # A largest value is no constant length, where no loop of the source has it.
        ("and.b64 %rd9, %rd7, 31;", "dynamic-index", ["copy"]),
        ("mov.u64 %rd9, 31;", "unattributed", None),
    ],
)
def test_a_length_of_a_narrow_type_is_no_constant(
    length: str, cause: str, kinds: list[str] | None
) -> None:
    body = (
        f"{depot(64)}\n.loc 1 9 0\nld.param.u64 %rd7, [k_param_0];\n{length}\n"
        "setp.eq.u64 %p1, %rd9, 0;\n@%p1 bra $END;\n"
        ".loc 1 0 0\nmov.u64 %rd5, 0;\nadd.u64 %rd8, %SPL, 0;\n"
        "$LOOP:\nadd.u64 %rd6, %rd8, %rd5;\nst.local.u8 [%rd6], 1;\n"
        "add.u64 %rd5, %rd5, 1;\nsetp.lt.u64 %p2, %rd5, %rd9;\n@%p2 bra $LOOP;\n"
        "$END:\nret;"
    )
    (found,) = attributed(layers(program(body), stl("st.local"), frame=64)).objects
    assert found.cause == cause
    # What is copied by a constant length has no index.
    index = found.index
    assert (None if index is None else [source.kind for source in index.sources]) == kinds
    lined = body.replace("st.local", ".loc 1 9 0\nst.local")
    (own,) = attributed(layers(program(lined), stl("st.local"), frame=64)).objects
    assert own.index is not None
    assert {source.kind for source in own.index.sources} == {"loop-counter"}


@pytest.mark.parametrize(
    ("read", "also"), [("", ()), ("ld.local.u8 %r2, [%rd4];", ("dynamic-index",))]
)
def test_what_only_a_print_reads_goes_with_the_print(read: str, also: tuple[Cause, ...]) -> None:
    body = f"""{depot(40)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd2, %SP, 0;
add.u64 %rd5, %SPL, 32;
add.u64 %rd6, %SP, 32;
ld.param.u64 %rd3, [k_param_1];
add.s64 %rd4, %rd1, %rd3;
st.local.u8 [%rd4], %r1;
{read}
st.local.u64 [%rd5], %rd2;
{call("vprintf", "%rd6")}
ret;"""
    fact = attributed(layers(program(body), frame=40))
    text, buffer = fact.objects
    assert (text.cause, text.also) == ("address-taken", also)
    assert buffer.cause == "printf-args"


@pytest.mark.parametrize(
    ("size", "stored", "cause"),
    [(2048, "5", "const-table"), (2048, "%r1", "large-array"), (512, "5", "unattributed")],
)
def test_constants_that_are_read_at_constant_places_are_a_large_table(
    size: int, stored: str, cause: Cause
) -> None:
    body = f"""{depot(size)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r1, [k_param_1];
st.local.u32 [%rd1+4], 3;
st.local.u32 [%rd1+8], {stored};
ld.local.u32 %r2, [%rd1+8];
st.global.u32 [%rd9], %r2;
ret;"""
    fact = attributed(layers(program(body), ldl("ld.local", base=1), frame=size))
    (found,) = fact.objects
    assert found.cause == cause
    if cause == "const-table":
        (held,) = found.evidence_facts
        assert (held.bytes, held.limit) == (size, 1020)
        (finding,) = find(fact, SourceText(lambda _: ()))
        assert "more than the 1020 bytes that a thread can hold" in finding.message
        assert "indexed" not in finding.message


def test_a_function_without_a_frame_has_its_objects_in_the_kernels() -> None:
    """ptxas may lay out the depots of functions that it does not inline in one frame."""
    index = "mul.wide.u32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.local.u32 [%rd3], %r8;"
    objects = f"add.u64 %rd1, %SPL, 0;\nmov.u32 %r8, %tid.x;\n{index}\n"
    leaf = f"{depot(32)}\n{objects}st.local.u32 [%rd1+8], 7;\nret;"
    ptx = program(f"{depot(64)}\n{objects}{CALLS}", leaf=leaf)
    told = "    {0} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    log = (
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        f"ptxas info    : Function properties for k\n{told.format(96)}"
        "ptxas info    : Used 10 registers\n"
        f"ptxas info    : Function properties for leaf\n{told}"
    )
    store = stl("st.local.u32 [%rd1+8]", at=72)
    for bytes_, owned in ((0, {("k", 0, 64), ("leaf", 64, 32)}), (32, set())):
        made = layers(ptx, callees={"leaf": [store]}, log=log.format(bytes_), frame=96)
        fact = attributed(made)
        numbers = [(part.object_index, part.offset, part.size) for part in fact.frame]
        found = {(fact.objects[n].function, at, size) for n, at, size in numbers if n is not None}
        assert found == owned

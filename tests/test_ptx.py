from __future__ import annotations

from collections.abc import Callable

import pytest

from lmemscope.analysis.ptx.flow import generic_local_accesses, local_addresses
from lmemscope.errors import FormatError
from lmemscope.formats.file_names import joined
from lmemscope.formats.ptx import LocalSurvey, PtxModule
from lmemscope.formats.ptx_body import Address, Vector
from lmemscope.formats.ptx_survey import survey_of
from lmemscope.model import Artifacts, LaunchBounds, SourceLocation
from tests.builders import PTX_HEADER as HEADER
from tests.builders import ptx_module as module


def survey(body: str) -> LocalSurvey:
    return module(body).functions[0].survey


DEPOT = """
    .local .align 16 .b8 __local_depot0[192];
    .reg .b64 %SP;
    .reg .b64 %SPL;
    mov.u64 %SPL, __local_depot0;
    cvta.local.u64 %SP, %SPL;
"""


def test_objects_are_delimited_by_the_offsets_taken() -> None:
    found = survey(
        DEPOT
        + """
    add.u64 %rd1, %SPL, 0;
    add.u64 %rd2, %SP, 128;
    add.u64 %rd3, %SPL, 128;
    add.u64 %rd4, %rd1, 64;
"""
    )
    assert found.bytes == 192
    assert found.object_offsets == (0, 128)
    assert found.takes_generic_address


@pytest.mark.parametrize(
    ("line", "loads", "stores"),
    [
        ("ld.local.f32 %f1, [%rd1];", 1, 0),
        ("ld.local.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];", 1, 0),
        ("ld.volatile.local.u32 %r1, [%rd1];", 1, 0),
        ("@%p1 ld.local.u8 %rs1, [%rd1+-4];", 1, 0),
        ("@!%p1 st.local.v2.u64 [%rd1], {%rd2, %rd3};", 0, 1),
        ("st.weak.local.b64 [%rd1+8], 0;", 0, 1),
        ("st.local.f32 [__local_depot0+4], 0f3F800000;", 0, 1),
        ("$L1: st.local.u32 [%rd1], %r1;", 0, 1),
        ("st.local.u32 [%rd1], %r1; ld.local.u32 %r2, [%rd1];", 1, 1),
        ("// st.local.u32 [%rd1], %r1;", 0, 0),
        ("/* st.local.u32 [%rd1], %r1;\n ld.local.u32 %r1, [%rd1]; */", 0, 0),
        ("mov.u32 %r1, local_looking_name;", 0, 0),
        ("ld.global.u32 %r1, [%rd1];", 0, 0),
        ("cvta.to.local.u64 %rd5, %rd4;", 0, 0),
    ],
)
def test_accesses_of_every_form_are_counted(line: str, loads: int, stores: int) -> None:
    found = survey(DEPOT + line)
    assert (found.ld_local, found.st_local) == (loads, stores)


def test_instructions_have_operands_and_lines() -> None:
    body = (
        module(
            """
        .reg .pred %p<2>;
        setp.lt.s32 %p1|%p2, %r1, -5;
        @!%p1 bra $L2;
        mad.lo.s32 %r3, %r1, 0x10, %r2;
        tex.2d.v4.f32.s32 {%f1, %f2, _, %f4}, [texture, {%r1, %r2}];
        { // callseq
        .param .b64 param0;
        st.param.b64 [param0+0], %rd1;
        call.uni (retval0),
        helper,
        (param0, param1);
        }
        $L2:
        ret;
        """
        )
        .functions[0]
        .body
    )
    opcodes = [i.opcode for i in body.instructions]
    assert opcodes == [
        "setp.lt.s32",
        "bra",
        "mad.lo.s32",
        "tex.2d.v4.f32.s32",
        "st.param.b64",
        "call.uni",
        "ret",
    ]
    setp, bra, mad, tex, store, call, _ = body.instructions
    assert setp.operands == (Vector(("%p1", "%p2")), "%r1", "-5")
    assert (bra.predicate, bra.operands) == ("!%p1", ("$L2",))
    assert mad.operands == ("%r3", "%r1", "0x10", "%r2")
    assert tex.operands[0] == Vector(("%f1", "%f2", "_", "%f4"))
    assert store.operands == (Address("param0", 0), "%rd1")
    assert call.operands == (Vector(("retval0",)), "helper", Vector(("param0", "param1")))
    assert body.labels == {"$L2": 6}
    assert [i.line for i in body.instructions] == [8, 9, 10, 11, 14, 15, 20]


def test_loc_gives_the_inline_chain_innermost_first() -> None:
    text = (
        HEADER
        + """
.visible .entry k()
{
	.loc 1 30 0
	.loc 1 13 3
	mov.u32 %r0, 1;
	.loc 1 8 3, function_name $L__info_string0, inlined_at 1 13 3
	mov.u32 %r1, 1;
	.loc 2 5 7, function_name $L__info_string1+4, inlined_at 1 8 3
	mov.u32 %r2, 1;
	ret;
}
	.file	1 "/src/a.cu"
	.file	2 "/src/b.cuh"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,51,109,105,100,118,0
$L__info_string1:
.b8 108,101,97,102
.b8 0
	}
"""
    )
    parsed = PtxModule(text.encode())
    instructions = parsed.functions[0].body.instructions
    assert parsed.functions[0].first_loc == (1, 30)
    assert [f.location for f in parsed.chain(instructions[0])] == [SourceLocation("/src/a.cu", 13)]
    chain = parsed.chain(instructions[2])
    assert [(f.location.file, f.location.line, f.function) for f in chain] == [
        ("/src/b.cuh", 5, "leaf"),
        ("/src/a.cu", 8, "_Z3midv"),
        ("/src/a.cu", 13, None),
    ]


def test_launch_bounds_and_parameters_come_from_the_header() -> None:
    parsed = module(
        "ret;",
        ".visible .entry k(\n\t.param .u64 .ptr .global .align 4 k_param_0,\n"
        "\t.param .align 8 .b8 k_param_1[72]\n)\n.maxntid 32, 8, 2\n.minnctapersm 3\n.maxnreg 40",
    ).functions[0]
    assert parsed.launch_bounds == LaunchBounds(512, 3)
    assert parsed.max_registers == 40
    assert [(name, size) for name, _, size in parsed.parameters] == [
        ("k_param_0", 8),
        ("k_param_1", 72),
    ]


def test_declarations_without_body_are_no_functions() -> None:
    text = (
        HEADER + ".extern .func (.param .b32 r) vprintf(.param .b64 a)\n;\n.entry k()\n{\nret;\n}\n"
    )
    assert [f.name for f in PtxModule(text.encode()).functions] == ["k"]


def test_functions_and_their_return_parameters() -> None:
    text = HEADER + ".func (.param .align 8 .b8 out[16]) leaf(.param .b64 a)\n{\nret;\n}\n"
    function = PtxModule(text.encode()).functions[0]
    assert (function.name, function.kind) == ("leaf", "function")
    assert [name for name, _, _ in function.parameters] == ["a"]


def test_generic_accesses_count_only_where_the_address_is_provably_local() -> None:
    function = module(
        DEPOT
        + """
    add.u64 %rd1, %SP, 16;
    ld.param.u64 %rd9, [p0];
    st.f32 [%rd1], %f1;
    mov.u64 %rd2, %rd1;
$L1:
    ld.f32 %f2, [%rd2+4];
    add.s64 %rd2, %rd2, 4;
    bra $L1;
    selp.b64 %rd3, %rd1, %rd9, %p1;
    ld.f32 %f3, [%rd3];
    ld.global.f32 %f4, [%rd1];
    ret;
"""
    ).functions[0]
    assert {"%SP", "%rd1", "%rd2"} <= local_addresses(function.body)
    assert "%rd3" not in local_addresses(function.body)
    assert [i.opcode for i in generic_local_accesses(function.body)] == ["st.f32", "ld.f32"]


@pytest.mark.parametrize("text", [b"", b"\x7fELF", b"int main() {}"])
def test_what_is_no_ptx_is_refused(text: bytes) -> None:
    with pytest.raises(FormatError, match="not PTX"):
        PtxModule(text)


def test_a_cut_off_function_is_refused() -> None:
    text = HEADER + ".entry k()\n{\n\tmov.u32 %r1, 1;\n"
    with pytest.raises(FormatError, match="cut off"):
        _ = PtxModule(text.encode()).functions[0].body


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_the_fast_survey_equals_the_full_parse(
    many_forms: Callable[[str], Artifacts], arch: str
) -> None:
    parsed = PtxModule(many_forms(arch).ptx or b"")
    assert len(parsed.functions) >= 8
    for function in parsed.functions:
        assert function.survey == survey_of(function.body)
        for instruction in function.body.instructions:
            if not instruction.opcode.startswith("call"):
                assert instruction.opcode in parsed.opcodes_at(instruction.line)


@pytest.mark.parametrize(
    ("directory", "name", "path"),
    [
        (b"/src", b"k.cu", "/src/k.cu"),
        (b"", b"k.cu", "k.cu"),
        (b"/src", b"/k.cu", "/k.cu"),
        (rb"/gr\303\244/k \303", b"266's.cu", "/grä/k ö's.cu"),
        (rb"/gr\303\244", b"266.cu", "/grä/266.cu"),
        (rb"/\342\202", b"254.cu", "/€.cu"),
        (rb"/\377", b"a.cu", "/\udcff/a.cu"),
    ],
)
def test_files_of_line_tables(directory: bytes, name: bytes, path: str) -> None:
    """ptxas cuts names at the backslashes of their escapes."""
    assert joined(directory, name) == path


def test_names_of_files_are_as_the_file_system_has_them() -> None:
    module = PtxModule(
        b'.version 8.0\n.file 1 "/tmp/gr\\303\\266 \\\\ x/\\"k\\".cu"\n.file 2 "/tmp/\\377.cu"\n'
    )
    assert module.files == {1: '/tmp/grö \\ x/"k".cu', 2: "/tmp/\udcff.cu"}


def test_names_inside_braces_are_their_own() -> None:
    """Inline assembly declares registers and labels that the function has too."""
    body = (
        module(
            """
    mov.u32 %r1, 1;
{
    .reg .u32 %r1, t, %q<2>;
    .reg .pred P;
L:  add.u32 %r1, t, %r2;
    setp.ne.u32 P, %q1, %r1;
    @!P bra L;
    bra $outer;
}
{
    .reg .u32 t;
L:  ld.u32 t, [%r1];
    bra L;
}
$outer:
    ret;
"""
        )
        .functions[0]
        .body
    )
    read = [(i.predicate, *i.operands) for i in body.instructions]
    assert read == [
        (None, "%r1", "1"),
        (None, "%r1@1", "%t@1", "%r2"),
        (None, "%P@1", "%q1@1", "%r1@1"),
        ("!%P@1", "L@1"),
        (None, "$outer"),
        (None, "%t@2", Address("%r1", 0)),
        (None, "L@2"),
        (None,),
    ]
    assert body.labels == {"L@1": 1, "L@2": 5, "$outer": 7}

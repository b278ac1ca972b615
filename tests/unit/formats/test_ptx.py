from __future__ import annotations

from collections.abc import Callable

import pytest

from lmemscope.errors import FormatError
from lmemscope.formats.file_names import joined
from lmemscope.formats.ptx import LocalSurvey, PtxModule
from lmemscope.formats.ptx_body import Address, Vector
from lmemscope.formats.ptx_survey import survey_of
from lmemscope.model import Artifacts, LaunchBounds, SourceLocation
from tests.support.builders import PTX_HEADER as HEADER
from tests.support.builders import ptx_module as module


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


def test_code_without_a_line_is_inlined_where_it_says_and_nowhere_else() -> None:
    text = """
.visible .entry k()
{
	.loc 1 30 0
	.loc 1 0 0, function_name $L__info_string0, inlined_at 1 13 3
	mov.u32 %r0, 1;
	.loc 1 8 3, function_name $L__info_string0, inlined_at 1 13 3
	mov.u32 %r1, 1;
	.loc 1 0 0
	mov.u32 %r2, 1;
	.loc 1 8 3
	mov.u32 %r3, 1;
	ret;
}
	.file	1 "/src/a.cu"
"""
    parsed = PtxModule((HEADER + text).encode())
    chains = map(parsed.chain, parsed.functions[0].body.instructions)
    lines = [[frame.location.line for frame in chain] for chain in chains]
    assert lines[:4] == [[0, 13], [8, 13], [0], [8, 13]]


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


@pytest.mark.parametrize("text", [b"", b"\x7fELF", b"int main() {}"])
def test_what_is_no_ptx_is_refused(text: bytes) -> None:
    with pytest.raises(FormatError, match="not PTX"):
        PtxModule(text)


@pytest.mark.parametrize("alignment", ["0", "3", "4294967297", "-4"])
def test_an_alignment_that_is_no_power_of_two_is_refused(alignment: str) -> None:
    text = HEADER + f".entry k()\n{{\n\t.local .align {alignment} .b8 a[16];\n\tret;\n}}\n"
    with pytest.raises(FormatError):
        _ = PtxModule(text.encode()).functions[0].body


def test_a_cut_off_function_is_refused() -> None:
    text = HEADER + ".entry k()\n{\n\tmov.u32 %r1, 1;\n"
    with pytest.raises(FormatError, match="cut off"):
        _ = PtxModule(text.encode()).functions[0].body


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_no_local_memory_of_what_compilers_write_is_passed_over(
    many_forms: Callable[[str], Artifacts], arch: str
) -> None:
    parsed = PtxModule(many_forms(arch).ptx or b"")
    assert len(parsed.functions) >= 8
    for function in parsed.functions:
        assert function.survey == survey_of(function.body)


# Statements as hands, other compilers and inline assembly write them.
UNUSUAL = {
    "blanks": "  ld . local .f32 %f1 , [ %rd1 ] ;\nst.local .u32 [%rd1 + 4], -1;",
    "over lines": "ld.local.u32\n\t%r1,\n[%rd1];\n@%p1\n\tst.local.u32 [%rd1], %r1;",
    "opcode over lines": "ld\n.local.u32 %r1, [%rd1];",
    "one line": "ld.local.u32 %r1, [%rd1]; st.local.u32 [%rd1], %r1; add.u64 %rd1, %SPL, 64;",
    "behind a line's statement": "add.u64 %rd1,\n%SP, 16; ld.local.u32 %r1, [%rd1];",
    "behind a label": "$L: ld.local.u32 %r1, [%rd1];\n$M: add.u64 %rd1, %SP, 8;",
    "behind .loc": ".loc 1 2 3 ld.local.u32 %r1, [%rd1]; .loc 1 2 3 add.u64 %rd1, %SP, 8;",
    "in braces": "{ ld.local.u32 %r1, [%rd1]; }\n{\n\tst.local.u32 [%rd1], %r1;\n}",
    "behind comments": "/* a */ ld.local.u32 %r1, [%rd1]; /* \n */ st.local.u32 [%rd1], %r1;",
    "within comments": "// ld.local.u32 %r1, [%rd1];\n/*\n\tst.local.u32 [%rd1], %r1;\n*/",
    "comments at ends": "\tld.local.u32 %r1, [%rd1]; // .local /* \n\tst.local.u8 [%r1], 1; // */",
    "within a string": '.pragma "\n\tst.local.u32 [%rd1], %r1;\n\tld.local.u32 %r1, [%rd1];\n";',
    "quotes in comments": '// "\n\tst.local.u32 [%rd1], %r1; // "\n/* " */ ld.local.u8 %r1, [%r1];',
    "local in names": "mov.u32 %local, local; bra $local.local_2;\nmov.u32 %r1, my.local;",
    "an octal offset": "add.u64 %rd1, %SP, 010;",
    "a hexadecimal offset": "add.u64 %rd1, %SPL, 0x20; add.u32 %r1, %SP, 4U;",
    "an offset from a register": "add.u64 %rd1, %SPL, %rd2;",
    "a predicate": "@!%p1 add.u64 %rd1, %SP, 32;\n@%p2 st.local.u32 [%SP+12], %r1;",
    "a register of it": "mov.u64 %rd7, %SP;\nadd.u64 %rd8, %rd7, 24;\nadd.u64 %r9, %rd8, 2;",
    "the variable's own address": "mov.b64 %rd7, __local_depot0; add.s64 %rd8, %rd7, 40;",
    "accesses at the pointer": "st.u32 [%SP+8], %r1;\n\tld.local.u32 %r1, [%SPL];",
    "accesses at variables": "\tst.local.u8 [__local_depot0+8], 1;\nld.u8 %r1, [__local_depot0];",
    "a variable more": ".local .v4 .f32 more[3], other;\nadd.u64 %rd1, more, 4;",
    "a variable and its use": ".local .b8 more[8]; mov.u64 %SP, more; add.u64 %rd1, %SP, 4;",
    "a variable in braces": "{\n.local .align 4 .b8 more[8];\n}\n.local .align 4 .b8 last[8];",
    "a variable over lines": ".local\n.align 4 .b8\nmore[8];",
    "many variables": "".join(f".local .b32 v{n};\n" for n in range(9)) + "add.u64 %rd1, v8, 4;",
    "names of braces": "{\n.reg .b64 %SP;\nmov.u64 %SP, 1;\nadd.u64 %rd1, %SP, 4;\n}",
    "a family of braces": "{\n.reg .b64 %SP<4>;\nadd.u64 %rd1, %SP1, 4;\n}",
    "addresses made generic": "cvta.local.u64 %rd1, %rd2;\n\tcvta.to.local.u64 %rd1, %rd2;",
    "the pointer back to local": "cvta.to.local.u64 %rd1, %SP;\nadd.u64 %rd2, %rd1, 4;",
    "vectors": "\tld.local.v2.f32 {%f1,_}, [%rd1+-8];\n\tst.local.v2.b32 [%rd1], { 0, %r1 } ;",
    "other forms of memory": "ld.volatile.local.u32 %r1, [%rd1]; st.relaxed.cta.local.u8 [%r1], 1;",
    "parameters of functions": "call (r), f, (%SP), p;\nst.param.b64 [param0+0], %SPL;",
    "longer names": "mov.u64 %rd1, %SPX; add.u64 %rd1, %SPLIT, 4; mov.u64 %rd1, __local_depot01;",
}
BEHIND = {
    "nothing": "",
    "a variable": ".local .align 4 .b8 behind[4];\n",
    "a section": ".global .b8 local[4];\n.section .debug_loc {\n.b64 __local_depot0\n}\n",
}


@pytest.mark.parametrize("depot", ["", DEPOT, DEPOT.replace("    ", "\t")], ids=["no", "a", "tabs"])
@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("statements", UNUSUAL.values(), ids=UNUSUAL)
def test_no_unusual_text_with_local_memory_is_passed_over(
    statements: str, behind: str, depot: str
) -> None:
    for newline in ("\n", "\r\n"):
        text = f"{HEADER}.entry k()\n{{\n{depot}\n{statements}\n}}\n{behind}"
        (function,) = PtxModule(text.replace("\n", newline).encode()).functions
        assert function.survey == survey_of(function.body)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/*\n.entry a()\n{\n}\n*/\n.entry b()\n{\n}\n", ["b"]),
        ("// {\n.entry a() // ; {\n{\n}\n", ["a"]),
        (".visible .entry a {\n}\n.weak .func  ( .param .b32 r ) b ( )\n{\n}\n", ["a", "b"]),
        (".entry\n a()\n.maxntid 1, 1, 1\n{\n}\n.func b()\n;\n", ["a"]),
        (".func /* ( */ (.param .b32 r)\n/* x */ c(.param .b32 p) {\n}\n", ["c"]),
        ('.file 1 "\n.entry a()\n{\n"\n.entry b()\r\n{\r\n}\r\n', ["b"]),
        (".entry a::b() {\n}\n.functional\n", ["a::b"]),
    ],
)
def test_functions_are_found_in_unusual_text(text: str, names: list[str]) -> None:
    module = PtxModule((HEADER + text).encode())
    assert [function.name for function in module.functions] == names
    lines = (HEADER + text).split("\n")
    for function in module.functions:
        assert any(word in lines[function.line - 1] for word in (".entry", ".func"))


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


PRINT = """
st.local.u32 [%rd1], %r1;
{ // callseq 0, 0
st.param.b64 [param0+0], %rd1;
call.uni (retval0),
vprintf,
(
param0,
param1
);
}
"""


@pytest.mark.parametrize(
    ("beside", "alone"),
    [
        ("", True),
        ("ld.global.u32 %r2, [%rd2];", True),
        ("st.volatile.local.u32 [%rd1], %r1;", True),
        ("st.global.u32 [%rd2], %r1;", False),
        ("@%p1 st.u32 [%rd2], %r1;", False),
        ("@!%p1 red.global.add.u32 [%rd2], %r1;", False),
        ("atom.shared.add.u32 %r3, [%rd2], 1;", False),
        ("sured.b.add.1d.u32.trap [%rd2, {%r3}], %r1;", False),
        ("multimem.ld_reduce.global.add.u32 %r1, [%rd2];", True),
        ("multimem.red.global.add.u32 [%rd2], %r1;", False),
        ("wmma.load.c.sync.aligned.row.m8n8k32.s32 {%r1, %r2}, [%rd3], %r4;", True),
        ("wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd3], {%r1, %r2}, %r4;", False),
        ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r2;", False),
        ("prefetch.global.L2 [%rd2];", True),
        ("call.uni other, (param0);", False),
        ("call (retval0), %rd4, (param0), proto;", False),
        ("trap;", False),
        ("{ .reg .pred p; setp.ne.u32 p, %r1, 0; @p st.global.u32 [%rd2], %r1; }", False),
        ("{st.shared.u32 [%r4], %r1;}", False),
    ],
)
def test_a_kernel_only_prints_if_nothing_else_is_seen_of_it(beside: str, alone: bool) -> None:
    (function,) = module(f"{beside}{PRINT}ret;").functions
    assert function.only_prints is alone


def test_a_function_that_returns_something_does_not_only_print() -> None:
    text = "\n".join([*PRINT.splitlines(), "st.param.b32 [func_retval0+0], %r1;", "ret;"])
    (function,) = module(text).functions
    assert not function.only_prints


def test_a_kernel_that_prints_nothing_does_not_only_print() -> None:
    (function,) = module("ret;").functions
    assert not function.only_prints

"""Values that come through the mathematical library: of what it was given, and nothing else."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.library import TWO_OVER_PI
from lmemscope.formats.ptx import PtxModule

WORDS = [
    int.from_bytes(TWO_OVER_PI[at : at + 4], "little", signed=True) for at in range(120, 144, 4)
]
SINE = (
    *(70, 210, 176, 44, 241, 229, 90, 190, 146, 227, 172, 105, 227, 29, 199, 62),
    *(161, 98, 219, 25, 160, 1, 42, 191, 24, 8, 17, 17, 17, 17, 129, 63),
    *(84, 85, 85, 85, 85, 85, 197, 191),
)
START = """
.loc 1 7 0
.local .align 16 .b8 __local_depot0[64];
mov.u64 %SPL, __local_depot0;
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r1, [k_param_0];
ld.param.u32 %r2, [k_param_1];
mov.u32 %r8, %tid.x;
and.b32 %r7, %r8, 4;
cvt.u64.u32 %rd7, %r7;
add.s64 %rd6, %rd1, %rd7;
"""


def last(body: str, *others: str) -> tuple[set[str], str]:
    """Sources and uniformity of ``%r9`` at the end of a kernel."""
    kernel = f".visible .entry k(.param .u32 k_param_0, .param .u32 k_param_1)\n{{{START}{body}"
    text = "\n".join([*others, f"{kernel}\nst.global.u32 [%rd99], %r9;\nret;\n}}"])
    flow = ModuleFlow(PtxModule(f'.version 9.0\n.target sm_90\n.file 1 "a.cu"\n{text}\n'.encode()))
    dataflow = flow.dataflow("k")
    assert dataflow is not None
    at = len(dataflow.body.instructions) - 2
    leaves = {
        leaf.name or leaf.kind for leaf in dataflow.leaves("%r9", at) if leaf.kind != "symbol"
    }
    return leaves, dataflow.uniformity("%r9", at)


def reduction(argument: str, words: list[int] = WORDS) -> str:
    lines = ["mov.u64 %rd20, 0;"]
    for number, word in enumerate(words):
        lines += [
            f"mov.u32 %r2{number}, {word};",
            f"mad.wide.u32 %rd3{number}, %r2{number}, {argument}, %rd20;",
            f"shr.u64 %rd20, %rd3{number}, 32;",
            f"st.local.u32 [%rd1+{4 * number}], %rd3{number};",
        ]
    lines.append(f"st.local.u32 [%rd1+{4 * len(words)}], %rd20;")
    return "\n".join(lines)


READ = "ld.local.u32 %r9, [%rd1+8];"


def test_what_a_range_reduction_keeps_is_of_its_argument() -> None:
    assert last(f"{reduction('%r1')}\n{READ}") == ({"k_param_0"}, "uniform")
    assert last(f"{reduction('%r8')}\n{READ}") == ({"%tid.x"}, "lane-varying")
    assert last(f"{reduction('%r1', [7, 8, 9, 10, 11])}\n{READ}") == ({"memory"}, "uniform")


def test_one_array_serves_several_reductions_one_after_the_other() -> None:
    both = f"{reduction('%r1')}\n{READ}\nmov.u32 %r10, %r9;\n{reduction('%r2')}\n{READ}"
    assert last(both)[0] == {"k_param_1"}


def test_an_array_that_keeps_anything_else_is_memory() -> None:
    shared = f"{reduction('%r1')}\nst.local.u32 [%rd1+8], %r2;\n{READ}"
    assert last(shared)[0] == {"memory"}


@pytest.mark.parametrize(("content", "expected"), [(SINE, {"k_param_0"}), (range(40), {"table"})])
def test_constants_of_the_library_are_chosen_by_their_index(
    content: tuple[int, ...], expected: set[str]
) -> None:
    table = f".global .align 8 .b8 table[40] = {{{', '.join(map(str, content))}}};"
    body = "mul.wide.u32 %rd2, %r1, 8;\nmov.u64 %rd3, table;\nadd.s64 %rd4, %rd3, %rd2;\n"
    assert last(f"{body}ld.global.u32 %r9, [%rd4];", table)[0] == expected


@pytest.mark.parametrize(
    ("header", "line", "expected"),
    [
        (".func", "", ({"k_param_1"}, "uniform")),
        (".func", ".loc 1 3 0", ({"leaf"}, "unknown")),  # the user's
        (".visible .func", "", ({"leaf"}, "unknown")),
    ],
)
def test_functions_without_lines_return_what_their_arguments_make(
    header: str, line: str, expected: tuple[set[str], str]
) -> None:
    leaf = f"""{header} (.param .b32 retval0) leaf(.param .b32 leaf_param_0)
{{
    {line}
    ld.param.u32 %r1, [leaf_param_0];
    st.param.b32 [retval0], %r1;
    ret;
}}"""
    call = """{
    .param .b32 param0;
    st.param.b32 [param0], %r2;
    .param .b32 retval0;
    call.uni (retval0), leaf, (param0);
    ld.param.b32 %r9, [retval0];
    }"""
    assert last(call, leaf) == expected

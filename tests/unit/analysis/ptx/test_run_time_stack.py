"""What computes the size of an ``alloca``: the same text for the same size, another for another."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.run_time_stack import run_time_sizes
from lmemscope.formats.ptx import PtxModule

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{{
ld.param.u32 %r1, [k_param_1];
{body}
ret;
}}
"""
TAKER = """.func (.param .b32 func_retval0) taker(.param .b32 taker_param_0)
{
ld.param.u32 %r1, [taker_param_0];
cvt.s64.s32 %rd1, %r1;
alloca.u64 %rd2, %rd1, 16;
st.param.b32 [func_retval0], 0;
ret;
}
"""
CALL = """{{
.param .b32 param0;
st.param.b32 [param0], {given};
.param .b32 retval0;
call.uni (retval0), taker, (param0);
}}"""


def sizes(body: str, functions: str = "") -> tuple[str, ...]:
    text = HEAD + functions + KERNEL.format(body=body)
    return run_time_sizes(ModuleFlow(PtxModule(text.encode())), "k")


PLAIN = "mul.wide.s32 %rd1, %r1, 4;\nalloca.u64 %rd2, %rd1, 16;"
SAME = [
    PLAIN.replace("%rd1", "%rd7"),
    f"mov.u32 %r9, %tid.x;\nadd.s32 %r8, %r9, 77;\n{PLAIN}",
]
OTHERS = [
    PLAIN.replace("4;", "8;"),
    PLAIN.replace("alloca", "add.s64 %rd1, %rd1, 4096;\nalloca"),
    "mov.u32 %r1, %ntid.x;\n" + PLAIN,
    PLAIN + "\n" + PLAIN,
    "mov.u64 %rd1, 4096;\nalloca.u64 %rd2, %rd1, 16;",
    "ld.param.u64 %rd9, [k_param_0];\nld.global.u32 %r1, [%rd9];\n" + PLAIN,
    "ld.param.u64 %rd9, [k_param_0];\nld.global.u32 %r1, [%rd9+4];\n" + PLAIN,
]


@pytest.mark.parametrize("body", SAME)
def test_what_computes_the_same_size_has_the_same_text(body: str) -> None:
    assert sizes(body) == sizes(PLAIN)


def test_what_computes_another_size_has_another_text() -> None:
    found = [sizes(body) for body in (PLAIN, *OTHERS)]
    assert all(found)
    assert len(set(found)) == len(found)


def test_a_size_may_come_from_the_calls() -> None:
    by_register = sizes(CALL.format(given="%r1"), TAKER)
    by_constant = sizes(CALL.format(given="64"), TAKER)
    by_larger = sizes(CALL.format(given="65536"), TAKER)
    assert len({by_register, by_constant, by_larger}) == 3
    twice = sizes(CALL.format(given="%r1") + CALL.format(given="65536"), TAKER)
    assert twice not in (by_register, by_constant, by_larger)


def test_a_size_may_be_counted_by_a_loop() -> None:
    loop = (
        "mov.u32 %r2, 1;\n$L:\nadd.s32 %r2, %r2, {step};\nsetp.lt.s32 %p1, %r2, %r1;\n"
        "@%p1 bra $L;\ncvt.s64.s32 %rd1, %r2;\nalloca.u64 %rd2, %rd1, 16;"
    )
    assert sizes(loop.format(step=1)) != sizes(loop.format(step=64))


def test_a_long_computation_ends() -> None:
    chain = "".join(f"add.s32 %r1, %r1, %r1;\nadd.s32 %r1, %r1, {n};\n" for n in range(3000))
    (found,) = sizes(chain + PLAIN)
    assert len(found) < 300
    assert sizes("add.s32 %r1, %r1, 1;\n" + chain + PLAIN) != (found,)


def test_a_kernel_without_it_has_none() -> None:
    assert sizes("mov.u64 %rd1, 4;") == ()

"""The library's range reduction, on hand-made PTX: what it multiplies tells it, never a name."""

from __future__ import annotations

import pytest

from lmemscope.analysis.causes import ProvenCause, object_causes
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.library import TWO_OVER_PI
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Evidence, SourceLocation
from lmemscope.tools import nvrtc
from tests.support.builders import depot, layers, line_of, program
from tests.support.reductions import WORDS, unrolled

INDEX = "ld.param.u32 %r1, [k_param_1];\nmul.wide.s32 %rd2, %r1, 4;\n"
TABLE = f".global .align 4 .b8 {{}}[24] = {{{{{', '.join(map(str, TWO_OVER_PI[-24:]))}}}}};"


def body(stores: str, size: int = 28) -> str:
    return f"""{depot(size)}
add.u64 %rd1, %SPL, 0;
{stores}
{INDEX}add.s64 %rd3, %rd1, %rd2;
ld.local.u32 %r2, [%rd3];
ret;"""


def causes(text: str, function: str = "k", **given: object) -> dict[int, ProvenCause]:
    flow = ModuleFlow(program(text, **given))  # type: ignore[arg-type]
    objects = flow.objects(function)
    assert objects is not None
    return object_causes(flow, "k", objects, objects.objects.values())


def test_the_bits_of_two_over_pi_are_right() -> None:
    value = int.from_bytes(TWO_OVER_PI, "little") / 2**1152
    assert value == pytest.approx(0.6366197723675814, rel=1e-15)
    assert len(TWO_OVER_PI) == 144


def test_products_with_immediate_words_are_the_librarys() -> None:
    text = body(unrolled(WORDS))
    line = line_of(program(text), "st.local.u32 [%rd1+0]")
    shown = Evidence("reduction-words", ptx_line=line, opcode="st.local.u32")
    assert causes(text)[0] == ProvenCause("math-slow-path", (shown,), size=28)
    assert causes(body(unrolled(WORDS), 32))[0].size == 28


def test_a_word_met_by_chance_or_stored_as_it_is_proves_nothing() -> None:
    assert causes(body(unrolled([*WORDS[:1], 3, 5, 7, 11, 13])))[0].cause == "dynamic-index"
    stored = "".join(f"st.local.u32 [%rd1+{4 * n}], {word};\n" for n, word in enumerate(WORDS))
    assert causes(body(stored, 24))[0].cause == "const-table"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (TABLE.format("__cudart_i2opi_f"), "math-slow-path"),
        (TABLE.format("any_name"), "math-slow-path"),
        (TABLE.format("__cudart_i2opi_f").replace("65, 144", "65, 145"), "dynamic-index"),
        (".global .align 4 .b8 __cudart_i2opi_f[24];", "dynamic-index"),
    ],
)
def test_what_a_table_holds_tells_whose_it_is(table: str, expected: str) -> None:
    name = table.split()[4].partition("[")[0]
    rolled = f"""mov.u64 %rd8, {name};
mov.u64 %rd9, %rd1;
mov.u64 %rd20, 0;
$L1:
ld.global.nc.u32 %r8, [%rd8];
mad.wide.u32 %rd30, %r8, %r9, %rd20;
shr.u64 %rd20, %rd30, 32;
st.local.u32 [%rd9], %rd30;
add.s64 %rd8, %rd8, 4;
add.s64 %rd9, %rd9, 4;
setp.ne.s64 %p1, %rd8, 24;
@%p1 bra $L1;
st.local.u32 [%rd1+24], %rd20;"""
    assert causes(body(rolled), variables=[table])[0].cause == expected


def test_halves_of_words_of_doubles_count_too() -> None:
    rolled = """mov.u64 %rd8, table;
ld.global.nc.u64 %rd11, [%rd8];
mov.b64 {%r21, %r22}, %rd11;
mad.lo.cc.u32 %r23, %r21, %r9, %r7;
madc.hi.u32 %r24, %r22, %r9, 0;
mov.b64 %rd12, {%r23, %r24};
st.local.u64 [%rd1], %rd12;"""
    table = f".global .align 8 .b8 table[144] = {{{', '.join(map(str, TWO_OVER_PI))}}};"
    found = causes(body(rolled, 48), variables=[table])[0]
    assert found == ProvenCause("math-slow-path", (Evidence("library-table", "table"),), size=40)


def test_an_array_of_sines_is_the_users() -> None:
    """Its values come from the products through a load and floating-point arithmetic."""
    text = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
add.u64 %rd4, %SPL, 28;
{unrolled(WORDS)}
{INDEX}add.s64 %rd3, %rd1, %rd2;
ld.local.u32 %r30, [%rd3];
cvt.rn.f64.u32 %fd1, %r30;
cvt.rzi.s32.f64 %r31, %fd1;
st.local.u32 [%rd4], %r31;
add.s64 %rd5, %rd4, %rd2;
ld.local.u32 %r32, [%rd5];
ret;"""
    found = causes(text)
    assert (found[0].cause, found[28].cause) == ("math-slow-path", "dynamic-index")


def test_an_array_that_shares_its_place_with_the_librarys_is_the_users() -> None:
    """Inlining may give arrays of one type one place."""
    text = body(f"{unrolled(WORDS)}\nld.global.u32 %r40, [%rd40];\nst.local.u32 [%rd1], %r40;")
    found = causes(text)[0]
    assert (found.cause, found.also) == ("dynamic-index", ())
    assert [one.kind for one in found.evidence][1:] == ["shared-place"]


@pytest.mark.parametrize("name", ["__internal_trig_reduction_slowpathX", "__internal_mine"])
def test_an_author_may_call_a_function_anything(name: str) -> None:
    mine = body("", 64).replace("k_param_1", f"{name}_param_1")
    assert causes("ret;", name, **{name: mine})[0].cause == "dynamic-index"


def test_a_function_without_lines_has_those_of_its_calls() -> None:
    call = "call.uni {0}, (param0);\n"
    inner = body(unrolled(WORDS)).replace("k_param_1", "inner_param_1")
    text = f".loc 1 7 0\n{call.format('outer')}.loc 1 9 0\n{call.format('inner')}ret;"
    outer = f"{call.format('inner')}ret;"
    found = layers(program(text, outer=outer, inner=inner)).lines
    lines = (SourceLocation("a.cu", 7), SourceLocation("a.cu", 9))
    assert found.calling("k", "inner") == lines
    assert found.calling("k", "outer") == lines[:1]
    assert found.calling("k", "k") == ()
    written = layers(program(text, outer=outer, inner=f".loc 1 3 0\n{inner}")).lines
    assert written.calling("k", "inner") == ()


KERNELS = """
extern "C" __global__ void sines(float *o, const float *x, const int *q) {
  float h[64];
  for (int k = 0; k < 64; k++) h[k] = sinf(x[k]);
  o[0] = h[q[0] & 63] * cosf(x[q[1]]) + tanf(x[q[2]]);
}
__device__ __noinline__ int __internal_trig_reduction_slowpathX(const int *q) {
  int t[32];
  for (int k = 0; k < 32; k++) t[k] = q[k];
  return t[q[0] & 31];
}
extern "C" __global__ void mine(int *o, const int *q) {
  o[0] = __internal_trig_reduction_slowpathX(q);
}
extern "C" __global__ void doubles(double *o, const double *x) {
  o[0] = sin(x[0]) + tan(x[1]);
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", ["sm_75", "sm_100"])
def test_what_nvrtc_makes_of_sines(arch: str) -> None:
    """Up to sm_90 and from sm_100 on NVVM writes the reduction in two ways."""
    flags = (f"--gpu-architecture={arch}", "-lineinfo")
    text = nvrtc.compile_program(KERNELS, "a.cu", flags, ()).ptx
    flow = ModuleFlow(PtxModule(text))
    found = {}
    for function in flow.ptx.functions:
        objects = flow.objects(function.name)
        assert objects is not None
        causes_of = object_causes(flow, function.name, objects, objects.objects.values()).values()
        found[function.name] = {(one.cause, one.size) for one in causes_of}
    slow = ("math-slow-path", 28)
    assert found["sines"] == {("dynamic-index", None), slow}
    assert found["_Z35__internal_trig_reduction_slowpathXPKi"] == {("dynamic-index", None)}
    assert found["__internal_trig_reduction_slowpathd"] == {("math-slow-path", 40)}
    lines = layers(flow.ptx).lines.calling("doubles", "__internal_trig_reduction_slowpathd")
    assert [line.line for line in lines] == [16]

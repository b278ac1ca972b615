"""A table that lanes hand to each other."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.model import IndexFacts, IndexSource, LaunchBounds
from lmemscope.rewrites import shuffle
from lmemscope.rewrites.base import DeclinedError
from lmemscope.sources.edits import patched
from tests.support.builders import changed
from tests.support.program import run_program
from tests.support.rewriting import target

TABLE = """\
    #define STEPS 8
    __global__ void k(const int *in, float *out, int n) {
      const float a[6] = {1, 5, 2, 8, 3, 7};
      float sum = 0;
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < STEPS; ++j) sum += a[(in[i] + j) % 6] * in[j];
      }
      out[threadIdx.x] = sum + a[in[0]];
    }
    """
LANES = IndexFacts("i", (IndexSource("thread-id", None),), "lane-varying", None)


def tried(
    text: str,
    type_: str = "const float[6]",
    index: IndexFacts = LANES,
    bounds: int | None = None,
    defines: tuple[str, ...] = (),
) -> list[str]:
    """The text with each proposal."""
    text = textwrap.dedent(text)
    made_of = target(text, "a", type_, cause="const-table")
    (hit,) = made_of.hits
    hit = replace(hit, finding=replace(hit.finding, index=index))
    if bounds is not None:
        facts = replace(hit.facts, launch_bounds=LaunchBounds(bounds, None))
        hit = changed(hit, facts=facts)
    made = list(shuffle.propose(replace(made_of, hits=(hit,), defines=defines)))
    assert all((one.rewrite, one.applicability) == ("shuffle", "unsafe") for one in made)
    return [patched(text.encode(), list(one.edits)).decode() for one in made]


def test_each_lane_has_an_element_and_hands_it_over() -> None:
    text = textwrap.dedent(TABLE)
    expected = (
        text.replace("const float a[6]", "static __device__ const float a[6]")
        .replace(
            "3, 7};\n",
            "3, 7};\n"
            "  unsigned a_lane;\n"
            '  asm("mov.u32 %0, %%laneid;" : "=r"(a_lane));\n'
            "  const float a_own = a[a_lane < 6 ? a_lane : 0];\n",
        )
        .replace("a[(in[i] + j) % 6]", "__shfl_sync(0xffffffffu, a_own, (in[i] + j) % 6)")
        .replace("a[in[0]]", "__shfl_sync(0xffffffffu, a_own, in[0])")
    )
    assert tried(TABLE) == [expected]


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("float sum = 0;", "float sum = 0; if (n == 3) return;", "may part the lanes"),
        ("sum += a", "if (in[j]) sum += a", "not reached by all lanes together"),
        ("sum += a", "sum += in[j] && a", "not reached by all lanes together"),
        ("sum += a", "sum += in[j] ? 1 : a", "not reached by all lanes together"),
        ("i < n;", "i < in[0];", "wait for each other"),
        ("i < n;", "i < threadIdx.x;", "leave at different times"),
        ("i < n;", "i < n && sum < 3;", "leave at different times"),
        ("float sum = 0;", "float sum = 0; n = in[0];", "leave at different times"),
        ("++i) {", "++i) { i += in[i];", "leave at different times"),
        ("float sum = 0;", "float sum = 0; change(&n);", "leave at different times"),
        ("float sum = 0;", "float sum = 0; change(n);", "leave at different times"),
        ("float sum = 0;", "float sum = 0; int &m = n; m = in[0];", "leave at different times"),
        ("#define STEPS 8", "__device__ int STEPS;", "leave at different times"),
        ("for (int i = 0; i < n; ++i)", "while (sum < n)", "not reached by all lanes together"),
        ("int i = 0; i < n", "int i = in[0]; i < n", "leave at different times"),
        ("#define STEPS 8", "#define STEPS 8\n#define LEAVE return", "has no LEAVE in it"),
        ("float sum = 0;", "float sum = 0; asm(\"exit;\");", "may part the lanes"),
        ("__global__", "__device__", "in no kernel"),
        ("sum += a[", "sum += *&a[", "bind a reference"),
        ("float sum = 0;", "float sum = 0, a_own = 1;", "a_own is taken"),
        ("sum += a", "sum += in[j] and a", "not reached by all lanes together"),
        ("sum += a", "sum += in[j] or a", "not reached by all lanes together"),
        ("float sum = 0;", "float sum = 0;\n#if A\n  if (n)\n#endif\n", "not read in all ways"),
        ("float sum = 0;", "float sum = 0;\n#include <early>\n", "not read in all ways"),
        ("float sum = 0;", "float sum = 0; TRACE(return);", "`return` in its kernel"),
        ("float sum = 0;", "float sum = 0; if (n)\n#pragma unroll 2\n", "not reached by all lanes"),
        ("#define STEPS 8", "", "leave at different times"),
        ("float sum = 0;", "float sum = 0; int STEPS = 8; f(STEPS);", "leave at different times"),
        ("float sum = 0;", "float sum = 0; int x[2], STEPS = in[0];", "leave at different times"),
        ("float sum = 0;", "float sum = 0; decltype(n) STEPS = 2;", "leave at different times"),
        ("float sum = 0;", "float sum = 0; auto [STEPS, t] = f();", "leave at different times"),
        ("float sum = 0;", "float sum = 0; decltype(auto) m = (n); m = 3;", "at different times"),
        ("float sum = 0;", "float sum = 0; while (atomicCAS(out, 0, 1)) ;", "wait for each other"),
        ("float sum = 0;", "float sum = 0; while (*(volatile int *)in) ;", "wait for each other"),
        ("__global__", "__device__ /* __global__ */", "in no kernel"),
        ("const float a", "volatile const float a", "is volatile"),
        ("float sum = 0;", "float sum = 0; while (!in[n]) ;", "wait for each other"),
        ("i < n;", "i < (Length)n;", "leave at different times"),
        ("int i = 0;", "static int i = 0;", "leave at different times"),
        ("i < n;", "i < out;", "leave at different times"),
        ("int i = 0;", "Counter i = 0;", "leave at different times"),
        ("int n)", "Length n)", "leave at different times"),
        ("float sum = 0;", "float sum = 0; const float &r = a[n]; sum = (&r)[1];", "bind a ref"),
    ],
)  # fmt: skip
def test_what_may_part_lanes_is_declined(before: str, behind: str, why: str) -> None:
    text = TABLE.replace(before, behind, 1)
    if "LEAVE" in behind:
        assert tried(text), "a macro that is not used parts nobody"
        text, why = text.replace("float sum = 0;", "float sum = 0; LEAVE;"), "macro in its kernel"
    with pytest.raises(DeclinedError, match=why):
        tried(text)


@pytest.mark.parametrize(
    ("above", "behind", "why"),
    [
        ("#define CAT(x, y) x##y\n", "CAT(re, turn);", "a macro in its kernel"),
        ('__device__ void end() { asm("exit;"); }\n', "end();", "may end a thread"),
        (
            "__device__ void end() { __trap(); }\n__device__ void on() { end(); }\n",
            "on();",
            "may end",
        ),
        ("__device__ void lock(int *p) { while (atomicExch(p, 1)) ; }\n", "lock(p);", "may wait"),
        (
            "__device__ float next(const float &x) { return (&x)[1]; }\n",
            "sum += next(a[in[0]]);",
            "bind a reference",
        ),
        (
            "__device__ float f(const float &x) { return 1; }\n"
            "__device__ float f(float &&x) { return 2; }\n",
            "sum += f(a[in[0]]);",
            "bind a reference",
        ),
        (
            "__device__ const float &larger(const float &x, const float &y) {\n"
            "  return x < y ? y : x;\n}\n",
            "const float &m = larger(a[in[0]], a[in[1]]); sum += m;",
            "reference",
        ),
        (
            "struct M { int v; __device__ int operator+(int &i) { return i += v; } };\n",
            "for (int i = 0; i < n; ++i) sum += a[in[0]] + (m + i);",
            "leave at different times",
        ),
    ],
)
def test_what_is_called_counts(above: str, behind: str, why: str) -> None:
    text = above + textwrap.dedent(TABLE).replace("float sum = 0;", f"float sum = 0; {behind}")
    with pytest.raises(DeclinedError, match=why):
        tried(text)


def test_macros_of_the_command_line_count() -> None:
    text = TABLE.replace("float sum = 0;", "float sum = 0; GUARD(1);")
    assert tried(text, defines=("FULL", "STEP=3"))
    for given in ("GUARD(x)=if (x) return", "GUARD(x)=if (x)"):
        with pytest.raises(DeclinedError, match="a macro in its kernel"):
            tried(text, defines=(given,))


def test_a_block_in_sight_has_whole_warps() -> None:
    bounded = TABLE.replace("__global__ void", "__global__ void __launch_bounds__(100)")
    with pytest.raises(DeclinedError, match="a block of 100 threads has no whole warps"):
        tried(bounded, bounds=100)
    assert tried(bounded.replace("100", "96"), bounds=96)


@pytest.mark.parametrize("sizes", [(64,), (64, 48), (48, 64), (256, 1)])
def test_every_launch_in_sight_has_whole_warps(sizes: tuple[int, ...]) -> None:
    launches = "".join(f"k<<<1, {size}>>>(x, y, 6);\n" for size in sizes)
    text = f"{textwrap.dedent(TABLE)}\nvoid go(int *x, float *y) {{\n{launches}}}\n"
    partial = [size for size in sizes if size % 32]
    if not partial:
        assert tried(text)
        return
    with pytest.raises(DeclinedError, match=f"a block of {partial[0]} threads has no whole warps"):
        tried(text)


def test_a_length_of_an_instance_is_no_constant() -> None:
    text = "template <int N>\n" + textwrap.dedent(TABLE).replace("a[6]", "a[N]")
    with pytest.raises(DeclinedError, match="another in another instance"):
        tried(text)
    assert tried("#define N 6\n" + textwrap.dedent(TABLE).replace("a[6]", "a[N]"))
    assert tried(TABLE.replace("a[6]", "a[]"))


def test_other_spellings_of_a_kernel_and_of_a_type_are_known() -> None:
    assert tried(TABLE.replace("__global__ void", "__launch_bounds__(64) __global__ void"))
    assert tried(
        "#define KERNEL __global__\n" + textwrap.dedent(TABLE).replace("__global__", "KERNEL")
    )
    assert tried(
        "typedef float real;\n" + textwrap.dedent(TABLE).replace("const float a", "const real a")
    )


def test_a_macro_with_a_comma_is_one_index() -> None:
    text = "#define AT 1, 2\n" + textwrap.dedent(TABLE).replace("a[in[0]]", "a[AT]")
    (made,) = tried(text)
    assert "__shfl_sync(0xffffffffu, a_own, (AT))" in made


def test_a_condition_is_asked_by_all_lanes_and_blocks_count_alike() -> None:
    for behind in (
        "if (a[in[0]] > 3) sum = 1;",
        "sum = a[in[0]] > 3 ? 1 : sum;",
        "sum = {a[in[0]]};",
    ):
        (made,) = tried(TABLE.replace("sum += a[(in[i] + j) % 6] * in[j];", behind))
        assert "__shfl_sync(0xffffffffu, a_own, in[0])" in made
    assert tried(TABLE.replace("int i = 0", "int i = blockIdx.x").replace("++i", "i += gridDim.x"))
    with pytest.raises(DeclinedError, match="leave at different times"):
        tried(TABLE.replace("int i = 0", "int i = threadIdx.x"))


def test_what_all_lanes_read_alike_has_better_places() -> None:
    uniform = IndexFacts("i", (IndexSource("loop-counter", None),), "uniform", None)
    with pytest.raises(DeclinedError, match="all lanes read one element"):
        tried(TABLE, index=uniform)


def test_other_types_and_larger_tables_are_left() -> None:
    with pytest.raises(DeclinedError, match="not told to be of 32 or 64 bits"):
        tried(TABLE.replace("const float a", "const char a"), "const char[6]")
    assert tried(TABLE.replace("a[6]", "a[40]"), "const float[40]") == []


BY_LANE = """\
__global__ void k(const float *in, float *out, int n) {
  const float a[32] = {%s};
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += in[i] * a[(threadIdx.x * 5 + i) & 31];
  out[threadIdx.x] = sum;
}
"""


@pytest.mark.toolchain
def test_it_is_compiled_and_removes_the_table(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(BY_LANE % ", ".join(str(n * 7 % 32 + 1) for n in range(32)))
    done = run_program("fix", "a.cu", "--arch", "sm_90", "--format", "json", cwd=tmp_path)
    found = [one for one in done.document["candidates"] if one["rewrite"] == "shuffle"]
    assert [one["verdict"] for one in found] == ["removed"]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ("", "removed"),
        ("leave(x[threadIdx.x] > 3);", "failed"),
        ("Leaving gone(x[threadIdx.x] > 3);", "failed"),
        ("while (atomicAdd(x, 0) < n) {}", "failed"),
    ],
)
def test_the_machines_own_code_tells_who_comes_to_it(
    tmp_path: Path, parts: str, verdict: str
) -> None:
    header = """#pragma once
inline __device__ void leave(bool is_done) { if (is_done) asm("exit;"); }
struct Leaving { __device__ Leaving(bool is_done) { if (is_done) asm("exit;"); } };
"""
    (tmp_path / "leaving.h").write_text(header)
    numbers = ", ".join(str(n * 7 % 32 + 1) for n in range(32))
    (tmp_path / "a.cu").write_text(f"""#include "leaving.h"
__global__ void k(int *x, float *y, int n) {{
  const float a[32] = {{{numbers}}};
  float sum = 0;
  {parts}
  for (int i = 0; i < n; ++i) sum += a[(x[i] + threadIdx.x) & 31];
  y[threadIdx.x] = sum;
}}
""")
    arguments = ("--arch", "sm_90", "--format", "json", "--unsafe")
    done = run_program("fix", "a.cu", *arguments, cwd=tmp_path)
    found = [one for one in done.document["candidates"] if one["rewrite"] == "shuffle"]
    if not found:
        assert verdict == "failed", "the text alone tells it"
        return
    assert [one["verdict"] for one in found] == [verdict]
    assert all((verdict == "failed") == ("may part" in (one["error"] or "")) for one in found)

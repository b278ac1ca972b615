"""Tables of constants in shared memory, once for each block."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.program import ROOT, run_program
from tests.support.rewriting import kernel, target

TABLE = "const int a[4] = {3, 1, 4, 1};"
USE = "out[0] = a[n & 3];"


def rewritten(text: str, type_: str = "const int[4]", line: str | None = None) -> str | None:
    """A source with the table `a` in shared memory; None where it is declined."""
    given = target(text, "a", type_, cause="const-table", line=line)
    one = next((one for one in proposals(given)[0] if one.rewrite == "shared-table"), None)
    return patched(text.encode(), one.edits).decode() if one is not None else None


def test_the_first_thread_writes_it_before_any_other_goes_on() -> None:
    made = rewritten(kernel("int x = p[0];", TABLE, "out[0] = a[x & 3];"))
    assert made is not None
    begin, filled, barrier, rest, own = (
        made.index(one)
        for one in (
            "  constexpr int a_lmem_table[4] = {3, 1, 4, 1};",
            "a_lmem[lmem_k] = a_lmem_table[lmem_k];",
            "__syncthreads();",
            "int x = p[0];",
            "const int (&a)[4] = a_lmem;",
        )
    )
    assert begin < filled < barrier < rest < own


@pytest.mark.parametrize(("size", "is_read"), [(64, False), (65, True)])
def test_a_long_table_is_read_from_device_memory(size: int, is_read: bool) -> None:
    """A short one is written by stores of constants, which wait for nothing."""
    made = rewritten(kernel(f"const int a[{size}] = {{3, 1}};", USE), f"const int[{size}]")
    assert made is not None
    assert (f"static __device__ const int a_lmem_table[{size}]" in made) == is_read


@pytest.mark.parametrize(
    ("body", "type_", "line"),
    [
        ((TABLE, USE), "const int[4]", None),
        (("int a[4] = {3, 1, 4, 1};", USE), "int[4]", None),
        (("const int a[] = {3, 1, 4, 1};", USE), "const int[4]", None),
        (("if (n < 0) return;", TABLE, USE), "const int[4]", None),
        (("for (int i = 0; i < n; ++i) {", TABLE, "out[i] = a[i & 3];", "}"), "const int[4]", None),
        (
            ("const unsigned char a[2][2] = {{1, 2}, {3}};", "out[0] = a[n & 1][n > 2];"),
            "const unsigned char[2][2]",
            None,
        ),
    ],
)
def test_tables_that_a_kernel_declares_are_moved(
    body: tuple[str, ...], type_: str, line: str | None
) -> None:
    made = rewritten(kernel(*body), type_, line)
    assert made is not None
    assert "a_lmem_table" in made


BYTES = "const unsigned char a[20] = {3, 1, 4, 1};"
GET = "__device__ unsigned get(const unsigned char *q, int i) { return %s; }\n"


@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("", "out[0] = *(const unsigned *)(a + 4 * (n & 3));"),
        ("", "out[0] = *reinterpret_cast<const unsigned *>(&a[4 * (n & 3)]);"),
        ("", "out[0] = (const unsigned &)a[4 * (n & 3)];"),
        ("", "const void *v = a; out[0] = ((const uint4 *)v)[n & 1].x;"),
        ("typedef unsigned word;\n", "out[0] = *(const word *)(a + 4 * (n & 3));"),
        (GET % "((const unsigned *)q)[i]", "out[0] = get(a, n & 3);"),
    ],
)
def test_bytes_that_are_read_as_words_are_aligned(before: str, use: str) -> None:
    text, type_ = kernel(BYTES, use, before=before), "const unsigned char[20]"
    made = rewritten(text, type_)
    assert made is not None
    assert "__shared__ __align__(16) unsigned char a_lmem[20];" in made
    given = target(text, "a", type_, cause="const-table")
    tables = [one for one in proposals(given)[0] if one.rewrite == "static-table"]
    assert tables
    assert all(b"__align__(16) " in edit.text for one in tables for edit in one.edits)


@pytest.mark.parametrize(
    ("before", "use"),
    [
        ("", "out[0] = a[n & 3] + *(const unsigned *)p;"),
        ("", "out[0] = *(const signed char *)(a + (n & 3));"),
        (GET % "q[i] + (unsigned)i", "out[0] = get(a, n & 3);"),
    ],
)
def test_other_bytes_lie_where_they_like(before: str, use: str) -> None:
    made = rewritten(kernel(BYTES, use, before=before), "const unsigned char[20]")
    assert made is not None
    assert "__align__" not in made


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", ("volatile const int a[4] = {3, 1, 4, 1};", USE)),
        ("", ("constexpr int a[4] = {3, 1, 4, 1};", USE)),
        ("", ("static const int a[4] = {3, 1, 4, 1};", USE)),
        ("", ("const int a[4] = {n, 1, 4, 1};", USE)),
        ("", ("int b = 3;", "const int a[4] = {b, 1, 4, 1};", USE)),
        ("", ("enum { B = 3 };", "const int a[4] = {B, 1, 4, 1};", USE)),
        ("", ("struct S { int v; };", "const S a[4] = {{3}, {1}, {4}, {1}};", "out[0] = a[n].v;")),
        ("const int B = 1;\n", ("const int B = 3;", "const int a[4] = {B, 1, 4, 1};", USE)),
        ("", ("\n#define B 3\n", "const int a[4] = {B, 1, 4, 1};", USE)),
        ("namespace m { enum { B = 3 }; }\n", ("using m::B;", "const int a[4] = {B};", USE)),
        ("", ("const int a[4] = {__LINE__, 1, 4, 1};", USE)),
        ("", ("const int a[4] = {3, 1, 4, 1}, b = 2;", USE)),
        ("", ('const char *a[2] = {"x", "y"};', "out[0] = a[n & 1][0];")),
        ("", ("int a[4] = {3, 1, 4, 1};", "a[n & 3] = 7;", USE)),
        ("", ("int a[4] = {3, 1, 4, 1};", "int *q = a;", "q[n & 3] = 7;", USE)),
        ("", ("int a[4] = {3, 1, 4, 1};", "int &q = a[n & 3];", "q = 7;", USE)),
        ("", (TABLE, "const_cast<int *>(a)[0] = 7;", USE)),
        ("", (TABLE, "((int *)a)[0] = 7;", USE)),
        ("", (TABLE, "decltype(a) b = {};", USE)),
        ("", (TABLE, 'asm("ld.local.s32 %0, [%1];" : "=r"(n) : "l"(a));', USE)),
        ("", ("auto f = [&](int i) {", TABLE, "return a[i & 3];", "};", "out[0] = f(n);")),
        ("", ("struct F { __device__ int at(int i) {", TABLE, "return a[i]; } };", "F f;")),
        ("", ("\n#if N\n", TABLE, "\n#else\n", "const int *a = p;", "\n#endif\n", USE)),
        ("#define __syncthreads() (void)0\n", (TABLE, USE)),
        ("#define threadIdx other\n", (TABLE, USE)),
        ("", ("dim3 threadIdx = other;", TABLE, USE)),
        ("int a_lmem;\n", (TABLE, USE)),
        ("#define TABLE a\n", (TABLE, "out[0] = TABLE[n & 3];", "int a_lmem_table = 1;")),
    ],
)
def test_others_stay_where_they_are(before: str, body: tuple[str, ...]) -> None:
    assert rewritten(kernel(*body, before=before)) is None


@pytest.mark.parametrize(
    "head", ["__device__", "__host__ __device__", "static __device__", "KERNEL"]
)
def test_only_a_kernel_has_a_place_that_all_threads_come_to(head: str) -> None:
    text = kernel(TABLE, USE)
    assert rewritten(text) is not None
    before = "#define KERNEL __global__\n" if head == "KERNEL" else ""
    assert rewritten(before + text.replace("__global__", head)) is None


def test_large_tables_are_not_written_by_one_thread() -> None:
    text = kernel("const int a[300] = {3, 1};", "out[0] = a[n];")
    assert rewritten(text, "const int[300]") is None


def test_a_launch_with_dynamic_memory_is_promised() -> None:
    launch = "void go() { k<<<1, 64, 1000>>>(nullptr, nullptr, 1); }\n"
    for text, applicability in (
        (kernel(TABLE, USE), "safe"),
        (kernel(TABLE, USE) + launch, "unsafe"),
    ):
        found = proposals(target(text, "a", "const int[4]", cause="const-table"))[0]
        (one,) = (one for one in found if one.rewrite == "shared-table")
        assert one.applicability == applicability


ROWS = "const int a[2][3] = {{3, 1, 4}, {1, 5, 9}};"


@pytest.mark.parametrize(
    ("use", "is_class"),
    [
        ("out[0] = a[n & 1][n & 2];", True),
        ("out[0] = a[n & 1][n & 2] + sizeof(a);", False),
        ("const int *row = a[n & 1]; out[0] = row[n & 2];", False),
    ],
)
def test_rows_are_a_class_where_nothing_but_elements_is_used(use: str, is_class: bool) -> None:
    made = rewritten(kernel(ROWS, use), "const int[2][3]")
    assert made is not None
    assert ("const lmem_table_rows<int, 3> a = {a_lmem[0]};" in made) == is_class
    assert ("const int (&a)[2][3] = a_lmem;" in made) != is_class


LOOKED_UP = """\
struct Pair { int first, second; };
__device__ int of_lane() { int l; asm("mov.u32 %%0, %%%%laneid;" : "=r"(l)); return l; }
__constant__ int set_by_host;
constexpr int square(int x) { return x * x; }
const int width = 5;
__global__ void k(const int *p, int *out, int n) {
  const int a[%d] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, %s};
  int sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 3 + a[(p[i + threadIdx.x] >> 3) & 63];
  out[threadIdx.x] = sum;
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("size", "value", "verdict"),
    [
        (64, "of_lane() * 17, (int)threadIdx.x, set_by_host", "failed"),
        (64, "square(width) + (int)sizeof(Pair), width", "removed"),
        (80, "of_lane() * 17", "failed"),
    ],
)
def test_only_what_is_the_same_for_all_threads_is_one_table(
    size: int, value: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(LOOKED_UP % (size, value))
    done = run_program("fix", "a.cu", "--format", "json", cwd=tmp_path)
    candidates = json.loads(done.out)["candidates"]
    (found,) = (one for one in candidates if one["rewrite"] == "shared-table")
    assert found["verdict"] == verdict


HOST = """\
#include <cstdio>
#define __global__
#define __device__
#define __host__
#define __forceinline__
#define __shared__ static
#define __syncthreads()
struct { int x = 0, y = 0, z = 0; } threadIdx, blockIdx;
struct { int x = 1, y = 1, z = 1; } blockDim, gridDim;
%s
int main() {
  unsigned state = 7;
  for (int k = 0; k < 200; ++k) {
    int in[64], out[3] = {};
    for (int &one : in) one = (state = state * 1664525 + 1013904223) >> 8;
    csv(in, out, 64);
    printf("%%d %%d %%d\\n", out[0], out[1], out[2]);
  }
}
"""


@pytest.mark.toolchain
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
def test_both_tables_leave_local_memory_and_the_program_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "benchmarks" / "data" / "fix_kernels" / "csv.cu").read_text()
    (tmp_path / "csv.cu").write_text(text)
    assert run_program("fix", "csv.cu", "--apply", "--force", cwd=Path.cwd()).code == 0
    made = (tmp_path / "csv.cu").read_text()
    assert made.count("__syncthreads();") == 2
    scanned = run_program("scan", "csv.cu", "--format", "json", cwd=Path.cwd())
    assert json.loads(scanned.out)["units"][0]["kernels"][0]["stack_frame"] == 0
    printed = []
    for name, one in (("before", text), ("after", made)):
        (tmp_path / f"{name}.cpp").write_text(HOST % one)
        subprocess.run(["g++", "-w", "-o", name, f"{name}.cpp"], check=True)
        printed.append(subprocess.run([f"./{name}"], check=True, capture_output=True).stdout)
    assert len(set(printed[0].splitlines())) > 100
    assert printed[0] == printed[1]

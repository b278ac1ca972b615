"""Blocks that a rewriting leaves no room for: registers and shared memory before and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.fixing.fit import Lost, largest_block, loses_more, lost_blocks, with_caveat
from lmemscope.model import KernelFacts, LaunchBounds, Rewriting, SourceLocation
from lmemscope.rules.launched import every_block
from tests.support.builders import kernel_with, report_of, source_text
from tests.support.program import run_program

KERNEL = "__global__ void k(float *p) { p[0] = 1; }\n"


def facts(registers: int, shared: int = 0, bounds: int | None = None) -> KernelFacts:
    base = kernel_with("dynamic-index")
    assert base.ptxas is not None
    assert base.cubin is not None
    return replace(
        base,
        demangled="k(float*)",
        location=SourceLocation("a.cu", 1),
        launch_bounds=LaunchBounds(bounds, None) if bounds is not None else None,
        ptxas=replace(base.ptxas, registers=registers, shared=shared),
        cubin=replace(base.cubin, registers=registers),
    )


def lost(was: KernelFacts, made: KernelFacts, text: str = KERNEL, **others: str) -> list[Lost]:
    before, after = (report_of(one).units[0] for one in (was, made))
    sources = source_text({"a.cu": text, **others})
    return [*lost_blocks(before, after, "sm_90", sources)]


@pytest.mark.parametrize(
    ("registers", "most"),
    [(31, 1024), (64, 1024), (65, 896), (72, 896), (80, 768), (124, 512), (128, 512), (255, 256)],
)
def test_registers_limit_a_block_by_their_granularity(registers: int, most: int) -> None:
    assert largest_block(facts(registers), "sm_90") == most


def test_a_block_that_no_longer_fits_is_a_promise_with_its_numbers() -> None:
    (one,) = lost(facts(31), facts(124))
    assert one.most == 512
    assert one.in_sight is None
    for number in ("512 threads", "124 registers", "31 before"):
        assert number in one.text
    made = with_caveat(Rewriting("unroll", "safe", (), "unroll"), [one])
    assert made.applicability == "unsafe"
    assert made.caveat == one.text


@pytest.mark.parametrize(
    ("was", "made"),
    [
        (facts(31), facts(64)),
        (facts(128), facts(128)),
        (facts(124), facts(31)),
        (facts(31, bounds=256), facts(124, bounds=256)),
        (facts(31, bounds=512), facts(124, bounds=512)),
    ],
)
def test_what_fitted_and_fits_or_is_bounded_is_none(was: KernelFacts, made: KernelFacts) -> None:
    assert lost(was, made) == []


def test_bounds_that_allow_more_than_fits_do_not_help() -> None:
    (one,) = lost(facts(31, bounds=1024), facts(124, bounds=1024))
    assert one.most == 512


LAUNCHES = "void f(float *p) { k<<<1, 256>>>(p); }\n"
STATIC = KERNEL.replace("__global__", "static __global__")


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        (STATIC + "void f(float *p) { k<<<1, 256>>>(p); }\n", True),
        (STATIC + "void f(float *p) { k<<<1, dim3(16, 16)>>>(p); }\n", True),
        (STATIC + "void f(float *p) { auto q = k; q<<<1, 256>>>(p); }\n", True),
        (STATIC + "void f(float *p) { void (*q)(float *) = &k; q<<<1, 256>>>(p); }\n", True),
        (KERNEL + "int main() { float *p; k<<<1, 256>>>(p); }\n", True),
        *(
            (KERNEL + LAUNCHES + other, False)
            for other in (
                "struct L { void main() {} };\nvoid g() { L l; l.main (); }\n",
                "void g(L *l) { l->main(); }\n",
                "int main(int, char **);\n",
                "namespace part { int main() { return 0; } }\n",
                "#ifdef ALONE\nint main() { return 0; }\n#endif\n",
                "#define main other\nint main() { return 0; }\n",
            )
        ),
        (KERNEL + LAUNCHES + "int main(int n, char **) try { f(0); } catch (...) {}\n", True),
        # It can be launched from elsewhere.
        (KERNEL + "void f(float *p) { k<<<1, 256>>>(p); }\n", False),
        (STATIC, False),
        (STATIC + "void f(float *p, int n) { k<<<1, n>>>(p); }\n", False),
        (STATIC + "void f(float *p, int n) { auto q = k; q<<<1, n>>>(p); }\n", False),
        (STATIC + "void f(float *p) { k<<<1, 64>>>(p); run(k, p); }\n", False),
        (STATIC + "void f(float *p) { k<<<1, 64>>>(p); cudaLaunchKernel((void *)k, 9); }\n", False),
        (
            STATIC + "void f() { k<<<1, 64>>>(0); cudaLaunchKernelEx(&config, k, p); }\n",
            False,
        ),
        (
            STATIC + "void f() { k<<<1, 64>>>(0); cudaLaunchCooperativeKernel(k, 1, 2); }\n",
            False,
        ),
        (STATIC + "void f() { k<<<1, 64>>>(0); LAUNCH(k, 1024); }\n", False),
        (STATIC + "K table[] = {k};\nvoid f() { k<<<1, 64>>>(0); }\n", False),
        (STATIC + "K get() { return k; }\nvoid f() { k<<<1, 64>>>(0); }\n", False),
        (STATIC + "K get(bool b) { return b ? k : 0; }\nvoid f() { k<<<1, 64>>>(0); }\n", False),
        (STATIC + "#define IT k\nvoid f() { k<<<1, 64>>>(0); IT<<<1, 9 * n>>>(0); }\n", False),
        (STATIC + 'void f() { k<<<1, 64>>>(0); get(&m, "k"); }\n', False),
    ],
)
def test_launches_in_sight_count_where_nothing_else_launches(text: str, is_known: bool) -> None:
    assert (lost(facts(31), facts(124), text) == []) is is_known


def test_a_launch_in_sight_that_no_longer_fits_is_said() -> None:
    text = STATIC + "void f(float *p) { k<<<1, 64>>>(p); auto q = k; q<<<1, 1024>>>(p); }\n"
    (one,) = lost(facts(31), facts(124), text)
    assert one.in_sight == 1024


def test_a_kernel_in_a_string_is_launched_by_whoever_reads_it() -> None:
    sources = source_text({"a.cu": KERNEL + 'void f() { k<<<1, 64>>>(0); g("k"); }\n'})
    assert every_block(facts(31), sources) is None


def test_several_that_fit_alone_may_not_fit_together() -> None:
    first, both = Lost("k", 768, "", None), Lost("k", 512, "", None)
    assert loses_more([both], [first]) == both
    assert loses_more([both], []) == both
    assert loses_more([first], [both]) is None


LENGTHS = """\
__global__ void lengths(const float *p, float *out, int n) {
  float a[100];
#pragma unroll 1
  for (int i = 0; i < 100; ++i) a[i] = p[i * 3 + threadIdx.x];
  float s = 0;
  for (int t = 0; t < n; ++t)
#pragma unroll 1
    for (int i = 0; i < 100; ++i) s += a[i] * p[t + i];
  out[threadIdx.x] = s;
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("launch", "safe"),
    [
        ("", False),
        ("int main(int n, char **) { auto k = lengths; k<<<1, 256>>>(0, 0, n); }\n", True),
        ("int main(int n, char **) { lengths<<<1, 32 * n>>>(0, 0, n); }\n", False),
    ],
)
def test_a_safe_patch_leaves_room_for_every_launch(
    launch: str, safe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(LENGTHS + launch)
    done = run_program("fix", "a.cu", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)["candidates"]
    (unroll,) = (one for one in found if one["rewrite"] == "unroll")
    assert unroll["verdict"] == "removed"
    assert unroll["after"]["registers"] > 64 > unroll["before"]["registers"]
    assert unroll["applicability"] == ("safe" if safe else "unsafe")
    assert (unroll["caveat"] is None) is safe


@pytest.mark.parametrize(
    ("host", "known"),
    [
        # All that a condition may choose, if all of it is read.
        ("void f(int n) { k<<<1, n > 3 ? 512 : 64>>>(0); }", {64, 512}),
        ("void f(int n) { int b = n > 3 ? 512 : 64;\n k<<<1, b>>>(0); }", {64, 512}),
        ("void f(int n) { k<<<1, n > 3 ? n : 64>>>(0); }", None),
        ("void f(int n) { dim3 b(64);\n if (n > 3) b.x = 1024;\n k<<<n, b>>>(0); }", None),
        ("void f(const int n) { dim3 b(64);\n if (n > 3) b.x = 1024;\n k<<<n, b>>>(0); }", None),
        ("void f(int n) { dim3 b;\n if (n > 3) b.x = 64;\n k<<<n, b>>>(0); }", None),
        ("void f(int n) { dim3 b;\n b.x = 64;\n b.x *= 4;\n k<<<n, b>>>(0); }", None),
        ("void f(int n) { dim3 b;\n b.x = 64;\n b.y = 2;\n k<<<n, b>>>(0); }", {128}),
        # A function that takes a reference changes what it is given.
        (
            "void grow(int &b) { b = 9; }\nvoid f() { int b = 64;\n grow(b);\n k<<<1, b>>>(0); }",
            None,
        ),
        ("void see(int b) { }\nvoid f() { int b = 64;\n see(b);\n k<<<1, b>>>(0); }", {64}),
    ],
)
def test_a_block_that_cannot_be_read_is_unknown(host: str, known: set[int] | None) -> None:
    assert every_block(facts(31), source_text({"a.cu": STATIC + host})) == known


def test_a_launch_in_sight_counts_where_others_are_unknown() -> None:
    text = STATIC + "void f(int n) { go(k); k<<<1, n>>>(0); k<<<1, n > 9 ? 1024 : 64>>>(0); }\n"
    (one,) = lost(facts(31), facts(124), text)
    assert one.in_sight == 1024

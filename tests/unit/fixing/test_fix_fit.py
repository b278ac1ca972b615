"""Blocks that a rewriting leaves no room for: registers and shared memory before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.fixing.edits import together
from lmemscope.fixing.fit import (
    Lost,
    largest_block,
    loses_more,
    lost_blocks,
    lost_shared,
    with_caveat,
)
from lmemscope.model import (
    Applicability,
    Edit,
    KernelFacts,
    LaunchBounds,
    Occupancy,
    Rewriting,
    SourceLocation,
    SourceText,
    ThreadRoom,
)
from lmemscope.rules.launched import every_block
from tests.support.builders import changed, kernel_with, report_of, source_text
from tests.support.program import run_program
from tests.support.rewriting import kernel, target

KERNEL = "__global__ void k(float *p) { p[0] = 1; }\n"


def facts(registers: int, shared: int = 0, bounds: int | None = None) -> KernelFacts:
    base = kernel_with("dynamic-index")
    assert base.ptxas is not None
    assert base.cubin is not None
    return changed(
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
    assert one.unfit is None
    for number in ("512 threads", "124 registers", "31 before"):
        assert number in one.text
    made = with_caveat(Rewriting("unroll", "safe", (), "unroll"), [one.text])
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
        # What a function pointer's declarator names is not read: it may be launched otherwise.
        (STATIC + "void f(float *p) { void (*q)(float *) = &k; q<<<1, 256>>>(p); }\n", False),
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
        # What it includes is not seen.
        (STATIC + "void f(float *p) { k<<<1, 256>>>(p); }\n#include MORE\n", False),
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


@pytest.mark.parametrize(
    ("said", "is_known"),
    [
        ('#include "a.cu"', False),
        ('#include"a.cu"', False),
        ("  %: include_next <a.cu>", False),
        ('#define KERNELS "a.cu"\n#include KERNELS', False),
        ('#include "c.cu"', True),
        ('// #include "a.cu"', True),
    ],
)
def test_a_source_that_includes_the_kernels_file_launches_it_too(said: str, is_known: bool) -> None:
    text = STATIC + "void f(float *p) { k<<<1, 256>>>(p); }\n"
    texts = {"a.cu": text, "/p/b.cu": f"{said}\nvoid g() {{ f(0); }}\n"}
    sources = SourceText(
        lambda file: texts.get(file, "").splitlines(),
        "a.cu",
        mentioning=lambda _, word: tuple(one for one, text in texts.items() if word in text),
    )
    before, after = (report_of(facts(one)).units[0] for one in (31, 124))
    assert ([*lost_blocks(before, after, "sm_90", sources)] == []) is is_known


def test_a_launch_in_sight_that_no_longer_fits_is_said() -> None:
    text = STATIC + "void f(float *p) { k<<<1, 64>>>(p); auto q = k; q<<<1, 1024>>>(p); }\n"
    (one,) = lost(facts(31), facts(124), text)
    assert one.unfit == "blocks of 1024 threads"


ROOM = ThreadRoom(64, frozenset({"k"}))
QUICK = "__global__ void quick(float *p) { p[0] = 1; }\n"


def shared_lost(
    text: str = "",
    bounds: int | None = 512,
    *,
    name: str = "quick",
    rises: bool = True,
    block: int | None = None,
    rewriting: Rewriting | None = None,
    asked: int | None = None,
) -> list[Lost]:
    """What a column for 64 threads, made for a kernel `k`, loses in another one."""
    was = replace(facts(31, 16, bounds), name=name, demangled=f"{name}(float*)")
    assert was.ptxas is not None
    was = replace(was, occupancy=Occupancy(1.0, 64, 32, 64, "launch", ("blocks",), asked))
    made = changed(was, ptxas=replace(was.ptxas, shared=16 + 4096 * rises))
    before, after = (report_of(one).units[0] for one in (was, made))
    for_k = target(kernel("float a[8];", "a[n] = 1;"), "a", "float[8]", block=block)
    tried = rewriting or Rewriting("shared-memory", "safe", (), "a column", room=ROOM)
    return [*lost_shared(before, after, tried, for_k, source_text({"a.cu": QUICK + text}))]


def test_a_kernel_that_is_shown_to_have_the_memory_is_not_to_have_more_threads() -> None:
    """Whatever name it calls the function by: its text did not say that it does."""
    (one,) = shared_lost()
    assert (one.kernel, one.most, one.unfit) == ("quick", 64, None)
    assert "no block of quick has more than 64 threads" in one.text
    (launched,) = shared_lost("void f(float *p) { quick<<<1, 512>>>(p); }\n")
    assert launched.unfit == "blocks of 512 threads"
    # What the user says of blocks is not said of one whose own bounds allow more.
    assert shared_lost(block=64)


@pytest.mark.parametrize(
    "how",
    [
        {"rises": False},
        {"bounds": 64},
        {"name": "k"},
        {"bounds": None, "block": 64},
        {"text": "int main() { float *p; quick<<<1, 64>>>(p); }\n"},
        {"rewriting": Rewriting("static-table", "safe", (), "a table")},
    ],
)
def test_kernels_with_fewer_threads_or_no_memory_of_it_lose_nothing(how: dict[str, Any]) -> None:
    assert shared_lost(**how) == []


@pytest.mark.parametrize(
    ("host", "is_lost"),
    [
        ("int main() { float *p; quick<<<1, 64>>>(p); }\n", False),
        ("int main() { float *p; quick<<<1, 64, 0>>>(p); }\n", False),
        ("int main() { float *p; quick<<<1, 64, 47 * 1024>>>(p); }\n", True),
        ("#define ROOM 9\nint main() { float *p; quick<<<1, 64, ROOM>>>(p); }\n", True),
        ("#define RUN(x) x##ck<<<1, 64, 9>>>(p)\nint main() { float *p; RUN(qui); }\n", True),
        ("void f(float *p) { launch(quick, p); }\n", True),
    ],
)
def test_launches_of_any_kernel_with_the_memory_may_ask_for_more(host: str, is_lost: bool) -> None:
    found = shared_lost(host, bounds=64)
    assert bool(found) is is_lost
    assert all("dynamic shared memory" in one.text for one in found)


OPTED = "void g() { cudaFuncSetAttribute(quick, SIZE, 99999); }\n"


@pytest.mark.parametrize("applicability", ["safe", "unsafe"])
@pytest.mark.parametrize(
    ("asked", "text", "is_unfit"),
    [(44000, "", False), (46000, "", True), (46000, OPTED, False), (50000, "", False)],
)
def test_dynamic_memory_that_launches_in_sight_ask_for_has_to_fit_beside_it(
    applicability: Applicability, asked: int, text: str, is_unfit: bool
) -> None:
    column = Rewriting("shared-memory", applicability, (), "a column", room=ROOM)
    host = f"int main() {{ float *p; quick<<<1, 64, {asked}>>>(p); }}\n{text}"
    found = shared_lost(host, 64, rewriting=column, asked=asked)
    unfit = {one.unfit for one in found} - {None}
    assert unfit == ({f"{asked} bytes of dynamic shared memory"} if is_unfit else set())


def test_several_rewritings_have_the_least_room_of_them() -> None:
    edits = [(Edit("a.cu", at, at, b"x"),) for at in (1, 2)]
    rooms = [ThreadRoom(64, frozenset({"k", "l"})), ThreadRoom(128, frozenset({"k"}))]
    both = together(
        [
            Rewriting("shared-memory", "safe", own, "", room=room)
            for own, room in zip(edits, rooms, strict=True)
        ]
    )
    assert both is not None
    assert both.room == ThreadRoom(64, frozenset({"k"}))
    alone = together([Rewriting("unroll", "safe", own, "") for own in edits])
    assert alone is not None
    assert alone.room is None


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
    assert one.unfit == "blocks of 1024 threads"


BESIDE = """\
__global__ __launch_bounds__(50) void bins(const unsigned *in, unsigned *out) {
  unsigned bin[37];
  __shared__ float row[200];
  for (int k = 0; k < 37; ++k) bin[k] = k;
  row[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 20; ++k) ++bin[(unsigned)((float4 *)row)[k].x % 37u];
  for (int k = 0; k < 37; ++k) out[threadIdx.x + k * 50] = bin[k];
}
"""


@pytest.mark.toolchain
def test_a_patch_that_may_move_other_shared_memory_is_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(BESIDE)
    done = run_program("fix", "a.cu", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = {(one["object"], one["rewrite"]): one for one in json.loads(done.out)["candidates"]}
    column = found["bin", "shared-memory"]
    assert (column["applicability"], column["verdict"]) == ("unsafe", "removed")
    assert "bins needs no more alignment" in column["caveat"]

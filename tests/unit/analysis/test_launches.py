"""Launches of kernels: facts, trees, verdicts and findings, and what the program shows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.analysis.launch_tree import trees
from lmemscope.exporters import render
from lmemscope.exporters.json import parse_report, render_json
from lmemscope.exporters.launches import drawn
from lmemscope.gate import baseline
from lmemscope.gate.compare import compare
from lmemscope.model import (
    CauseShare,
    HandedPointer,
    KernelFacts,
    KernelReport,
    Launch,
    Policy,
    Report,
    SiteClass,
    SourceLocation,
    UnitReport,
    total,
)
from lmemscope.rules.verdict import judge
from tests.support.builders import facts, find, report_of
from tests.support.program import Finished, run_program

SHARE = CauseShare.of("device-launch", None, 0, SiteClass())


def launch(child: str | None, line: int = 5, **changes: Any) -> Launch:
    made = Launch(
        child,
        child,
        SourceLocation("a.cu", line),
        "parent",
        "ptx",
        "default",
        grid=(4, 1, 1),
        block=(64, 2, 1),
        shared=0,
    )
    return replace(made, **changes)


def parent(*launches: Launch, name: str = "parent", **changes: Any) -> KernelFacts:
    return facts(name, launches=launches, causes=(SHARE,), **changes)


def pointer(**changes: Any) -> HandedPointer:
    made = HandedPointer(
        "local", 8, "parent", "own", "float[32]", SourceLocation("a.cu", 3), 128, 40
    )
    return replace(made, **changes)


def lines(*kernels: KernelFacts) -> list[str]:
    return [one.strip() for one in drawn(report_of(*kernels))[1:]]


def test_a_tree_has_the_child_with_its_threads_and_figures() -> None:
    assert lines(parent(launch("child")), facts("child")) == [
        "parent: frame 0 B",
        "└─ child: 4 × 64x2 threads, line 5, frame 0 B",
    ]


def test_what_is_not_constant_is_quoted() -> None:
    unknown = launch("child", grid=(None, 1, 1), written="n / 2, block", stream="tail", shared=64)
    (_, line) = lines(parent(replace(unknown, loop_depth=1)))
    assert line == (
        "└─ child: ? × 64x2 threads from <<<n / 2, block>>>, 64 B dynamic shared, tail launch, "
        "in a loop, line 5"
    )


def test_a_tree_goes_down_and_draws_nothing_twice() -> None:
    found = lines(
        parent(launch("middle"), launch("child", 6)),
        parent(launch("child"), launch("middle", 7), name="middle"),
        facts("child"),
    )
    assert [one.partition(":")[0] for one in found] == [
        "parent",
        "├─ middle",
        "│  ├─ child",
        "│  └─ middle (see above)",
        "└─ child",
    ]


def test_kernels_that_only_launch_each_other_have_a_tree() -> None:
    found = lines(
        parent(launch("b"), name="a"), parent(launch("a"), name="b"), parent(launch("c"), name="c")
    )
    assert [one.partition(":")[0] for one in found] == [
        "c", "└─ c (see above)", "a", "└─ b", "└─ a (see above)"
    ]  # fmt: skip


def test_a_child_that_is_not_known_is_said_to_be() -> None:
    (_, line) = lines(parent(launch(None)))
    assert line.startswith("└─ a kernel selected at run time: 4 × 64x2 threads")


def test_what_a_cubin_shows_claims_no_threads() -> None:
    bare = Launch("child", "child", SourceLocation("a.cu", 1), "parent", "cubin", "unknown")
    assert lines(parent(bare)) == ["parent: frame 0 B", "└─ child"]


def test_a_source_that_did_not_compile_has_its_trees() -> None:
    seen = (
        launch("leaf", function="helper", parents=("one", "two"), seen="source"),
        launch("other", function="nobody", seen="source"),
    )
    unit = UnitReport(
        input="a.cu",
        frontend="auto",
        arch="sm_90",
        options=(),
        failure=None,
        launches=seen,
        gaps=(),
        kernels=(),
    )
    assert [node.name for node in trees(unit)] == ["one", "two", "nobody"]
    assert [node.children[0].name for node in trees(unit)] == ["leaf", "leaf", "other"]


def test_every_format_draws_the_trees_and_json_gives_them_back() -> None:
    report = report_of(parent(launch("child", handed=(pointer(),))))
    for text in (render(report, "markdown"), render(report, "html")):
        assert "└─ child: 4 × 64x2 threads" in text
    again = parse_report(render_json(report))
    assert again.units[0].kernels[0].facts.launches == report.units[0].kernels[0].facts.launches


def test_without_launches_nothing_is_drawn() -> None:
    assert drawn(report_of(facts())) == []
    assert "launches" not in render(report_of(facts()), "markdown")


def test_a_launch_alone_is_no_local_memory() -> None:
    verdict = judge(parent(launch("child")))
    assert (verdict.kind, verdict.text) == ("clean", "launches child")
    assert judge(parent()).text == "device-launch"


def test_a_launch_with_bytes_is() -> None:
    share = replace(SHARE, frame_bytes=16)
    assert judge(facts(causes=(share,))).kind == "minor"


def test_a_pointer_to_local_memory_is_an_error_with_its_line_variable_and_child() -> None:
    given = parent(launch("child", handed=(pointer(through=("give",)),)))
    error, note = find(given)
    assert (error.severity, error.rule, error.object) == ("error", "LM405", "own")
    assert error.location == SourceLocation("a.cu", 5)
    assert error.related == (SourceLocation("a.cu", 3),)
    assert "`child` receives the address of `own` (float[32], 128 bytes), through give" in (
        error.message
    )
    assert note.severity == "note"
    assert judge(given).kind == "local-object"


def test_a_pointer_to_shared_memory_is_an_error_and_still_no_local_memory() -> None:
    shared = pointer(space="shared", object=None, type=None, declared=None, size=None)
    given = parent(launch("child", handed=(shared,)))
    error, _ = find(given)
    assert (error.severity, error.bytes) == ("error", 0)
    assert "shared memory" in error.message
    assert judge(given).kind == "clean"


def test_the_error_fails_the_gate_and_the_launch_does_not() -> None:
    def judged(kernel: KernelFacts) -> Report:
        (unit,) = report_of(kernel).units
        found = KernelReport.of(kernel, judge(kernel), find(kernel))
        return replace(report_of(), units=(replace(unit, kernels=(found,)),))

    good = judged(parent(launch("child")))
    bad = judged(parent(launch("child", handed=(pointer(),))))
    assert compare(good, Policy(), None).failures == ()
    assert [one.kind for one in compare(bad, Policy(), None).failures] == ["new"]
    known = baseline.from_report(bad)
    assert len(known.findings) == 1
    assert compare(bad, Policy(), known).failures == ()


def test_dimensions_have_a_product_where_all_are_known() -> None:
    assert total((2, 3, 4)) == 24
    assert total((2, None, 1)) is None


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel", "child", "grid", "block", "stream", "looped"),
    [
        ("parent_launches", "scale_child", [1, 1, 1], [32, 1, 1], "default", False),
        ("rows_by_children", "sum_row", [1, 1, 1], [32, 1, 1], "fire-and-forget", False),
        ("steps_by_children", "one_step", [None, 1, 1], [256, 1, 1], "default", True),
        ("tiles_by_children", "one_tile", [1, 1, 1], [64, 1, 1], "fire-and-forget", False),
        ("sum_recursive", "sum_recursive", [None, 1, 1], [256, 1, 1], "tail", False),
    ],
)
def test_the_launches_of_the_shipped_kernels(
    shipped: Finished,
    kernel: str,
    child: str,
    grid: list[int],
    block: list[int],
    stream: str,
    looped: bool,
) -> None:
    (found,) = shipped.kernel(kernel)["launches"]
    assert child in found["demangled"]
    assert (found["grid"], found["block"], found["stream"]) == (grid, block, stream)
    assert bool(found["loop_depth"]) == looped
    assert found["handed"] == []


@pytest.mark.toolchain
@pytest.mark.parametrize("kernel", ["parent_hands_over_local", "parent_hands_over_by_call"])
def test_a_shipped_parent_hands_its_array_over(shipped: Finished, kernel: str) -> None:
    found = shipped.kernel(kernel)
    (pointer,) = found["launches"][0]["handed"]
    assert (pointer["object"], pointer["size"], pointer["offset"]) == ("own", 128, 0)
    errors = [one for one in found["findings"] if one["severity"] == "error"]
    assert [(one["rule"], one["object"]) for one in errors] == [("LM405", "own")]
    good = shipped.kernel("parent_hands_over_global")
    assert [one["handed"] for one in good["launches"]] == [[]]


@pytest.mark.toolchain
def test_a_cubin_alone_shows_who_launches_whom(tmp_path: Any) -> None:
    cubin = tmp_path / "a.cubin"
    run_program(
        "dump", "kernels/recursive_launch.cu", "--cubin", "--arch", "sm_90", "-o", str(cubin)
    )
    done = run_program("scan", str(cubin), "--format", "json")
    (found,) = done.kernel("sum_recursive")["launches"]
    assert found["child"] == "sum_recursive"


@pytest.mark.toolchain
def test_ptx_that_launches_is_assembled_for_linking(tmp_path: Any) -> None:
    ptx = tmp_path / "a.ptx"
    run_program("dump", "kernels/recursive_launch.cu", "--ptx", "--arch", "sm_90", "-o", str(ptx))
    done = run_program("scan", str(ptx), "--arch", "sm_90", "--format", "json")
    assert done.code == 0
    (found,) = done.kernel("sum_recursive")["launches"]
    assert (found["child"], found["stream"]) == ("sum_recursive", "tail")
    assert "ptxas -c" in done.out


LINES = """\
__global__ void child(float *p, int n) { p[threadIdx.x] += n; }
__global__ void known(float *g, int n) {
  if (n > 3) child<<<dim3(n / 8), dim3(256)>>>(g, n); n *= 2; child<<<dim3(n), dim3(64)>>>(g, n);
}
__global__ void twice(float *g, int n) {
  child<<<1, 32>>>(g, 1); child<<<1, 64>>>(g, 2); child<<<1, 32>>>(g, 3);
}
__global__ void unrolled(float *g, int n) {
#pragma unroll
  for (int i = 0; i < 4; i++) child<<<1, 32>>>(g, i);
}
__global__ void both(float *g, int n) {
#pragma unroll 4
  for (int i = 0; i < n; i++) { child<<<1, 32>>>(g, i); child<<<1, 32>>>(g, i + 1); }
}
__device__ __forceinline__ void helper(float *g, int n) {
  child<<<1, 32>>>(g, n);
}
__global__ void inlined(float *g, int n) {
  helper(g, 1);
  if (n) helper(g, n);
}
__global__ void ordered(float *g, int n) {
  child<<<n, 32>>>(g, 1); child<<<n + 1, 32>>>(g, 2);
}
"""


@pytest.fixture(scope="module")
def on_lines(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    source = tmp_path_factory.mktemp("lines") / "a.cu"
    source.write_text(LINES)
    return run_program("scan", str(source), "--arch", "sm_90", "--format", "json")


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("known", {("dim3(n / 8), dim3(256)", 256), ("dim3(n), dim3(64)", 64)}),
        ("ordered", {("n, 32", 32), ("n + 1, 32", 32)}),
    ],
)
def test_launches_of_one_line_have_each_its_words(
    on_lines: Finished, kernel: str, expected: set[tuple[str, int]]
) -> None:
    found = on_lines.kernel(kernel)["launches"]
    assert {(one["written"], one["block"][0]) for one in found} == expected


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("twice", [(32, 2), (64, 1)]),
        ("unrolled", [(32, 1)]),
        ("both", [(32, 2)]),
        ("inlined", [(32, 2)]),
        ("ordered", [(32, 1), (32, 1)]),
    ],
)
def test_launches_that_nothing_tells_apart_are_counted(
    on_lines: Finished, kernel: str, expected: list[tuple[int, int]]
) -> None:
    found = on_lines.kernel(kernel)["launches"]
    assert sorted((one["block"][0], one["count"]) for one in found) == expected


def test_a_tree_says_how_many_launches_an_edge_is() -> None:
    (_, line) = lines(parent(launch("child", count=2)))
    assert "2 launches, line 5" in line


@pytest.mark.toolchain
def test_a_source_that_is_refused_still_shows_its_launches(tmp_path: Any) -> None:
    (tmp_path / "a.cu").write_text(
        "__global__ void child(int *p) { p[0] = 1; }\n"
        "__global__ void parent(int *p) {\n"
        "  child<<<2, 32>>>(p);\n"
        "  cudaDeviceSynchronize();\n"
        "}\n"
    )
    done = run_program("scan", "a.cu", "--arch", "sm_90", cwd=tmp_path)
    assert done.code == 3
    assert "a.cu, from its source only:" in done.out
    assert "└─ child: 2 × 32 threads, line 3" in done.out


def test_an_object_that_is_handed_over_twice_is_named_once() -> None:
    twice = parent(launch("child", handed=(pointer(), replace(pointer(), offset=8))))
    assert sum(line.count("RECEIVES A POINTER") for line in drawn(report_of(twice))) == 1
    assert judge(twice).text.count("in its local memory") == 1


def test_a_report_without_launches_is_read_as_before() -> None:
    report: Report = report_of(facts())
    text = render_json(report).replace('"launches":[],', "").replace('"launches": [],', "")
    assert parse_report(text).units[0].kernels[0].facts.launches == ()

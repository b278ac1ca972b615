"""What each shipped kernel says it shows, held against the real toolchain."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.formats.demangle import short_name
from tests.support.program import ROOT, Finished, run_program

pytestmark = pytest.mark.toolchain

CLEAN = (
    "running_mean<32>",
    "mean_shift<32>",
    "tensor_core_tile",
    "thirty_doubles",
    "histogram_shared",
    "count_negative",
    "smooth_inlined",
    "depth_iterative",
    "wave_turns",
)


def test_everything_is_analysed(shipped: Finished) -> None:
    assert shipped.code == 0
    assert [unit["failure"] for unit in shipped.document["units"]] == [None] * len(
        shipped.document["units"]
    )


@pytest.mark.parametrize("name", CLEAN)
def test_good_kernels_have_no_local_memory(shipped: Finished, name: str) -> None:
    kernel = shipped.kernel(name)
    assert kernel["stack_frame"] == 0
    assert kernel["sass"] == {"ldl": 0, "stl": 0, "ldl_bytes": 0, "stl_bytes": 0}
    assert kernel["verdict"]["kind"] == "clean"


@pytest.mark.parametrize("name", ["running_mean_ring<32>", "mean_ring<32>"])
def test_the_ring_costs_its_window_and_is_no_spill(shipped: Finished, name: str) -> None:
    kernel = shipped.kernel(name)
    assert kernel["stack_frame"] == 32 * 4
    assert (kernel["spill_stores"], kernel["spill_loads"]) == (0, 0)
    assert kernel["sites"]["spill"]["load_sites"] == 0
    assert kernel["sites"]["local_object"]["load_bytes"] == kernel["sass"]["ldl_bytes"] > 0


def test_the_cap_makes_thirty_doubles_spill(shipped: Finished) -> None:
    free, capped = shipped.kernel("thirty_doubles"), shipped.kernel("thirty_doubles_capped")
    assert capped["registers"] <= 32 < free["registers"]
    assert capped["spill_stores"] > 0
    assert capped["sites"]["spill"]["store_bytes"] == capped["spill_stores"]
    assert capped["sites"]["spill"]["load_bytes"] == capped["spill_loads"]
    assert capped["sites"]["local_object"]["load_sites"] == 0
    assert capped["launch_bounds"] == {"max_threads": 1024, "min_blocks": 2}


def test_the_histogram_holds_its_bins(shipped: Finished) -> None:
    kernel = shipped.kernel("histogram_private")
    assert kernel["stack_frame"] == 64 * 4
    assert kernel["spill_stores"] == 0


def test_printf_stores_its_arguments(shipped: Finished) -> None:
    kernel = shipped.kernel("report_negative")
    assert 0 < kernel["stack_frame"] <= 32
    assert kernel["sass"]["ldl"] == 0
    assert kernel["sass"]["stl"] > 0
    assert kernel["ptx"]["local_objects"] == 1


def test_a_called_function_reads_the_callers_array(shipped: Finished) -> None:
    kernel = shipped.kernel("smooth_called")
    assert kernel["stack_frame"] == 16
    assert [callee["demangled"] for callee in kernel["callees"]] == [
        "weigh_called(float const*, float)"
    ]


def test_recursion_hides_its_stack_from_the_kernels_own_figures(shipped: Finished) -> None:
    kernel = shipped.kernel("depth_recursive")
    assert kernel["stack_frame"] == 0
    assert kernel["stack_known"] is False
    assert kernel["cumulative_stack"] is None
    assert kernel["sass"]["ldl"] > 0
    assert kernel["own_sites"]["spill"]["load_sites"] == 0
    assert kernel["callees"][0]["ptxas"]["spill_stores"] > 0


def test_the_slow_path_of_sin_is_local_memory_without_a_ptx_depot(shipped: Finished) -> None:
    kernel = shipped.kernel("wave_any")
    assert kernel["stack_frame"] == 40
    assert kernel["ptx"]["local_bytes"] == 0
    assert kernel["sass"]["ldl"] == 3


@pytest.mark.usefixtures("own_store")
def test_the_application_takes_the_route_of_nvcc() -> None:
    paths = ("kernels/running_mean_app.cu", "kernels/running_mean.cu")
    finished = run_program("scan", *paths, "--arch", "sm_90", "--format", "json")
    routes = {unit["input"]: unit["frontend"] for unit in finished.document["units"]}
    assert routes == dict(zip(paths, ("nvcc", "nvrtc"), strict=True))


def test_lines_point_into_the_users_file(shipped: Finished) -> None:
    kernel = shipped.kernel("running_mean_ring<32>")
    source = (ROOT / "kernels/running_mean.cu").read_text().splitlines()
    touched = {use["line"]: use["file"] for use in kernel["lines"]}
    assert set(touched.values()) == {"kernels/running_mean.cu"}
    assert any("% WindowSize]" in source[line - 1] for line in touched)


def test_several_architectures_are_several_units() -> None:
    finished = run_program(
        "scan",
        "kernels/running_mean.cu",
        "--arch",
        "sm_80",
        "--arch",
        "120",
        "--format",
        "json",
    )
    assert [unit["arch"] for unit in finished.document["units"]] == ["sm_80", "sm_120"]
    for arch in ("sm_80", "sm_120"):
        assert finished.kernel("running_mean_ring<32>", arch)["stack_frame"] == 128


def test_templates_come_from_flags_directives_and_launches(tmp_path: Path) -> None:
    source = tmp_path / "t.cu"
    source.write_text(
        "// lmemscope: instantiate scale<2>\n"
        "namespace ns {\n"
        "template <int N> __global__ void shift(float *x) { x[threadIdx.x] += N; }\n}\n"
        "template <int N> __global__ void scale(float *x) { x[threadIdx.x] *= N; }\n"
        "#ifndef __CUDACC_RTC__\n"
        "void launch(float *x) { ns::shift<4><<<1, 32>>>(x); }\n"
        "#endif\n"
    )
    finished = run_program(
        "scan", str(source), "--instantiate", "scale<8>", "--format", "json", "--frontend", "nvrtc"
    )
    names = sorted(
        short_name(k["demangled"]) for u in finished.document["units"] for k in u["kernels"]
    )
    assert names == ["ns::shift<4>", "scale<2>", "scale<8>"]


@pytest.mark.toolchain
@pytest.mark.usefixtures("own_store")
def test_the_two_routes_agree_or_the_difference_is_shown(tmp_path: Path) -> None:
    """Every shipped file that both NVRTC and nvcc can compile, kernel by kernel."""
    paths = [f"kernels/{path.name}" for path in sorted((ROOT / "kernels").glob("*.cu"))]
    options = ("--frontend", "both", "--arch", "sm_90", "--no-causes")
    finished = run_program("scan", *paths, *options, "--format", "json")
    document = finished.document
    saved, shown_as = tmp_path / "saved.json", tmp_path / "table.txt"
    saved.write_text(finished.out)
    run_program("report", str(saved), "-o", str(shown_as))
    table = shown_as.read_text()
    assert "histogram_private" in table
    figures: dict[tuple[str, str], dict[str, tuple[int, ...]]] = {}
    for unit in document["units"]:
        for kernel in unit["kernels"]:
            names = ("registers", "stack_frame", "spill_stores", "spill_loads")
            found = (
                *(kernel[name] for name in names),
                kernel["sass"]["ldl"],
                kernel["sass"]["stl"],
            )
            routes = figures.setdefault((unit["input"], kernel["demangled"]), {})
            routes[unit["frontend"]] = found
    both = {key: routes for key, routes in figures.items() if len(routes) == 2}
    assert len(both) >= 25
    for (path, name), routes in both.items():
        shown = any(path in line and "by nvrtc" in line for line in table.splitlines())
        assert routes["nvrtc"] == routes["nvcc"] or shown, (path, name, routes)


HIDDEN = """__global__ void seen(int *p) { p[0] = 1; }
#if%s
__global__ void hidden(int *p) { p[0] = 2; }
#endif
"""


@pytest.mark.parametrize("condition", ["ndef __CUDACC_RTC__", "def INT_MAX", "def __GNUC__"])
def test_no_kernel_of_the_application_is_lost(tmp_path: Path, condition: str) -> None:
    """Where NVRTC compiles fewer kernels than the file has, nvcc says which there are."""
    (tmp_path / "a.cu").write_text(HIDDEN % condition)
    done = run_program("scan", "a.cu", "--format", "json", "--no-cache", cwd=tmp_path)
    (unit,) = done.document["units"]
    assert unit["frontend"] == "nvcc"
    assert sorted(short_name(kernel["demangled"]) for kernel in unit["kernels"]) == [
        "hidden",
        "seen",
    ]


def test_a_kernel_that_only_nvcc_might_compile_is_missing_evidence(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(HIDDEN % "def INT_MAX")
    done = run_program(
        "check", "a.cu", "--no-cache", cwd=tmp_path, PATH="", NVCC_CCBIN=str(tmp_path / "none")
    )
    assert done.code == 3, done.out
    assert "it compiles no hidden" in done.out


def test_a_kernel_that_a_macro_names_is_not_missing(tmp_path: Path) -> None:
    text = "#define NAMED(x) my_##x\n__global__ void NAMED(one)(int *p) { p[0] = 1; }\n"
    (tmp_path / "a.cu").write_text(text)
    nowhere = {"PATH": "", "NVCC_CCBIN": str(tmp_path / "none")}
    done = run_program("check", "a.cu", "--no-cache", cwd=tmp_path, **nowhere)
    assert done.code == 0, done.out
    said = run_program("scan", "a.cu", "--no-cache", cwd=tmp_path, **nowhere)
    assert "NAMED" not in said.out
    assert "my_one" in said.out


def test_a_kernel_that_nobody_compiles(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(HIDDEN % "def NOBODY_DEFINES_THIS")
    done = run_program("scan", "a.cu", "--format", "json", "--no-cache", cwd=tmp_path)
    (unit,) = done.document["units"]
    assert [short_name(kernel["demangled"]) for kernel in unit["kernels"]] == ["seen"]
    assert unit["gaps"] == []

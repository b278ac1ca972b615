"""Each cause on the real toolchain: a kernel that has it and one that avoids it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.rules import RULES
from tests.support.program import ROOT, Finished, run_program

PAIRS = [
    ("register-spill", "thirty_doubles_capped", "thirty_doubles"),
    ("callee-save", "model_called", "model_inlined"),
    ("dynamic-index", "histogram_private", "histogram_shared"),
    ("dynamic-index", "running_mean_ring<32>", "running_mean<32>"),
    ("dynamic-index", "mean_ring<32>", "mean_shift<32>"),
    ("rolled-loop", "reverse_rolled", "reverse_unrolled"),
    ("large-array", "decay_kept", "decay_streamed"),
    ("const-table", "table_per_thread", "table_shared_by_all"),
    ("address-taken", "smooth_called", "smooth_inlined"),
    ("param-copy", "settings_changed", "settings_read"),
    ("volatile", "sum_volatile", "sum_plain"),
    ("printf-args", "report_negative", "count_negative"),
    ("math-slow-path", "wave_any", "wave_turns"),
    ("call-frame", "depth_recursive", "depth_iterative"),
    ("call-frame", "operation_pointer", "operation_switch"),
    ("call-frame", "model_by_pointer", "model_inlined"),
    ("alloca", "scratch_alloca", "scratch_shared"),
    ("device-launch", "parent_launches", "parent_loops"),
    ("promoted", "pick_of_four", "pick_by_select"),
]


@pytest.mark.toolchain
@pytest.mark.parametrize(("cause", "bad", "good"), PAIRS, ids=lambda value: str(value))
def test_the_bad_kernel_has_the_cause_and_the_good_one_nothing(
    shipped: Finished, cause: str, bad: str, good: str
) -> None:
    kernel = shipped.kernel(bad)
    assert {share["cause"] for share in kernel["causes"]} == {cause}
    assert {finding["cause"] for finding in kernel["findings"]} == {cause}
    clean = shipped.kernel(good)
    assert clean["causes"] == []
    assert clean["findings"] == []
    assert clean["sass"]["ldl"] == clean["sass"]["stl"] == 0


def test_every_cause_has_a_pair_or_a_test_of_its_own() -> None:
    covered = {cause for cause, _, _ in PAIRS} | {"debug-build", "unattributed"}
    assert covered == {rule.cause for rule in RULES}


@pytest.mark.toolchain
def test_a_debug_build_is_called_one() -> None:
    finished = run_program(
        "scan", "kernels/thirty_doubles.cu", "--nvrtc-arg=-G", "--format", "json"
    )
    kernel = finished.kernel("thirty_doubles")
    assert {share["cause"] for share in kernel["causes"]} == {"debug-build"}


@pytest.mark.toolchain
def test_without_line_information_nothing_is_guessed(tmp_path: Path) -> None:
    from lmemscope.tools import nvrtc

    source = (ROOT / "kernels/histogram.cu").read_text()
    flags = ("--gpu-architecture=sm_90", "--ptxas-options=-v")
    cubin = tmp_path / "bare.cubin"
    cubin.write_bytes(nvrtc.compile_program(source, "h.cu", flags, ()).cubin)
    finished = run_program("scan", str(cubin), "--format", "json")
    kernel = finished.kernel("histogram_private")
    assert {share["cause"] for share in kernel["causes"]} == {"unattributed"}
    assert all(part["object"] is None for part in kernel["frame"])
    assert kernel["findings"][0]["confidence"] == "possible"


@pytest.mark.toolchain
def test_a_cubin_with_line_information_has_causes_but_no_names(tmp_path: Path) -> None:
    cubin = tmp_path / "k.cubin"
    run_program("dump", "kernels/histogram.cu", "--cubin", "-o", str(cubin))
    kernel = run_program("scan", str(cubin), "--format", "json").kernel("histogram_private")
    assert {share["cause"] for share in kernel["causes"]} == {"dynamic-index"}
    assert kernel["objects"][0]["name"] is None
    assert kernel["objects"][0]["confidence"] is None


@pytest.mark.toolchain
def test_index_provenance_and_uniformity(shipped: Finished) -> None:
    (histogram,) = shipped.kernel("histogram_private")["findings"]
    assert histogram["index"]["expression"] == "data[i] & 63"
    assert [(s["kind"], s["name"]) for s in histogram["index"]["sources"]] == [("memory", "data")]
    assert histogram["index"]["uniformity"] == "data-dependent"
    (ring,) = shipped.kernel("running_mean_ring<32>")["findings"]
    assert ring["index"]["expression"] == "(j + n) % WindowSize"
    assert ring["index"]["uniformity"] == "uniform"
    (counter,) = ring["index"]["sources"]
    assert (counter["kind"], counter["constant_trip"]) == ("loop-counter", False)
    changed = shipped.kernel("settings_changed")["findings"][0]["index"]["sources"]
    assert {"kind": "memory", "name": "x", "position": 1, "constant_trip": None} in changed
    (rolled,) = shipped.kernel("reverse_rolled")["findings"]
    (source,) = rolled["index"]["sources"]
    assert (source["kind"], source["constant_trip"]) == ("loop-counter", True)
    lines = (ROOT / "kernels/rolled_loop.cu").read_text().splitlines()
    assert lines[rolled["index"]["loop"]["line"] - 1].lstrip().startswith("for")


@pytest.mark.toolchain
def test_severity_follows_cost(shipped: Finished) -> None:
    def severity(name: str) -> str:
        (finding,) = shipped.kernel(name)["findings"]
        return str(finding["severity"])

    assert severity("histogram_private") == "error"
    assert severity("running_mean_ring<32>") == "warning"
    assert severity("report_negative") == "note"
    assert severity("pick_of_four") == "note"


@pytest.mark.toolchain
def test_no_advice_to_raise_the_register_limit_without_a_spill(shipped: Finished) -> None:
    for unit in shipped.document["units"]:
        for kernel in unit["kernels"]:
            for finding in kernel["findings"]:
                raises = any(
                    one.get("rewrite") == "launch-bounds" or "maxrregcount" in one["text"]
                    for one in finding["advice"]
                )
                assert raises == (finding["cause"] == "register-spill"), kernel["name"]


@pytest.mark.toolchain
def test_what_set_the_cap_is_said(shipped: Finished) -> None:
    (finding,) = shipped.kernel("thirty_doubles_capped")["findings"]
    assert "__launch_bounds__(1024, 2)" in finding["message"]
    first = finding["advice"][0]
    assert (first["rewrite"], first["applicability"]) == ("launch-bounds", "safe")
    assert "without a minimum of blocks" in first["text"]
    capped = run_program(
        "scan", "kernels/thirty_doubles.cu", "--maxrregcount", "40", "--format", "json"
    ).kernel("thirty_doubles")
    assert "limit of 40" in capped["findings"][0]["message"]
    assert "-maxrregcount" in capped["findings"][0]["advice"][0]["text"]


@pytest.mark.toolchain
def test_spills_to_shared_memory_do_not_pass_as_fewer_spills(tmp_path: Path) -> None:
    text = (ROOT / "kernels/thirty_doubles.cu").read_text()
    pragma = '  asm volatile(".pragma \\"enable_smem_spilling\\";");\n'
    source = tmp_path / "shared.cu"
    source.write_text(text.replace("  mix(x, rounds);\n}", f"{pragma}  mix(x, rounds);\n}}"))
    kernel = run_program("scan", str(source), "--format", "json").kernel("thirty_doubles_capped")
    assert kernel["sources"]["cubin"]["shared_spills"] > 0
    assert "shared memory" in kernel["findings"][0]["message"]
    assert kernel["shared"] > 0


@pytest.mark.toolchain
def test_relocatable_callees_are_named_by_the_kernels_that_reach_them(tmp_path: Path) -> None:
    source = tmp_path / "r.cu"
    source.write_text(
        "__device__ __noinline__ float pick(const float *x, int n) {\n"
        "  float w[60] = {};\n"
        "  for (int i = 0; i < n; ++i) w[(i * n) % 60] += x[i];\n"
        "  return w[n % 60];\n}\n"
        'extern "C" __global__ void caller(float *x, int n) { x[0] = pick(x, n); }\n'
    )
    finished = run_program("scan", str(source), "--nvrtc-arg=-rdc=true", "--format", "json")
    caller = finished.kernel("caller")
    assert caller["sass"]["ldl"] == 0
    # ptxas may call a clone of its own, pick$1.
    (reached,) = caller["calls"]["with_local_memory"]
    assert reached.partition("$")[0] == "_Z4pickPKfi"
    assert "pick" in caller["verdict"]["text"]
    assert caller["verdict"]["kind"] != "clean"


@pytest.mark.toolchain
def test_parameters_are_named_with_their_position(tmp_path: Path) -> None:
    source = tmp_path / "p.cu"
    source.write_text(
        'extern "C" __global__ void k(const float *in, float *out, int first, int step, int n) {\n'
        "  float kept[50] = {};\n"
        "  for (int i = 0; i < n; ++i) kept[first + step * i] += in[i];\n"
        "  for (int i = 0; i < 50; ++i) out[i] = kept[i];\n}\n"
    )
    kernel = run_program("scan", str(source), "--format", "json").kernel("k")
    sources = kernel["findings"][0]["index"]["sources"]
    named = {(s["kind"], s["name"], s["position"]) for s in sources}
    assert {("parameter", "first", 2), ("parameter", "step", 3)} <= named


@pytest.mark.toolchain
@pytest.mark.usefixtures("own_store")
def test_routes_are_compared(tmp_path: Path) -> None:
    source = tmp_path / "r.cu"
    source.write_text(
        "#ifdef __CUDACC_RTC__\n#define SIZE 80\n#else\n#define SIZE 40\n#endif\n"
        'extern "C" __global__ void k(float *x, int n) {\n'
        "  float a[SIZE] = {};\n"
        "  for (int i = 0; i < n; ++i) a[(int)x[i] % SIZE] += x[i];\n"
        "  for (int i = 0; i < SIZE; ++i) x[i] = a[i];\n}\n"
    )
    finished = run_program("scan", str(source), "--frontend", "both")
    assert finished.code == 0
    assert "NVRTC and nvcc differ:" in finished.out
    assert "stack_frame 320 by nvrtc, 160 by nvcc" in finished.out
    same = run_program("scan", "kernels/thirty_doubles.cu", "--frontend", "both")
    assert "NVRTC and nvcc differ" not in same.out

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.program import ROOT, Finished, run_program, start_program

CONTRACT_KERNEL = {
    "name", "demangled", "kind", "location", "registers", "stack_frame", "cumulative_stack",
    "stack_known", "spill_stores", "spill_loads", "shared", "barriers", "launch_bounds", "ptx",
    "sass", "disagreements",
}  # fmt: skip


def test_help_lists_every_command_and_the_exit_codes() -> None:
    finished = run_program("--help")
    assert finished.code == 0
    for command in ("scan", "dump", "doctor", "explain", "rules", "check", "baseline"):
        assert re.search(rf"^  {command} +\S", finished.out, re.MULTILINE)
    assert "Exit codes" in finished.out


@pytest.mark.parametrize(
    "command", ["scan", "dump", "doctor", "explain", "rules", "check", "baseline"]
)
def test_each_command_has_help(command: str) -> None:
    finished = run_program(command, "--help")
    assert finished.code == 0
    assert finished.out.startswith("Usage:")


def test_readme_and_usage_show_options_that_exist() -> None:
    readme = "".join((ROOT / name).read_text() for name in ("README.md", "docs/usage.md"))
    commands = (
        "scan", "dump", "doctor", "explain", "rules", "check", "baseline", "report", "diff", "fix",
        "measure", "tune",
    )  # fmt: skip
    known = {c: run_program(c, "--help").out for c in commands}
    shown = "".join(re.findall(r"^```console\n(.*?)^```", readme, re.MULTILINE | re.DOTALL))
    lines = re.findall(r"^lmemscope (\w+)(.*)$", shown, re.MULTILINE)
    assert len(lines) >= 5
    for command, rest in lines:
        assert command in known, f"the docs show an unknown command {command}"
        for option in re.findall(r"(?<!\S)(--[\w-]+)", rest):
            assert option in known[command], f"the docs: {command} has no {option}"


def test_unknown_options_and_commands_are_usage_errors() -> None:
    assert run_program("scan", "--nonsense", "x.cu").code == 2
    assert run_program("scam").code == 2
    assert run_program("scan").code == 2
    assert run_program("dump", "kernels/histogram.cu").code == 2


@pytest.mark.toolchain
def test_the_json_document_keeps_the_contract(shipped: Finished) -> None:
    document = shipped.document
    assert document["schema"] == "lmemscope.report/1"
    assert {"schema", "version", "toolchain", "units"} <= document.keys()
    assert {"version", "path"} == document["toolchain"]["nvrtc"].keys()
    for unit in document["units"]:
        assert {"input", "frontend", "arch", "options", "failure", "gaps", "kernels"} <= unit.keys()
        for kernel in unit["kernels"]:
            assert kernel.keys() >= CONTRACT_KERNEL
            assert kernel["ptx"].keys() >= {
                "local_bytes", "local_objects", "ld_local", "st_local", "generic_local"
            }  # fmt: skip
    files = [unit["input"] for unit in document["units"]]
    # Within a Python file, kernels are in the order of their lines.
    assert [name.partition("[")[0] for name in files] == sorted(
        name.partition("[")[0] for name in files
    )


@pytest.mark.toolchain
@pytest.mark.usefixtures("own_store")
def test_two_runs_say_the_same_byte_for_byte() -> None:
    names = ("histogram", "running_mean", "thirty_doubles", "printing", "cupy_kernels")
    paths = sorted(str(path) for name in names for path in (ROOT / "kernels").glob(f"{name}.*"))
    assert len(paths) == len(names)
    scan = ("scan", *paths, "--arch", "sm_90", "--no-cache", "--accesses", "--format", "json")
    # Started anew, each with an order of sets of its own.
    runs = [start_program(*scan, "-j", jobs).out for jobs in ("1", "4")]
    assert runs[0] == runs[1]


@pytest.mark.toolchain
def test_piped_output_has_no_escape_sequences_and_one_line_per_kernel() -> None:
    finished = run_program("scan", "kernels/histogram.cu", "kernels/double_sin.cu")
    assert "\x1b" not in finished.out
    table = finished.out.partition("\n\n")[0].splitlines()
    assert len(table) == 1 + 4
    assert [line.split()[0] for line in table] == [
        "kernel",
        "histogram_private",
        "wave_any",
        "wave_turns",
        "histogram_shared",
    ]
    assert finished.err == ""


@pytest.mark.toolchain
def test_color_can_be_forced_and_refused() -> None:
    assert "\x1b" in run_program("scan", "kernels/double_sin.cu", "--color", "always").out
    assert "\x1b" not in run_program("scan", "kernels/double_sin.cu", "--color", "never").out


@pytest.mark.toolchain
@pytest.mark.parametrize(("name", "starts"), [("r.json", "{"), ("r.md", "# "), ("r.txt", "kernel")])
def test_the_ending_of_the_output_picks_the_format(tmp_path: Path, name: str, starts: str) -> None:
    target = tmp_path / name
    finished = run_program("scan", "kernels/double_sin.cu", "-o", str(target))
    assert (finished.code, finished.out) == (0, "")
    assert target.read_text().startswith(starts)


@pytest.mark.toolchain
def test_kernel_globs_choose() -> None:
    finished = run_program(
        "scan", "kernels/histogram.cu", "--kernel", "*_shared", "--format", "json"
    )
    assert [k["name"] for u in finished.document["units"] for k in u["kernels"]] == [
        "histogram_shared"
    ]


@pytest.mark.toolchain
def test_options_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.cuh").write_text("#define SIZE 40\n")
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <size.cuh>\n"
        "template <class T> constexpr bool modern = requires { typename T; };\n"
        'extern "C" __global__ void k(float *x, int n) {\n'
        "  float a[SIZE * FACTOR] = {};\n"
        "  for (int i = 0; i < n; ++i) a[(int)x[i]] += x[i + n];\n"
        "  for (int i = 0; i < SIZE * FACTOR; ++i) x[i] = a[i];\n}\n"
    )
    finished = run_program(
        "scan", str(source), "-I", str(tmp_path / "inc"), "-D", "FACTOR=2", "--std", "c++20",
        "--maxrregcount", "32", "--format", "json",
    )  # fmt: skip
    kernel = finished.kernel("k")
    assert kernel["stack_frame"] == 320
    assert kernel["registers"] <= 32
    options = finished.document["units"][0]["options"]
    assert "-DFACTOR=2" in options
    assert "--maxrregcount=32" in options


@pytest.mark.toolchain
def test_headers_are_found_where_nvcc_finds_them(tmp_path: Path) -> None:
    """Beside the source for quoted names alone, and there first; on every route alike."""
    (tmp_path / "inc").mkdir()
    for name in ("angled", "quoted"):
        (tmp_path / f"{name}.h").write_text(f"#define {name.upper()} 10\n")
        (tmp_path / "inc" / f"{name}.h").write_text(f"#define {name.upper()} 20\n")
    source = tmp_path / "k.cu"
    # A template, for which nvcc compiles a file elsewhere that includes this one.
    source.write_text(
        '#include <angled.h>\n#include "quoted.h"\n'
        "template <int> __global__ void k(float *x, int n) {\n"
        "  float a[3 * ANGLED + QUOTED] = {};\n"
        "  for (int i = 0; i < n; ++i) a[(int)x[i]] += x[i + n];\n"
        "  for (int i = 0; i < 3 * ANGLED + QUOTED; ++i) x[i] = a[i];\n}\n"
    )
    command = ("scan", str(source), "--instantiate", "k<1>", "--format", "json")
    shown = run_program(*command, "-I", str(tmp_path / "inc"), "--frontend", "both").document
    frames = {u["frontend"]: [k["stack_frame"] for k in u["kernels"]] for u in shown["units"]}
    assert frames == {"nvrtc": [280], "nvcc": [280]}
    refused = run_program(*command, "--frontend", "nvrtc")
    assert 'open source file \\"angled.h\\"' in refused.out


@pytest.mark.toolchain
def test_what_nvcc_would_tell_ptxas_is_told_on_every_route(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        'extern "C" __device__ __noinline__ int other(const int *p, int n) {\n'
        "  int b[32];\n  for (int i = 0; i < n; ++i) b[p[i] & 31] += i;\n  return b[n & 31];\n}\n"
        'extern "C" __global__ void k(int *x) { *x = 1; }\n'
    )
    arguments = ("--nvcc-arg=-rdc=true", "--nvcc-arg=-Xptxas=-maxrregcount=24")
    command = ("scan", str(source), "--frontend", "both", "--format", "json")
    for unit in run_program(*command, *arguments).document["units"]:
        kernels = {kernel["name"]: kernel for kernel in unit["kernels"]}
        assert set(kernels) == {"k", "other"}
        assert kernels["other"]["stack_frame"] >= 128
        assert kernels["other"]["registers"] == 24


@pytest.mark.toolchain
def test_fast_math_removes_the_slow_path(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void k(float *x) { x[0] = sinf(x[0]); }\n')
    slow = run_program("scan", str(source), "--format", "json").kernel("k")
    fast = run_program("scan", str(source), "--use-fast-math", "--format", "json").kernel("k")
    assert slow["ptx"]["local_bytes"] > 0
    assert fast["ptx"]["local_bytes"] == 0


@pytest.mark.toolchain
def test_ptx_and_cubin_enter_later_and_say_what_is_missing(tmp_path: Path) -> None:
    source = "kernels/running_mean.cu"
    ptx, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    run_program("dump", source, "--ptx", "-o", str(ptx))
    run_program("dump", source, "--cubin", "-o", str(cubin))
    name = "running_mean_ring<32>"
    whole = run_program("scan", source, "--format", "json").kernel(name)
    from_ptx = run_program("scan", str(ptx), "--format", "json")
    from_cubin = run_program("scan", str(cubin), "--format", "json")
    assert from_ptx.document["units"][0]["frontend"] == "ptx"
    assert from_cubin.document["units"][0]["frontend"] == "binary"
    for finished in (from_ptx, from_cubin):
        kernel = finished.kernel(name)
        for figure in ("registers", "stack_frame", "sass", "ptx"):
            assert kernel[figure] == whole[figure]
    assert from_cubin.kernel(name)["spill_stores"] == whole["spill_stores"]
    assert {gap["kind"] for gap in from_cubin.document["units"][0]["gaps"]} == {"note"}


@pytest.mark.toolchain
@pytest.mark.parametrize("kind", ["--ptx", "--sass"])
def test_dump_of_templates_alone_says_how_to_instantiate_them(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "filter.cu"
    source.write_text("template <int R> __global__ void blur(float *x) { x[0] = R; }\n")
    empty = run_program("dump", str(source), kind)
    assert (empty.code, empty.out) == (3, "")
    assert "holds only template kernels" in empty.err
    assert "--instantiate 'blur<…>'" in empty.err


@pytest.mark.toolchain
def test_dump_prints_each_artefact() -> None:
    source = "kernels/histogram.cu"
    ptx = run_program("dump", source, "--ptx", "--kernel", "histogram_private").out
    assert ".entry histogram_private" in ptx
    assert ".entry histogram_shared" not in ptx
    assert "st.local" in ptx
    listing = run_program("dump", source, "--sass", "--kernel", "histogram_private").out
    assert "LDL" in listing
    assert "//## File" in listing
    assert "256 bytes stack frame" in run_program("dump", source, "--log").out
    nothing = run_program("dump", source, "--ptx", "--kernel", "nothing*")
    assert nothing.code == 3
    assert "no kernel that matches" in nothing.err
    of_several = run_program("dump", "kernels/cupy_kernels.py", "--ptx", "--kernel", "rank_counts")
    assert of_several.out.count(".entry") == 1
    assert ".entry rank_counts" in of_several.out


@pytest.mark.toolchain
def test_doctor_finds_the_toolchain() -> None:
    finished = run_program("doctor")
    assert finished.code == 0
    for tool in ("nvrtc", "ptxas", "nvdisasm", "nvcc", "cuda headers", "cccl headers"):
        assert re.search(rf"^{tool} +\S", finished.out, re.MULTILINE)


@pytest.mark.toolchain
def test_headers_of_cuda_and_cccl_are_found_without_flags(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <cuda_fp16.h>\n#include <cub/block/block_reduce.cuh>\n#include <cuda/std/array>\n"
        "__global__ void k(float *x) {\n"
        "  using Reduce = cub::BlockReduce<float, 128>;\n"
        "  __shared__ typename Reduce::TempStorage storage;\n"
        "  cuda::std::array<float, 2> a{x[0], x[1]};\n"
        "  x[threadIdx.x] = Reduce(storage).Sum(a[0] + __half2float(__float2half(a[1])));\n}\n"
    )
    finished = run_program("scan", str(source), "--format", "json")
    assert finished.code == 0, finished.out
    assert json.loads(finished.out)["units"][0]["frontend"] == "nvrtc"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("lmemscope sc", "plain,scan"),
        ("lmemscope scan --toolk", "plain,--toolkit"),
        ("lmemscope scan --frontend nv", "plain,nvcc"),
    ],
)
def test_shells_complete(words: str, offered: str) -> None:
    done = run_program(
        COMP_WORDS=words, COMP_CWORD=str(words.count(" ")), _LMEMSCOPE_COMPLETE="bash_complete"
    )
    assert offered in done.out.splitlines()

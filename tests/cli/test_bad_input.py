"""Everything a user can get wrong: file, stage and fix are named, and nothing else is lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.program import ROOT, Finished, run_program

pytestmark = pytest.mark.toolchain

GOOD = 'extern "C" __global__ void good(float *x) { x[threadIdx.x] = 1.0f; }\n'


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.cu"
    path.write_text(GOOD)
    return path


def scan(*arguments: object, **environment: str) -> Finished:
    return run_program("scan", *map(str, arguments), **environment)


def assert_only(finished: Finished, bad: str, stage: str, *said: str) -> None:
    """The bad input is named with its stage, the good one was analysed, the code is 3."""
    assert finished.code == 3
    assert "good " in finished.out, "the other input must still appear"
    error = finished.out[finished.out.index("error:") :]
    assert f"[{stage}]" in error
    assert bad in error
    for text in said:
        assert text in error


def test_missing_file(good: Path, tmp_path: Path) -> None:
    assert_only(scan(good, tmp_path / "gone.cu"), "gone.cu", "plan", "does not exist", "hint:")


def test_directory_without_kernels(good: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_only(scan(good, tmp_path / "empty"), "empty", "plan", "no .cu", "hint:")


def test_utf16(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "wide.cu"
    bad.write_bytes("__global__ void k() {}\n".encode("utf-16"))
    assert_only(scan(good, bad), "wide.cu", "read", "UTF-16", "iconv")


@pytest.mark.parametrize("name", ["noise.cu", "noise.ptx", "noise.cubin"])
def test_binary_garbage(good: Path, tmp_path: Path, name: str) -> None:
    bad = tmp_path / name
    bad.write_bytes(bytes(range(256)) * 40)
    assert_only(scan(good, bad), name, "read", "hint:")


def test_text_that_is_no_ptx(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "prose.ptx"
    bad.write_text("this is a letter, not an assembly file\n")
    assert_only(scan(good, bad), "prose.ptx", "ptxas")


def test_a_cut_off_cubin(good: Path, tmp_path: Path) -> None:
    whole, bad = tmp_path / "whole.cubin", tmp_path / "half.cubin"
    assert run_program("dump", str(good), "--cubin", "-o", str(whole)).code == 0
    bad.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert_only(scan(good, bad), "half.cubin", "cubin", "cut off")


def test_a_host_object_named_cubin(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "python.cubin"
    bad.write_bytes(Path(os.path.realpath(sys.executable)).read_bytes())
    assert_only(scan(good, bad), "python.cubin", "cubin", "no CUDA machine code", "hint:")


def test_syntax_error_shows_the_compilers_message_with_the_line(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "typo.cu"
    bad.write_text("__global__ void k(int *x) {\n  x[0] = ;\n}\n")
    finished = scan(good, bad)
    assert_only(finished, "typo.cu", "compile", "line 2", "x[0] = ;", "expected an expression")
    assert finished.out.count("expected an expression") == 2  # the headline and the log


def test_the_users_own_error_is_shown_where_host_code_is_there_too(
    good: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "app.cu"
    bad.write_text(
        "#include <vector>\n__global__ void k(int *x) { x[0] = undeclared; }\n"
        "int main() { std::vector<int> v; k<<<1, 1>>>(v.data()); }\n"
    )
    assert_only(scan(good, bad), "app.cu", "compile", '"undeclared" is undefined')


def test_no_host_compiler_names_the_package(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "app.cu"
    bad.write_text("#include <vector>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    bare = tmp_path / "bin"
    bare.mkdir()
    (bare / "python").symlink_to(sys.executable)
    finished = scan(good, bad, PATH=str(bare))
    assert_only(finished, "app.cu", "compile", "host C++ compiler", "apt install g++")


def test_a_missing_header_of_nvidias_names_its_wheel(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "random.cu"
    bad.write_text("#include <cufft_of_no_wheel.h>\nint main() {}\n__global__ void k() {}\n")
    assert_only(scan(good, bad), "random.cu", "compile", "pip install nvidia-cufft")
    bad.write_text('#include "mine.cuh"\n__global__ void k() {}\n')
    assert_only(scan(good, bad), "random.cu", "compile", "mine.cuh with -I")


def test_unknown_architecture_lists_the_supported_ones(good: Path) -> None:
    for arch in ("sm_42", "volta"):
        finished = scan(good, "--arch", arch)
        assert finished.code == 2
        assert arch in finished.err
        assert "sm_90" in finished.err
        assert "sm_120" in finished.err


def test_ptx_newer_than_ptxas_names_both_versions(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "future.ptx"
    bad.write_text(
        ".version 42.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
    )
    assert_only(scan(good, bad), "future.ptx", "ptxas", "PTX ISA 42.0", "up to", "pip install")


def test_ptx_for_a_newer_target_than_asked(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "newer.ptx"
    bad.write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
    )
    assert_only(scan(good, bad, "--arch", "sm_80"), "newer.ptx", "ptxas", "--arch")


def test_missing_tool_names_the_wheel(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "a.ptx"
    bad.write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
    )
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "from cuda import pathfinder\npathfinder.find_nvidia_binary_utility = lambda name: None\n"
    )
    python_path = os.pathsep.join([str(hide), os.getcwd()])
    finished = run_program("scan", str(good), str(bad), PYTHONPATH=python_path)
    assert_only(finished, "a.ptx", "toolchain", "ptxas was not found", "nvidia-cuda-nvcc")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("missing/report.json", "no directory"),
        ("report.xyz", "names no format"),
        (".", "names no format"),
    ],
)
def test_unwritable_output_is_said_before_anything_is_compiled(
    good: Path, tmp_path: Path, target: str, said: str
) -> None:
    finished = scan(good, "-o", tmp_path / target)
    assert finished.code == 2
    assert "[output]" in finished.err
    assert said in finished.err
    assert "hint:" in finished.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("check", "x.cu", "-o", "r.html"), "use one of .txt, .json, .md, .markdown, .sarif, .xml"),
        (("diff", "x.cu", "y.cu", "-o", "r.sarif"), "use one of .txt, .json, .md, .markdown"),
        (("report", "x.cu", "-o", "r.xml"), ".sarif, .html\n"),
        (("check", "x.cu", "-o", "no/r.sarif"), "no directory"),
        (("diff", "x.cu", "y.cu", "-o", "no/r.json"), "no directory"),
        (("baseline", "x.cu", "-o", "no/b.json"), "no directory"),
        (("baseline", "x.cu", "-o", "."), "cannot be written"),
        (("dump", "x.cu", "--ptx", "-o", "no/x.ptx"), "no directory"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_every_command_checks_its_destination_first(
    tmp_path: Path, command: tuple[str, ...], said: str
) -> None:
    finished = run_program(*command, cwd=tmp_path)
    assert finished.code == 2
    assert "[output]" in finished.err
    assert said in finished.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_the_users_to_solve(good: Path) -> None:
    finished = scan(good, "-o", "/dev/full", "--format", "json")
    assert finished.code == 3
    assert "/dev/full cannot be written: No space left" in finished.err


def test_a_wrong_configuration_ends_every_command_with_2(good: Path) -> None:
    (good.parent / "lmemscope.toml").write_text("jobs = -3\n")
    for command in ("scan", "check", "baseline", "explain", "report", "diff", "dump"):
        rest = {"report": ("-o", "r.md"), "diff": ("good.cu",), "dump": ("--ptx",)}
        finished = run_program(command, "good.cu", *rest.get(command, ()), cwd=good.parent)
        assert finished.code == 2, command
        assert finished.err == (
            f"error: [configuration] {good.parent / 'lmemscope.toml'}: "
            "jobs is -3, not a whole number from 1 to 1024\n"
        )


def test_a_compile_that_exceeds_the_timeout(good: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow.cu"
    slow.write_text(
        "".join(
            f"__global__ void k{i}(double *x) {{ double a[200];\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 200; ++i) a[i] = x[i * 3 + threadIdx.x];\n"
            "#pragma unroll\n"
            "for (int r = 0; r < 40; ++r)\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 200; ++i) a[i] = sin(a[(i + 7) % 200]) / a[i];\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 200; ++i) x[i] = a[i]; }\n"
            for i in range(4)
        )
    )
    # Its report is known then: a limit that is short for the other is long for it.
    assert scan(good).code == 0
    finished = scan(good, slow, "--timeout", "2", "-j", "2")
    assert_only(finished, "slow.cu", "compile", "within 2 s", "--timeout")


def test_a_crash_in_the_compiler_is_one_units_failure(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "crash.cu"
    bad.write_text(GOOD.replace("good", "other"))
    crash = tmp_path / "crash"
    crash.mkdir()
    (crash / "sitecustomize.py").write_text(
        "import sys\n"
        "if sys.argv and sys.argv[0] == '-m':\n"
        "    from lmemscope.tools import nvrtc\n"
        "    compile_program = nvrtc.compile_program\n"
        "    def crashing(source, name, *rest):\n"
        "        if name.endswith('crash.cu'):\n"
        "            import ctypes\n"
        "            ctypes.string_at(0)\n"
        "        return compile_program(source, name, *rest)\n"
        "    nvrtc.compile_program = crashing\n"
    )
    python_path = os.pathsep.join([str(crash), os.getcwd()])
    finished = run_program("scan", str(bad), str(good), PYTHONPATH=python_path)
    assert_only(finished, "crash.cu", "compile", "SIGSEGV", "hint:")


def test_only_uninstantiated_templates_is_a_failure_that_names_them(
    good: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "templates.cu"
    bad.write_text(
        "template <int N> __global__ void one(float *x) { x[0] = N; }\n"
        "namespace n { template <class T> __global__ void two(T *x) { x[0] = 1; } }\n"
    )
    assert_only(scan(good, bad), "templates.cu", "instantiate", "one, n::two", "--instantiate")


def test_a_file_without_kernels_is_not_clean(tmp_path: Path) -> None:
    bad = tmp_path / "helpers.cu"
    bad.write_text("__device__ int f(int x) { return x; }\n")
    finished = scan(bad)
    assert finished.code == 0
    assert "no kernel" in finished.out
    assert "defines no __global__ function" in finished.out
    assert "clean" not in finished.out


def test_a_bad_name_expression_is_the_users_error(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "t.cu"
    bad.write_text("template <int N> __global__ void rm(float *x) { x[0] = N; }\n")
    finished = scan(good, bad, "--instantiate", "rm<nonsense>")
    assert_only(finished, "t.cu", "compile", "nonsense")


def test_a_broken_report_does_not_stop_the_others(tmp_path: Path) -> None:
    log = ROOT / "tests/support/data/build_log/make-j2.log"
    made = run_program("scan", str(log), "--format", "json", "-o", "good.json", cwd=tmp_path)
    assert made.code == 0
    (tmp_path / "bad.json").write_text("{")
    for order in (("good.json", "bad.json"), ("bad.json", "good.json")):
        done = run_program("scan", *order, cwd=tmp_path)
        assert done.code == 3
        assert "spilling" in done.out
        assert "bad.json" in done.out
    alone = run_program("scan", "bad.json", cwd=tmp_path)
    assert alone.code == 3
    assert "bad.json" in alone.err

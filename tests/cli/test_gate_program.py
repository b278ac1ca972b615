"""What users do with `check`, `baseline` and `diff`, through the program, on the real toolchain."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.program import Finished, run_program, start_program

pytestmark = pytest.mark.toolchain

ARRAY = "int t[20]; for (int i = 0; i < n; i++) t[(p[i] * 7) % 20] = i; p[0] = t[n % 20];"
DIRTY = f"__global__ void k(int *p, int n) {{ {ARRAY} }}\n"
CLEAN = "__global__ void clean(int *p) { *p = 1; }\n"
HIDDEN = (
    f"namespace {{ __global__ void anon(int *p, int n) {{ {ARRAY} }} }}\n"
    f"static __device__ __noinline__ void leaf(int *p, int n) {{ {ARRAY} }}\n"
    "static __global__ void quiet(int *p, int n) { leaf(p, n); }\n"
)
LAUNCHES = "int main() { int *p = 0; anon<<<1, 1>>>(p, 1); quiet<<<1, 1>>>(p, 1); }\n"
NUMBA = "from numba import cuda\n@cuda.jit\ndef f(x):\n    x[0] = 1\n"


def run(directory: Path, *arguments: str) -> Finished:
    return run_program(*arguments, cwd=directory)


@pytest.mark.parametrize("frontend", ["nvrtc", "nvcc"])
def test_two_checkouts_have_one_baseline_and_do_not_differ(tmp_path: Path, frontend: str) -> None:
    text = HIDDEN + (LAUNCHES if frontend == "nvcc" else "")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cu").write_text(text)
    options = ("--frontend", frontend)
    here, there = tmp_path / "here", tmp_path / "there"
    # Each compiles anew, once: a store of its own.
    stores = {place: {"LMEMSCOPE_CACHE_DIR": f"{place}-store"} for place in (here, there)}
    assert run_program("baseline", "k.cu", *options, cwd=here, **stores[here]).code == 0
    known = (here / "lmemscope-baseline.json").read_bytes()
    assert known.count(b'"kernel"') >= 2
    # Started anew, with an order of sets of its own.
    assert start_program("baseline", "k.cu", *options, cwd=there, **stores[there]).code == 0
    assert (there / "lmemscope-baseline.json").read_bytes() == known
    checked = run_program("check", "k.cu", *options, cwd=there, **stores[there])
    assert (checked.code, checked.out.count("note:")) == (0, 0), checked.out
    for place in (here, there):
        saved = str(tmp_path / f"{place.name}.json")
        run_program("report", "k.cu", *options, "-o", saved, cwd=place, **stores[place])
    shown = run(tmp_path, "diff", "here.json", "there.json")
    assert shown.out == "No kernel differs.\n"


def test_an_unchanged_project_passes_and_an_added_array_is_in_the_first_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "k.cu").write_text(DIRTY)
    (tmp_path / "helpers.cu").write_text("__device__ int f(int x) { return x; }\n")
    written = run(tmp_path, "baseline", ".")
    assert written.code == 0
    assert "1 known finding, sm_90 (the default" in written.out
    assert run(tmp_path, "check", ".").code == 0
    assert run(tmp_path, "baseline", ".", "-o", "again.json").code == 0
    first = (tmp_path / "lmemscope-baseline.json").read_bytes()
    assert (tmp_path / "again.json").read_bytes() == first
    added = DIRTY.replace("void k", "void more").replace("t[", "bins[")
    (tmp_path / "k.cu").write_text(DIRTY + added)
    failed = run(tmp_path, "check", ".")
    assert failed.code == 1
    assert failed.out.splitlines()[0].startswith("new: more (k.cu, sm_90): dynamic-index `bins`")
    sarif = run(tmp_path, "check", ".", "--format", "sarif", "--max-registers", "1")
    assert sarif.code == 1
    (log,) = json.loads(sarif.out)["runs"]
    levels: dict[str, set[str]] = {"suppressed": set(), "failing": set()}
    for one in log["results"]:
        levels["suppressed" if "suppressions" in one else "failing"].add(one["level"])
        assert one["ruleId"] in ("limit", "LM201")
    assert levels["failing"] == {"error"}
    assert levels["suppressed"] <= {"warning", "error"}


def test_check_takes_the_architectures_of_the_baseline(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(DIRTY)
    assert run(tmp_path, "baseline", "k.cu", "--arch", "sm_80").code == 0
    checked = run(tmp_path, "check", "k.cu", "-v")
    assert checked.code == 0
    assert "accepted: k (sm_80)" in checked.out
    filtered = run(tmp_path, "baseline", "k.cu", "--kernel", "k")
    assert filtered.code == 2
    assert "--kernel" in filtered.err


def test_a_deleted_file_leaves_the_baseline_with_update(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(DIRTY)
    (tmp_path / "c.cu").write_text(CLEAN)
    assert run(tmp_path, "baseline", ".").code == 0
    (tmp_path / "k.cu").unlink()
    assert "dynamic-index; --update removes it" in run(tmp_path, "check", ".").out
    updated = run(tmp_path, "check", ".", "--update")
    assert updated.code == 0
    assert "gone: k (sm_90): dynamic-index; removed from the baseline" in updated.out
    assert json.loads((tmp_path / "lmemscope-baseline.json").read_text())["findings"] == []


def test_a_template_whose_name_ends_anothers_has_no_instance(tmp_path: Path) -> None:
    template = "template <int N> __global__ void {}(int *p) {{ *p = N; }}\n"
    text = template.format("scale") + template.format("upscale")
    (tmp_path / "k.cu").write_text(text + "template __global__ void upscale<2>(int *);\n")
    checked = run(tmp_path, "check", "k.cu")
    assert checked.code == 3
    assert checked.out.count("template kernels without an instance: scale (--instantiate") == 1
    noted = run(tmp_path, "check", "k.cu", "--uninstantiated", "note")
    assert noted.code == 0
    assert "scale" in noted.out
    assert run(tmp_path, "scan", "k.cu").code == 0


def test_functions_of_other_translation_units_are_missing_evidence(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "extern __device__ float dist(float *);\n"
        "__global__ void k(float *x) { x[0] = dist(x); }\n"
        '__global__ void said() { printf("%d", 1); }\n'
    )
    relocatable = "--nvrtc-arg=--relocatable-device-code=true"
    checked = run(tmp_path, "check", "k.cu", relocatable)
    assert checked.code == 3
    assert "k calls dist, which another translation unit defines" in checked.out
    assert "vprintf" not in checked.out
    assert run(tmp_path, "check", "k.cu", relocatable, "--external", "note").code == 0
    scanned = run(tmp_path, "scan", "k.cu", relocatable, "--format", "json")
    calls = {kernel["name"]: kernel["calls"] for kernel in scanned.document["units"][0]["kernels"]}
    assert calls["_Z1kPf"]["external"] == ["_Z4distPf"]


def test_a_directory_with_an_unrun_numba_kernel_is_as_undecided_as_the_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "n.py").write_text(NUMBA)
    (tmp_path / "k.cu").write_text(CLEAN)
    assert run(tmp_path, "check", "n.py", "k.cu").code == 3
    checked = run(tmp_path, "check", ".")
    assert checked.code == 3
    assert "n.py holds kernels that only running it would compile" in checked.out
    assert run(tmp_path, "check", ".", "--uninstantiated", "note").code == 0
    assert run(tmp_path, "check", "n.py", "k.cu", "--uninstantiated", "note").code == 0


def test_limits_see_callees_and_recursion(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        f"__device__ __noinline__ void leaf(int *p, int n) {{ {ARRAY} }}\n"
        "__global__ void calls(int *p, int n) { leaf(p, n); }\n"
        "__device__ __noinline__ int down(int *p, int n) {\n"
        "  return n < 2 ? n : down(p, n - 1) + p[n];\n}\n"
        "__global__ void recurses(int *p, int n) { *p = down(p, n); }\n"
    )
    checked = run(tmp_path, "check", "k.cu", "--max-frame", "64")
    assert checked.code == 1
    assert "recurses (k.cu, sm_90): frame unknown (recursion" in checked.out
    assert "limit: calls (k.cu, sm_90): frame " in checked.out


def test_a_mistyped_comment_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("// lmemscope: expct frame=0\n" + CLEAN)
    checked = run(tmp_path, "check", "k.cu")
    assert checked.code == 2
    assert "k.cu:1: not a word of lmemscope's: expct" in checked.err
    assert "did you mean expect?" in checked.err
    assert run(tmp_path, "scan", "k.cu").code == 0


def test_git_revisions_are_compared_with_their_own_headers(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    header = tmp_path / "include" / "size.h"
    header.parent.mkdir()
    header.write_text("#define SIZE 20\n")
    (tmp_path / "k.cu").write_text("#include <size.h>\n" + DIRTY.replace("20", "SIZE"))
    git("init", "-q", "-b", "main")
    git("add", "k.cu", "include")
    git("commit", "-qm", "one")
    header.write_text("#define SIZE 40\n")
    git("commit", "-qam", "two")
    for path, include in (("k.cu", str(header.parent)), (str(tmp_path / "k.cu"), "include")):
        shown = run(tmp_path, "diff", "--git", "HEAD~1..HEAD", path, "-I", include)
        assert shown.code == 0
        assert "worse: k (k.cu, " in shown.out
        assert "stack_frame: 80 → 160" in shown.out


def test_the_baseline_of_a_directory_above_is_found_and_means_the_same_files(
    tmp_path: Path,
) -> None:
    inner = tmp_path / "src" / "deep"
    inner.mkdir(parents=True)
    (inner / "k.cu").write_text(DIRTY)
    (tmp_path / "top.cu").write_text(DIRTY)
    assert run(tmp_path, "baseline", ".").code == 0
    written = (tmp_path / "lmemscope-baseline.json").read_text()
    assert '"input":"src/deep/k.cu"' in written.replace(" ", "")
    below = run(inner, "check", ".", "-v")
    assert below.code == 0
    assert "note: the baseline is ../../lmemscope-baseline.json" in below.out
    assert "known in the baseline" in below.out
    assert "gone" not in below.out
    for path in ("k.cu", str(inner / "k.cu")):
        assert run(inner, "check", path, "--update").code == 0
    assert (tmp_path / "lmemscope-baseline.json").read_text() == written
    # A file that lies beside is compared with its own entry, not with another of its name.
    (inner / "k.cu").write_text(DIRTY.replace("t[", "bins[").replace("[20]", "[24]"))
    assert run(inner, "check", "k.cu").code == 1
    assert run(inner, "check", "../../top.cu").code == 0
    # Another project's baseline is none of ours.
    (tmp_path / "src" / ".git").mkdir()
    assert run(inner, "check", "../../top.cu").code == 1


def test_what_a_user_names_and_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(CLEAN)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "empty").mkdir()
    for option, name, said in (
        ("--baseline", "gone.json", "gone.json does not exist"),
        ("--baseline", "broken.json", "broken.json is no baseline"),
        ("--baseline", "empty", "empty cannot be read: Is a directory"),
        ("--toolkit", "empty", "empty holds no part of the CUDA toolkit"),
    ):
        checked = run(tmp_path, "check", "k.cu", option, name)
        assert (checked.code, checked.out) == (2, "")
        assert said in checked.err


def test_a_glob_that_no_kernel_matches_is_told_with_the_nearest_names(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(CLEAN + DIRTY)
    for _ in range(2):  # the second time from the cache
        scanned = run(tmp_path, "scan", "k.cu", "--kernel", "claen*")
        assert scanned.code == 0
        assert "note: no kernel matches claen*; the nearest names are clean, k" in scanned.out
    checked = run(tmp_path, "check", "k.cu", "--kernel", "claen*")
    assert checked.code == 3
    assert "the nearest names are clean, k" in checked.out
    partly = run(tmp_path, "check", "k.cu", "--kernel", "clean")
    assert partly.code == 0
    assert "note: only what --kernel clean leaves was checked" in partly.out


def test_what_was_written_through_a_filter_is_no_baseline_of_more(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(CLEAN + DIRTY)
    for name, *options in (
        ("all.json",), ("some.json", "--kernel", "clean"), ("facts.json", "--no-causes")
    ):  # fmt: skip
        run(tmp_path, "scan", "k.cu", "-o", name, *options)
    assert json.loads((tmp_path / "some.json").read_text())["filters"] == ["--kernel clean"]
    for arguments in (
        ("check", "some.json"),
        ("check", "facts.json"),
        ("baseline", "some.json"),
        ("diff", "some.json", "all.json"),
    ):
        refused = run(tmp_path, *arguments)
        assert refused.code == 2, arguments
        assert "[filter]" in refused.err
    assert run(tmp_path, "diff", "some.json", "k.cu", "--kernel", "clean").code == 0
    # What this very command leaves out it says; that is no claim about the rest.
    for option in (("--kernel", "clean"), ("--exclude", "*.cuh")):
        partly = run(tmp_path, "check", "all.json", *option)
        assert f"note: only what {' '.join(option)} leaves was checked" in partly.out
    run(tmp_path, "scan", ".", "--exclude", "*.cuh", "-o", "less.json")
    assert json.loads((tmp_path / "less.json").read_text())["filters"] == ["--exclude *.cuh"]
    assert run(tmp_path, "check", "less.json").code == 2
    (tmp_path / "less.json").unlink()
    assert run(tmp_path, "baseline", "all.json").code == 0
    assert run(tmp_path, "check", "all.json").code == 0
    (tmp_path / "lmemscope.toml").write_text('kernels = ["clean"]\n')
    assert run(tmp_path, "baseline", "k.cu").code == 0
    assert run(tmp_path, "check", "k.cu").code == 0
    (tmp_path / "lmemscope.toml").unlink()
    refused = run(tmp_path, "check", "k.cu")
    assert refused.code == 2
    assert "lmemscope-baseline.json was written with --kernel clean" in refused.err


def test_git_revisions_are_compiled_as_the_build_of_the_working_tree_says(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    build = tmp_path / "build"
    for name in ("include", "src", "build/made"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("build\n")
    header, source = tmp_path / "include" / "size.h", tmp_path / "src" / "k.cu"
    header.write_text("#define SIZE 20\n")
    (build / "made" / "made.h").write_text("#define MADE 20\n")
    source.write_text(
        "#include <size.h>\n#include <made.h>\n"
        + DIRTY.replace("t[20]", "t[SIZE]").replace("% 20", "% MADE")
    )
    (build / "includes.rsp").write_text(f"-I{tmp_path}/include")
    command = f"nvcc --options-file includes.rsp -Imade -c {source} -o k.o"
    (build / "compile_commands.json").write_text(
        json.dumps([{"directory": str(build), "file": str(source), "command": command}])
    )
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    header.write_text("#define SIZE 40\n")
    git("commit", "-qam", "two")
    header.write_text("#define SIZE 80\n")
    for path in ("src", "build"):
        shown = run(tmp_path, "diff", "--git", "HEAD~1..HEAD", path)
        assert shown.code == 0, shown.err
        assert "worse: k (src/k.cu, " in shown.out
        assert "stack_frame: 80 → 160" in shown.out

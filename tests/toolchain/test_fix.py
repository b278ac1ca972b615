"""``lmemscope fix`` on the real toolchain: what is offered was compiled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lmemscope.commands.schema import structure
from lmemscope.formats.json_schema import json_schema
from tests.support.program import ROOT, run_program

pytestmark = pytest.mark.toolchain

RING = """\
__device__ float last(const float *v, int n) { return v[n & 7]; }

extern "C" __global__ void __launch_bounds__(64) ring(const float *in, float *out, int n) {
  float window[8] = {};
  for (int i = 0; i < n; ++i) {
    window[i & 7] += in[i];
    out[i] = last(window, n - i);
  }
}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.cu").write_text(RING)
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments],
        check=True,
        capture_output=True,
    )


def test_what_is_offered_is_in_the_table_and_in_json(here: Path) -> None:
    done = run_program("fix", "ring.cu", "--format", "json", "-o", "fix.json", cwd=Path.cwd())
    assert done.code == 0, done.err
    found = json.loads((here / "fix.json").read_text())
    jsonschema.validate(found, json_schema(structure("fix")))
    best = min((one for one in found["candidates"] if one["rank"]), key=lambda one: one["rank"])
    assert best["object"] == "window"
    assert best["verdict"] == "removed"
    assert best["applicability"] == "safe"
    assert best["before"]["stack_frame"] == 32
    assert best["after"]["stack_frame"] == best["after"]["ldl"] == 0
    shown = run_program("fix", "ring.cu", cwd=Path.cwd())
    assert "with a proven fix" in shown.out
    assert "32 → 0" in shown.out


def test_the_patch_applies_and_removes_it(here: Path) -> None:
    done = run_program("fix", "ring.cu", "--format", "patch", "-o", "ring.patch", cwd=Path.cwd())
    assert done.code == 0, done.err
    git("init", "-q")
    git("apply", "ring.patch")
    scanned = run_program("scan", "ring.cu", "--format", "json", cwd=Path.cwd())
    (unit,) = json.loads(scanned.out)["units"]
    assert [one["stack_frame"] for one in unit["kernels"]] == [0]


def test_a_file_with_changes_is_not_written(here: Path) -> None:
    git("init", "-q")
    git("add", "ring.cu")
    git("commit", "-qm", "first")
    (here / "ring.cu").write_text(RING + "// mine\n")
    refused = run_program("fix", "ring.cu", "--apply", cwd=Path.cwd())
    assert refused.code == 2
    assert "not committed" in refused.err
    assert (here / "ring.cu").read_text() == RING + "// mine\n"
    git("commit", "-qam", "second")
    assert run_program("fix", "ring.cu", "--apply", cwd=Path.cwd()).code == 0
    written = (here / "ring.cu").read_text()
    assert "lmem_" in written
    assert written.endswith("// mine\n")


def test_line_ends_and_permissions_are_kept(here: Path) -> None:
    path = here / "ring.cu"
    path.write_bytes(RING.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert run_program("fix", "ring.cu", "--apply", cwd=Path.cwd()).code == 0
    data = path.read_bytes()
    assert b"lmem_" in data
    assert data.count(b"\n") == data.count(b"\r\n")
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_an_unsafe_rewrite_is_only_taken_when_asked_for(here: Path) -> None:
    text = RING.replace("__launch_bounds__(64) ", "").replace(
        "float window[8]", "float window[160]"
    )
    launch = "void go(float *a, float *b) { ring<<<1, 32>>>(a, b, 4); }\n"
    (here / "ring.cu").write_text(text.replace("& 7", "% 160") + launch)
    plain = run_program("fix", "ring.cu", "--format", "patch", cwd=Path.cwd())
    assert (plain.code, plain.out) == (0, "")
    assert "--unsafe" in plain.err
    taken = run_program("fix", "ring.cu", "--format", "patch", "--unsafe", cwd=Path.cwd())
    assert "+  __shared__ float window_lmem[160][32];" in taken.out


def test_a_header_beside_the_source_is_compiled_with_it(here: Path) -> None:
    (here / "deep").mkdir()
    (here / "deep" / "b.cuh").write_text('#include "../sizes.h"\n' + RING.replace("[8]", "[SIZE]"))
    (here / "sizes.h").write_text("#define SIZE 8\n")
    (here / "ring.cu").write_text('#include "deep/b.cuh"\n')
    done = run_program("fix", "ring.cu", "--format", "patch", cwd=Path.cwd())
    assert "+++ b/deep/b.cuh" in done.out
    assert "lmem_" in done.out


@pytest.mark.parametrize("has_repository", [True, False])
def test_a_header_outside_of_the_directory_is_named_from_where_a_patch_applies(
    here: Path, has_repository: bool
) -> None:
    (here / "src").mkdir()
    (here / "inc").mkdir()
    (here / "inc" / "ring.cuh").write_text(RING)
    (here / "src" / "k.cu").write_text('#include "../inc/ring.cuh"\n')
    if has_repository:
        subprocess.run(["git", "init", "-q", "."], cwd=here, check=True)
    done = run_program("fix", "k.cu", "--format", "patch", cwd=here / "src")
    assert "+++ b/inc/ring.cuh" in done.out
    assert f"git -C {here} apply" in done.err.replace("\n", "")
    for check in ("--check", "-v"):
        subprocess.run(["git", "apply", check], cwd=here, input=done.out, text=True, check=True)
    assert "lmem_" in (here / "inc" / "ring.cuh").read_text()


@pytest.mark.parametrize("breaks", [False, True])
def test_an_edit_is_tried_in_every_source_that_reads_one_of_its_files(
    here: Path, breaks: bool
) -> None:
    helper, kernel = RING.split("\n\n")
    (here / "step.cuh").write_text(helper + "\n")
    (here / "ring.cu").write_text('#include "step.cuh"\n' + kernel)
    (here / "b.cu").write_text(
        ("int lmem_column;\n" if breaks else "")
        + '#include "step.cuh"\n__global__ void l(float *p) { p[0] = last(p, 1); }\n'
    )
    done = run_program("fix", ".", "--format", "json", cwd=Path.cwd())
    found = [c for c in json.loads(done.out)["candidates"] if c["rewrite"] == "shared-memory"]
    assert [one["rank"] for one in found] == [None if breaks else 1]
    assert ("b.cu is not compiled any more" in (found[0]["error"] or "")) == breaks


def test_another_kernel_that_is_harmed_forbids_it(here: Path) -> None:
    # Under the cap the one has no room for 40 elements in registers.
    text = RING.replace("[8]", "[40]").replace("& 7", "% 40")
    (here / "ring.cu").write_text(text.replace("(64)", "(1024, 2)"))
    done = run_program("fix", "ring.cu", "--format", "json", cwd=Path.cwd())
    selected = [c for c in json.loads(done.out)["candidates"] if c["rewrite"] == "select"]
    assert {one["verdict"] for one in selected} == {"worse"}
    assert all(one["rank"] is None for one in selected)


def test_what_fails_is_said_and_loses_nothing_else(here: Path) -> None:
    (here / "broken.cu").write_text("__global__ void k( {\n")
    done = run_program("fix", ".", cwd=Path.cwd())
    assert done.code == 3
    assert "broken.cu" in done.err
    assert "with a proven fix" in done.out


def test_a_saved_report_is_no_source(here: Path) -> None:
    done = run_program("fix", "saved.json", cwd=Path.cwd())
    assert done.code == 2
    assert "name the source" in done.err


def test_the_shipped_kernels_have_fixes(tmp_path: Path) -> None:
    copy = tmp_path / "running_mean.cu"
    shutil.copy(ROOT / "kernels" / "running_mean.cu", copy)
    done = run_program(
        "fix", f"{copy}::*ring*", "--block", "128", "--format", "json", cwd=Path.cwd()
    )
    found: list[dict[str, Any]] = json.loads(done.out)["candidates"]
    verdicts = {one["rewrite"]: one["verdict"] for one in found}
    assert verdicts["select"] == verdicts["shared-memory"] == "removed"
    none = run_program("fix", f"{copy}", "--object", "nothing", cwd=Path.cwd())
    assert none.code == 0
    assert "no finding is of a variable nothing" in none.err


@pytest.mark.parametrize("first", ["\n", ""])
def test_a_string_of_a_python_file_is_edited_where_it_stands(here: Path, first: str) -> None:
    kernel = RING.partition("extern")[2].replace("last(window, n - i)", "window[(n - i) & 7]")
    text = f'import cupy\n\nring = cupy.RawKernel(r"""{first}extern{kernel}""", "ring")\n'
    (here / "ring.py").write_text(text)
    done = run_program("fix", "ring.py", "--apply", cwd=here)
    assert done.code == 0, done.err
    written = (here / "ring.py").read_text()
    assert written.startswith(f'import cupy\n\nring = cupy.RawKernel(r"""{first}#ifndef')
    assert "lmem_" in written
    scanned = run_program("scan", "ring.py", "--format", "json", cwd=here)
    assert [one["stack_frame"] for one in scanned.document["units"][0]["kernels"]] == [0]


def test_the_program_decides(here: Path) -> None:
    (here / "check.sh").write_text("grep -c lmem_select ring.cu > seen; cat seen; exit 0\n")
    arguments = ("fix", "ring.cu", "--run", "--format", "json")
    done = run_program(*arguments, "--", "sh", "check.sh", cwd=here)
    assert done.code == 0, done.err
    found = {c["rewrite"]: c for c in done.document["candidates"] if c["run"]}
    assert found["shared-memory"]["run"]["same"] is True
    assert found["shared-memory"]["rank"] is not None
    assert all(one["rank"] is None for one in found.values() if not one["run"]["same"])
    assert not (here / "seen").exists(), "it runs on copies"
    failing = run_program(*arguments, "--", "sh", "-c", "exit 4", cwd=here)
    assert failing.code == 3
    assert "ends with 4" in failing.err
    assert run_program("fix", "ring.cu", "--run", cwd=here).code == 2
    assert run_program("fix", "ring.cu", "other.cu", cwd=here).code == 2


WHOLE = """\
#define AT(i) weights[(i) * 3]
struct Cell { int keys[20]; unsigned char used; };
__device__ int find(const Cell *cell, int n) {
  for (int i = 0; i < 20; ++i) if (cell->keys[i] == n) return i;
  return -1;
}
__global__ void k(const int *p, float *out, int n) {
  float weights[31];
  Cell cell;
  for (int i = 0; i < 30; ++i) weights[i] = p[i + threadIdx.x];
  for (int i = 0; i < 20; ++i) cell.keys[i] = p[2 * i + threadIdx.x];
  float *end = weights + p[n];
  *end = 3.f;
  cell.keys[p[3] & 15] = 4;
  out[threadIdx.x] = AT(p[n + threadIdx.x]) + find(&cell, n) + end[-1];
}
"""


def test_what_macros_pointers_and_functions_use_goes_whole(here: Path) -> None:
    (here / "whole.cu").write_text(WHOLE)
    done = run_program("fix", "whole.cu", "--unsafe", "--format", "json", cwd=Path.cwd())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    offered = {
        one["object"]: (one["rewrite"], one["verdict"], one["applicability"])
        for one in found["candidates"]
        if one["rank"] == 1
    }
    assert offered == {
        "weights": ("shared-row", "removed", "unsafe"),
        "cell.keys": ("shared-row", "removed", "unsafe"),
    }
    written = run_program("fix", "whole.cu", "--unsafe", "--apply", cwd=Path.cwd())
    assert written.code == 0, written.err
    assert (here / "whole.cu").read_text().count("__launch_bounds__(128, 1) k(") == 1
    scanned = run_program("scan", "whole.cu", "--format", "json", cwd=Path.cwd())
    (unit,) = json.loads(scanned.out)["units"]
    assert [one["stack_frame"] for one in unit["kernels"]] == [0]


EQUALS = """\
__global__ void __launch_bounds__(64) k(const char *p, int *out, int n) {
  char left[10], right[10];
  for (int i = 0; i < 10; ++i) {
    left[i] = p[i + threadIdx.x];
    right[i] = p[10 + i + threadIdx.x];
  }
  left[p[40] & 7] = 1;
  int total = 0;
  for (int i = 0; i < n; ++i) total += left[i] * right[i] + (total & left[i]);
  out[threadIdx.x] = total;
}
"""


def test_what_removes_another_object_of_the_size_removes_nothing_of_this(here: Path) -> None:
    (here / "equals.cu").write_text(EQUALS)
    done = run_program("fix", "equals.cu", "--format", "json", cwd=Path.cwd())
    assert done.code == 0, done.err
    verdicts = {
        one["object"]: one["verdict"]
        for one in json.loads(done.out)["candidates"]
        if one["rewrite"] == "bounded-loop"
    }
    assert verdicts == {"left": "no-effect", "right": "removed"}


ANGLES = """\
__global__ void k(const float *p, const float *q, float *out) {
  int t = threadIdx.x;
  float theta = p[t], turned = q[t];
  if (turned == 0)
    out[t] = cos(theta);
  else
    out[t] = (sin(turned / 2 / 3.14159265358979323846) / turned) * cos(theta);
}
"""


def test_a_cause_without_a_rewrite_is_said_to_have_none(here: Path) -> None:
    (here / "angles.cu").write_text(ANGLES)
    done = run_program("fix", "angles.cu", "--format", "json", cwd=Path.cwd())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["candidates"] == []
    assert {one["cause"] for one in found["untried"]} == {"math-slow-path"}
    assert {one["reason"] for one in found["untried"]} == {"no rewrite is known for it"}


SPILLED = """\
__device__ __noinline__ int last(int *p, int n) {
  asm volatile("" ::"l"(p) : "memory");
  return p[n];
}
extern "C" __global__ void __launch_bounds__(1024) k(const double *in, double *out, int n) {
  int held[2] = {n, n + 1};
  double a[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) a[i] = in[i * 1024 + threadIdx.x];
  for (int turn = 0; turn < n; ++turn) {
#pragma unroll
    for (int i = 0; i < 40; ++i) a[i] = a[i] * a[(i + 7) % 40] + a[(i + 13) % 40];
  }
  double sum = last(held, n & 1);
#pragma unroll
  for (int i = 0; i < 40; ++i) sum += a[i] * in[i];
  out[threadIdx.x] = sum;
}
"""


def test_a_frame_without_spills_is_no_object_that_is_gone(here: Path) -> None:
    (here / "spilled.cu").write_text(SPILLED)
    done = run_program("fix", "spilled.cu", "--unsafe", "--format", "json", cwd=Path.cwd())
    assert done.code == 0, done.err
    verdicts = {
        (one["object"], one["summary"]): one["verdict"]
        for one in json.loads(done.out)["candidates"]
    }
    assert verdicts[None, "compile the kernel for blocks of 512 threads"] == "removed"
    # Spill slots are fewer then, and `held` has its 8 bytes.
    assert verdicts["held", "inline `last`"] == "no-effect"
    assert ("held", "compile the kernel for blocks of 512 threads") not in verdicts


STAGED = """\
__global__ void __launch_bounds__(128) k(const float *in, float *out, int n) {
  __shared__ float staged[10000];
  float own[32];
  for (int i = 0; i < 32; ++i) own[i] = in[i];
  staged[threadIdx.x] = in[n];
  __syncthreads();
  for (int i = 0; i < n; ++i) own[(i * 7) & 31] += staged[i];
  out[threadIdx.x] = own[n & 31];
}
"""


@pytest.mark.parametrize("is_template", [False, True])
def test_what_would_not_be_linked_is_not_tried(is_template: bool, tmp_path: Path) -> None:
    """ptxas lets separately compiled code take any amount of shared memory, and nvlink does not.

    A template's own shared memory it does not even report.
    """
    text = STAGED
    if is_template:
        text = "template <int N> " + text.replace("10000", "N")
        text += "template __global__ void k<10000>(const float *, float *, int);\n"
    (tmp_path / "staged.cu").write_text(text)
    given = ("--frontend", "nvcc", "--nvcc-arg=-rdc=true", "--format", "json", "-o", "fix.json")
    done = run_program("fix", "staged.cu", *given, cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "fix.json").read_text())
    assert found["candidates"]
    assert [one for one in found["candidates"] if one["rewrite"].startswith("shared")] == []
    assert {one["before"]["shared"] for one in found["candidates"]} == {40000}


HUNGRY = """\
extern "C" __global__ void k(const float *p, float *out, int n) {
  float a[8], held[40];
  for (int i = 0; i < 8; ++i) a[i] = p[i];
#pragma unroll
  for (int i = 0; i < 40; ++i) held[i] = p[i * n];
  for (int i = 0; i < n; ++i) a[(int)p[i] & 7] += p[n + i];
#pragma unroll
  for (int i = 0; i < 40; ++i) out[i * n] = held[39 - i] * held[i] + a[(i + n) & 7];
}
"""


def test_what_is_compiled_has_no_more_registers_than_the_command_line_allows(here: Path) -> None:
    (here / "k.cu").write_text(HUNGRY)
    options = ("--maxrregcount", "32", "--format", "json", "-o", "fix.json")
    done = run_program("fix", "k.cu", *options, cwd=Path.cwd())
    assert done.code == 0, done.err
    found = json.loads((here / "fix.json").read_text())["candidates"]
    shared = [one for one in found if one["rewrite"].startswith("shared-memory") and one["after"]]
    assert shared
    assert all("__launch_bounds__(" in one["patch"] for one in shared), "nothing says the block"
    assert max(one["after"]["registers"] for one in found if one["after"]) == 32
    assert all(one["after"]["spill_loads"] for one in shared), "the limit spills as before"

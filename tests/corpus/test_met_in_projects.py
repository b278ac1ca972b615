"""What was wrong of code that others wrote, each as a few lines that show the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.rules.register_cap import spilling_threads
from tests.support.builders import changed, kernel_with
from tests.support.program import run_program

pytestmark = pytest.mark.toolchain


def explained(tmp_path: Path, text: str, *options: str) -> tuple[list[dict[str, Any]], str]:
    """The findings of the file's kernels, and what is said of them."""
    (tmp_path / "a.cu").write_text(text)
    given = ("a.cu", "--arch", "sm_90", *options)
    done = run_program("scan", *given, "--format", "json", cwd=tmp_path)
    kernels = done.document["units"][0]["kernels"]
    findings = [
        one | {"kernel": kernel["name"]} for kernel in kernels for one in kernel["findings"]
    ]
    said = run_program("explain", *given, cwd=tmp_path)
    return findings, " ".join(said.out.split())


DIVIDES = """\
__global__ void k(double *x, int n) {
  int i = threadIdx.x;
  double a = x[i], b = x[i + n], c = x[i + 2 * n], d = x[i + 3 * n];
  for (int j = 0; j < n; ++j) { a = a / b + c / d; b += d * a; c -= a; }
  x[i] = a + b + c;
}
"""


def test_a_routine_of_ptxas_saves_registers_under_a_limit(tmp_path: Path) -> None:
    """Compiled for linking, the division is a function by itself, which no PTX has."""
    limit = ("--nvcc-arg", "-rdc=true", "--maxrregcount", "24")
    findings, said = explained(tmp_path, DIVIDES, *limit)
    (routine,) = [one for one in findings if one["kernel"].startswith("__cuda_sm20_div")]
    assert routine["cause"] == "callee-save"
    assert "a CUDA library routine" in said
    assert "with a limit of 24 registers" in said
    free, _ = explained(tmp_path, DIVIDES, *limit[:2])
    assert not [one for one in free if one["kernel"].startswith("__cuda_sm20_div")]


PASSES = """\
struct Big { int e; unsigned limb[35]; };
__device__ void add(Big *a, Big *b);
__global__ void k(Big x, Big y, Big z, Big *out) {
  add(&x, out);
  add(&y, out);
  add(&z, out);
}
"""


def test_a_parameter_that_is_only_passed_is_not_indexed_by_its_copy(tmp_path: Path) -> None:
    findings, said = explained(tmp_path, PASSES, "--nvcc-arg", "-rdc=true")
    assert {one["cause"] for one in findings} == {"param-copy"}
    assert sorted(one["location"]["line"] for one in findings) == [4, 5, 6]
    assert all(one["index"] is None for one in findings)
    assert "indexed" not in said
    assert said.count("its address is passed to add, which is not inlined") == 3


TAKEN = """\
__device__ __noinline__ int parse(int **source, int stop) {
  int n = 0;
  while (**source != stop) { n = n * 3 + **source; ++*source; }
  return n;
}
__device__ int run(int *source, int stop) { return parse(&source, stop); }
__device__ void each(int *out, int *data, int i) {
  out[i] = run(data + data[i], data[i + 1]);
}
__global__ void k(int *out, int *data) { each(out, data, threadIdx.x); }
"""


def test_a_pointer_whose_address_a_line_takes_is_that_pointer(tmp_path: Path) -> None:
    findings, _ = explained(tmp_path, TAKEN)
    assert [one["object"] for one in findings if one["cause"] == "address-taken"] == ["source"]


ALTERNATING = """\
struct Record { float v[12]; };
struct Shape { __device__ virtual float hit(const float *ray, Record *record) const = 0; };
struct Ball : Shape {
  __device__ float hit(const float *ray, Record *record) const override {
    for (int i = 0; i < 12; ++i) record->v[i] = ray[i % 6] * i;
    return record->v[3];
  }
};
struct List : Shape {
  Shape *of[4];
  __device__ float hit(const float *ray, Record *record) const override {
    Record other;
    float best = 1e30f;
    for (int i = 0; i < 4; ++i) {
      float at = of[i]->hit(ray, &other);
      if (at < best) { best = at; *record = other; }
    }
    return best;
  }
};
__global__ void k(Shape **world, float *out) {
  float beam[6];
  Record record;
  for (int i = 0; i < 6; ++i) beam[i] = out[i];
  if (out[8] > 3) { world[0] = new List; world[1] = new Ball; }
  out[threadIdx.x] = world[0]->hit(beam, &record) + record.v[0];
}
"""


def test_the_frame_of_a_function_is_not_in_the_kernel_s(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(ALTERNATING)
    done = run_program("scan", "a.cu", "--arch", "sm_90", "--format", "json", cwd=tmp_path)
    (kernel,) = [one for one in done.document["units"][0]["kernels"] if one["kind"] == "entry"]
    owners = {one["object"] for one in kernel["frame"] if one["object"] is not None}
    assert owners == {"beam", "record"}


NESTED = """\
__global__ void k(const float *x, float *out) {
  float j[48];
  #pragma unroll 1
  for (int i = 0; i < 12; ++i) {
    float s = x[i];
    #pragma unroll 1
    for (int m = 0; m <= i; ++m) s = s * x[m] + 1;
    for (int m = 0; m < 4; ++m) j[4 * i + m] = s * m;
  }
  for (int i = 0; i < 48; ++i) out[i * 32 + threadIdx.x] = j[x[i] > 0 ? i : 0];
}
"""


def test_a_loop_that_is_written_out_takes_those_with_it_that_it_bounds(tmp_path: Path) -> None:
    """Twelve times a body with a loop of up to twelve turns is more than twelve bodies."""
    findings, _ = explained(tmp_path, NESTED)
    short, _ = explained(tmp_path, NESTED.replace("m <= i", "m < x[40]"))
    sizes = [
        max(one["index"]["written_out"] or 0 for one in found if one["index"] is not None)
        for found in (findings, short)
    ]
    assert sizes[0] > 1.5 * sizes[1] > 0


HOSTED = """\
#define BOTH __host__ __device__ inline
BOTH unsigned mixed(unsigned n) {
  const unsigned k[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
  unsigned s = 0;
  for (unsigned j = 0; j < n; ++j) s = s * 7 + k[s & 63];
  return s;
}
__global__ void k(unsigned *out, unsigned n) { out[threadIdx.x] = mixed(n); }
"""


def test_a_table_of_a_function_that_is_the_hosts_too_stays_in_it(tmp_path: Path) -> None:
    findings, said = explained(tmp_path, HOSTED)
    assert [one["cause"] for one in findings] == ["const-table"]
    assert "static const unsigned k[64]" in said
    assert "__constant__" not in said
    alone, said = explained(tmp_path, HOSTED.replace("__host__ ", ""))
    assert [one["cause"] for one in alone] == ["const-table"]
    assert "static const unsigned k[64]" in said


@pytest.mark.parametrize(("registers", "threads"), [(255, 256), (64, 1024), (128, 512), (32, 1024)])
def test_spills_have_room_for_the_threads_that_find_registers(registers: int, threads: int) -> None:
    facts = kernel_with("register-spill")
    assert facts.ptxas is not None
    ptxas = replace(facts.ptxas, registers=registers)
    assert spilling_threads(changed(facts, ptxas=ptxas)) == threads


PICKS = """__global__ void k(const double *x, double *out, int n) {
  double c[4];
  for (int t = 0; t < n; ++t) {
    for (int i = 0; i < 4; ++i) c[i] = x[i * n + t];
    int index = 0;
    for (int i = 1; i < 4; i++)
      if (c[i] < c[index]) index = i;
    out[t] = c[index];
  }
}
"""


def test_the_counter_of_a_loop_that_is_written_out_is_no_run_time_index(tmp_path: Path) -> None:
    findings, said = explained(tmp_path, PICKS)
    (found,) = [one for one in findings if one["object"] == "c"]
    assert found["index"]["expression"] == "index"
    assert "const int at = i;" not in said


BUFFERS = """\
#define STEP 512
__global__ void k(const float *x, float *out, int n) {
  extern __shared__ char raw[];
  float *buffer[2];
  buffer[0] = reinterpret_cast<float *>(raw);
  buffer[1] = buffer[0] + STEP;
  int at = 0;
  for (int i = 0; i < n; ++i) {
    buffer[at][threadIdx.x] = x[i * 32 + threadIdx.x];
    __syncthreads();
    out[i] += buffer[at][31 - threadIdx.x];
    if (x[i] > 0) at ^= 1;
  }
}
"""


def test_an_array_of_places_in_shared_memory_is_no_table_of_constants(tmp_path: Path) -> None:
    findings, said = explained(tmp_path, BUFFERS)
    assert [one["cause"] for one in findings if one["object"] == "buffer"] == ["dynamic-index"]
    assert "__constant__" not in said


LANES = """\
struct Tree { int left[64], right[64]; float weight[64]; };
__device__ float walk(const Tree &tree, float x) {
  int todo[20];
  int top = 0;
  float sum = 0;
  todo[top++] = 0;
  while (top > 0) {
    const int node = todo[--top];
    sum += tree.weight[node] * x;
    if (tree.left[node] > 0) todo[top++] = tree.left[node];
    if (tree.right[node] > 0) todo[top++] = tree.right[node];
  }
  return sum;
}
__global__ void some_lanes_walk(const Tree tree, const float *in, float *out, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    const float x = in[i * 1024 + threadIdx.x];
    if (x > 0) sum += walk(tree, x);
  }
  out[threadIdx.x] = sum;
}
__global__ void walk_again(const Tree tree, const float *in, float *out, int n) {
  float x = in[threadIdx.x];
  for (int i = 0; i < n && x < 4; ++i) x = walk(tree, x);
  out[threadIdx.x] = walk(tree, x + 1);
}
__global__ void share_rows(const float *in, float *out, int n) {
  float kept[24];
  int count = 0;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += kept[count++] = in[i];
  sum = __syncthreads_count(sum > 1);
  for (int i = 0; i < count; ++i) out[i * blockDim.x + threadIdx.x] = kept[i] * sum;
}
__device__ int push(int *window, int at, int value) {
  window[at & 7] = value;
  return window[(at + 1) & 7];
}
__global__ void window_stays(const float *in, float *out, int n) {
  int window[8];
  float taps[16];
  float sum = 0;
  for (int i = 0; i < 8; ++i) window[i] = 0;
  for (int i = 0; i < 16; ++i) taps[i] = in[i * 1024 + threadIdx.x];
  for (int i = 0; i < n; ++i) {
    if (in[i * 64 + threadIdx.x] > 0) sum += push(window, i, i * 3);
    sum += taps[push(window, i + 3, i) & 15];
  }
  out[threadIdx.x] = sum;
}
"""


def test_lanes_that_run_an_access_together_have_one_index_in_what_each_call_fills(
    tmp_path: Path,
) -> None:
    """But not in what a caller's array keeps of a call that only some of them made."""
    findings, _ = explained(tmp_path, LANES)
    found = {
        (one["kernel"], one["object"]): (one["index"]["uniformity"], one["severity"])
        for one in findings
    }
    assert found == {
        ("_Z15some_lanes_walk4TreePKfPfi", "todo"): ("uniform", "warning"),
        ("_Z10walk_again4TreePKfPfi", "todo"): ("uniform", "warning"),
        ("_Z10share_rowsPKfPfi", "kept"): ("uniform", "warning"),
        ("_Z12window_staysPKfPfi", "window"): ("uniform", "warning"),
        ("_Z12window_staysPKfPfi", "taps"): ("data-dependent", "error"),
    }

"""What stack objects are called, how large they are, and their lines, where neighbours mislead."""

from __future__ import annotations

import pytest

from lmemscope.api import scan
from lmemscope.model import KernelReport

pytestmark = pytest.mark.toolchain

SOURCE = """
template <int K, class Less>
__device__ void insert(float (&best)[K], int (&index)[K], float value, int i, Less less) {
  int p = K - 1;
  if (!less(best[p], value)) return;
  for (; p > 0 && less(best[p - 1], value); --p) {
    best[p] = best[p - 1];
    index[p] = index[p - 1];
  }
  best[p] = value;  // best
  index[p] = i;  // index
}
extern "C" __global__ void topk(const float *in, float *out, int *which, int rows, int columns) {
  const int row = threadIdx.x;
  float best[6]; int index[6];
  for (int k = 0; k < 6; ++k) best[k] = -1e30f, index[k] = -1;
  auto less = [](float a, float b) { return a < b; };
  for (int c = 0; c < columns; ++c) insert<6>(best, index, in[c * rows + row], c, less);
  float sum = 0;
  for (int k = 0; k < 6; ++k) sum += __expf(best[k] - best[0]);
  for (int k = 0; k < 6; ++k) {
    out[k * rows + row] = __expf(best[k] - best[0]) / sum;
    which[k * rows + row] = index[k];
  }
}
extern "C" __global__ void scratch(const int *in, int *out, int n, int extra) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const int need = 8 + (in[t] & 7) + extra;
  int *const work = (int *)__builtin_alloca(need * sizeof(int));  // unread alloca
  int first[5], sum = 0;
  for (int i = 0; i < need; ++i) work[i] = in[i * n + t] % 97;
  for (int i = 0; i < 5; ++i) first[i] = work[i] + i;
  for (int i = 0; i < need; ++i) sum = sum * 3 + work[need - 1 - i] + first[work[i] % 5];
  out[t] = sum;
}
__device__ __noinline__ static int pick(const int *unused, int i, int j) {
  int mine[70];
  for (int k = 0; k < 70; ++k) mine[k] = k * j + 3;
  return mine[(i ^ j) & 63];
}
extern "C" __global__ void picked(const int *in, int *out) {
  out[threadIdx.x] = pick(in, in[threadIdx.x], in[threadIdx.x + 5]) + pick(out, 3, in[7]);
}
union Matrix { float flat[12]; struct { float r0[4], r1[4], r2[4]; } rows; };
extern "C" __global__ void affine(const float *in, const int *at, float *out) {
  Matrix a;
  for (int i = 0; i < 12; ++i) a.flat[i] = in[i * 256 + threadIdx.x];
  float sum = 0;
  for (int k = 0; k < 6; ++k) {
    const int i = at[k * 256 + threadIdx.x] % 12;
    a.flat[i] += 0.5f;  // flat
    sum += a.rows.r1[k & 3] - a.flat[11 - i];
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void axes(const float *in, float *out) {
  const float *own = in + threadIdx.x * 12;
  float length[3] = {own[0], own[1], own[2]}, axis[3][3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    axis[i][0] = own[3 + i], axis[i][1] = own[6 + i], axis[i][2] = own[9 + i];
  }
#pragma unroll
  for (int i = 1; i < 3; ++i) {
    const float moved = length[i], x = axis[i][0], y = axis[i][1], z = axis[i][2];
    int j = i - 1;
    for (; j >= 0 && length[j] > moved; --j) {
      length[j + 1] = length[j];
      axis[j + 1][0] = axis[j][0], axis[j + 1][1] = axis[j][1], axis[j + 1][2] = axis[j][2];
    }
    length[j + 1] = moved;
    axis[j + 1][0] = x, axis[j + 1][1] = y, axis[j + 1][2] = z;
  }
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) out[(threadIdx.x * 3 + i) * 3 + k] = axis[i][k] * length[i];
}
__device__ int sum(const unsigned char *&p, const unsigned char *end, int depth);
__device__ int product(const unsigned char *&p, const unsigned char *end, int depth) {
  if (p == end) return 1;
  const unsigned char c = *p++;
  return c < 3 && depth < 6 ? sum(p, end, depth + 1) : c;
}
__device__ int sum(const unsigned char *&p, const unsigned char *end, int depth) {
  int terms[4] = {0, 0, 0, 0}, n = 0;
  terms[n & 3] += product(p, end, depth);
  while (p != end && (*p == 4 || *p == 6)) {
    const int sign = *p++ == 4 ? 1 : -1;
    terms[++n & 3] += sign * product(p, end, depth);
  }
  return terms[0] + 3 * terms[1] - terms[2] ^ terms[3];
}
extern "C" __global__ void evaluate(const unsigned char *tokens, int *out, int length) {
  const unsigned char *p = tokens + threadIdx.x * length, *const end = p + length;
  int total = 0;
  while (p != end) total = total * 7 + sum(p, end, 0);
  out[threadIdx.x] = total;
}
struct Add {
  int depth, *sum;
  __device__ __noinline__ void run(int v) { *sum += v * depth; }
};
__device__ __noinline__ int refill(const unsigned char *data, int node, int depth) {
  int total = 0, level[8] = {};
  level[data[node] & 7] = depth + 1;
  Add guard = {depth, &total};
  guard.run(level[data[node + 1] & 7]);
  for (int k = 0; k < 8; ++k) total = total * 3 + level[(k + data[node + 64]) & 7];
  return total;
}
extern "C" __global__ void behind(const unsigned char *data, int *out) {
  out[threadIdx.x] = refill(data, threadIdx.x, 3);
}
extern "C" __global__ void captured(const int *in, int *out, int n) {
  const auto visit = [&](auto &&self, int node, int depth) -> int {
    const int deeper = depth < 3 ? self(self, in[node % n], depth + 1) : 1;
    return deeper * 3 + in[deeper % n];
  };
  out[threadIdx.x] = visit(visit, threadIdx.x, 0);
}
extern "C" __global__ void sorted(const float *in, float *out, int n) {
  const int t = threadIdx.x;
  float a[12];
  for (int i = 0; i < 12; ++i) a[i] = in[i * n + t];
  for (int i = 1; i < 12; ++i) {
    const float &key = a[i];
    int j = i;
    while (j > 0 && a[j - 1] > key) {
      a[j] = a[j - 1];
      --j;
    }
    a[j] = key;  // key
  }
  float all = 0;
  for (int i = 0; i < 12; ++i) all += a[i] * (i + 1);
  out[t] = all;
}
extern "C" __global__ void medians(const float *in, float *out, int width) {
  float *window = static_cast<float *>(alloca(width * sizeof(float)));  // alloca
  for (int i = 0; i < width; ++i) {
    const float v = in[threadIdx.x + i];
    int j = i;
    for (; j > 0 && window[j - 1] > v; --j) window[j] = window[j - 1];
    window[j] = v;
  }
  out[threadIdx.x] = window[width / 2];
}
"""


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelReport]:
    """All kernels, by name."""
    path = tmp_path_factory.mktemp("objects") / "a.cu"
    path.write_text(SOURCE)
    units = scan(path, arch=["sm_90"]).units
    return {kernel.facts.name: kernel for unit in units for kernel in unit.kernels}


def line(comment: str) -> int:
    """The line that ends with a comment."""
    lines = SOURCE.splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"// {comment}"))


def objects(kernel: KernelReport) -> list[tuple[str | None, int, str]]:
    return [(one.name, one.size, one.cause) for one in kernel.facts.objects]


@pytest.mark.parametrize("name", ["best", "index"])
def test_a_pointer_between_elements_is_an_index_into_their_array(
    scanned: dict[str, KernelReport], name: str
) -> None:
    assert objects(scanned["topk"]) == [
        ("best", 24, "dynamic-index"),
        ("index", 24, "dynamic-index"),
    ]
    finding = next(one for one in scanned["topk"].findings if one.object == name)
    assert finding.location is not None
    assert finding.location.line == line(name)
    assert finding.index is not None
    assert (finding.index.expression, finding.index.uniformity) == ("p", "data-dependent")
    assert {one.name for one in finding.index.sources} == {"best", "in"}


def test_pointers_between_the_rows_of_a_matrix_are_an_index(
    scanned: dict[str, KernelReport],
) -> None:
    """Each column is chosen from on its own; what lies between is of the same array."""
    assert objects(scanned["axes"]) == [
        ("length", 12, "dynamic-index"),
        ("axis", 36, "dynamic-index"),
    ]


def test_a_pointer_behind_a_reference_is_no_array_of_numbers(
    scanned: dict[str, KernelReport],
) -> None:
    taken = [one for one in objects(scanned["evaluate"]) if one[2] == "address-taken"]
    assert taken == [("p", 8, "address-taken")]


def test_what_only_alignment_may_have_made_large_is_not_said_to_be(
    scanned: dict[str, KernelReport],
) -> None:
    (finding,) = (one for one in scanned["behind"].findings if one.cause == "address-taken")
    assert finding.object is None
    assert "an object of up to 16 bytes" in finding.message


def test_what_a_closure_holds_by_reference_is_an_object_each(
    scanned: dict[str, KernelReport],
) -> None:
    assert objects(scanned["captured"]) == [
        ("in", 8, "address-taken"),
        ("n", 4, "address-taken"),
        ("visit", 16, "address-taken"),
    ]


def test_an_index_that_unrolling_made_a_choice_has_its_line(
    scanned: dict[str, KernelReport],
) -> None:
    (finding,) = scanned["sorted"].findings
    assert finding.location is not None
    assert (finding.cause, finding.location.line) == ("dynamic-index", line("key"))
    assert finding.index is not None
    assert (finding.index.expression, finding.index.uniformity) == ("j", "data-dependent")


def test_a_stack_of_unknown_depth_without_accesses_is_no_call(
    scanned: dict[str, KernelReport],
) -> None:
    """ptxas left none of its accesses, and there is no call."""
    kernel = scanned["scratch"]
    assert kernel.facts.sass is not None
    assert kernel.facts.sass.load_sites + kernel.facts.sass.store_sites == 0
    finding = kernel.findings[0]
    assert finding.location is not None
    assert (finding.cause, finding.location.line) == ("alloca", line("unread alloca"))
    assert {one.cause for one in kernel.findings} == {"alloca", "promoted"}
    assert kernel.facts.run_time_sizes


def test_what_is_left_of_a_functions_parameters_is_not_named_by_its_place(
    scanned: dict[str, KernelReport],
) -> None:
    """The compiler leaves out the first, for nothing uses it."""
    (finding,) = (one for one in scanned["picked"].findings if one.object == "mine")
    assert finding.index is not None
    parameters = [one for one in finding.index.sources if one.kind == "parameter"]
    assert parameters
    assert {(one.name, one.position) for one in parameters} == {(None, None)}


def test_a_unions_member_has_no_accesses_that_the_line_does_by_another(
    scanned: dict[str, KernelReport],
) -> None:
    (finding,) = scanned["affine"].findings
    assert finding.location is not None
    assert (finding.object, finding.location.line) == ("a.flat", line("flat"))
    # What `k & 3` selects is at a constant place.
    loads = [one for one in scanned["affine"].facts.accesses if not one.is_store]
    assert {one.sectors for one in loads if one.uniformity != "uniform"} == {32}


def test_alloca_is_shown_where_it_is_called(scanned: dict[str, KernelReport]) -> None:
    (finding,) = scanned["medians"].findings
    assert finding.location is not None
    assert (finding.cause, finding.location.line) == ("alloca", line("alloca"))

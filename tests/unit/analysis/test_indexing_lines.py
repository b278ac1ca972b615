"""Which line indexes an object, which of the indices on it that is, and how far a copy goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.analysis.constructed import members_given
from lmemscope.analysis.counted import Turns, running
from lmemscope.analysis.indexing_lines import indexing_line
from lmemscope.api import scan
from lmemscope.exporters.explanation import line_notes
from lmemscope.formats.statements import Statement
from lmemscope.model import Finding, InlineFrame, KernelReport, Member, SourceLocation
from tests.support.builders import (
    attributed,
    depot,
    find,
    layers,
    ldl,
    program,
    source_text,
    variable,
)

KEEP = """#pragma once
template <class K, class V> class Keep {
 public:
  __device__ Keep(K *keys, V *vals, int n) : keys_(keys), vals_(vals), n_(n), used(0) {}
  __device__ __forceinline__ void add(const K &key, const V &val) {
    if (used < n_) {
      keys_[used] = key;
      vals_[used] = val;
      if (used == 0 || key > worst) {
        worst = key;
        at = used;
      }
      used++;
    } else if (key < worst) {
      keys_[at] = key;
      vals_[at] = val;
      worst = key;
      for (int k = 0; k < n_; ++k)
        if (keys_[k] > worst) {
          worst = keys_[k];
          at = k;
        }
    }
  }
  __device__ int size() { return used; }
 private:
  K *keys_;
  V *vals_;
  int n_, used;
  K worst;
  int at;
};
"""
NEAREST = """#include "{}/keep.cuh"
extern "C" __global__ void nearest(const float *p, int count, float *dist, int *idx) {{
  float d[16];
  int i[16];
  Keep<float, int> keep(d, i, 16);
  for (int j = 0; j < count; ++j) {{
    float x = p[j] - p[threadIdx.x];
    keep.add(x * x, j);
  }}
  for (int k = 0; k < keep.size(); ++k) {{
    dist[threadIdx.x * 16 + k] = d[k];
    idx[threadIdx.x * 16 + k] = i[k];
  }}
}}
"""


def only(report: KernelReport, object_: str) -> Finding:
    (found,) = (one for one in report.findings if one.object == object_)
    return found


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("directory", "file", "line", "caller"),
    [("mine", "mine/keep.cuh", 15, 8), ("third_party", "a.cu", 8, None)],
)
def test_a_users_class_is_shown_where_it_indexes_what_it_is_given(
    tmp_path: Path, directory: str, file: str, line: int, caller: int | None
) -> None:
    (tmp_path / directory).mkdir()
    (tmp_path / directory / "keep.cuh").write_text(KEEP)
    source = tmp_path / "a.cu"
    source.write_text(NEAREST.format(directory))
    (kernel,) = scan(source).units[0].kernels
    finding = only(kernel, "d")
    assert finding.location == SourceLocation(str(tmp_path / file), line)
    assert finding.index is not None
    assert finding.index.expression == "at"
    called = SourceLocation(str(source), caller) if caller is not None else None
    assert finding.index.called_from == called
    assert called is None or called in finding.related
    # What is said beside the lines is said of the same ones.
    facts = kernel.facts
    there = [one for one in facts.accesses if facts.line_of(one) == finding.location]
    assert line_notes(kernel, there)


WIDE = """struct Wide {
  unsigned limbs[16];
  __device__ unsigned mod(unsigned divisor) const {
    unsigned long long rest = 0;
    #pragma unroll
    for (int i = 15; i >= 0; i--) {
      rest = ((rest << 32) | limbs[i]) % divisor;
    }
    return (unsigned)rest;
  }
};
extern "C" __global__ void reduce(const Wide *in, const unsigned *primes, unsigned *out, int n) {
  Wide values[32];
  for (int i = 0; i < n; i++) values[i] = in[i];
  for (int j = 0; j < n; j++) out[j] = values[j].mod(primes[threadIdx.x]);
}
"""


@pytest.mark.toolchain
def test_the_index_of_a_loop_written_out_in_an_element_is_not_the_arrays(tmp_path: Path) -> None:
    """A method of an element subscripts its own member; the array is indexed where it is called."""
    source = tmp_path / "a.cu"
    source.write_text(WIDE)
    (kernel,) = scan(source).units[0].kernels
    index = only(kernel, "values").index
    assert index is not None
    assert index.expression == "j"


def frame(file: str, line: int, function: str | None = None) -> InlineFrame:
    return InlineFrame(file, line, function)


CALLER = SourceLocation("a.cu", 9)


@pytest.mark.parametrize(
    ("inner", "text", "is_shown"),
    [
        (frame("h.cuh", 1), "data[top++] = x;", True),
        (frame("h.cuh", 1), "data[0] = x;", False),
        (frame("h.cuh", 1), "x = data[top];", False),
        (frame("h.cuh", 1), "set(x);", False),
        (frame("h.cuh", 1, "_ZN3VecixEi"), "return data[top] = x;", False),
        (frame("/usr/include/h.h", 1), "data[top++] = x;", False),
        (frame("external/h.cuh", 1), "data[top++] = x;", False),
        (frame("a.cu", 9), "data[top++] = x;", False),
    ],
)
def test_the_line_that_indexes_is_the_users_and_has_a_computed_index(
    inner: InlineFrame, text: str, is_shown: bool
) -> None:
    chain = (inner, InlineFrame.at(CALLER, None))
    sources = source_text({inner.location.file: text})
    found = indexing_line(chain, CALLER, sources, is_store=True)
    assert found == (inner.location if is_shown else None)


MEMBERS = (Member("data_", 0, 8, "float *"), Member("n", 8, 4, "int"))


@pytest.mark.parametrize(
    ("declared", "constructor", "expected"),
    [
        ("View v(list, 16);", "View(float *p, int n) : data_(p), n(n) {}", [("data_", "list")]),
        ("View v(list, 16);", "View(float *p, int n) { data_ = p; }", [("data_", "list")]),
        ("View v{list, 16};", "View(float *p, int n) {\n  this->data_ = p;\n}",
         [("data_", "list")]),
        ("auto v = View<float>(list, 16);", "View(float *p, int n) : data_{p} {}",
         [("data_", "list")]),
        ("View v(list, 16);", "View(float *p, int n) { data_ = p + n; }", []),
        ("View v(list + 1, 16);", "View(float *p, int n) : data_(p) {}", [("data_", "list")]),
        ("View v(16, list);", "View(float *p, int n) : data_(p) {}", []),
        ("View v{list, 16};", None, [("data_", "list")]),
        ("View v = {list, 16};", None, [("data_", "list")]),
        ("View v(list, 16);", None, []),
        ("View v;", None, []),
    ],
)  # fmt: skip
def test_a_constructor_tells_which_member_leads_to_an_array(
    declared: str, constructor: str | None, expected: list[tuple[str, str]]
) -> None:
    sources = source_text({"a.cu": f"{declared}\n\n{constructor or ''}\n"})
    view = variable("v", "View", 16, 1, members=MEMBERS)
    parameters = [
        variable(name, kind, 8, 3, is_parameter=True)
        for name, kind in (("p", "float *"), ("n", "int"))
    ]
    found = members_given(sources, view, [parameters] if constructor is not None else [])
    assert list(found) == [(("v", member), (name,)) for member, name in expected]


LOOPS = """for (int col = 0; col < 4; col++) {
  for (int row = col + 1; row < 4; row++)
    for (int k = 0; k < n; k++)
      m[row][k] -= f * m[col][k] + m[most][k] + m[k][row];
"""
PLACE = [SourceLocation("a.cu", number) for number in range(1, 5)]
COL, ROW, K = PLACE[:3]


@pytest.mark.parametrize(
    ("around", "counted", "constant", "expected"),
    [
        # All loops are written out: what is left to compute is no counter's.
        ([], [], False, ["[most][k]"]),
        # Each loop is one of the machine's.
        ([COL, ROW, K], [COL, K], True, ["[col][k]", "[most][k]"]),
        ([COL, ROW, K], [COL, ROW, K], True, ["[row][k]", "[col][k]", "[most][k]", "[k][row]"]),
        ([COL, ROW, K], [K], False, ["[most][k]"]),
        ([COL], [COL], True, ["[row][k]", "[col][k]", "[most][k]", "[k][row]"]),
    ],
)
def test_loops_tell_which_index_of_a_line_an_access_has(
    around: list[SourceLocation],
    counted: list[SourceLocation],
    constant: bool,
    expected: list[str],
) -> None:
    line = LOOPS.splitlines()[3]
    candidates = [one for one in Statement(line, [0], 4).subscripts if one.path == ("m",)]
    turns = Turns(frozenset(around), frozenset(counted), bool(counted), constant)
    kept = running(candidates, "a.cu", turns, source_text({"a.cu": LOOPS}))
    assert [one.text for one in kept] == expected


SOLVE = """extern "C" __global__ void solve(const double *in, double *out) {
  double A[4][5];
  for (int i = 0; i < 20; i++) A[i / 5][i % 5] = in[threadIdx.x * 20 + i];
  for (int col = 0; col < 4; col++) {
    int most = col;
    for (int row = col + 1; row < 4; row++)
      if (fabs(A[row][col]) > fabs(A[most][col])) most = row;
    for (int k = 0; k < 5; k++) {
      double was = A[col][k]; A[col][k] = A[most][k]; A[most][k] = was;
    }
  }
  for (int i = 0; i < 20; i++) out[threadIdx.x * 20 + i] = A[i / 5][i % 5];
}
"""


@pytest.mark.toolchain
def test_loops_that_are_written_out_leave_one_of_two_indices(tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    file.write_text(SOLVE)
    (kernel,) = scan(file).units[0].kernels
    index = only(kernel, "A").index
    assert index is not None
    assert (index.expression, index.alternatives) == ("[most][k]", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = list[q] + list[w] + list[z];", ("q", "w", "z")),
        ("x = list[q] + list[w] + list[y] + list[z] + list[v];", ()),
    ],
)
def test_where_nothing_tells_two_indices_apart_both_are_said(
    text: str, expected: tuple[str, ...]
) -> None:
    body = f"""{depot(64)}
add.u64 %rd1, %SPL, 0;
ld.param.u32 %r1, [k_param_1];
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
.loc 1 3 0
ld.local.u32 %r2, [%rd3];
ld.local.u32 %r4, [%rd3];
ret;"""
    facts = attributed(
        layers(program(body), ldl("ld.local.u32 %r2", base=4), frame=64),
        [variable("list", "int[16]", 64, 1)],
        {"a.cu": f"int list[16];\n\n{text}\n"},
    )
    index = facts.objects[0].index
    assert index is not None
    assert index.expression is None
    assert index.alternatives == expected
    (finding,) = find(facts)
    said = [f"`{one}`" for one in expected]
    assert all(one in finding.message for one in said)
    assert ("(the index depends" in finding.message) is (not said)


COPIES = """struct Ctx { int pos; unsigned char buff[64]; int n; };
__device__ void take(Ctx *c, const unsigned char *in, unsigned len) {
  if (len == 0) return;
  memcpy(c->buff + c->pos, in, len);
  c->pos += len;
}
extern "C" __global__ void guarded(const unsigned char *in, int len, int first,
                                   unsigned char *out) {
  Ctx c;
  c.pos = first;
  memcpy(c.buff + c.pos, in + threadIdx.x * 64, len);
  c.pos += len;
  c.buff[c.pos] = 0x80;
  for (int i = 0; i < len; ++i) out[threadIdx.x * 64 + i] = c.buff[i];
}
extern "C" __global__ void unguarded(const unsigned char *in, unsigned len, int first,
                                     unsigned char *out) {
  Ctx c;
  c.pos = first;
  take(&c, in + threadIdx.x * 64, len);
  c.buff[c.pos] = 0x80;
  for (int i = 0; i < len; ++i) out[threadIdx.x * 64 + i] = c.buff[i];
}
extern "C" __global__ void whole(const unsigned char *in, int len, int first,
                                 unsigned char *out) {
  Ctx c;
  c.pos = first;
  c.n = 0;
  memcpy(&c, in + threadIdx.x * 64, len);
  c.buff[c.pos] = 0x80;
  for (int i = 0; i < len; ++i) out[threadIdx.x * 64 + i] = c.buff[i];
}
"""


@pytest.mark.toolchain
def test_a_copy_into_a_member_array_changes_no_other_member(tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    file.write_text(COPIES)
    kernels = {one.facts.name: one for one in scan(file).units[0].kernels}
    indices = {name: only(kernel, "c.buff").index for name, kernel in kernels.items()}
    least = {name: one.least_uniform for name, one in indices.items() if one is not None}
    assert least == {
        "guarded": "uniform",
        "unguarded": "uniform",
        # What is copied over all of it is over its index as well.
        "whole": "data-dependent",
    }

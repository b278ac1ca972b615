"""Functions that take several arrays: one patch of all needs a copy that takes all as views."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.fixing.edits import merged
from lmemscope.model import Rewriting
from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.builders import changed
from tests.support.program import run_program
from tests.support.rewriting import kernel, target

SWAP = """\
__device__ void swap(float *x, int *y, int i, int j) {
  float f = x[i]; x[i] = x[j]; x[j] = f;
  int g = y[i]; y[i] = y[j]; y[j] = g;
}
"""
LOCAL = ("a", "b", "c")
ONCE = ("float a[16];", "int b[16];", "a[n] = n;", "b[n] = n;", "swap(a, b, n, 3);")
BODY = (*ONCE, "swap(a, b, 2, n);")


def proposed(text: str, name: str, type_: str, rewrite: str = "shared-memory") -> Rewriting | None:
    given = target(text, name, type_, line=f" {name}[")
    (hit,) = given.hits
    # The kernel's arrays in local memory; `rows` is none of them.
    others = [replace(hit.facts.objects[0], name=one) for one in LOCAL]
    facts = replace(hit.facts, objects=(*hit.facts.objects, *others))
    found = proposals(replace(given, hits=(changed(hit, facts=facts),)))[0]
    return next((one for one in found if one.rewrite == rewrite), None)


def templates(text: str, name: str = "a", type_: str = "float[16]") -> int:
    """How many copies take views beside the array."""
    one = proposed(text, name, type_)
    assert one is not None
    return sum(edit.text.count(b"template <template") for edit in one.edits)


def test_the_first_array_brings_the_copy_for_both() -> None:
    text = kernel(*BODY, before=SWAP)
    assert templates(text) == 1
    assert templates(text, "b", "int[16]") == 0
    one = proposed(text, "a", "float[16]")
    assert one is not None
    made = patched(text.encode(), one.edits).decode()
    assert "(const lmem_column<float, 64> x, int *y, int i, int j)" in made
    assert (
        "(const lmem_column<float, 64> x, const lmem_View_0<lmem_Other_0, lmem_number_0> y," in made
    )


def test_a_single_call_has_one_function_for_both() -> None:
    text = kernel(*ONCE, before=SWAP)
    both = [proposed(text, "a", "float[16]"), proposed(text, "b", "int[16]")]
    edits = merged(one.edits for one in both if one is not None)
    assert edits is not None
    made = patched(text.encode(), edits).decode()
    types = [f"const lmem_column<{one}, 64>" for one in ("float", "int")]
    assert made.count("swap(") == 2
    assert f"swap({types[0]} x, {types[1]} y, int i, int j)" in made


def test_three_arrays_have_a_copy_for_each_choice() -> None:
    before = "__device__ void f(float *x, float *y, float *z, int n) { x[n] = y[n] + z[n]; }\n"
    body = ("float a[16];", "float b[16];", "float c[16];", "f(a, b, c, n);", "f(a, b, c, 1);")
    text = kernel(*body, before=before)
    assert templates(text) == 3
    assert templates(text, "b") == 1
    assert templates(text, "c") == 0


@pytest.mark.parametrize(
    ("before", "use"),
    [
        (SWAP.replace("int *y", "int (*y)[4]").replace("y[", "y[0]["), "swap(a, rows, n, 3);"),
        (SWAP, "swap(a, b + 1, n, 3);"),
        (SWAP, "swap(a, &b[1], n, 3);"),
        (SWAP, "swap(a, nullptr, n, 3);"),
        (SWAP, "swap(a, global, n, 3);"),
        (SWAP, "int kept[16]; swap(a, kept, n, 3);"),
        (SWAP, "int *own = new int[4]; swap(a, own, n, 3);"),
        (SWAP.replace("int *y", "int *&y"), "int *q = b; swap(a, q, n, 3);"),
        (SWAP.replace("int *y", "void *z, int *y"), "swap(a, nullptr, other, n, 3);"),
        ("template <class T> __device__ void g(float *x, T y) { x[0] = y[0]; }\n", "g(a, b);"),
    ],
)
def test_what_is_no_array_of_the_thread_is_taken_as_it_was(before: str, use: str) -> None:
    globals_ = "__device__ int global[16];\n__device__ int *other;\n"
    text = kernel(
        *("float a[16];", "int b[16];", "int rows[4][4];", "a[n] = 1;", use),
        before=globals_ + before,
    )
    one = proposed(text, "a", "float[16]")
    assert one is None or not any(b"template <template" in edit.text for edit in one.edits)


def test_a_class_that_is_no_view_brings_none() -> None:
    one = proposed(kernel(*BODY, before=SWAP), "a", "float[16]", "select")
    assert one is not None
    assert not any(b"lmem_View" in edit.text for edit in one.edits)


def test_names_that_are_taken_are_not_used() -> None:
    assert proposed(kernel(*BODY, before=SWAP), "a", "float[16]") is not None
    taken = kernel(*BODY, before="struct lmem_View_0 {};\n" + SWAP)
    assert proposed(taken, "a", "float[16]") is None


def test_arrays_that_change_places_bring_each_copy_once() -> None:
    before = "__device__ void f(float *x, float *y, int n) { x[n] = y[n + 1]; }\n"
    body = ("float a[16];", "float b[16];", "f(a, b, n);", "f(b, a, n);")
    text = kernel(*body, before=before)
    both = [proposed(text, name, "float[16]") for name in ("a", "b")]
    edits = merged(one.edits for one in both if one is not None)
    assert edits is not None
    made = patched(text.encode(), edits).decode()
    assert made.count("f(const lmem_column<float, 64> x, float *y, int n)") == 1
    assert made.count("f(float *x, const lmem_column<float, 64> y, int n)") == 1
    assert made.count("f(const lmem_column<float, 64> x, const lmem_View_0") == 1


DEEP = """\
__device__ void swap(float *x, %s *y, int i, int j) {
  float f = x[i]; x[i] = x[j]; x[j] = f;
  %s g = y[i]; y[i] = y[j]; y[j] = g;
}
__device__ void sift(float *dist, %s *index, int size) {
  int root = 0, child = 1;
  while (child < size) {
    if (child + 1 < size && dist[child + 1] > dist[child]) ++child;
    if (dist[root] > dist[child]) return;
    swap(dist, index, root, child);
    root = child;
    child = 2 * root + 1;
  }
}
__global__ void __launch_bounds__(64) k(const float *in, float *out, int n) {
  float dist[16];
  %s index[16];
  for (int i = 0; i < 16; ++i) {
    dist[i] = in[i];
    index[i] = i;
  }
  for (int j = 0; j < n; ++j) {
    if (in[j] < dist[0]) {
      dist[0] = in[j];
      index[0] = j;
      sift(dist, index, 16);
    }
  }
  for (int i = 0; i < 16; ++i) out[i] = dist[i] + index[i];
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("other", ["int", "unsigned char"])
def test_both_arrays_leave_local_memory_in_one_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(DEEP % (other, other, other, other))
    before = run_program("scan", "k.cu", "--format", "json", cwd=Path.cwd())
    assert run_program("fix", "k.cu", "--apply", "--force", cwd=Path.cwd()).code == 0
    after = run_program("scan", "k.cu", "--format", "json", cwd=Path.cwd())
    frames = [json.loads(one.out)["units"][0]["kernels"][0] for one in (before, after)]
    assert frames[0]["stack_frame"] > 0
    assert frames[1]["stack_frame"] == 0
    text = (tmp_path / "k.cu").read_text()
    assert text.count("index_lmem") == text.count("dist_lmem") == 3

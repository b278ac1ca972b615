"""A function that only the rewritten array is given to is changed where it stands."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.rewriting import kernel, target

SUM = "__device__ float sum(const float *v, int n) { return v[n] + v[0]; }\n"
USES = ("float a[8];", "a[n] = 1.f;", "out[0] = sum(a, n);")


def selected(text: str, files: dict[str, str] | None = None) -> str:
    """A text with its array made the class of `select`."""
    found, reasons = proposals(target(text, "a", "float[8]", block=None, files=files))
    one = next((one for one in found if one.rewrite == "select"), None)
    assert one is not None, reasons
    return patched(text.encode(), [e for e in one.edits if e.file == "/p/a.cu"]).decode()


def test_no_dead_function_is_left() -> None:
    made = selected(kernel(*USES, before=SUM))
    assert made.count(" sum(") == 2, made
    assert "sum(const lmem_select<float, 8> &v, int n) { return v[n] + v[0]; }" in made


@pytest.mark.parametrize(
    "other",
    [
        "__device__ float other(const float *v) { return sum(v, 2); }\n",
        "typedef float (*Sum)(const float *, int);\n__device__ Sum taken = &sum;\n",
        "__device__ float sum(const float *v, int n);\n",
        "#define TOTAL(z) sum(z, 7)\n",
        "#define CALL(x, z) s##x(z, 7)\n",
        "template <class F> __device__ float run(F f);\nauto kept = sum;\n",
    ],
)
def test_a_function_that_is_named_elsewhere_stays(other: str) -> None:
    made = selected(kernel(*USES, before=SUM + other))
    assert SUM in made
    assert "sum(const lmem_select<float, 8> &v, int n)" in made


@pytest.mark.parametrize(
    "words",
    [
        "__host__ __device__ ",
        "constexpr __device__ ",
        "template <class T> __device__ ",
        "#define BOTH __host__ __device__\nBOTH __device__ ",
    ],
)
def test_a_function_that_more_than_the_device_may_call_stays(words: str) -> None:
    callee = SUM.replace("__device__ ", words, 1)
    made = selected(kernel(*USES, before=callee))
    assert callee.splitlines()[-1] in made


def test_what_only_changed_functions_call_is_changed_too() -> None:
    inner = "__device__ float one(const float *w, int i) { return w[i]; }\n"
    outer = "__device__ float sum(const float *v, int n) { return one(v, n) + v[0]; }\n"
    made = selected(kernel(*USES, before=inner + outer))
    assert (made.count(" one("), made.count(" sum(")) == (2, 2), made
    kept = outer + "__device__ float other(const float *v) { return sum(v, 2); }\n"
    made = selected(kernel(*USES, before=inner + kept))
    assert inner in made, "the function as it was still calls it"
    assert outer in made

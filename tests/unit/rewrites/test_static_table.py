"""Tables for all threads: only what nvcc takes as the initializer of a static variable is one.

Which of these it takes was tried with nvcc 13.5 for sm_90.
"""

from __future__ import annotations

import pytest

from lmemscope.model import Cause
from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target

READ = "out[n] = t[p[n] & 3];"


def reasons(
    *body: str, before: str = "", kind: str = "int", cause: Cause = "dynamic-index"
) -> list[str] | None:
    """Why a table `t` is not made static; None where it is."""
    asked = target(kernel(*body, READ, before=before), "t", f"{kind}[4]", cause, line=" t[4]")
    made, declined = proposals(asked)
    if any(one.rewrite == "static-table" for one in made):
        return None
    return [one.reason for one in declined if "static-table" in one.rewrites]


@pytest.mark.parametrize(
    ("what", "body", "before"),
    [
        ("`x`", ("const int x = threadIdx.x;", "int t[4] = {x, x + 1};"), ""),
        ("`threadIdx`", ("int t[4] = {threadIdx.x, 1};",), ""),
        ("`warpSize`", ("int t[4] = {1, warpSize};",), ""),
        ("the parameter `n`", ("int t[4] = {1, n};",), ""),
        ("`x`", ("int x = 2;", "int t[4] = {1, x};"), ""),
        ("`x`", ("const int x = p[0];", "int t[4] = {1, x};"), ""),
        ("`v`", ("const int3 v = {1, 2, 3};", "int t[4] = {v.x, v.y};"), ""),
        ("`v`", ("const int v[2] = {1, 2};", "int t[4] = {v[0], 2};"), ""),
        ("a call of `sqrtf`", ("int t[4] = {sqrtf(4.f), 1};",), ""),
        ("a call of `max`", ("int t[4] = {max(1, 2), 1};",), ""),
        ("a call of `next`", ("int t[4] = {next(1)};",), "__device__ int next(int a) { }"),
        ("`threadIdx`", ("int t[4] = {TID, 1};",), "#define TID threadIdx.x\n"),
        ("`threadIdx`", ("int t[4] = {TID(x), 1};",), "#define TID(v) int(threadIdx.v)\n"),
        ("the parameter `n`", ("int t[4] = {TWICE(n), 1};",), "#define TWICE(v) (2 * (v))\n"),
        ("`held`", ("int t[4] = {held, 1};",), "__constant__ int held = 3;\n"),
        ("`held`", ("int t[4] = {held, 1};",), "__device__ int held;\n"),
        ("`ours`", ("int t[4] = {ours, 1};",), "extern const int ours;\n"),
    ],
)  # fmt: skip
def test_what_is_not_constant_is_named(what: str, body: tuple[str, ...], before: str) -> None:
    assert reasons(*body, before=before) == [f"its initializer has {what}, which is not constant"]


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (("int t[4] = {1, 'a', -2, sizeof(n)};",), ""),
        (("const int x = 2;", "int t[4] = {x, 2 * x};"), ""),
        (("constexpr int x{2};", "int t[4] = {x, 2 * x};"), ""),
        (("constexpr int v[2] = {1, 2};", "int t[4] = {v[0], 2};"), ""),
        (("int t[4] = {INT_MAX, int(2.5), (int)3.5f, static_cast<int>(1)};",), ""),
        (("int t[4] = {A, E::B, S::value, shift};",),
         "enum E { A, B };\nstruct S { static constexpr int value = 2; };\nconst int shift = A;\n"),
        (("int t[4] = {SELF, SELF_OF(1)};",), "#define SELF SELF\n#define SELF_OF(x) SELF_OF(x)\n"),
        (("int t[4] = {next(1), TWICE(SIZE)};",),
         "constexpr int next(int a) { return a; }\n#define SIZE 3\n#define TWICE(v) ((v) * 2)\n"),
    ],
)  # fmt: skip
def test_constants_in_sight_are(body: tuple[str, ...], before: str) -> None:
    assert reasons(*body, before=before) is None


def test_parameters_of_a_template_are_constant() -> None:
    assert reasons("int t[4] = {N, N + 1};", before="template <int N>\n") is None


def test_what_is_not_declared_in_sight_is_constant_where_the_kernel_shows_it() -> None:
    """`config::scale` may be a variable of a header that is not read."""
    line = "int t[4] = {config::scale, 1};"
    assert reasons(line) == ["its initializer has `scale`, which is not constant"]
    assert reasons(line, cause="const-table") is None


@pytest.mark.parametrize(
    ("kind", "before", "is_static"),
    [
        ("float2", "", True),
        ("Tap", "struct Tap { float a, b; };\n", True),
        ("Tap", "struct Tap { float a; constexpr Tap(float x, float y) : a(x) {} };\n", True),
        ("Tap", "struct Tap { float a; __device__ Tap(float x, float y) : a(x) {} };\n", False),
        ("Tap", "struct W { __device__ W(float); };\nstruct Tap { W a; float b; };\n", False),
        ("__half", "", False),
    ],
)  # fmt: skip
def test_a_class_whose_constructor_is_run_is_none(kind: str, before: str, is_static: bool) -> None:
    line = f"const {kind} t[4] = {{{{1, 2}}, {{3, 4}}}};"
    found = reasons(line, before=before, kind=kind, cause="const-table")
    assert (found is None) == is_static
    assert is_static or found == [
        f"its initializer has the class `{kind}`, whose constructor may be run, "
        "which is not constant"
    ]

"""A variable of a function that may run again before it is done is not one for each thread."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from tests.support.rewriting import target

ARRAY = "  int a[8];\n  a[d] = d;\n"


def declined(text: str) -> bool:
    """Whether shared memory is declined because of what may come back."""
    found, reasons = proposals(target(text, "a", "int[8]"))
    is_offered = "shared-memory" in {one.rewrite for one in found}
    is_said = any(
        "may lead back" in one.reason and "shared-memory" in one.rewrites for one in reasons
    )
    assert is_offered != is_said, reasons
    return is_said


def function(calls: str, head: str = "__device__ int walk(int d)") -> str:
    return f"{head} {{\n{ARRAY}  return {calls} + a[d & 7];\n}}\n"


STEP = "typedef int (*Step)(int);\n__device__ int walk(int d);\n"


@pytest.mark.parametrize(
    "text",
    [
        STEP + "__device__ Step table[2] = {walk, walk};\n" + function("table[d & 1](d - 1)"),
        STEP + "struct T { Step go; };\n__device__ T t = {walk};\n" + function("t.go(d - 1)"),
        STEP + "__device__ Step now = &walk;\n" + function("now(d - 1)"),
        STEP + "__device__ Step now = &walk;\n" + function("(*now)(d - 1)"),
        STEP
        + "__device__ Step now;\n"
        + function("now(d)")
        + "__device__ void f() { now = walk; }",
        STEP
        + "__device__ Step now;\n__device__ Step get() { return now; }\n"
        + function("get()(d)")
        + "#define START walk\n__device__ void f() { now = START; }",
        STEP
        + "template <Step S> __device__ int run(int d) { return S(d); }\n"
        + function("again(d)")
        + "__device__ int again(int d) { return run<walk>(d); }\n",
        STEP + "__device__ int call(Step s, int d) { return s(d); }\n" + function("call(walk, d)"),
        STEP + "#define CALL(name) wa##name\n" + function("CALL(lk)(d - 1)"),
        STEP
        + "struct N { int d; };\n__device__ int operator%(N n, int) { return walk(n.d); }\n"
        + function("(N{d} % 1)"),
        STEP + "struct N { int d; __device__ N(int n) : d(walk(n)) {} };\n" + function("N(d).d"),
        STEP + "struct N { int d = walk(0); };\n" + function("N().d"),
        STEP + "struct N { int walk(int); };\n" + function("N().walk(d)"),
        STEP + "#define more d + walk(0)\nstruct N { int d; };\n" + function("N().more"),
        STEP + "__device__ int rest(int d) { return walk(d - 1); }\n" + function("rest(d)"),
    ],
)
def test_a_function_may_come_back_by_any_call(text: str) -> None:
    assert declined(text)


@pytest.mark.parametrize(
    "text",
    [
        function("leaf(d)") + "__device__ int leaf(int d) { return d; }\n",
        function("seen(d)"),
        function("__ldg(p)"),
        function("g(d)").replace(ARRAY, ARRAY + "  auto g = [](int x) { return x; };\n"),
        function("s(d)", "__device__ int walk(int (*s)(int), int d)"),
        "struct N { int walk; };\n" + function("n.walk", "__device__ int walk(N n, int d)"),
        function("walk").replace(ARRAY, ARRAY + "  int walk = 3;\n"),
        STEP
        + "__device__ int leaf(int d) { return d; }\n__device__ Step now = leaf;\n"
        + function("now(d)"),
        function("d") + "__global__ void k(int *o) { int (*f)(int) = walk; o[0] = f(1); }\n",
    ],
)
def test_what_is_known_not_to_come_back_is_moved(text: str) -> None:
    assert not declined(text)


@pytest.mark.parametrize(
    "outside",
    [
        "__global__ void k(int *o) { o[0] = walk(1); }\nvoid f(int *o) { k<<<1, 2>>>(o); }\n",
        "struct Job { void operator()(int *o) { k<<<1, 2>>>(o); o[0] = walk(1); } };\n",
    ],
)
def test_kernels_and_the_hosts_functions_lead_nowhere(outside: str) -> None:
    now = STEP + "__device__ Step now;\n" + function("now(d)")
    assert not declined(now + outside)
    assert declined(now + "__device__ Step get() { return walk; }\n" + outside)


@pytest.mark.parametrize(
    ("inside", "is_declined"),
    [
        ("auto f = [&](auto self, int d) -> int {\n%s  return self(self, d) + a[0]; };", True),
        ("auto f = [](int d) -> int {\n%s  return table[d](d) + a[0]; };", True),
        ("struct W { static __device__ int go(int d) {\n%s  return go(d - 1) + a[0]; } };", True),
        ("auto f = [&](int d) -> int {\n%s  return __clz(d) + a[0]; };", False),
    ],
)
def test_what_is_defined_in_a_kernel_may_call_itself(inside: str, is_declined: bool) -> None:
    text = f"__global__ void k(int *o) {{\n{inside % ARRAY}\n}}\n"
    found, reasons = proposals(target(text, "a", "int[8]"))
    assert ("shared-memory" not in {one.rewrite for one in found}) == is_declined, reasons


def test_a_kernels_own_variable_may_call_what_it_will() -> None:
    text = "__device__ int (*now)(int);\n__global__ void k(int *o, int d) {\n"
    assert not declined(text + ARRAY + "  o[0] = now(d) + a[d & 7];\n}\n")

"""Operators that tell what is const from what is not, wherever the element stands."""

from __future__ import annotations

import pytest

from lmemscope.model import Applicability, SourceLocation
from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target

TAP = "struct Tap { unsigned v; };\n"
WIDE = TAP + "struct Mid : Tap {};\nstruct Wide : public Mid {};\n"
SECOND = (
    "__device__ unsigned operator*(unsigned a, Tap &t) { return a + t.v; }\n"
    "__device__ unsigned operator*(unsigned a, const Tap &t) { return a * t.v; }\n"
)
MADE = (
    "#define SCALED(sign, Q, more) __device__ unsigned operator sign(unsigned a, Q &t) "
    "{ return a sign t.v + more; }\nSCALED(*, Tap, 1u)\nSCALED(*, const Tap, 0u)\n"
)
NAMED = (
    "using Place = Tap &;\n__device__ unsigned operator*(unsigned a, Place t) { return t.v; }\n"
    "__device__ unsigned operator*(unsigned a, const Tap &t) { return a * t.v; }\n"
)
TELLING = (TAP + SECOND, TAP + MADE, TAP + NAMED, WIDE + SECOND)
ALIKE = (
    "__device__ unsigned operator*(unsigned a, const Tap &t) { return a * t.v; }\n"
    "__device__ Tap &operator*=(Tap &t, const Tap &o) { t.v *= o.v; return t; }\n"
)
VECTORS = "__device__ float4 operator*(float a, float4 &b) { return b; }\n"


def offered(text: str, element: str, cause: str) -> dict[str, Applicability]:
    found, _ = proposals(target(text, "a", f"{element}[4]", cause))  # type: ignore[arg-type]
    return {one.rewrite: one.applicability for one in found}


@pytest.mark.parametrize("before", TELLING)
def test_what_an_operator_may_tell_to_be_const_is_not_made_so(before: str) -> None:
    element = "Wide" if "Wide" in before else "Tap"
    body = (f"{element} a[4];", f"a[n] = {element}{{}};", "out[0] = 3u * a[p[0] & 3];")
    assert "select" not in offered(kernel(*body, before=before), element, "dynamic-index")
    body = (f"{element} a[4] = {{}};", "out[0] = 3u * a[p[0] & 3];")
    assert "static-table" not in offered(kernel(*body, before=before), element, "const-table")


def test_operators_that_take_what_is_const_tell_nothing() -> None:
    before = TAP + ALIKE + VECTORS
    body = ("Tap a[4];", "a[n] = Tap{};", "out[0] = 3u * a[p[0] & 3];")
    assert "select" in offered(kernel(*body, before=before), "Tap", "dynamic-index")
    body = ("Tap a[4] = {};", "out[0] = 3u * a[p[0] & 3];")
    assert "static-table" in offered(kernel(*body, before=before), "Tap", "const-table")


@pytest.mark.parametrize(
    ("before", "is_safe"), [(TAP + SECOND, False), (TAP + MADE, False), (TAP + ALIKE, True)]
)
def test_a_parameter_whose_parts_are_operands_is_read_in_place(before: str, is_safe: bool) -> None:
    classes = before + "struct Filter { Tap a[4]; int shift; };\n"
    text = classes + kernel("out[0] = (p[0] >> f.shift) * f.a[n & 3];").replace(
        "int n)", "int n, Filter f)"
    )
    at = SourceLocation("/p/a.cu", classes.count("\n") + 1)
    one = target(text, "f.a", "Tap[4]", "param-copy", line="out[0]", location=at)
    (made,) = (each for each in proposals(one)[0] if each.rewrite == "grid-constant")
    assert made.applicability == ("safe" if is_safe else "unsafe")

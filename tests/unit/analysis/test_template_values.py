"""What ``?:`` chooses in an instance of a template: by the truth values it is made for."""

from __future__ import annotations

import pytest

from lmemscope.analysis.template_values import TemplateValues, taken
from lmemscope.model import SourceLocation
from tests.support.builders import source_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = t ? A[i] : B[j];", "x = A[i] ;"),
        ("x = f ? A[i] : B[j];", "x = B[j];"),
        ("x = !f ? A[i] : B[j];", "x = A[i] ;"),
        ("x = f(t ? A[i] : B[j], C[k]);", "x = f( A[i] , C[k]);"),
        ("x = f ? t ? A[i] : B[j] : C[k];", "x = C[k];"),
        ("x = f ? a::A[i] : a::B[j];", "x = a::B[j];"),
        # Not known, or a part of another condition.
        ("x = u ? A[i] : B[j];", "x = u ? A[i] : B[j];"),
        ("x = u && t ? A[i] : B[j];", "x = u && t ? A[i] : B[j];"),
        ("x = s.t ? A[i] : B[j];", "x = s.t ? A[i] : B[j];"),
    ],
)
def test_what_is_not_chosen_is_blank(text: str, expected: str) -> None:
    found = taken(text, {"t": True, "f": False})
    assert len(found) == len(text)
    assert found.split() == expected.split()


SOURCE = """template <int n, bool aT = false, bool bT = false>
__device__ void multiply(const double *A) {
  x = aT ? A[k + i * n] : A[i + k * n];
}
template <bool aT>
struct Other {};
void plain() {
  x = 1;
}
"""


@pytest.mark.parametrize(
    ("function", "line", "expected"),
    [
        ("_Z8multiplyILi8ELb0ELb1EEvPKd", 3, {"aT": False, "bT": True}),
        ("_Z8multiplyILi8ELi0ELi1EEvPKd", 3, {}),
        ("_Z8multiplyILb1EEvPKd", 3, {}),
        ("_Z5plainILb1EEvv", 8, {}),
        ("_Z5plainv", 8, {}),
    ],
)
def test_an_instances_arguments_belong_to_its_own_template(
    function: str, line: int, expected: dict[str, bool]
) -> None:
    values = TemplateValues(source_text({"a.cu": SOURCE}))
    assert values.of(function, SourceLocation("a.cu", line)) == expected

"""Angles that grow with what a program computes."""

from __future__ import annotations

import pytest

from lmemscope.model import SourceLocation
from lmemscope.rules.angles import is_growing
from tests.support.builders import HERE, source_text

HEAD = """#define N 64
__global__ void k(float *o, float f, float x, int n, size_t rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0, h = 1; j < n; j++, h *= 2) {
"""


def growing(argument: str, above: str = "", *, is_float: bool = True) -> bool:
    text = f"{HEAD}{above}\n o[i] = sinf({argument});\n"
    place = SourceLocation(HERE.file, text.count("\n"))
    return is_growing(argument, source_text({HERE.file: text}), place, is_float=is_float)


@pytest.mark.parametrize(
    ("argument", "above"),
    [
        ("2 * M_PI * i * j / n", ""),
        ("-2.f * PI * (float)(i * j) / (float)n", ""),
        ("angle", "float angle = 2 * M_PI * i * j / n;"),
        ("angle * i", "const float angle = 2 * M_PI * j / N;"),
        ("w * j", "int w = i * 2;"),
        ("2 * M_PI * (i * x + j * y) * i / n", ""),
        ("M_PI / n * (i + 0.5f) * j", ""),
        ("float(i) * j * f", ""),
        ("rows * h * 0.1f", ""),
    ],
)
def test_a_product_of_more_integers_than_divide_it_grows(argument: str, above: str) -> None:
    assert growing(argument, above)
    assert not growing(argument, above, is_float=False)


@pytest.mark.parametrize(
    ("argument", "above"),
    [
        ("f * x", ""),
        ("i * f", ""),
        ("2 * M_PI * i / n", ""),
        ("2 * M_PI * (i * j) / (n * rows)", ""),
        ("2 * M_PI * i / n * f", ""),
        ("u * v * f", "float u = i / (float)n, v = j / (float)rows;"),
        ("2 * M_PI * ((i * j) % n) / n", ""),
        ("x[i * j]", ""),
        ("N * i * 0.1f", ""),
        ("f ? i * j : j", ""),
        ("(unclosed * i * j", ""),
    ],
)
def test_what_is_divided_as_often_does_not_or_is_not_known_to(argument: str, above: str) -> None:
    assert not growing(argument, above)


@pytest.mark.parametrize("is_float", [True, False])
def test_a_power_grows_beyond_what_doubles_reduce_fast(is_float: bool) -> None:
    assert growing("x * pow(2.0, i)", is_float=is_float)
    assert growing("x * g", "float g = expf(f);", is_float=is_float)
    assert not growing("x * powder(f)", is_float=is_float)

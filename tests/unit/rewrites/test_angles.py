"""Angles that grow with what a program computes."""

from __future__ import annotations

import pytest

from lmemscope.model import SourceLocation
from lmemscope.rewrites.angles import is_growing
from lmemscope.rewrites.multiples_of_pi import without_pi
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


@pytest.mark.parametrize(
    ("argument", "above", "left"),
    [
        ("2.0*M_PI*f*u", "", "2.0*1.0*f*u"),
        ("k * PI / n", "", "k * 1.0 / n"),
        ("3.1415927f * x", "", "1.0f * x"),
        ("angle * (CUDART_PI / 180.0)", "", "angle * (1.0 / 180.0)"),
        ("-M_2PI * v", "#define M_2PI 6.283185307179586", "-2.0 * v"),
        ("half * v", "const double half = 1.5707963267948966;", "0.5 * v"),
        ("acos(-1.0) * x /\n  length", "", "1.0 * x / length"),
        ("theta", "double theta = 2.0 * M_PI * x;", ""),
        ("theta", "double theta = 2.0 * M_PI * x;\ntheta += x0;", None),
        ("theta", "double theta = 2.0 * M_PI * x + x0;", None),
        ("theta + M_PI * x", "", None),
        ("x / M_PI", "", None),
        ("3.14 * x", "", None),
        ("PI * x", "#define PI 3.14", None),
        ("pi_factor * (d - r)", "", None),
        ("table[PI] * x", "", None),
        ("p->PI * x", "", None),
        ("f(M_PI) * x", "", None),
        ("c ? M_PI : x", "", None),
    ],
)
def test_half_turns_are_read_of_what_is_pi_times_something(
    argument: str, above: str, left: str | None
) -> None:
    text = f"{above}\n  y = sin({argument});\n"
    place = SourceLocation(HERE.file, above.count("\n") + 2)
    factor = without_pi(" ".join(argument.split()), source_text({HERE.file: text}), place)
    assert (None if factor is None else factor.code or "") == left


@pytest.mark.parametrize(
    ("argument", "above", "grows"),
    [
        ("a * x", "", False),
        ("6.28f * powf(b, k) * x", "", True),
        ("w * x", "float w = expf(n);", True),
        ("power * x", "float power = n;", False),
        ("0.19f * u * v", "int u, v;", True),
        ("0.19f * u * v", "for (int u = 0; u < 8; ++u)\nfor (int v = 0; v < 8; ++v)", False),
        ("0.19f * u * v", "int u = i & 7;\nint v = j % 8;", False),
    ],
)
def test_powers_and_products_of_large_integers_grow(argument: str, above: str, grows: bool) -> None:
    assert growing(argument, above) == grows

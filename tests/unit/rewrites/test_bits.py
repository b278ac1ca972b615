"""What may pass through an integer, a total or a counter: bits of other numbers, and wrapping."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target


@pytest.mark.parametrize(
    ("has_floats", "declaration", "applicability"),
    [
        (False, "volatile int v[4];", "safe"),
        (False, "unsigned char volatile v[4];", "safe"),
        (False, "volatile real v[4];", "unsafe"),
        (True, "volatile int v[4];", "unsafe"),
        (None, "volatile int v[4];", "unsafe"),
    ],
)
def test_an_integer_that_no_number_depends_on_need_not_be_volatile(
    has_floats: bool | None, declaration: str, applicability: str
) -> None:
    text, line = kernel(declaration, "v[1] = 0; out[2] = v[1];"), " v["
    kind = declaration.replace("volatile ", "").replace(" v", "").strip(";")
    one = target(text, "v", kind, "volatile", line=line, has_floats=has_floats)
    (made,) = (each for each in proposals(one)[0] if each.rewrite == "drop-volatile")
    assert made.applicability == applicability


def test_a_variable_that_is_not_volatile_is_said_to_be_none() -> None:
    one = target(kernel("int v[4];", "v[n] = p[n];", "out[0] = v[1];"), "v", "int[4]", "volatile")
    (why,) = (each for each in proposals(one)[1] if "drop-volatile" in each.rewrites)
    assert why.line == 2


@pytest.mark.parametrize(
    ("kind", "count", "is_moved"),
    [
        ("signed char", 12, False),
        ("unsigned char", 12, False),
        ("int16_t", 12, False),
        ("unsigned char", 8, True),
        ("signed char", 8, True),
        ("int", 12, True),
        ("long long", 12, True),
    ],
)
def test_a_head_that_wraps_is_no_head_unless_the_ring_does(
    kind: str, count: int, is_moved: bool
) -> None:
    far = 12 * count
    loop = f"for (int k = 0; k < n; ++k) {{ w[(h + {far}) % {count}] = p[k]; "
    loop += f"out[k] = w[(h + {far + 1}) % {count}]; ++h; }}"
    one = target(
        kernel(f"unsigned w[{count}] = {{}};", f"{kind} h = 0;", loop),
        "w",
        f"unsigned int[{count}]",
    )
    assert ("shift" in {each.rewrite for each in proposals(one)[0]}) is is_moved


@pytest.mark.parametrize("kind", ["uint32_t", "std::int64_t", "size_t", "unsigned char"])
def test_names_of_cstdint_are_numbers(kind: str) -> None:
    loop = "for (int k = 0; k < n; ++k) { w[h] = p[k]; h = (h + 1) % 8; out[k] = w[h]; }"
    one = target(kernel(f"{kind} w[8] = {{}};", "int h = 0;", loop), "w", f"{kind}[8]")
    assert "shift" in {each.rewrite for each in proposals(one)[0]}


def test_a_macros_own_parameter_is_no_use_of_a_variable() -> None:
    macro = "#define AT(name, i) name[(i) & 7]\n#define TOLD(i) a[i]\n"
    body = ("int a[8];", "a[n] = 1;", "out[0] = a[p[0]];")
    text = kernel(*body, before=macro.replace("name", "a").splitlines()[0] + "\n")
    assert "select" in {each.rewrite for each in proposals(target(text, "a", "int[8]"))[0]}
    text = kernel(*body, before=macro)
    assert "select" not in {each.rewrite for each in proposals(target(text, "a", "int[8]"))[0]}

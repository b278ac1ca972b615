"""What an operator gets that is a function: its operands."""

from __future__ import annotations

import pytest

from lmemscope.formats.operators import operand_lists, operator_of


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("V3::operator+=(V3 const&)", "+="),
        ("operator-(V3, V3)", "-"),
        ("V3::operator->() const", "->"),
        ("bool operator< <int>(P<int>, P<int>)", "<"),
        ("V3 operator*<float>(V3, float)", "*"),
        ("V3::operator()(int)", None),
        ("V3::operator float() const", None),
        ("operatorish(int)", None),
        ("step(V3&)", None),
    ],
)
def test_an_operator_is_known_by_its_function(name: str, operator: str | None) -> None:
    assert operator_of(name) == operator


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ("sum += a * b;", "+=", [(0, ["sum", "a * b"])]),
        ("sum += a * b;", "*", [(7, ["a", "b"])]),
        ("x = -v + w - f(a - b, c);", "-", [(4, ["-v + w", "f(a - b, c)"]), (15, ["a", "b"])]),
        ("if (a - b == c) {", "==", [(4, ["a - b", "c"])]),
        ("/* ä */ s *= /* b */ c", "*=", [(8, ["s", "c"])]),
        ("s += p[i] *", "+=", []),
        ("f(a, b);", "+", []),
    ],
)
def test_operands_are_what_the_grammar_binds(
    text: str, operator: str, expected: list[tuple[int, list[str]]]
) -> None:
    assert list(operand_lists(text, operator, 2)) == expected


def test_an_operator_of_one_operand_is_another_one() -> None:
    assert list(operand_lists("x = a - -v;", "-", 1)) == [(8, ["v"])]

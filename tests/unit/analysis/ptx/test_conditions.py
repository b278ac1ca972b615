"""Predicates as trees of comparisons."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.conditions import (
    Comparison,
    Compound,
    Condition,
    Leaf,
    Truth,
    deciding,
    negated,
)
from tests.support.builders import program

COMPARED = """ld.param.u32 %n, [k_param_1];
setp.lt.s32 %a, %n, 5;
setp.ge.u32 %b, %n, 9;
{}
@%p bra $E;
$E:
ret;
"""


def condition(made: str) -> Condition:
    """The condition of the only branch."""
    dataflow = ModuleFlow(program(COMPARED.format(made))).dataflow("k")
    assert dataflow is not None
    instructions = dataflow.body.instructions
    (index,) = (i for i, one in enumerate(instructions) if one.operation == "bra")
    return dataflow.conditions.read(index, instructions[index].predicate)


def holds(asked: Condition, number: int) -> bool:
    """Whether a condition of the number is true."""
    if isinstance(asked, Comparison):
        return asked.of(number, int(asked.second))
    if isinstance(asked, Truth):
        return asked.holds
    assert isinstance(asked, Compound)
    parts = [holds(part, number) for part in asked.parts]
    return {"all": all(parts), "any": any(parts), "odd": sum(parts) % 2 == 1}[asked.join]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("mov.pred %p, %a;", lambda n: n < 5),
        ("not.pred %p, %b;", lambda n: 0 <= n < 9),
        ("and.pred %p, %a, %b;", lambda n: n < 0),
        ("or.pred %c, %a, %b; not.pred %p, %c;", lambda n: 5 <= n < 9),
        ("xor.pred %p, %a, %b;", lambda n: 0 <= n < 5 or n >= 9),
        ("xor.pred %c, %a, %b; not.pred %p, %c;", lambda n: n < 0 or 5 <= n < 9),
        ("mov.pred %c, -1; xor.pred %p, %a, %c;", lambda n: n >= 5),
        ("setp.gt.or.s32 %p, %n, 20, %a;", lambda n: n < 5 or n > 20),
        ("setp.gt.and.s32 %p, %n, 2, !%b;", lambda n: 2 < n < 9),
        ("mov.pred %p, 0;", lambda n: False),
    ],
)
def test_a_condition_is_what_its_predicates_make(made: str, expected: object) -> None:
    assert callable(expected)
    asked = condition(made)
    for number in (-7, 0, 3, 5, 8, 9, 21):
        assert holds(asked, number) is expected(number)
        assert holds(negated(asked), number) is not expected(number)


@pytest.mark.parametrize(
    "made",
    ["setp.lt.s32 %p|%q, %n, 5;", "vote.sync.any.pred %p, %a, -1;", "@%b setp.lt.s32 %p, %n, 5;"],
)
def test_what_no_comparison_makes_is_a_leaf(made: str) -> None:
    assert isinstance(condition(made), Leaf)


@pytest.mark.parametrize(
    ("made", "when", "alone"),
    [
        ("and.pred %p, %a, %b;", False, ["lt", "ge"]),
        ("and.pred %p, %a, %b;", True, []),
        ("or.pred %p, %a, %b;", True, ["lt", "ge"]),
        ("xor.pred %p, %a, %b;", True, []),
        ("mov.pred %p, %a;", True, ["lt"]),
    ],
)
def test_some_comparisons_decide_alone(made: str, when: bool, alone: list[str]) -> None:
    assert [one.relation for one in deciding(condition(made), when)] == alone

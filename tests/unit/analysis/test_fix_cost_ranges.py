"""How often Numba's ranges are modelled to turn."""

from __future__ import annotations

import pytest

from lmemscope.analysis.ptx.trips import UNKNOWN
from lmemscope.analysis.work import work_of
from lmemscope.model import PIPES
from tests.support.builders import attributed, depot, layers, program


def turns(body: str) -> float:
    given = layers(program(f"{depot(16)}\n{body}"), frame=16)
    found = work_of(given, attributed(given))
    assert found is not None
    return found.pipes[PIPES.index("fp32")]


def a_range(begin: str, inside: str, name: str) -> str:
    """A loop while something is left; its index lags a turn behind the next one."""
    return f"""mov.u64 %left{name}, {begin};
mov.u64 %next{name}, 1;
mov.u64 %at{name}, 0;
$L{name}:
mov.u64 %own{name}, %at{name};
mov.u64 %at{name}, %next{name};
{inside}
setp.gt.s64 %p{name}, %left{name}, 0;
selp.u64 %one{name}, 1, 0, %p{name};
add.s64 %next{name}, %at{name}, %one{name};
selp.b64 %down{name}, -1, 0, %p{name};
add.s64 %left{name}, %left{name}, %down{name};
@%p{name} bra $L{name};
"""


ONE = "fma.rn.f32 %f, %f, %f, %f;"


@pytest.mark.parametrize("left", [0, 3, 24])
def test_a_range_turns_until_nothing_is_left(left: int) -> None:
    assert turns(a_range(str(left), ONE, "A") + "ret;") == left + 1


def test_a_range_behind_another_turns_as_often_as_is_left_on_average() -> None:
    """``for i in range(4): for j in range(i + 1, 4)``, with 3, 2, 1 and no turn more."""
    inner = f"""sub.s64 %rest, 3, %ownA;
setp.gt.s64 %any, %rest, 0;
selp.b64 %some, %rest, 0, %any;
{a_range("%some", ONE, "B")}"""
    assert turns(a_range("3", inner, "A") + "ret;") == 4 * 2.5


def test_what_is_left_of_a_number_that_nobody_knows_is_not_known() -> None:
    given = "ld.param.u64 %n, [k_param_0];\n"
    assert turns(given + a_range("%n", ONE, "A") + "ret;") == UNKNOWN


def test_a_step_that_is_no_choice_of_one_or_nothing_is_no_range() -> None:
    body = a_range("3", ONE, "A").replace("selp.b64 %downA, -1, 0", "selp.b64 %downA, -2, 1")
    assert turns(body + "ret;") == UNKNOWN

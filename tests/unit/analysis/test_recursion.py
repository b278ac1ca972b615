"""Calls that nothing ends, and calls through pointers, on hand-made PTX."""

from __future__ import annotations

import pytest

from lmemscope.model import SourceLocation
from tests.support.builders import attributed, call, find, layers, ldl, program

AGAIN = call("leaf", "%rd1")
LEAVES = "setp.lt.s32 %p1, %r1, 0;\n@%p1 bra $L9;\n"
POINTED = "{ .param .b64 param0;\nst.param.b64 [param0+0], %rd1;\ncall %rd9, (param0), to;\n}"


@pytest.mark.parametrize(
    ("leaf", "other", "endless"),
    [
        (f"{AGAIN}\nret;", "ret;", ("leaf",)),
        (f"{LEAVES}{AGAIN}\n$L9:\nret;", "ret;", ()),
        (f"{LEAVES}{AGAIN}\nret;\n$L9:\n{AGAIN}\nret;", "ret;", ("leaf",)),
        (f"{LEAVES}{AGAIN}\nret;\n$L9:\ntrap;", "ret;", ()),
        (f"{call('other', '%rd1')}\nret;", f"{AGAIN}\nret;", ("leaf", "other")),
        (f"{call('other', '%rd1')}\nret;", f"{LEAVES}{AGAIN}\n$L9:\nret;", ()),
    ],
)
def test_recursion_without_a_way_out_is_told(
    leaf: str, other: str, endless: tuple[str, ...]
) -> None:
    ptx = program(f"{AGAIN}\nret;", leaf=f"add.u64 %rd2, %rd1, 8;\n{leaf}", other=other)
    fact = attributed(layers(ptx, callees={"leaf": [ldl("add.u64")]}, frame=None))
    assert fact.calls is not None
    assert fact.calls.endless == endless
    (finding,) = find(fact)
    text = " ".join(one.text for one in finding.advice)
    assert finding.cause == "call-frame"
    assert ("ever returns" in text) == bool(endless)
    assert ("as a loop" in text) == (not endless)
    assert finding.message.endswith("the recursion never ends") == bool(endless)


def test_what_is_called_through_a_pointer_is_at_the_call() -> None:
    body = f".loc 1 7 0\nmov.u64 %rd9, leaf;\n.loc 1 9 0\n{POINTED}\nret;"
    ptx = program(body, leaf=".loc 1 3 0\nadd.u64 %rd2, %rd1, 8;\nret;")
    saved = ldl("add.u64", source=3)
    fact = attributed(layers(ptx, ldl(None, source=2), callees={"leaf": [saved]}, frame=None))
    assert {one.function for one in fact.accesses} == {"k", "leaf"}
    fact = attributed(layers(ptx, callees={"leaf": [saved]}, frame=None))
    (finding,) = find(fact)
    assert finding.cause == "call-frame"
    assert finding.location == SourceLocation("a.cu", 9)


ONE = call("one", "%rd1")
TWO = call("two", "%rd1")
THREE = call("three", "%rd1")


@pytest.mark.parametrize(
    ("functions", "cycles", "said", "evidence"),
    [
        ({"one": ONE, "two": ""}, (("one",),), "one calls itself and keeps", "calls-itself"),
        (
            {"one": TWO, "two": ONE},
            (("one", "two"),),
            "one calls two, which calls one",
            "called-again",
        ),
        (
            {"one": f"{TWO}\n{ONE}", "two": ONE},
            (("one",), ("two", "one")),
            "one calls itself; the function two calls one, which calls two",
            "calls-itself",
        ),
        (
            {"one": TWO, "two": THREE, "three": ONE},
            (("one", "two", "three"),),
            "one calls two, which calls three, which calls one",
            "called-again",
        ),
    ],
)
def test_recursion_says_what_calls_what(
    functions: dict[str, str], cycles: tuple[tuple[str, ...], ...], said: str, evidence: str
) -> None:
    bodies = {name: f"{LEAVES}{calls}\n$L9:\nret;" for name, calls in functions.items()}
    bodies["one"] = f"add.u64 %rd2, %rd1, 8;\n{bodies['one']}"
    ptx = program(f"{ONE}\nret;", **bodies)
    fact = attributed(layers(ptx, callees={"one": [ldl("add.u64")]}, frame=None))
    assert fact.calls is not None
    assert tuple(sorted(fact.calls.cycles)) == tuple(sorted(cycles))
    (finding,) = find(fact)
    assert said in finding.message
    assert {one.kind for one in fact.accesses[0].evidence_facts} >= {evidence}

"""What a variable is called by pointers and references, and inside of calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lmemscope.analysis.aliases import Aliases
from lmemscope.analysis.scopes import Scopes
from lmemscope.formats.statements import Statement
from lmemscope.model import Member, Variable
from tests.support.builders import HERE, source_text, variable


def aliases(text: str, *held: Variable) -> Aliases:
    """Of variables in ``a.cu``, each in its function."""
    sources = source_text({"a.cu": text})
    functions = {one.function for one in held}
    by_function = {name: [one for one in held if one.function == name] for name in functions}
    return Aliases(by_function, sources, Scopes(sources))


TEXT = """\
__device__ int hash(const void *key, int n) {
  const uint8_t *data = (const uint8_t *)key;
  const uint64_t *blocks = (const uint64_t *)(data);
  const uint8_t *tail = (const uint8_t *)(data + n * 16);
  const uint8_t *other = (const uint8_t *)(n > 2 ? tail : blocks);
  const uint8_t *far = table + *data;
  const uint8_t *element = table + data[n];
  const uint8_t *inside = &table[*data];
  const uint8_t *later;
  later = data;
  later[n] = 1;
}
"""


@pytest.mark.parametrize(
    ("name", "leads"),
    [
        *((one, True) for one in ("data", "blocks", "tail", "other", "later")),
        *((one, False) for one in ("far", "element", "inside")),
    ],
)
def test_pointers_made_of_pointers_lead_there_too(name: str, leads: bool) -> None:
    names = ("key", "data", "blocks", "tail", "other", "far", "element", "inside", "later")
    held = [
        variable(one, "const uint8_t*", 8, line, function="hash", is_parameter=one == "key")
        for line, one in enumerate(names, 1)
    ]
    whose = variable("a", "unsigned char[64]", 64, 1, function="k")
    found = aliases(TEXT, *held).within(frozenset({("key",)}), "hash", whose)
    assert ((name,) in found) == leads


POINTERS = """\
int v = 0, values[4];
int *by_address = &v, *by_value = table + v;
int &same = v;
int *array = values, *row = values + v;
"""


@pytest.mark.parametrize(
    ("whose", "expected"),
    [("v", {"v", "by_address", "same"}), ("values", {"values", "array", "row"})],
)
def test_the_name_of_a_number_alone_is_no_address(whose: str, expected: set[str]) -> None:
    held = [
        variable("v", "int", 4, 1),
        variable("values", "int[4]", 16, 1),
        *(variable(one, "int*", 8, 2) for one in ("by_address", "by_value")),
        variable("same", "int &", 8, 3),
        *(variable(one, "int*", 8, 4) for one in ("array", "row")),
    ]
    meant = next(one for one in held if one.name == whose)
    found = aliases(POINTERS, *held).within(frozenset({(whose,)}), "k", meant)
    assert {path[0] for path in found} == expected


CHOSEN = """\
float a[8], b[8];
float *one = n ? a : b;
float *same = n ? a : a + 4;
float *lone = n ? a : nullptr;
float *each[2] = {a, b};
"""


@pytest.mark.parametrize("is_sure", [False, True])
def test_what_may_lead_elsewhere_is_no_sure_name(is_sure: bool) -> None:
    held = [variable(one, "float[8]", 32, 1) for one in "ab"]
    kinds = {"one": "float *", "same": "float *", "lone": "float *", "each": "float *[2]"}
    held += [variable(name, kind, 8, line) for line, (name, kind) in enumerate(kinds.items(), 2)]
    found = aliases(CHOSEN, *held).within(frozenset({("a",)}), "k", held[0], is_sure=is_sure)
    others = {"same", "lone"} if is_sure else set(kinds)
    assert {path[0] for path in found} == {"a", *others}


WHOSE = variable("s", "S", 64, 1, members=(Member("items", "int[16]", 0, 64),))
PARAMETERS = tuple(
    variable(name, kind, 8, 1, function="_Z4stepPiS_i", is_parameter=True)
    for name, kind in (("to", "int*"), ("from", "int*"), ("n", "int"))
)


@pytest.mark.parametrize(
    ("call", "known", "is_shown"),
    [
        ("x = step(out, s.items, n);", {("from",)}, True),
        ("x = step(s.items, &s.items[4]);", {("to",), ("from",)}, True),
        # A macro's name, or a variable's: then the count of the arguments tells.
        ("STEP(out, s.items, n);", {("from",)}, True),
        ("STEP(s.items);", set(), False),
        # By its value.
        ("x = step(out, in, s.items[0]);", set(), False),
        # One that is called beside it gets nothing of it.
        ("x = step(out, in, n) + other(s.items, out, n);", set(), False),
    ],
)
def test_a_parameter_is_what_the_call_has_for_it(
    call: str, known: set[tuple[str, ...]], is_shown: bool
) -> None:
    given = aliases(f"S s;\n{call}\n", WHOSE, *PARAMETERS)
    callee = PARAMETERS[0].function
    found = given.into(frozenset({("s",)}), replace(HERE, line=2), callee, WHOSE)
    assert found == (known, is_shown)


@pytest.mark.parametrize(
    ("call", "known"),
    [
        ("s.push(1);", {("items",), ("this", "items")}),
        ("other.push(1);", set()),
        ("push(1);", {("s",)}),
        ("s += 1;", {("items",), ("this", "items")}),
    ],
)
def test_a_member_function_knows_the_members_of_its_object(
    call: str, known: Sequence[tuple[str, ...]]
) -> None:
    this = variable("this", "S *", 8, 1, function="_ZN1S4pushEi", is_parameter=True)
    value = variable("value", "int", 4, 1, function=this.function, is_parameter=True)
    given = aliases(f"S s;\n{call}\n", WHOSE, this, value)
    found = given.into(frozenset({("s",)}), replace(HERE, line=2), this.function, WHOSE)
    assert found == (known, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(float *)&a[i].b", [("float", "", 0), ("a.b", "&", 1)]),
        ("x & a", [("x", "", 0), ("a", "", 0)]),
        ("*p + n * a", [("p", "*", 0), ("n", "", 0), ("a", "", 0)]),
        ("v.data() + f(a)", [("v", "", 0), ("a", "", 0)]),
        ("return &a", [("return", "", 0), ("a", "&", 0)]),
    ],
)
def test_operands_of_an_expression(text: str, expected: list[tuple[str, str, int]]) -> None:
    found = Statement(text, [0], 1).operands()
    assert [(".".join(one.path), one.operator, one.subscripts) for one in found] == expected

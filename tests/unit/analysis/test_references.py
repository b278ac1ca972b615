"""Temporaries that references are bound to, and places that inlined functions share."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.analysis.names import Names
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.dwarf import type_name
from lmemscope.formats.statements import is_made
from lmemscope.model import Variable
from tests.support.builders import depot, program, source_text, variable

LIBRARY = "/usr/local/cuda/include/api.h"


def reference(name: str, referent: Variable, **changes: Any) -> Variable:
    """A parameter ``referent &name``."""
    kind = f"{referent.type} &"
    target = replace(referent, name=name, is_parameter=True, **changes)
    return replace(target, type=kind, size=8, referent=target)


def names(body: str, text: str, *variables: Variable) -> list[tuple[str, int] | None]:
    """Name and declaring line of what an object of 32 bytes is; ``step`` is inlined."""
    lines = f"{depot(32)}\nadd.u64 %rd1, %SPL, 0;\n{body}\nret;"
    ptx = program(lines, inlined=("step", "reduce"), variables=[f'.file 2 "{LIBRARY}"'])
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    files = {"a.cu": text, LIBRARY: "kept = shuffled(input);\nreturn join(input, kept);\n"}
    found = Names(variables, ptx, source_text(files)).of_objects(objects, objects.objects.values())
    return [one.name and (one.name.name, one.name.declared.line) for one in found]


PAIR = variable("value", "float[8]", 32, 5)
STEP = "\n v = chosen ? shared[i] : first;\n}\n\nfloat value[8];\nvalue = step(value, ARGUMENT);\n"


@pytest.mark.parametrize("argument", [" Pair(0,\n 0)", "{0, 0}", "other"])
def test_a_temporary_has_no_variables_name(argument: str) -> None:
    body = """.loc 1 7 0
st.local.f32 [%rd1], %f1;
.loc 1 2 0, function_name $L__info_string0, inlined_at 1 6 0
ld.local.f32 %f2, [%rd1];"""
    changes = {"function": "step", "line": 1}
    value = replace(PAIR, name="v", is_parameter=True, **changes)
    parameters = [value, reference("first", PAIR, **changes)]
    assert names(body, STEP.replace("ARGUMENT", argument), PAIR, *parameters) == [None]


@pytest.mark.parametrize(("reads", "expected"), [("%rd4", ("mine", 2)), ("%rd1+8", ("other", 5))])
def test_the_indexed_access_decides_whose_place_inlined_functions_share(
    reads: str, expected: tuple[str, int]
) -> None:
    body = f"""ld.param.u32 %r2, [k_param_1];
mul.wide.s32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
.loc 1 3 0, function_name $L__info_string0, inlined_at 1 8 0
ld.local.f32 %f2, [{reads}];
.loc 1 6 0, function_name $L__info_string1, inlined_at 1 9 0
st.local.f32 [%rd1], %f1;
st.local.f32 [%rd1+4], %f1;
st.local.f32 [%rd1+8], %f1;"""
    mine = variable("mine", "float[8]", 32, 2, function="step")
    other = variable("other", "float[8]", 32, 5, function="reduce")
    text = "{\n float mine[8];\n f(mine[i]); }\n{\n float other[8];\n other[0] = x; }\n"
    assert names(body, text, mine, other) == [expected]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("Pair(0, 0)", True),
        (" a::Pair<int, 4>(x) ", True),
        ("Pair{0}", True),
        ("{0, 1}", True),
        ("value", False),
        ("value[i]", False),
        ("(value)", False),
        ("f(x)[i]", False),
        ("a + f(x)", False),
        ("f(x) + a", False),
    ],
)
def test_what_is_made_in_a_call(argument: str, expected: bool) -> None:
    assert is_made(argument) is expected


class Entry:
    """A type's entry in debug information."""

    def __init__(self, tag: str, name: str | None = None, of: Entry | None = None) -> None:
        self.tag, self._of = f"DW_TAG_{tag}", of
        self.attributes: dict[str, object] = {}
        if name is not None:
            self.attributes["DW_AT_name"] = type("Value", (), {"value": name.encode()})
        if of is not None:
            self.attributes["DW_AT_type"] = of

    def get_DIE_from_attribute(self, name: str) -> Entry | None:  # noqa: N802
        """What an attribute refers to."""
        return self._of

    def iter_children(self) -> list[Entry]:
        """None: these are no arrays with dimensions."""
        return []


FLOAT = Entry("base_type", "float")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Entry("volatile_type", of=Entry("pointer_type", of=FLOAT)), "float *volatile"),
        (Entry("pointer_type", of=Entry("volatile_type", of=FLOAT)), "volatile float *"),
        (
            Entry(
                "const_type",
                of=Entry(
                    "volatile_type", of=Entry("pointer_type", of=Entry("const_type", of=FLOAT))
                ),
            ),
            "const float *volatile const",
        ),
        (Entry("restrict_type", of=Entry("pointer_type", of=FLOAT)), "float *"),
        (
            Entry("pointer_type", of=Entry("const_type", of=Entry("pointer_type", of=FLOAT))),
            "float *const *",
        ),
        (
            Entry("const_type", of=Entry("typedef", "row", Entry("pointer_type", of=FLOAT))),
            "const row",
        ),
        # What a name hides is said.
        (Entry("typedef", "flag", Entry("volatile_type", of=FLOAT)), "volatile float"),
        (
            Entry("typedef", "set", Entry("typedef", "flag", Entry("volatile_type", of=FLOAT))),
            "volatile float",
        ),
        (
            Entry("typedef", "row", Entry("pointer_type", of=Entry("volatile_type", of=FLOAT))),
            "row",
        ),
    ],
)
def test_a_pointers_qualifiers_stand_behind_its_star(kind: Entry, expected: str) -> None:
    assert type_name(kind) == expected

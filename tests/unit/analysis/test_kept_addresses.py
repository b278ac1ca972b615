"""Addresses that the source takes, and of which PTX shows stores alone."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec.structs import replace

from lmemscope.analysis.causes import ProvenCause
from lmemscope.analysis.kept_addresses import compared_address, kept_address
from lmemscope.analysis.lines import Lines
from lmemscope.analysis.names import Names
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.model import Evidence, InlineFrame, SourceLocation, Variable
from tests.support.builders import HERE, depot, program, source_text, variable

STORED = "st.local.u8 [%rd1], 128;"


class AsTheyAre:
    """Lines of a unit whose paths are shown as they are."""

    def shown(self, place: SourceLocation) -> SourceLocation:
        return place

    def of_instruction(self, _: object) -> tuple[InlineFrame, ...]:
        return ()


def kept(
    text: str, stores: str = STORED, *others: Variable, kind: str = "unsigned char", size: int = 1
) -> object:
    """Evidence and line for the variable ``mark``, which is declared on the first line."""
    body = f"{depot(size)}\nadd.u64 %rd1, %SPL, 0;\n.loc 1 2 0\n{stores}\nret;"
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    sources = source_text({"a.cu": text})
    names = Names([variable("mark", kind, size, 1), *others], ptx, sources)
    (one,) = names.of_objects(objects, objects.objects.values())
    assert one.name is not None
    lines = cast(Lines, AsTheyAre())
    found = kept_address(lines, names, sources, one.found, one.name)
    return None if found is None else (found[0].evidence, found[1].line)


@pytest.mark.parametrize(
    "call", ["update(&c, &mark, 1);", "update(&mark);", "update(c, (void *)&mark);"]
)
def test_a_number_whose_address_the_source_gives_is_in_memory_for_it(call: str) -> None:
    text = f"unsigned char mark = n;\nmark = 128;\n{call}\n"
    assert kept(text) == ((Evidence("source-address", "update"),), 3)


@pytest.mark.parametrize(
    ("setting", "is_kept"),
    [
        ("if (n) p = &mark;", True),
        ("if (n) { p = (char *)&mark; }", True),
        ("p = &mark;", False),
        ("if (n) p = table + mark;", False),
        ("if (n) *p = mark;", False),
        ("if (n) p = &marks[mark];", False),
    ],
)
def test_a_pointer_that_some_paths_set_needs_the_address(setting: str, is_kept: bool) -> None:
    text = f"unsigned char mark = n;\nmark = 128;\nunsigned char *p = 0;\n{setting}\n}}\n"
    found = kept(text, STORED, variable("p", "unsigned char *", 8, 3))
    assert found == (((Evidence("set-pointer", "p"),), 4) if is_kept else None)


@pytest.mark.parametrize(
    ("text", "stores"),
    [
        # It is given by value, or combined with something.
        ("unsigned char mark = n;\nmark = 128;\nupdate(mark);\n", STORED),
        ("unsigned char mark = n;\nmark = 128;\nupdate(c & mark);\n", STORED),
        # Something is loaded: then PTX shows what needs it.
        (
            "unsigned char mark = n;\nmark = 128;\nupdate(&mark);\n",
            f"{STORED}\nld.local.u8 %r1, [%rd1];",
        ),
    ],
)
def test_nothing_is_said_of_other_numbers(text: str, stores: str) -> None:
    assert kept(text, stores) is None


class AtOnePlace(AsTheyAre):
    """Lines of a unit of which every instruction has the same."""

    def of_instruction(self, _: object) -> tuple[InlineFrame, ...]:
        return (InlineFrame("a.cu", 3, None),)


COMPARED = "setp.eq.s64 %p1, %rd2, %rd3;"
ITSELF = "V &operator=(const V &o) {\n  if (&o != this)\n    x = o.x;\n}\n"


@pytest.mark.parametrize(
    ("text", "test", "expected"),
    [
        (ITSELF, COMPARED, (Evidence("compared-address"), 2)),
        # The comparison is folded, and the line of the store shows it all the same.
        (ITSELF, "", (Evidence("compared-address"), 2)),
        ("\n\nif (&a == p) b = a;\n", "", None),
        ("\n\nif (&a == p) b = a;\n", "setp.eq.s64 %p1, %rd4, %rd3;", None),
    ],
)
def test_an_address_that_is_compared_needs_no_name(
    text: str, test: str, expected: tuple[Evidence, int] | None
) -> None:
    found = compared(text, test)
    assert (None if found is None else (*found[0].evidence, found[1].line)) == expected


def test_what_else_compares_it_is_told_from_ptx() -> None:
    found = compared("\n\nif (&a == p) b = a;\n", COMPARED)
    assert found is not None
    (shown,) = found[0].evidence
    assert (shown.kind, shown.opcode) == ("address-compared", "setp.eq.s64")
    assert found == (found[0], replace(HERE, line=3))


def compared(text: str, test: str) -> tuple[ProvenCause, SourceLocation] | None:
    """What compares the only object's address, where a test stands before the store in it."""
    body = (
        f"{depot(8)}\nadd.u64 %rd1, %SPL, 0;\nadd.u64 %rd2, %SP, 0;\n{test}\n"
        "st.local.u64 [%rd1], 1;\nret;"
    )
    objects = ModuleFlow(program(body)).objects("k")
    assert objects is not None
    (found,) = objects.objects.values()
    lines = cast(Lines, AtOnePlace())
    return compared_address(lines, source_text({"a.cu": text}), objects, found)

"""Addresses that the source takes, and of which PTX shows stores alone."""

from __future__ import annotations

from typing import cast

import pytest

from lmemscope.analysis.kept_addresses import kept_address
from lmemscope.analysis.lines import Lines
from lmemscope.analysis.names import Names
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.model import Evidence, InlineFrame, SourceLocation
from tests.builders import depot, program, source_text, variable

STORED = "st.local.u8 [%rd1], 128;"


class AsTheyAre:
    """Lines of a unit whose paths are shown as they are."""

    def shown(self, place: SourceLocation) -> SourceLocation:
        return place

    def of_instruction(self, _: object) -> tuple[InlineFrame, ...]:
        return ()


def kept(text: str, stores: str = STORED, kind: str = "unsigned char", size: int = 1) -> object:
    """Evidence and line for the variable ``mark``, which is declared on the first line."""
    body = f"{depot(size)}\nadd.u64 %rd1, %SPL, 0;\n.loc 1 2 0\n{stores}\nret;"
    ptx = program(body)
    objects = ModuleFlow(ptx).objects("k")
    assert objects is not None
    sources = source_text({"a.cu": text})
    names = Names([variable("mark", kind, size, 1)], ptx, sources)
    (one,) = names.of_objects(objects, objects.objects.values())
    assert one.name is not None
    lines = cast(Lines, AsTheyAre())
    found = kept_address(lines, names, sources, objects, one.found, one.name)
    return None if found is None else (found[0].evidence, found[1].line)


@pytest.mark.parametrize(
    "call", ["update(&c, &mark, 1);", "update(&mark);", "update(c, (void *)&mark);"]
)
def test_a_number_whose_address_the_source_gives_is_in_memory_for_it(call: str) -> None:
    text = f"unsigned char mark = n;\nmark = 128;\n{call}\n"
    assert kept(text) == ((Evidence("source-address", "update"),), 3)


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

"""Names that the preprocessor may put together out of words."""

from __future__ import annotations

import pytest

from lmemscope.rules.pasted_names import may_be_pasted
from tests.support.builders import source_text

SET = "#define SET(what, v) cudaMemcpyToSymbol(c_##what, v, 16)\n"


@pytest.mark.parametrize(
    ("name", "text", "may"),
    [
        ("c_order", SET + "void f() { SET(order, v); }", True),
        ("c_order", SET + "#define IT order\nvoid f() { SET(IT, v); }", True),
        ("c_order", "#define CAT(a, b) a ## b\nvoid f() { g(CAT(c_, order)); }", True),
        ("c_order", "#define CAT(a, b) a %:%: b\nvoid f() { g(CAT(c_, order)); }", True),
        ("quick_kernel", "#define K(n) n##_kernel\nvoid f() { K(quick)<<<1, 1>>>(); }", True),
        ("row2", "#define R(n) row##n\nint f() { return R(2); }", True),
        ("get_row_of", "#define G(n) get_##n##_of\nint f() { return G(row); }", True),
        # Nothing is pasted, or not to that.
        ("c_order", "int c_order[4]; int c_, order;", False),
        ("c_order", SET + "int c_order[4]; void f() { SET(rows, v); }", False),
        ("order", SET + "int order[4]; void f() { SET(order, v); }", False),
        ("c_order", "// a##b\nint c_, order;", False),
        ("c_order", 'const char *t = "##"; int c_, order;', False),
    ],
)
def test_a_name_may_be_made_of_words_where_words_are_pasted(
    name: str, text: str, may: bool
) -> None:
    assert may_be_pasted(name, source_text({"a.cu": text}), ("a.cu",)) is may


def test_what_pastes_may_stand_in_another_file_than_the_words() -> None:
    sources = source_text({"a.cu": "void f() { SET(order, v); }", "a.cuh": SET})
    assert may_be_pasted("c_order", sources, ("a.cu", "a.cuh"))
    assert not may_be_pasted("c_order", sources, ("a.cu",))

"""A file's tree: what the grammar would read otherwise than a compiler."""

from __future__ import annotations

import pytest

from lmemscope.sources.syntax import Syntax, walk


@pytest.mark.parametrize("pragma", ["#pragma unroll", "# pragma unroll 4", "\t#  pragma unroll(2)"])
def test_a_pragma_stands_anywhere(pragma: str) -> None:
    data = (
        f"void f(int n) {{\n  if (n)\n{pragma}\n    for (;;)\n{pragma}\n      g(n);\n}}\n".encode()
    )
    syntax = Syntax(data)
    assert not any(one.is_missing or one.is_error for one in walk(syntax.root))
    (loop,) = (one for one in walk(syntax.root) if one.type == "for_statement")
    above = loop.parent
    assert above is not None
    assert above.type == "if_statement"
    said = [syntax.text(one) for one in walk(syntax.root) if one.type == "comment"]
    assert said == [pragma.strip().encode()] * 2


def test_other_directives_are_what_they_are() -> None:
    syntax = Syntax(b"#define pragma 1\n#pragmatic\n#include <a>\n")
    kinds = [one.type for one in syntax.root.children]
    assert kinds == ["preproc_def", "preproc_call", "preproc_include"]


@pytest.mark.parametrize(
    ("above", "kept"),
    [
        ("int x;\n/** What f does. */\n", "int x;\n"),
        ("int x;\n/*\n * What\n\n // f\n   does.\n */\n", "int x;\n"),
        ("int x;\n\n// What f\n// does.\n", "int x;\n\n"),
        ("// License\n\n// What f does.\n", "// License\n\n"),
        ("int x;  // f\n", None),
        ("int x; /* What f\n   does. */\n", None),
        ("// License\n\n", None),
        ("#if 0\n// dead\n#endif\n", None),
        ("/* a\n/* b */\n", ""),
        ('const char *x = R"(\n// text\n)";\n', None),
        ("", None),
    ],
)
def test_a_comment_right_above_belongs_to_what_is_below(above: str, kept: str | None) -> None:
    syntax = Syntax(f"{above}void f() {{}}\n".encode())
    (function,) = syntax.functions("f")
    start = syntax.documented_start(syntax.file_item(function))
    assert syntax.data[:start].decode() == (above if kept is None else kept)

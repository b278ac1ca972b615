"""Macros in the text of lines: replaced once, twice, and only where they have one definition."""

from __future__ import annotations

import pytest

from lmemscope.analysis.expansion import Expansion
from lmemscope.analysis.scopes import Scopes
from tests.support.builders import source_text, variable

STEP = "#define STEP(a, k) \\\n  v[a] += m[s[k]]; \\\n  v[a] ^= 1 // turn\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{STEP}STEP(2, i + 1);", ["v[2] += m[s[i + 1]];    v[2] ^= 1;"]),
        (f"{STEP}STEP(2);", []),
        (f"{STEP}STEPS(2, 3);", []),
        ("#define A(x) B(x, 1)\n#define B(x, y) t[x - y]\nA(i)", ["B(i, 1)", "t[i - 1]"]),
        ("#define A(x) t[x]\n#undef A\nA(i)", []),
        ("#if X\n#define A(x) t[x]\n#else\n#define A(x) u[x]\n#endif\nA(i)", []),
        ("#define A(x) t[x]\n#undef A\n#define A(x) u[x]\nA(i)", ["u[i]"]),
        ("A(i)", []),
        ("#define N 16\n#define ALL for (;;) t[i] = 0;\nALL u[N]", ["for (;;) t[i] = 0; u[N]"]),
        ("#define A(x) name##x[x]\nA(i)", ["namei[i]"]),
        ("#define A(x) A(x + 1)\nt[0]", []),
        ('#include "low.cuh"\nLOW(i)', ["low[i]"]),
    ],
)
def test_a_line_is_read_with_its_macros(text: str, expected: list[str]) -> None:
    files = {"/d/a.cu": text, "/d/low.cuh": "#define LOW(x) low[x]"}
    last = text.count("\n") + 1
    assert list(Expansion(source_text(files)).of_line("/d/a.cu", last)) == expected


def test_a_macro_that_names_itself_ends() -> None:
    text = source_text({"a.cu": "#define A(x) A(x + 1)\nA(i)"})
    assert len(Expansion(text).of_line("a.cu", 2)) == 4


def test_a_call_over_several_lines_keeps_them() -> None:
    text = source_text({"a.cu": "#define A(x, y) t[x][y]\nA(i,\n  j) = 1;"})
    assert Expansion(text).of_line("a.cu", 2) == ("t[i][j]\n = 1;",)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("{\nint a[4] = {1, 2};\n{ f(a); }\ng(a);\n}\nh();", 5),
        ("for (int a = 0; a < 3; ++a)\n  f(a);\ng();", 2),
        ("for (int a = 0; a < 3; ++a) {\n  f(a);\n}\ng();", 3),
        ("{\nint a;\n#if X\nif (y) {\n#else\nif (z) {\n#endif\n}\n}\nf();", 9),
        ("{\nint a;\nf('}', \"}\");\n}", 4),
        ("int a;", None),
        ("LOCALS;", None),
    ],
)
def test_a_scope_ends_with_its_block(text: str, last: int | None) -> None:
    line = next((n for n, one in enumerate(text.split("\n"), 1) if "int a" in one), 1)
    found = variable("a", "int", 4, line)
    scopes = Scopes(source_text({found.file: text}))
    assert scopes.last(found) == last
    assert scopes.holds(found, found.file, line)
    assert scopes.holds(found, found.file, 50) == (last is None)

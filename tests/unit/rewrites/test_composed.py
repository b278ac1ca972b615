"""One statement that names several objects: what is made for each is one edit of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lmemscope.fixing.edits import merged
from lmemscope.model import Cause
from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.rewriting import kernel, target


def composed(
    text: str, rewrite: str, types: Sequence[str], cause: Cause = "dynamic-index"
) -> str | None:
    """The kernel with a rewrite made for the arrays ``a``, ``b`` … together."""
    groups = []
    for name, type_ in zip("abc", types, strict=False):
        found, declined = proposals(target(text, name, type_, cause, line=f" {name}["))
        own = [one for one in found if one.rewrite == rewrite]
        assert own, declined
        groups.append(own[0].edits)
    edits = merged(groups)
    if edits is None:
        return None
    return patched(text.encode(), edits).decode().rpartition("#endif\n")[2].strip("\n") + "\n"


def test_all_arrays_of_a_declaration_leave_it() -> None:
    text = kernel("float a[8], b[8];", "a[n] = b[p[0]];", "out[0] = a[n] * b[n];")
    assert composed(text, "select", ["float[8]"] * 2) == kernel(
        "lmem_select<float, 8> a;",
        "lmem_select<float, 8> b;",
        "a.set(n, b[p[0]]);",
        "out[0] = a[n] * b[n];",
    )


def test_what_stays_keeps_its_place_and_its_type() -> None:
    text = kernel(
        "const int m = n, a[4] = {m}, *q = p + m, b[4] = {m, *q}, last = b[1];",
        "out[0] = a[n] * b[*q] * last;",
    )
    assert composed(text, "select", ["const int[4]"] * 2) == kernel(
        "const int m = n;",
        "const lmem_select<int, 4> a = {{m}};",
        "const int *q = p + m;",
        "const lmem_select<int, 4> b = {{m, *q}};",
        "const int last = b[1];",
        "out[0] = a[n] * b[*q] * last;",
    )


def test_comments_between_variables_stay() -> None:
    text = kernel("float a[8], // first", "      b[8]; // second", "a[n] = b[n];", "out[0] = a[n];")
    assert composed(text, "select", ["float[8]"] * 2) == kernel(
        "lmem_select<float, 8> a; // first",
        "      lmem_select<float, 8> b; // second",
        "a.set(n, b[n]);",
        "out[0] = a[n];",
    )


def test_an_alignment_is_that_of_all_that_stay() -> None:
    text = kernel("__align__(16) float c[4], a[8], d[4];", "a[n] = c[0];", "out[0] = a[n] + d[1];")
    assert composed(text, "select", ["float[8]"]) == kernel(
        "__align__(16) float c[4];",
        "lmem_select<float, 8> a;",
        "__align__(16) float d[4];",
        "a.set(n, c[0]);",
        "out[0] = a[n] + d[1];",
    )


def test_tables_of_one_declaration_are_static_each() -> None:
    text = kernel("float a[2] = {1.f, 2.f}, b[2] = {3.f}, t = 1.f;", "out[0] = a[n] * b[n] * t;")
    assert composed(text, "static-table", ["float[2]"] * 2, "const-table") == kernel(
        "static const float a[2] = {1.f, 2.f};",
        "static const float b[2] = {3.f};",
        "float t = 1.f;",
        "out[0] = a[n] * b[n] * t;",
    )


def test_a_const_in_another_initializer_makes_no_table_const() -> None:
    text = kernel("float x = (const float)n, a[2] = {1.f, 2.f};", "out[0] = a[n] * x;")
    made = composed(text, "static-table", ["float[2]"], "const-table")
    assert made is not None
    assert "static const float a[2]" in made


def test_pointers_of_two_arrays_are_declared_by_their_own() -> None:
    text = kernel(
        "float a[8], b[8], *q = a, *r = a + 1, *s = b, t = n;",
        "q[n] = s[n] = r[2] = t;",
        "out[0] = a[n] * b[n];",
    )
    made = composed(text, "shared-memory", ["float[8]"] * 2)
    assert made is not None
    assert "  __shared__ float a_lmem[8][64];\n" in made
    assert "  __shared__ float b_lmem[8][64];\n" in made
    assert "  lmem_pointer<float, 64> q = a, r = a + 1;\n" in made
    assert "  lmem_pointer<float, 64> s = b;\n  float t = n;\n" in made


def test_an_element_within_another_ones_index_is_rewritten_in_each_copy() -> None:
    text = kernel(
        "int a[4][4], b[3][3];",
        "a[b[n][0]][1] += n;",
        "++b[a[n][2]][a[1][b[1][n]]];",
        "a[a[n][0]][1] ^= 1;",
        "out[0] = a[n][0] + b[n][1];",
    )
    assert composed(text, "select", ["int[4][4]", "int[3][3]"]) == kernel(
        "lmem_select2<int, 4, 4> a;",
        "lmem_select2<int, 3, 3> b;",
        "a.set(b.get(n, 0), 1, a.get(b.get(n, 0), 1) + n);",
        "b.set(a.get(n, 2), a.get(1, b.get(1, n)), b.get(a.get(n, 2), a.get(1, b.get(1, n))) + 1);",
        "a.set(a.get(n, 0), 1, a.get(a.get(n, 0), 1) ^ 1);",
        "out[0] = a.get(n, 0) + b.get(n, 1);",
    )


@pytest.mark.parametrize(
    "body",
    [
        "for (float a[4] = {}, b[4] = {}; n < 3; ++n) out[n] = a[n] * b[p[n]];",
        "if (float a[4] = {}, b = 1.f; n) out[n] = a[n] * b;",
    ],
)
def test_no_head_of_a_statement_is_taken_apart(body: str) -> None:
    found, _ = proposals(target(kernel(body), "a", "float[4]", line=" a["))
    assert not {"select", "shared-memory", "packed"} & {one.rewrite for one in found}

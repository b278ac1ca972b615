"""Numbers of a few bits in fields of bytes of shared memory."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import pytest

from lmemscope.model import Rewriting
from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.host_programs import EACH_TURN, every_thread, outputs
from tests.support.rewriting import kernel, target

FIELDS = re.compile(r"const lmem_field(?:s|_rows)<([^<>]*)> a = ")


def proposed(text: str, type_: str, **how: object) -> Rewriting | None:
    """What keeps the array `a` in fields."""
    found = proposals(target(text, "a", type_, **how))[0]  # type: ignore[arg-type]
    return next((one for one in found if "bit" in one.summary and one.rewrite == "narrow"), None)


def fields(type_: str, *body: str, before: str = "") -> tuple[int, str | None] | None:
    """Bits of an element of `a`, and what is promised; None where it is not kept so."""
    element, _, extents = type_.partition("[")
    text = kernel(f"{element} a[{extents};", *body, before=before)
    one = proposed(text, type_)
    if one is None:
        return None
    found = FIELDS.search(patched(text.encode(), one.edits).decode())
    assert found is not None
    return int(next(part for part in found[1].split(", ") if part.isdigit())), one.caveat


ROWS = "out[0] = a[n & 15][n & 3];"
READ = "out[0] = a[n & 15];"


@pytest.mark.parametrize(
    ("type_", "body", "bits"),
    [
        ("unsigned char[16]", ("a[n] = 1;", READ), 1),
        ("unsigned char[16]", ("a[n] = 2;", READ), 2),
        ("unsigned char[16]", ("a[n] = 3;", READ), 2),
        ("signed char[16]", ("a[n] = 4;", READ), 4),
        ("int[16]", ("a[n] = n & 15;", READ), 4),
        ("short[16]", ("a[n] = n & 3;", READ), 2),
        ("bool[16]", ("a[n] = n * 100 - 3;", READ), 1),
        ("bool[16]", ("a[n] = p[n];", READ), 1),
        ("unsigned char[16][4]", ("a[n][1] = n & 3;", ROWS), 2),
        ("int[16][4]", ("a[n][1] = n & 255;", ROWS), 8),
        ("bool[16][4]", ("a[n][1] = p[3] > n;", ROWS), 1),
        ("unsigned char[16]", ("int v = 0;", "if (n > 3) v = 2;", "a[n] = v;", READ), 2),
        ("unsigned char[16]", ("int v = 3, w = 1;", "v = w;", "w = v;", "a[n] = w;", READ), 2),
        ("unsigned char[16]", ("int v = 0;", "v = v;", "a[n] = v;", READ), 1),
        ("unsigned char[16]", ("int v = 0;", "v = a[n];", "a[n] = v;", "a[0] = 9;", READ), 4),
        (
            "unsigned char[16]",
            ("int v = 0;", "for (int i = 1; i < 4; ++i) if (p[i]) v = i;", "a[n] = v;", READ),
            2,
        ),
    ],
)
def test_elements_have_as_many_bits_as_what_is_put_into_them(
    type_: str, body: tuple[str, ...], bits: int
) -> None:
    assert fields(type_, *body) == (bits, None)


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("unsigned char[16]", ("a[n] = 16;", READ)),
        ("unsigned char[16]", ("a[n] = n;", READ)),
        ("signed char[16]", ("a[n] = 2 - 3;", READ)),
        ("unsigned char[16][4]", ("a[n][1] = 200;", ROWS)),
        ("int[16][4]", ("a[n][1] = 256;", ROWS)),
        ("unsigned char[16]", ("a[n] = 1;", "a[n] += 1;", READ)),
        ("unsigned char[16]", ("a[n] = 1;", "a[n]++;", READ)),
        ("unsigned char[16]", ("a[n] = 1;", "unsigned char &r = a[n];", "r = 9;", READ)),
        ("unsigned char[16]", ("a[n] = 1;", "unsigned char *r = a;", "r[1] = 9;", READ)),
        ("unsigned char[16]", ("memset(a, 255, 16);", "a[n] = 1;", READ)),
        ("bool[16]", ("memset(a, 255, 16);", "a[n] = 1;", READ)),
        ("unsigned char[16]", ("a[n] = 1;", "out[1] = sizeof(a);", READ)),
        ("unsigned char[16]", ("int v = 0;", "++v;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "v += 1;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "v = v + 1;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "v = a[n] * 2;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0, w = 1;", "v = w + 1;", "w = v;", "a[n] = w;", READ)),
        ("unsigned char[16]", ("int v;", "if (n) v = 1;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "int &r = v;", "r = n;", "v = 1;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "v = 1, v = n;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "change(&v);", "v = 1;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "{ int v = n; a[n] = v; }", "v = 1;", READ)),
        ("unsigned char[16]", ("unsigned v = 0;", "v = 1 - 2;", "a[n] = v;", READ)),
        ("unsigned char[16]", ("int v = 0;", "(n ? v : n) = 7;", "a[n] = v;", READ)),
        ("unsigned char[16][4]", ("a[n][1] = 1;", "out[1] = a[0][n & 31];", ROWS)),
        (
            "unsigned char[16][4]",
            ("for (int i = 0; i < 64; ++i) a[0][i] = 1;", ROWS),
        ),
        ("unsigned char[16][4]", ("a[n][1] = 1;", "unsigned char *r = a[n];", "r[1] = 9;", ROWS)),
        ("unsigned char[16][4]", ("fill(a[n]);", "a[n][1] = 1;", ROWS)),
        ("unsigned char[4][4][4]", ("a[n][1][2] = 1;", "out[0] = a[n & 3][n & 3][1];")),
        ("float[16]", ("a[n] = 1;", READ)),
        ("long long[16]", ("a[n] = 1;", READ)),
    ],
)
def test_what_may_not_fit_is_declined(type_: str, body: tuple[str, ...]) -> None:
    assert fields(type_, *body) is None


def test_a_macro_may_give_a_variable_more() -> None:
    body = "int v = 0;", "v = 1;", "GROW;", "a[n] = v;", READ
    assert fields("unsigned char[16]", *body, before="#define GROW v = n\n") is None
    assert fields("unsigned char[16]", *body, before="#define GROW\n") == (1, None)


def mixed(element: str, mask: int, inner: int | None) -> tuple[str, str]:
    """A kernel that moves elements of at most ``mask`` about, and what is made of it."""
    row = "" if inner is None else f"[{inner}]"
    at = (lambda i: f"a[{i}]") if inner is None else (lambda i: f"a[{i}][(x + {i}) % {inner}]")
    fill = (
        f"for (int i = 0; i < 13; ++i) {{ int v = p[i]; a[i] = v & {mask}; }}"
        if inner is None
        else f"for (int i = 0; i < 13; ++i) for (int j = 0; j < {inner}; ++j)"
        f" {{ int v = p[(i * 5 + j) & 63] >> 3; a[i][j] = v & {mask}; }}"
    )
    text = kernel(
        f"{element} a[13]{row};",
        fill,
        "for (int i = 0; i < n; ++i) {",
        "  int x = (p[i] & 255) % 13, y = (p[i + 1] & 255) % 13;",
        f"  {'int' if element == 'bool' else element} held = {at('x')};",
        f"  {at('x')} = {at('y')};",
        f"  int w = p[i]; {at('y')} = w & {mask};",
        f"  if ({at('x')} - 1 < {at('y')}) {at('x')} = {mask};",
        f"  out[i] = held + {at('x')} * 16 + ({at('y')} > {at('((x + y) % 13)')}) * 256;",
        "}",
    )
    one = proposed(text, f"{element}[13]{row}", block=8)
    assert one is not None
    return text, patched(text.encode(), one.edits).decode()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
def test_the_program_is_the_same(tmp_path: Path) -> None:
    inners = (None, 1, 2, 3, 4, 5, 8, 9, 17)
    cases = list(itertools.product(("unsigned char", "int", "bool"), (1, 3, 15), inners))
    programs = [(text, EACH_TURN) for case in cases for text in mixed(*case)]
    printed = outputs(tmp_path, programs, turns=300, threads=8)
    pairs = list(zip(cases, printed[::2], printed[1::2], strict=True))
    assert [case for case, before, after in pairs if before != after] == []
    assert [case for case, before, _ in pairs if len(set(before.splitlines())) <= 50] == []


def refilled(type_: str, put: int) -> str:
    """A kernel that fills the array and counts what is not there, with the array in fields."""
    element, _, extents = type_.partition("[")
    sizes = [int(one) for one in re.findall(r"\d+", extents)]
    use = "a[i]" if len(sizes) == 1 else "a[i][j]"
    loops = "".join(
        f"for (int {i} = 0; {i} < {n}; ++{i}) " for i, n in zip("ij", sizes, strict=False)
    )
    number = "i" if len(sizes) == 1 else f"i * {sizes[1]} + j"
    text = kernel(
        f"{element} a[{extents};",
        "int v = p[0];",
        f"if (n) {loops}{use} = ((({number}) * 7 + v) & {put});",
        f"else {loops}out[0] += {use} != ((({number}) * 7 + v) & {put});",
    )
    one = proposed(text, type_, block=8)
    assert one is not None
    return patched(text.encode(), one.edits).decode()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
def test_no_threads_share_a_byte(tmp_path: Path) -> None:
    cases = [
        ("unsigned char[13]", 1),
        ("unsigned char[13]", 7),
        ("int[70]", 3),
        ("unsigned char[5][3]", 3),
        ("int[7][9]", 1),
        ("short[3][2]", 200),
    ]
    flags = ("-fsanitize=undefined,address", "-fno-sanitize-recover")
    programs = [refilled(*case) for case in cases]
    counted = every_thread(tmp_path, programs, threads=8, flags=flags)
    assert [case for case, wrong in zip(cases, counted, strict=True) if wrong] == []

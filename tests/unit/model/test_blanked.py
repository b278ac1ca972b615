"""Text that is no code changes nothing: braces in comments, in quotes and in dead branches."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmemscope.model.blanked import blanked, blanked_bytes, closed, is_balanced
from lmemscope.rewrites import REWRITES, proposals
from tests.support.program import ROOT, run_program
from tests.support.rewriting import kernel, target

ANYWHERE = (
    "/* } */",
    "/* { */",
    "// {\n",
    "// } \\\n }\n",
    "\n#if 0\n}\n#endif\n",
    "\n#if 0 // {\n",
)
AS_STATEMENTS = ('(void)"}";', "(void)'{';", 'auto r = R"x(})x";', 'auto r = u8R"(\n{\n)";')
DEAD = "\n#if 1\n#else\n}\n#endif\n"
INSTEAD = {one.name: one.instead_of for one in REWRITES}
ORDER = {None: 0, "unsafe": 1, "safe": 2}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a /* } */ b", "a         b"),
        ("a // {\nb", "a     \nb"),
        ("a // { \\\n } \nb", "a       \n   \nb"),
        ("/* never closed {", "                 "),
        ('f("}", "\\"{");', 'f(" ", "   ");'),
        ("c = '{'; d = '\\'';", "c = ' '; d = '  ';"),
        ("n = 1'000 + 2'0{", "n = 1'000 + 2'0{"),
        ("c = u8'}' + L'{';", "c = u8' ' + L' ';"),
        ('R"x(})" )x" }', 'R"        " }'),
        ('LR"(\n{)" }', 'LR" \n  " }'),
        ("FOR'{'", "FOR'{'"),
        ("#if 0\n{\n#endif\n}", "     \n \n      \n}"),
        ("#if 0\n{\n#else\n}\n#endif", "     \n \n     \n}\n      "),
        ("#if 1\n{\n#else\n}\n#endif", "     \n{\n     \n \n      "),
        ("#if 0\n#if X\n{\n#endif\n{\n#endif\n}", None),
        ("#if 0\ndon't }\n#endif\n", None),
        ("#if X\n{\n#endif\n", "#if X\n{\n#endif\n"),
        ("#error don't {\n}", "#error        \n}"),
        ("/* a\n*/ # if 0\n{\n#endif\n}", None),
        ("f() <% return a<:0:>; %>", "f() {  return a[ 0] ; } "),
        ("h = bitand x and_eq y;", "h = &      x &=     y;"),
        ("a = b \\\n + c;", "a = b  \n + c;"),
    ],
)
def test_what_is_no_code_is_blank_and_everything_stays_in_its_place(
    text: str, code: str | None
) -> None:
    made = blanked(text)
    assert len(made.code) == len(made.uncommented) == len(text)
    assert [n for n, one in enumerate(made.code) if one == "\n"] == [
        n for n, one in enumerate(text) if one == "\n"
    ]
    if code is not None:
        assert made.code == code
    else:
        assert "{" not in made.code
    if "FOR" not in text:
        assert made.odd_line is None


@pytest.mark.parametrize(
    "text",
    [
        "int a;\nke\\\nep(a);",
        "a;\n/\\\n/ b",
        "a;\n??< b",
        "a;\n// b ??/\nc",
        "a;\n// b \\ \nc",
        "a;\n'b",
    ],
)
def test_what_is_not_read_is_said_with_its_line(text: str) -> None:
    assert blanked(text).odd_line == 2


def test_bytes_stay_in_their_places() -> None:
    data = 'f("é}"); // ü {\r\n}'.encode()
    code, uncommented, odd = blanked_bytes(data)
    assert (len(code), len(uncommented), odd) == (len(data), len(data), None)
    assert code.count(b"}") == 1
    assert b"{" not in code


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "a", "a\n", "a\n\n", "a // {\n", "a // { \\\n", "a \\ \n", "#define X \\\n"),
        *("a\r\n", "#if 0\r\n", "#if 0\n", "#error {\n", 'R"(\n', '"open\n', "/* open\n", "a??/\n"),
    ],
)
def test_the_end_of_the_last_line_is_read_as_in_the_text(text: str) -> None:
    made = blanked(text)
    whole = (made.code.encode(), made.uncommented.encode(), made.odd_line)
    assert blanked_bytes(text.encode()) == whole


@pytest.mark.parametrize("word", ["and", "or_eq", "not", "compl"])
def test_only_whole_words_are_other_spellings(word: str) -> None:
    for beside in (f"a{word}", f"_{word}", f"{word}1", f"{word}_eq_"):
        assert blanked(f"x {beside} y").code == f"x {beside} y"
    assert word not in blanked(f"x {word} y").code


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a } b", 3),
        ("{ } } b", 5),
        ("#define X }\n } b", 14),
        ("\n#ifdef A\n{ }\n#endif\n} b", None),
        ("\n#ifdef A\n{\n#else\n{\n#endif\n} } b", -1),
        ("\n#ifdef A\n}\n#endif\n} b", -1),
        ("\n#else\n} b", -1),
    ],
)
def test_a_brace_is_closed_where_every_branch_says_so(text: str, end: int | None) -> None:
    found = closed(text.encode(), 0, b"{}")
    assert found == (len(text) if end == -1 else len(text) - 2 if end is None else end)


def test_branches_that_open_differently_are_unbalanced() -> None:
    assert is_balanced(b"{ (a[0]) }\n#ifdef A\n{ }\n#else\n#endif\n")
    assert not is_balanced(b"{\n#ifdef A\n{\n#else\n#endif\n}")
    assert not is_balanced(b"\n#ifdef A\n{\n#else\n{\n#endif\n}")
    assert not is_balanced(b"(}")


def boundaries(text: str) -> list[int]:
    """Where a token of code begins, but in directives and beside what stands in quotes."""
    code, found, at = blanked(text).code, [], 0
    for line in code.splitlines(keepends=True):
        if not re.search(r"[#\"'\\]", line):
            found += [at + one.start() for one in re.finditer(r"\w+|[^\w\s]", line)]
        at += len(line)
    return found


def verdicts(text: str, name: str, kind: str) -> dict[str, str]:
    """The applicability of each rewriting that is proposed, the laxest of each rewrite."""
    found: dict[str, str] = {}
    for one in proposals(target(text, name, kind))[0]:
        if ORDER[found.get(one.rewrite)] < ORDER[one.applicability]:
            found[one.rewrite] = one.applicability
    return found


def is_laxer(now: dict[str, str], before: dict[str, str]) -> bool:
    """Whether something is offered that was not; what stands in for another was hidden by it."""
    return any(
        ORDER[said] > max(ORDER[before.get(one)], ORDER[before.get(INSTEAD.get(one) or "")])
        for one, said in now.items()
    )


ARRAY = re.compile(
    r"^ +(float|int|unsigned|double|short|char) (\w+)\[(\d+)\](?:;| =)", re.MULTILINE
)


def labelled() -> Iterator[tuple[str, str, str]]:
    """Labelled kernels, each with what its file begins with and with a local array in it."""
    for path in sorted((ROOT / "tests" / "corpus" / "labelled").glob("*.cu")):
        begins, *kernels = path.read_text().split("/* labels")
        for found in itertools.islice(
            ((one, array) for one in kernels for array in ARRAY.finditer(one)), 2
        ):
            text, array = f"{begins}/* labels{found[0]}", found[1]
            if (
                text.index(f" {array[2]}[")
                == text.index(array[0]) + array.start(2) - array.start() - 1
            ):
                yield text, array[2], f"{array[1]}[{array[3]}]"


def inserted(text: str, at: int, piece: str) -> str:
    if piece.startswith("\n#if 0 //"):
        piece += "}\n#endif\n"
    return text[:at] + piece + text[at:]


def test_no_verdict_is_laxer_for_what_is_no_code() -> None:
    chosen, done, offered = random.Random(3), 0, 0
    for text, name, kind in labelled():
        before = verdicts(text, name, kind)
        offered += len(before)
        declared = text.index(f" {name}[")
        places = [one for one in boundaries(text) if abs(one - declared) < 3000]
        for at in chosen.sample(places, min(4, len(places))):
            piece = chosen.choice((*ANYWHERE, DEAD))
            try:
                now = verdicts(inserted(text, at, piece), name, kind)
            except StopIteration:  # It stands between the type and the name.
                continue
            assert not is_laxer(now, before), (name, piece, text[at - 40 : at + 40])
            done += 1
    assert done > 60
    assert offered > 30, "there is something to be lax about"


KEEP = """__device__ float *held;
__device__ void keep(float &x) { if (x > 0) { x += 1; } held = &x; }
"""
BODY = (
    "float a[16];",
    "for (int i = 0; i < 16; ++i) a[i] = p[i];",
    "keep(a[p[n]]);",
    "out[n] = *held;",
)


def kept(before: str) -> dict[str, str]:
    return verdicts(kernel(*BODY, before=before), "a", "float[16]")


def test_a_function_that_keeps_an_address_keeps_it_whatever_stands_in_it() -> None:
    plain = kept(KEEP)
    assert "shared-memory" not in plain
    assert "shared-memory" in kept(KEEP.replace("held = &x;", ""))
    inside = [one for one in boundaries(KEEP) if one > KEEP.index("keep")]
    for at in inside:
        for piece in ANYWHERE:
            assert not is_laxer(kept(inserted(KEEP, at, piece)), plain), (at, piece)
    for at in [
        one.end() for one in re.finditer(r"[;{] ", KEEP) if one.start() > KEEP.index("keep")
    ]:
        for piece in AS_STATEMENTS:
            assert not is_laxer(kept(inserted(KEEP, at, piece)), plain), (at, piece)


@pytest.mark.parametrize(
    "before",
    [
        # Another spelling, another definition, or none.
        "__device__ void keep(float &x) <% held = &x; %>",
        "__device__ void keep(float &x) { held = bitand x; }",
        "__device__ void keep(float &x) noexcept(true) { held = &x; }",
        "__device__ auto keep(float &x) -> decltype(x) { held = &x; return x; }",
        "__device__ void keep(float &x) { store(&x); }",
        "__device__ void keep(float &x);",
        "__device__ void keep(float &x) { other(x); }",
        "__device__ void other(float &x);\n__device__ void keep(float &x) { other(x); }",
        "__device__ void keep(int &x) { x = 0; }\n__device__ void keep(float &x);",
        "#ifdef A\n__device__ void keep(float &x) { x = 1; }\n#else\n"
        "__device__ void keep(float &x) { held = &x; }\n#endif",
        "#ifdef A\n__device__ void keep(float &x) {\n#else\n"
        "__device__ void keep(float &x, int = 0) {\n#endif\n  if (x > 0) { x = 1; }\n"
        "  held = &x;\n}",
        "__device__ void keep(float &x) {\n#ifdef A\n  if (x > 0) {\n#endif\n  x = 1;\n"
        "#ifdef A\n  }\n#endif\n  held = &x;\n}",
        "#define END }\n__device__ void keep(float &x) { if (x > 0) { x = 1; END held = &x; }",
        "#define OPEN {\n__device__ void keep(float &x) OPEN held = &x; }",
        "#define DEFINE(name) __device__ void name(float &x) { held = &x; }\nDEFINE(keep)",
        "#define keep(x) held = &(x)",
        "#define keep(x) keep_it(x)\n__device__ void keep_it(float &x) { held = &x; }",
        "template <class T> __device__ void keep(T &x) { x = 0; }\n"
        "template <> __device__ void keep<float>(float &x) { held = &x; }",
        "struct __align__(8) Ref { float &r; };\n__device__ Ref last;\n"
        "__device__ void keep(float &x) { Ref r{x}; held = &r.r; }",
        "void (*keep)(float &);",
        "using Keeper = void (*)(float &);\n__device__ Keeper keep;",
    ],
)
def test_what_is_not_seen_to_keep_nothing_may_keep_it(before: str) -> None:
    assert "shared-memory" not in kept(f"__device__ float *held;\n{before}\n")


def test_a_header_may_define_it() -> None:
    text = kernel(*BODY, before='#include "keep.h"\n__device__ float *held;\n')
    head = "#pragma once\n__device__ void keep(float &x) { /* } */ held = &x; }\n"
    found, _ = proposals(target(text, "a", "float[16]", files={"/p/keep.h": head}))
    assert "shared-memory" not in {one.rewrite for one in found}


@pytest.mark.parametrize(
    "before",
    [
        "__device__ void keep(float &x) { x *= 2; }",
        "__device__ void keep(float x);",
        "__device__ void keep(float &x);\n__device__ void keep(float &y) { y = sqrtf(y); }",
        "__device__ void keep(float &x) { atomicAdd(&total, x); }".replace("&total", "total"),
        "template <class T> __device__ void keep(T x) { total[0] = x; }",
    ],
)
def test_what_is_seen_to_keep_nothing_is_no_obstacle(before: str) -> None:
    assert "shared-memory" in kept(f"__device__ float *held, *total;\n{before}\n")


@pytest.mark.parametrize(
    "line",
    ["ke\\\nep(a[p[n]]);", "#ifdef A\n  if (n) {\n#endif\n  n = 1;\n#ifdef A\n  }\n#endif", "END"],
)
def test_nothing_is_rewritten_where_braces_are_not_read(line: str) -> None:
    before = "#define END } {\n__device__ void keep(float x) {}\n"
    text = kernel(*BODY[:2], line, BODY[3], before=before)
    made, declined = proposals(target(text, "a", "float[16]"))
    assert made == ()
    assert len(declined) == 1


PROGRAM = """\
__device__ float *held;
__device__ void keep(float &x) { {comment} held = &x; }
__global__ void __launch_bounds__(64) k(const int *p, float *out, int n) {
  float a[16];
  for (int i = 0; i < 16; ++i) a[i] = p[i];
  keep(a[p[n] & 15]);
  out[n] = held[1] + a[p[n + 1] & 15];
}
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("comment", ["", "/* } */", '(void)"}";', "// }\n"])
def test_a_brace_in_a_comment_makes_nothing_safe(comment: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(PROGRAM.replace("{comment}", comment))
    done = run_program("fix", "a.cu", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)["candidates"]
    assert not [one for one in found if "shared" in one["rewrite"]]


@pytest.mark.parametrize(
    "macro",
    [
        "#define ELEMENT(v, i) v##i[n & 15]",
        "#define GLUE(v, w) v##w\n#define ELEMENT(v, i) GLUE(v, i)[n & 15]",
        "#define ELEMENT(v, i) a##i[n & 15]",
        "#define OTHER a1[n & 15]\n#define ELEMENT(v, i) OTHER",
    ],
)
def test_a_macro_may_paste_a_name(macro: str) -> None:
    lines = ("float a1[16];", "for (int i = 0; i < 16; ++i) a1[i] = p[i];", "out[n] = a1[p[n]];")
    plain = verdicts(kernel(*lines), "a1", "float[16]")
    assert "shared-memory" in plain
    pasted = verdicts(kernel(*lines, "ELEMENT(a, 1) = 3;", before=f"{macro}\n"), "a1", "float[16]")
    assert not {"shared-memory", "select", "shift", "sort"} & pasted.keys()

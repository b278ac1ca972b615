"""A version of a kernel for each number that its loops over an array run up to."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lmemscope.fixing.attempts import Attempt
from lmemscope.fixing.joint import joint
from lmemscope.model import Edit, Rewriting, SourceLocation
from lmemscope.rewrites import proposals
from lmemscope.sources.edits import patched
from tests.support.host_programs import is_trap, outputs
from tests.support.rewriting import kernel, target

HEAD = "__global__ void k(const int *p, float *out, int n) {"
FILL = "for (int i = 0; i < n; ++i) a[i] = p[i] & 255;"
READ = "out[0] = n > 0 ? a[p[0] & 3 < n ? p[0] & 3 : 0] : 7;"
_CASE = re.compile(r"case (\d+): (\w+)<\1>\(([^()]*)\); break;")


def proposed(text: str, type_: str = "int[8]") -> list[Rewriting]:
    """What is proposed for the array `a`."""
    line = 1 + text[: text.index("__global__")].count("\n")
    given = target(text, "a", type_, location=SourceLocation("/p/a.cu", line))
    return [one for one in proposals(given)[0] if one.rewrite == "dispatch"]


def most(text: str, type_: str = "int[8]") -> int | None:
    """The largest number that there is a version for; None where there is none."""
    made = proposed(text, type_)
    if not made:
        return None
    assert {one.applicability for one in made} == {"unsafe"}
    cases = _CASE.findall(patched(text.encode(), made[0].edits).decode())
    assert [int(one) for one, _, _ in cases] == [*range(len(cases))]
    number = len(cases) - 1
    assert made[0].caveat == f"`n` is from 0 to {number} (else the kernel stops with an error)"
    return number


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ((FILL,), 8),
        (("for (int i = 0; i <= n; ++i) a[i] = 1;",), 7),
        (("for (int i = 3; i < n; i++) a[i] = 1;",), 8),
        (("for (unsigned i = 0; i < n; i += 1) a[i] = 1;",), 8),
        (("for (int i = 0; i < n + 2; ++i) a[i] = 1;",), 6),
        (("for (int i = 0; i < 2 + n; ++i) a[i] = 1;",), 6),
        (("for (int i = 0; i <= n - 1; ++i) a[i] = 1;",), 8),
        (("for (int i = n - 1; i >= 0; --i) a[i] = 1;",), 8),
        (("for (int i = n; i > 0; i--) a[i] = 1;",), 7),
        (("int i;", "for (i = 0; i < n; ++i) a[i] = 1;", "out[1] = i;"), 8),
        ((FILL, "for (int i = 0; i <= n; ++i) a[i] += 1;"), 7),
        ((FILL, "for (int i = 0; i < n; i += 2) a[i] += 1;"), 8),
        ((FILL, "for (int i = 0; i < n; ++i) for (int j = 0; j <= i; ++j) a[j] += a[i];"), 8),
    ],
)
def test_versions_are_those_with_which_loops_stay_in_the_array(
    body: tuple[str, ...], number: int
) -> None:
    assert most(kernel("int a[8];", *body, READ)) == number


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (("n = 3;", FILL), ""),
        ((FILL, "n += 1;"), ""),
        ((FILL, "--n;"), ""),
        (("for (int i = 0; i < n--; ++i) a[i] = 1;",), ""),
        (("for (int i = 0; i < p[0]; ++i) a[i] = 1;",), ""),
        (("for (int i = 0; i < n * 2; ++i) a[i] = 1;",), ""),
        (("for (int i = 0; i < 3 - n; ++i) a[i] = 1;",), ""),
        (("for (int i = 0; i < 8; ++i) a[i] = n;",), ""),
        (("for (int i = -2; i < n; ++i) a[i + 2] = 1;",), ""),
        (("for (int i = 0; i != n; ++i) a[i] = 1;",), ""),
        (("for (int i = 0, j = 0; i < n; ++i, ++j) a[i] = j;",), ""),
        (("for (int i = 0; j < n; ++i) a[i] = 1;",), "__device__ int j;\n"),
        (("int m = n;", "for (int i = 0; i < m; ++i) a[i] = 1;"), ""),
        (("int &r = n;", "r = 3;", FILL), ""),
        (("int *r = &n;", "*r = 3;", FILL), ""),
        (("auto f = [&] { n = 3; };", "f();", FILL), ""),
        (("change(n);", FILL), "__device__ void change(int &m) { m = 100; }\n"),
        (("change(1, n);", FILL), "__device__ void change(int, int &m) { m = 100; }\n"),
        (("CHANGE;", FILL), "#define CHANGE n = 100\n"),
        (("for (int i = 0; i < LIMIT; ++i) a[i] = 1;",), "#define LIMIT n\n"),
        ((FILL,), "#define n (m + 1)\n"),
        (("{ int n = 3; for (int i = 0; i < n; ++i) a[i] = 1; }",), ""),
        (("decltype(n) m = 3;", "m = 4;", FILL), ""),
        (("__shared__ int s[4];", FILL), ""),
        (("static int s;", FILL), ""),
        (("OWN int s;", FILL), "#define OWN __shared__\n"),
        (("OWN(s);", FILL), "#define OWN(x) __shared__ int x\n"),
        (("out[1] = __func__[0];", FILL), ""),
        (("goto end;", FILL, "end: out[1] = 3;"), ""),
        (('asm volatile("here: bra here;");', FILL), ""),
        ((FILL,), "__device__ void k_lmem() {}\n"),
        ((FILL,), "struct lmem_number {};\n"),
        ((FILL,), "int before; "),
        ((FILL,), "ATTRIBUTES\n"),
        ((FILL,), "BOUNDS(64)\n"),
        ((FILL, "out[2] = __builtin_constant_p(n);"), ""),
        ((FILL,), "template <int B>\n"),
    ],
)
def test_what_is_not_known_to_be_one_of_a_few_is_left(body: tuple[str, ...], before: str) -> None:
    assert most(kernel("int a[8];", *body, READ, before=before)) is None


def test_long_arrays_have_too_many_versions() -> None:
    text = kernel("int a[20];", FILL, READ)
    assert most(text, "int[20]") is None
    assert most(text.replace("a[20]", "a[19]"), "int[19]") == 19


def test_versions_are_not_much_code() -> None:
    assert most(kernel("int a[8];", FILL, "// " + "long" * 1000, READ)) == 8
    assert most(kernel("int a[8];", FILL, "// " + "long" * 2000, READ)) is None


@pytest.mark.parametrize(
    ("head", "given"),
    [
        (HEAD, "p, out"),
        (f'extern "C" {HEAD}', "p, out"),
        (HEAD.replace("void k", "void __launch_bounds__(64) k"), "p, out"),
        (HEAD.replace("int *p", "int *__restrict__ p").replace("*out", "*const out"), "p, out"),
        (HEAD.replace("int n", "const int n"), "p, out"),
        (HEAD.replace("int n", "unsigned int n, float f, long long m"), "p, out, f, m"),
        (HEAD.replace("int n", "int n, dim3 size"), None),
        (HEAD.replace("int n", "int n, Pair pair"), None),
        (HEAD.replace("int n", "long n"), None),
        (HEAD.replace("int n", "int n = 3"), None),
        (HEAD.replace("float *out", "float out[]"), None),
        (f"template <class T> {HEAD}", None),
    ],
)
def test_kernels_are_handed_on_what_they_get(head: str, given: str | None) -> None:
    text = kernel("int a[8];", FILL, READ).replace(HEAD, head)
    assert head in text
    made = proposed(text)
    if given is None:
        assert not made
        return
    after = patched(text.encode(), made[0].edits).decode()
    assert {one[1:] for one in _CASE.findall(after)} == {("k_lmem", given)}
    assert head.removesuffix(" {") in after


def test_no_template_is_put_where_none_can_be() -> None:
    text = kernel("int a[8];", FILL, READ)
    assert most(f"namespace {{\n{text}}}\n") == 8
    for before in ("// One of them.\n", "#define N 8\n", "struct A {};\n", "int f();\n// Two.\n"):
        assert most(before + text) == 8
    assert most(f'extern "C" {{\n{text}}}\n') is None


SUM = "float sum = 0; for (int i = 0; i < n; ++i) sum = sum * 3 + a[i]; out[1] = sum;"
DOWN = """\
__device__ void down(const int *c, int m, float &v) {
  for (int i = m - 1; i >= 0; --i) v = v * 2 + c[i];
}
"""
AGAIN = "for (int k = 0; k < 5; ++k) { for (int i = 0; i < n; ++i) a[i] += k; " + SUM + " }"


PROGRAMS = (
    ((FILL, SUM), ""),
    ((FILL, "for (int i = n - 1; i >= 0; --i) { if (a[i] & 1) break; out[i] = a[i]; }"), ""),
    ((FILL, "for (int i = 0; i < n; ++i) { if (a[i] & 1) continue; out[i] = a[i]; }"), ""),
    ((FILL, "for (int i = 0; i < n; i += 3) a[i] = 0;", SUM), ""),
    ((FILL, "for (int i = 0; i < n; ++i) { i += p[i] & 1; out[i] = a[i < n ? i : 0]; }"), ""),
    ((FILL, "int i;", "for (i = 0; i < n; ++i) if (a[i] > 200) break;", "out[9] = i;"), ""),
    ((FILL, "if (p[0] & 1) return;", SUM), ""),
    ((FILL, "for (int i = 0; i < n; ++i) { if (a[i] > 250) return; out[i] = 1; }"), ""),
    ((FILL, "float v = 0;", "down(a, n, v);", "out[0] = v;"), DOWN),
    ((FILL, "float v = 0;", "if (n > 1) down(a, n - 1, v);", "out[n] = v;"), DOWN),
    ((FILL, "if (n) out[0] = p[0] / n + (p[1] >> (n - 1)) + a[n - 1];", SUM), ""),
    (("for (int i = n; i > 0; --i) a[i] = p[i];", "out[2] = n ? a[n] : 5;"), ""),
    ((FILL, "for (int i = 1; i < n; ++i) { int v = a[i], j = i;"
      " while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; --j; } a[j] = v; }", SUM), ""),
    ((FILL, "for (int i = 0; i < n; ++i) for (int j = 0; j < i; ++j) a[i] ^= a[j];", SUM), ""),
    ((FILL, "unsigned u = n; while (u-- > 0) out[u] = a[u];"), ""),
    ((FILL, "int m = n;", "m -= 1;", "if (m >= 0) out[m] = a[m];", SUM), ""),
    ((FILL, "int q[2] = {n, n + 1};", "out[5] = q[p[0] & 1] + sizeof(n);", SUM), ""),
    ((FILL, "switch (n) { case 2: out[0] = a[1]; break; default: out[0] = n; }", SUM), ""),
    ((FILL, AGAIN), ""),
)  # fmt: skip


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a host compiler")
def test_the_program_is_the_same(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []
    # The case, the length, which of those printed are its, and whether it is a length at all.
    groups: list[tuple[str, int, slice, bool]] = []
    for body, before in PROGRAMS:
        text = kernel("int a[8];", *body, before=before)
        number = most(text)
        assert number is not None
        versions = [patched(text.encode(), one.edits).decode() for one in proposed(text)]
        assert versions
        for n in range(-1, number + 2):
            fits = 0 <= n <= number
            begun = len(asked)
            asked += [(one, n) for one in ([text] if fits else []) + versions]
            groups.append((text, n, slice(begun, len(asked)), fits))
    printed = outputs(tmp_path, asked, turns=40)
    for text, n, own, fits in groups:
        given = set(printed[own])
        assert len(given) == 1, (text, n)
        assert is_trap(given.pop()) != fits, (text, n)


@pytest.mark.parametrize(("largest", "together"), [(8, True), (6, False)])
def test_versions_go_together_by_what_they_are_and_not_by_what_they_say(
    largest: int, together: bool
) -> None:
    """Of a cooperative program every rewriting has a promise of its own."""
    text = kernel("float a[8], b[8], c[8];", FILL, "b[0] = c[n] = 1;")
    fits = "the grids still fit"

    def made(name: str, rewrite: str, at: int, number: int | None) -> Attempt:
        edit = Edit("/p/a.cu", at, at, b"x")
        version = ("k", "n", number) if number is not None else None
        says = f"n is from 0 to {number}; {fits}" if number is not None else fits
        one = Rewriting(rewrite, "unsafe", (edit,), "", says, version=version)
        of = target(text, name, "float[8]", line="float a[8], b[8], c[8]")
        return Attempt(of, one, ())

    every = (
        made("a", "dispatch", 1, 8),
        made("b", "dispatch", 5, largest),
        made("c", "unroll", 9, None),
    )
    found = [one.rewrite for _, one in joint(every)]
    assert ("dispatch+unroll" in found) == together


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) { if (i < 8) { a[i] = p[i]; continue; } s += p[i]; }",
        "for (int i = 0; i < n; ++i) { if (i >= 8) { s += p[i]; continue; } a[i] = p[i]; }",
        "for (int i = 0; i < n; ++i) { if (i == 8) break; a[i] = p[i]; }",
        "for (int i = 0; i < n; ++i) { if (i < 8) a[i] = p[i]; else s += p[i]; }",
        "for (int i = 0; i < n; ++i) s += i < 8 ? a[i] : p[i];",
        "for (int i = 0; i < n; ++i) s += i < 8 && a[i] > 0;",
        "for (int i = 0; i < n; ++i) switch (i >> 3) { case 0: a[i] = p[i]; }",
        "int k = 0; for (int i = 0; i < n; ++i) { if (k++ < 8) a[i] = p[i]; }",
        "int k = 0; for (int i = 0; i < n; ++i) { if (k == 8) return; ++k; a[i] = p[i]; }",
    ],
)
@pytest.mark.parametrize("rewrite", ["dispatch", "bounded-loop"])
def test_a_stream_whose_first_elements_are_kept_has_any_length(loop: str, rewrite: str) -> None:
    text = kernel("int a[8]; int s = 0;", loop, "out[0] = s + a[p[0] & 7];")
    made, _ = proposals(target(text, "a", "int[8]", location=SourceLocation("/p/a.cu", 1)))
    assert [one.caveat for one in made if one.rewrite == rewrite] == []


@pytest.mark.parametrize(
    ("bound", "given", "is_kept"),
    [
        ("n * 2", 4, True),
        ("n * 2", 5, False),
        ("2 * n + 1", 3, True),
        ("2 * n + 1", 4, False),
        ("(n - 1)", 9, True),
        ("(n - 1)", 10, False),
        ("n / 3", 26, True),
        ("n / 3", 27, False),
    ],
)
def test_a_promise_on_a_computed_bound_is_compared_with_launches(
    bound: str, given: int, is_kept: bool
) -> None:
    loop = f"for (int i = 0; i < {bound}; ++i) {{ if (p[i] < 7) a[i] = p[i]; }}"
    text = kernel("int a[8]; int s = 1;", loop, "out[0] = a[p[0] & 7];")
    text += f"void go() {{ k<<<1, 64>>>(p, out, {given}); }}\n"
    made, _ = proposals(target(text, "a", "int[8]", location=SourceLocation("/p/a.cu", 1)))
    assert any(one.rewrite == "bounded-loop" for one in made) is is_kept


@pytest.mark.parametrize(
    ("given", "dispatch", "bounded"),
    [
        ("4", True, True),
        ("8", True, True),
        ("9", False, False),
        ("MORE", False, False),
        ("m", True, True),
        # What a variable, a list, a counter and a caller give.
        ("few", True, True),
        ("many", False, False),
        ("many / 3", True, True),
        ("each", False, False),
        ("counter", False, False),
        ("handed", False, False),
        # What a function makes of its arguments is not known.
        ("least(many, 8)", True, True),
    ],
)
def test_no_promise_is_made_that_a_launch_in_sight_breaks(
    given: str, dispatch: bool, bounded: bool
) -> None:
    loop = "for (int i = 0; i < n; ++i) { if (p[i] < 7) a[i] = p[i]; }"
    text = kernel("int a[8];", loop, "out[0] = a[p[0] & 7];")
    text += f"""#define MORE 4 * 4
void go(int handed, int m, int few) {{
    int many = 5; many = 20; few = 6;
    for (int each : {{4, 17}})
        for (int counter = 0; counter < 12; ++counter) k<<<1, 32>>>(p, out, {given});
}}
void host(int m) {{ go(9, m, 8); }}
"""
    made, _ = proposals(target(text, "a", "int[8]", location=SourceLocation("/p/a.cu", 1)))
    found = {one.rewrite for one in made if one.applicability == "unsafe"}
    assert ("dispatch" in found, "bounded-loop" in found) == (dispatch, bounded)


def test_what_is_indexed_in_each_turn_bounds_it() -> None:
    loop = "for (int i = 0; i < n; ++i) { if (p[i] < 0) continue; a[i] = p[i]; }"
    text = kernel("int a[8]; int s = 0;", loop, "out[0] = s + a[p[0] & 7];")
    assert most(text) == 8

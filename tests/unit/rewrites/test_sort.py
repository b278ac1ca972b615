"""Insertion at constant indices: what is rewritten, what is not, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmemscope.rewrites.sort import REWRITE
from tests.support.local_arrays import declined, proposed
from tests.support.program import run_program

HEAD = "__global__ void k(const float *in, float *out, int n) {\n  float a[8];\n"
FILL = "  for (int j = 0; j < 8; ++j) a[j] = -1e30f;\n"
SUM = "  float s = 0;\n  for (int j = 0; j < 8; ++j) s += a[j] * j;\n  out[threadIdx.x] = s;\n}\n"


def kernel(*insertion: str, before: str = "", begin: str = "int j = 7;") -> str:
    lines = "".join(f"    {line}\n" for line in (begin, *insertion))
    stream = "  for (int k = 0; k < n; ++k) {\n    float v = in[k * 32 + threadIdx.x];\n"
    return f"{before}{HEAD}{FILL}{stream}{lines}  }}\n{SUM}"


WHILE = ("while (j > 0 && a[j - 1] < v) {", "  a[j] = a[j - 1];", "  --j;", "}", "a[j] = v;")


def test_each_place_compares_and_moves_or_inserts() -> None:
    ((made, text),) = proposed(REWRITE, kernel(*WHILE), "a", "float[8]")
    assert (made.applicability, made.caveat) == ("safe", None)
    block = text[text.index("    {\n") : text.index("  float s = 0;")]
    assert block == (
        "    {\n"
        "      const auto lmem_first = j;\n"
        "      bool lmem_open = false;\n"
        "      #pragma unroll\n"
        "      for (int lmem_i = 7; lmem_i >= 1; --lmem_i) {\n"
        "        lmem_open = lmem_open || lmem_i == lmem_first;\n"
        "        const bool lmem_on = lmem_open && (lmem_i > 0 && a[lmem_i - 1] < v);\n"
        "        if (lmem_open) {\n"
        "          if (lmem_on) {\n"
        "            a[lmem_i] = a[lmem_i - 1];\n"
        "            --j;\n"
        "          } else {\n"
        "            a[lmem_i] = v;\n"
        "          }\n"
        "        }\n"
        "        lmem_open = lmem_on;\n"
        "      }\n"
        "      if (lmem_open || lmem_first == 0) {\n"
        "        a[0] = v;\n"
        "      }\n"
        "    }\n"
        "  }\n"
    )
    assert text.count("#pragma unroll") == 3


def test_a_loop_that_a_macro_may_repeat_is_left() -> None:
    (line, *rest) = WHILE
    before = "#define EACH(i, n) for (int i = 0; i < n; ++i)\n"
    assert "stands in a macro" in declined(
        REWRITE, kernel(f"EACH(i, 2) {line}", *rest, before=before), "a", "float[8]"
    )
    for one in ("#pragma unroll", '_Pragma("unroll")', "/* up */"):
        assert proposed(REWRITE, kernel(f"{one}\n    {line}", *rest), "a", "float[8]")


SPELLINGS = {
    "plus one": (
        "int j = 6;",
        ("while (j >= 0 && a[j] < v) { a[j + 1] = a[j]; j = j - 1; }", "a[j + 1] = v;"),
    ),
    "a comma": ("int j = 7;", ("while (j > 0 && a[j - 1] < v) a[j] = a[j - 1], j--;", "a[j] = v;")),
    "for": ("int j;", ("for (j = 7; j > 0 && v > a[j - 1]; j--) a[j] = a[j - 1];", "a[j] = v;")),
    "a break": (
        "int j;",
        ("for (j = 7; j > 0; --j) { if (a[j - 1] >= v) break;", "a[j] = a[j - 1]; }", "a[j] = v;"),
    ),
    "swapped": (
        "a[7] = v;",
        (
            "for (int m = 7; m > 0 && a[m] > a[m - 1]; m--) {",
            "float t = a[m]; a[m] = a[m - 1]; a[m - 1] = t; }",
        ),
    ),
    "begun anywhere": ("unsigned j = n & 7;", WHILE),
    "found first": (
        "int p = 0;",
        ("while (p < 8 && a[p] >= v) ++p;", "for (int i = 7; i > p; --i) a[i] = a[i - 1];"),
    ),
    "upwards": (
        "int j = 1;",
        ("while (j < 8 && v > a[j]) { a[j - 1] = a[j]; j++; }", "a[j - 1] = v;"),
    ),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_has_constant_indices(spelling: str) -> None:
    begin, lines = SPELLINGS[spelling]
    (_, text), *_ = proposed(REWRITE, kernel(*lines, begin=begin), "a", "float[8]")
    loop = text[text.index("lmem_open = false") :].partition("  float s = 0;")[0]
    assert "a[lmem_i" in loop
    for index in ("a[j", "a[i", "a[m"):
        assert index not in loop


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; --j; if (n) --j; }", "another way"),
        ("while (j > 0 && a[j - 1] < next(j)) { a[j] = a[j - 1]; --j; }", "another way"),
        ("while (j > 0 && a[j - 1] < (v += 1)) { a[j] = a[j - 1]; --j; }", "an effect"),
        ("while (j > 0 && a[j - 1] < v) { if (j < n) a[j] = a[j - 1]; --j; }", "not every step"),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; a[2 * j] = v; --j; }", "fixed number"),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; STEP; --j; }", "macro"),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; LEAVE; --j; }", "macro"),
        ("while (j > 0 && a[j - 1] < lmem_i) { a[j] = a[j - 1]; --j; }", "taken"),
    ],
)
def test_what_may_mean_something_else_is_declined(line: str, reason: str) -> None:
    before = "#define STEP --q\n#define LEAVE if (n) break\n"
    text = kernel(line, "a[j] = v;", before=before)
    found = declined(REWRITE, text, "a", "float[8]")
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    "begin",
    [
        "volatile int j = 7;",
        "int &j = n;",
        "int j = 7; int *p = &j;",
        "int j = 7; int &r = j;",
        "int j = 7; auto f = [&] { return j; };",
        "float j = 7;",
        "index j = 7;",
        "MACRO(j);",
        "int *q, j[1];",
    ],
)
def test_an_index_that_others_may_change_is_declined(begin: str) -> None:
    found = declined(REWRITE, kernel(*WHILE, begin=begin), "a", "float[8]")
    assert found is not None
    assert "number" in found


@pytest.mark.parametrize(
    "lines",
    [
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; --j; if (v > 3) continue; }",),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; --j; if (v > 3) goto out; }",),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; --j; if (v > 3) return; }",),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; j -= 2; }",),
        ("while (j-- > 0 && a[j] < v) { a[j + 1] = a[j]; }",),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j - 1]; while (n) --j; }",),
        ("do { a[j] = a[j - 1]; --j; } while (j > 0 && a[j - 1] < v);",),
        ("while (j > 0 && a[j - 1] < v) { a[j] = a[j--]; }",),
        ("for (int i = 0; i < 7; ++i) a[i] = a[i + 1];",),
    ],
)
def test_other_loops_are_left_alone(lines: tuple[str, ...]) -> None:
    assert declined(REWRITE, kernel(*lines, "a[j] = v;"), "a", "float[8]") == ""


@pytest.mark.parametrize(
    "question", ["__shfl_sync(~0u, v, 0) > 0", "unseen(v)", "asks(v)", "__any_sync(~0u, v > 0)"]
)
def test_what_may_do_more_than_compute_is_asked_as_often_as_before(question: str) -> None:
    line = f"while (j > 0 && a[j - 1] < v && {question}) {{ a[j] = a[j - 1]; --j; }}"
    before = "__device__ bool asks(float v) { __syncwarp(); return v > 0; }\n"
    text = kernel(line, "a[j] = v;", before=before)
    assert "more than compute" in (declined(REWRITE, text, "a", "float[8]") or "")
    plain = text.replace(question, "fabsf(v) > 3")
    assert declined(REWRITE, plain, "a", "float[8]") is None


def test_a_macro_that_moves_elements_hides_them() -> None:
    text = kernel(*WHILE, before="#define DOWN a[j] = a[j - 1]\n")
    assert declined(REWRITE, text, "a", "float[8]") == "a macro uses it"
    assert "too many" in (declined(REWRITE, kernel(*WHILE), "a", "float[80]") or "")


def test_another_array_of_the_name_is_no_payload() -> None:
    body = (*WHILE[:2], "  b[j] = b[j - 1];", "  --j;", "}", "a[j] = v;", "b[j] = k;")
    shared = kernel(*body, before="__device__ int b[8];\n")
    (_, text), *_ = proposed(REWRITE, shared, "a", "float[8]")
    assert "b[j] = b[j - 1];" in text  # Only local arrays are to be registers.
    local = kernel(*body).replace("float a[8];", "float a[8]; int b[8];")
    for name, kind in (("a", "float[8]"), ("b", "int[8]")):
        (_, text), *_ = proposed(REWRITE, local, name, kind)
        assert "b[lmem_i] = b[lmem_i - 1];" in text
    larger = kernel(*body).replace("float a[8];", "float a[8]; int b[9];")
    (_, text), *_ = proposed(REWRITE, larger, "a", "float[8]")
    assert "b[j] = b[j - 1];" in text


def test_a_template_keeps_its_extent() -> None:
    text = kernel(*WHILE, begin="int j = N - 1;").replace("a[8]", "a[N]")
    (_, made), *_ = proposed(REWRITE, "template <int N>\n" + text, "a", "float[8]")
    assert "for (int lmem_i = int(N) - 1; lmem_i >= 1; --lmem_i) {" in made


@pytest.mark.toolchain
@pytest.mark.parametrize("spelling", ["a break", "plus one", "begun anywhere"])
def test_it_leaves_local_memory(tmp_path: Path, spelling: str) -> None:
    begin, lines = SPELLINGS[spelling]
    (tmp_path / "a.cu").write_text(kernel(*lines, begin=begin))
    done = run_program("fix", "a.cu", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)["candidates"]
    for one in found:
        if one["rewrite"] == "sort":
            assert one["verdict"] == "removed"
            assert one["after"]["stack_frame"] == 0
    (best,) = (one for one in found if one["rank"] == 1)
    assert (best["rewrite"].partition("+")[0], best["applicability"]) == ("sort", "safe")

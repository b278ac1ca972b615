"""Rings that move instead of their heads: what is rewritten, what is not, and what comes of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lmemscope.rewrites.shift import REWRITE
from tests.support.local_arrays import declined, proposed
from tests.support.program import ROOT, run_program

HEAD = "__global__ void k(const float *in, float *out, int n) {\n"
HEADED = "  float w[8] = {};\n  int h = 0;\n"
STEP = "    h = (h + 1) % 8;\n"


def kernel(*body: str, first: str = HEADED, last: str = STEP, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body)
    return f"{before}{HEAD}{first}  for (int k = 0; k < n; ++k) {{\n{lines}{last}  }}\n}}\n"


def moved(text: str, kind: str = "float[8]") -> str:
    """The kernel after the only proposal, which is safe."""
    ((made, after),) = proposed(REWRITE, text, "w", kind)
    assert (made.applicability, made.caveat) == ("safe", None)
    return after[after.index("__global__ void k") :]


def test_every_index_is_what_it_is_with_a_head_of_0() -> None:
    text = kernel(
        "w[h] = in[k];",
        "float s = w[(h + 3) % 8] - w[(h + 8 - 1) % 8];",
        "for (int j = 0; j < 8; ++j) s += w[(h + j) % 8] * j + w[(h + 1 + j) % 8];",
        "out[k] = s;",
    )
    assert moved(text) == kernel(
        "w[0] = in[k];",
        "float s = w[3] - w[7];",
        "#pragma unroll",
        "for (int j = 0; j < 8; ++j) s += w[(0 + j) % 8] * j + w[(0 + 1 + j) % 8];",
        "out[k] = s;",
        last=STEP[:-1] + "\n    lmem_shift(w);\n",
    )


def test_a_counter_that_goes_on_wraps_in_its_indices() -> None:
    text = kernel("w[k % 8] = in[k];", "out[k] = w[(k - 3) & 7];", first="  float w[8];\n", last="")
    assert moved(text) == kernel(
        "w[0] = in[k];", "out[k] = w[5];", first="  float w[8] = {};\n", last=""
    ).replace("++k)", "++k, lmem_shift(w))")


STEPS = {
    "if (++h == 8) h = 0;": "lmem_shift(w)",
    "h++; if (h >= 8) h -= 8;": "lmem_shift(w)",
    "h = h == 7 ? 0 : h + 1;": "lmem_shift(w)",
    "h = (h + 1) & 7;": "lmem_shift(w)",
    "h += 1;": None,  # `w[h]` leaves the array.
    "if (--h < 0) h = 7;": None,
    "h = (h + 2) % 8;": None,
    "h = (h + 1) % 7;": None,
    "if (++h == 7) h = 0;": None,
    "if (++h > 8) h = 0;": None,
    "h = (h + 1) % n;": None,
    "h = k % 8;": None,
    "++h; out[0] = h; if (h == 8) h = 0;": None,
    "step(h);": None,
    "step(&h);": None,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_head_steps_round_the_array_by_one(step: str) -> None:
    text = kernel("w[h] = in[k];", "out[k] = w[(h + 3) % 8];", last=f"    {step}\n")
    call = STEPS[step]
    if call is None:
        assert declined(REWRITE, text, "w", "float[8]") is not None
    else:
        assert moved(text).count(call) == 1


@pytest.mark.parametrize(
    "line",
    [
        "out[k] = w[k & 3];",  # Not by the head.
        "out[k] = w[7 - h];",
        "out[k] = w[(2 * h) % 8];",
        "out[k] = w[(h + n) % 8];",
        "out[k] = w[(h + 1) % 7];",
        "out[k] = w[3];",
        "out[k] = w[h < 4 ? h : 0];",
        "float *p = &w[h]; out[k] = *p;",
        "float &r = w[h]; out[k] = r;",
        "out[k] = sum(w);",
        "out[k] = *w;",
        "out[k] = [&] { return w[h]; }();",
        "for (int j = 0; j < 8; ++j) w[j] = in[j];",
        "for (int j = 0; j < 7; ++j) w[j] = 0;",
        "for (int j = 0; j < 8; ++j) { if (j == n) break; w[j] = 0; }",
        "for (int j = 0; j < 8; ++j) out[j] = w[j];",
        "float m = 0; for (int j = 0; j < 8; ++j) m = m < w[j] ? w[j] : m;",
        "int i = h; w[i] = 1; i = 3; out[k] = w[i];",
        "int i = h; h = (h + 1) % 8; out[k] = w[i];",
        "READ(out[k]);",
        "h = 0;",
        'asm volatile("" : "+f"(w[h]));',
    ],
)
def test_what_needs_an_elements_place_is_declined(line: str) -> None:
    text = kernel("w[h] = in[k];", line, before="#define READ(x) x = w[3]\n" * ("READ" in line))
    assert declined(REWRITE, text, "w", "float[8]") is not None


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ("  float w[8] = {1, 2};\n  int h = 3;\n", "float[8]"),
        ("  float w[8];\n  w[2] = in[0];\n  int h = 3;\n", "float[8]"),
        ("  float w[8] = {};\n  int h;\n", "float[8]"),
        ("  float w[8] = {};\n  int h = n;\n", "float[8]"),
        ("  float w[8] = {};\n  int h = 8;\n", "float[8]"),
        ("  float w[8] = {};\n  volatile int h = 0;\n", "float[8]"),
        ("  float w[8] = {};\n  int h = 0, &r = h;\n", "float[8]"),
        ("  volatile float w[8] = {};\n  int h = 0;\n", "float[8]"),
        ("  number w[8] = {};\n  int h = 0;\n", "number[8]"),
        ("  float w[9] = {};\n  int h = 0;\n", "float[9]"),
        ("  float w[200] = {};\n  int h = 0;\n", "float[200]"),
        ("  float w[8][2] = {};\n  int h = 0;\n", "float[8][2]"),
        ("  float w[8] = {};\n  int h = 0;\nagain:\n  if (n < 0) goto again;\n", "float[8]"),
    ],
)
def test_rings_that_do_not_begin_alike_are_declined(first: str, kind: str) -> None:
    text = kernel("w[h] = in[k];", "out[k] = w[(h + 3) % 8];", first=first)
    assert declined(REWRITE, text, "w", kind) is not None


@pytest.mark.parametrize(
    "line",
    ["x[h++] = in[k];", "step(h);", "unseen(h);", "STEP;", "out[k] = w[(i + 1) % 8];"],
)
def test_a_head_that_something_else_steps_is_declined(line: str) -> None:
    before = "__device__ void step(int &h) { ++h; }\n#define STEP ++h\n"
    first = HEADED + "  float x[9];\n  int i = h;\n"
    before = before if "STEP" in line else before.partition("#")[0]
    text = kernel("w[h] = in[k];", line, first=first, before=before)
    assert declined(REWRITE, text, "w", "float[8]") is not None


def test_a_function_may_know_the_head_and_an_element() -> None:
    before = "__device__ int twice(int h) { return 2 * h; }\n"
    text = kernel("w[h] = in[k];", "out[k] = twice(h) + fabsf(w[(h + 1) % 8]);", before=before)
    assert "out[k] = twice(h) + fabsf(w[1]);" in moved(text)


def test_a_head_that_begins_anew_is_declined() -> None:
    inner = kernel("w[h] = in[k];", "out[k] = w[(h + 3) % 8];", first="  int h = 0;\n")
    loop = (
        inner.replace(HEAD, HEAD + "  float w[8] = {};\n  for (int q = 0; q < 3; ++q) {\n") + "}\n"
    )
    assert declined(REWRITE, loop, "w", "float[8]") is not None
    counted = kernel("w[k % 8] = in[k];", "out[k] = w[(k + 3) % 8];", first="", last="")
    loop = counted.replace(HEAD, HEAD + "  float w[8] = {};\n  while (n--) {\n") + "}\n"
    assert declined(REWRITE, loop, "w", "float[8]") is not None


def test_an_unsigned_counter_may_come_round_its_type() -> None:
    text = kernel("w[k % 8] = in[k];", "out[k] = w[(k + 3) % 8];", first="  float w[8];\n", last="")
    text = text.replace("int k", "unsigned k")
    assert "w[3]" in moved(text)
    seven = text.replace("% 8", "% 7").replace("w[8]", "w[7]")
    assert "end of its type" in (declined(REWRITE, seven, "w", "float[7]") or "")


def test_a_templates_size_is_that_of_each_instance() -> None:
    text = kernel(
        "w[k % N] = in[k];", "out[k] = w[(k + N - 1) % N];", first="  float w[N];\n", last=""
    )
    made = moved("template <int N>\n" + text)
    assert "out[k] = w[(0 + N - 1) % N];" in made
    masked = text.replace("% N", "& (N - 1)")
    assert declined(REWRITE, "template <int N>\n" + masked, "w", "float[8]")
    eight = text.replace("% N", "% 8")
    assert declined(REWRITE, "template <int N>\n" + eight, "w", "float[8]")
    odd = text.replace("w[N]", "w[2 * N]")
    assert declined(REWRITE, "template <int N>\n" + odd, "w", "float[8]") is not None


@pytest.mark.toolchain
def test_the_shipped_ring_leaves_local_memory(tmp_path: Path) -> None:
    shutil.copy(ROOT / "kernels" / "running_mean.cu", tmp_path)
    given = ("fix", "running_mean.cu::*ring*", "--format", "json")
    done = run_program(*given, cwd=tmp_path)
    assert done.code == 0, done.err
    found = {one["rewrite"]: one for one in json.loads(done.out)["candidates"]}
    assert found["shift"]["verdict"] == "removed"
    assert found["shift"]["after"]["stack_frame"] == 0
    assert found["shift"]["rank"] == 1


@pytest.mark.toolchain
def test_two_rings_of_one_head_both_move(tmp_path: Path) -> None:
    text = kernel(
        "w[h] = in[k]; x[h] = w[(h + 1) % 8];",
        "out[k * 32 + threadIdx.x] = w[(h + 2) % 8] + x[(h + 5) % 8];",
        first="  float w[8] = {}, x[8] = {};\n  int h = 0;\n",
    )
    (tmp_path / "a.cu").write_text(text)
    assert run_program("fix", "a.cu", "--apply", cwd=tmp_path).code == 0
    written = (tmp_path / "a.cu").read_text()
    assert written.count("void lmem_shift(") == 1
    assert "lmem_shift(w);" in written
    assert "lmem_shift(x);" in written
    scanned = run_program("scan", "a.cu", "--format", "json", cwd=tmp_path)
    assert [one["stack_frame"] for one in scanned.document["units"][0]["kernels"]] == [0]

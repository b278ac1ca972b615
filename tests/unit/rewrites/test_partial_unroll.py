"""What is unrolled beside a rewrite that removes an object."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from lmemscope.model import Edit, InlineFrame
from lmemscope.rewrites import additions
from lmemscope.sources.edits import patched
from tests.support.builders import access
from tests.support.program import run_program
from tests.support.rewriting import target

PRAGMA = "#pragma unroll 4\n"


def beside(text: str, line: str, *callers: str, edits: tuple[Edit, ...] = ()) -> str | None:
    """The text with what is added for an access on the line with a text; None where nothing is."""
    text = textwrap.dedent(text)

    def at(part: str) -> InlineFrame:
        found = next(n for n, one in enumerate(text.splitlines(), 1) if part in one)
        return InlineFrame("/p/a.cu", found, None)

    own = access(chain=tuple(at(part) for part in (line, *callers)))
    found = additions(target(text, "a", "float[8]", accesses=(own,)), edits)
    if not found:
        return None
    (one,) = found
    assert (one.rewrite, one.applicability) == ("partial-unroll", "safe")
    return patched(text.encode(), list(one.edits)).decode()


NESTED = """\
    __global__ void k(const int *p, float *out, int n) {
      float a[8];
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          for (int c = 0; c < 8; ++c) {
            a[p[c] & 7] += i;
          }
        }
      out[0] = a[n];
    }
    """


def test_it_is_the_innermost_loop_of_an_unknown_number_of_turns() -> None:
    text = textwrap.dedent(NESTED)
    inner = "    for (int i = 0; i < n; ++i) {\n"
    assert beside(NESTED, "a[p[c]") == text.replace(inner, f"    {PRAGMA}{inner}")


def test_what_is_in_no_loop_has_none() -> None:
    assert beside(NESTED, "out[0]") is None


def test_a_loop_that_says_how_often_is_left() -> None:
    inner = "        for (int i"
    assert inner in NESTED
    assert beside(NESTED.replace(inner, f"#pragma unroll 2\n{inner}"), "a[p[c]") is None


@pytest.mark.parametrize(
    ("kind", "is_safe"),
    [
        ("signed char", False),
        ("short", False),
        ("int8_t", False),
        ("unsigned char", True),
        ("int", True),
    ],
)
def test_a_loop_that_steps_a_narrow_signed_number_is_unsafe(kind: str, is_safe: bool) -> None:
    counting = NESTED.replace("float a[8];", f"float a[8]; {kind} phase = 0;")
    counting = textwrap.dedent(counting.replace("+= i;", "+= i; ++phase;"))
    line = 1 + counting[: counting.index("a[p[c]")].count("\n")
    own = access(chain=(InlineFrame("/p/a.cu", line, None),))
    (one,) = additions(target(counting, "a", "float[8]", accesses=(own,)), ())
    assert (one.applicability == "safe") == is_safe


def test_a_loop_that_the_rewrite_changes_is_left() -> None:
    text = textwrap.dedent(NESTED)
    head = text.index("for (int i")
    changed = (Edit("/p/a.cu", head, head + 3, b"for"),)
    assert beside(NESTED, "a[p[c]", edits=changed) is None
    body = text.index("a[p[c]")
    assert beside(NESTED, "a[p[c]", edits=(Edit("/p/a.cu", body, body + 1, b"b"),)) is not None


def test_a_function_s_accesses_are_in_its_caller_s_loop() -> None:
    text = """\
    __device__ float at(const float *v, int i) { return v[i & 7]; }
    __global__ void k(const int *p, float *out, int n) {
      float a[8];
      for (int i = 0; i < n; ++i) {
        out[i] = at(a, p[i]);
      }
    }
    """
    loop = "  for (int i"
    expected = textwrap.dedent(text).replace(loop, f"  {PRAGMA}{loop}")
    assert beside(text, "v[i & 7]", "at(a, p") == expected


STATES = """\
__global__ void __launch_bounds__(256) k(const int *in, int *out, int n) {
  int t = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  unsigned char back[64][4];
  int state = in[t];
  for (int k = 0; k < n; ++k) {
    int seen = in[k * stride + t];
    for (int s = 0; s < 4; ++s) back[k][s] = (seen >> (3 * s)) & 3;
  }
  for (int k = n - 1; k >= 0; --k) {
    out[k * stride + t] = state;
    state = back[k][state & 3];
  }
}
"""


@pytest.mark.toolchain
def test_the_best_are_tried_with_it(tmp_path: Path) -> None:
    (tmp_path / "states.cu").write_text(STATES)
    asked = ("fix", "states.cu", "--arch", "sm_90", "--unsafe", "--format", "json")
    done = run_program(*asked, cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)["candidates"]
    best = {one["rewrite"] for one in found if one["rank"] in (1, 2)}
    added = [one for one in found if one["rewrite"].endswith("+partial-unroll")]
    assert added
    for one in added:
        assert one["verdict"] == "removed"
        assert one["patch"].count(f"+  {PRAGMA.strip()}") == 2
    assert best & {one["rewrite"].removesuffix("+partial-unroll") for one in added}
    # By itself it removes nothing, and is not tried.
    assert "partial-unroll" not in {one["rewrite"] for one in found}

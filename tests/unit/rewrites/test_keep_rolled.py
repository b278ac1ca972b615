"""Loops that are kept from being unrolled, for the registers that their turns take together."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from lmemscope.app.session import Session
from lmemscope.config.settings import from_flags
from lmemscope.fixing.run import Asked, fix
from lmemscope.model import InlineFrame
from lmemscope.rewrites import keep_rolled
from lmemscope.rewrites.base import DeclinedError
from lmemscope.running.pool import WorkerPool
from lmemscope.sources.edits import patched
from tests.support.builders import access
from tests.support.rewriting import target


def proposed(text: str, *lines: str) -> list[str]:
    """The text with each proposal, for spills on the lines with some texts."""
    text = textwrap.dedent(text)
    numbers = [
        next(n for n, one in enumerate(text.splitlines(), 1) if part in one) for part in lines
    ]
    own = tuple(access(chain=(InlineFrame("/p/a.cu", number, None),)) for number in numbers)
    spilling = target(text, "a", "float[8]", cause="register-spill", accesses=own)
    made = list(keep_rolled.propose(spilling))
    assert all((one.rewrite, one.applicability) == ("keep-rolled", "safe") for one in made)
    return [patched(text.encode(), list(one.edits)).decode() for one in made]


NESTED = """\
    __global__ void k(const int *p, float *out, int n) {
      float a[8];
      for (int j = 0; j < n; ++j) {
        #pragma unroll
        for (int i = 0; i < 8; ++i)
          out[i] = p[i + j];
        #pragma unroll 1
        for (int i = 0; i < 8; ++i)
          out[i] *= 2;
      }
      out[0] = a[n];
    }
    """


def test_the_innermost_loops_come_first_and_a_pragma_gives_way() -> None:
    text = textwrap.dedent(NESTED)
    inner = text.replace("#pragma unroll\n", "#pragma unroll 1\n")
    outer = ("  for (int j", "  #pragma unroll 1\n  for (int j")
    assert proposed(NESTED, "p[i + j]") == [inner, text.replace(*outer), inner.replace(*outer)]


def test_a_loop_that_is_kept_already_is_left_and_the_one_around_it_is_tried() -> None:
    text = textwrap.dedent(NESTED)
    assert proposed(NESTED, "*= 2") == [
        text.replace("  for (int j", "  #pragma unroll 1\n  for (int j")
    ]


def test_what_is_spilled_in_no_loop_has_no_proposal() -> None:
    assert proposed(NESTED, "out[0]") == []


@pytest.mark.parametrize(
    ("pragma", "behind"),
    [
        ("#pragma unroll (N / 2)", "#pragma unroll 1"),
        ("#pragma unroll 1 * 8", "#pragma unroll 1"),
        ("#pragma unroll (1 + 7)", "#pragma unroll 1"),
        ("#pragma unroll 4 // of a line", "#pragma unroll 1 // of a line"),
        ("#pragma unroll 1", None),
        ("#pragma unroll(1)", None),
        ("#pragma nounroll", None),
        ("#pragma unroll \\\n8", None),
        ("#ifdef __CUDA_ARCH__\n#pragma unroll 1\n#endif", None),
        (
            "#ifdef __CUDACC__\n#pragma unroll 8\n#endif",
            "#ifdef __CUDACC__\n#pragma unroll 1\n#endif",
        ),
        # Which of these is compiled is not decided here.
        ("#if FAST\n#pragma unroll 8\n#endif", None),
        ("#ifdef __CUDACC__\n#pragma unroll 8\n#else\n#pragma unroll 4\n#endif", None),
        ("#if 0\n#else\n#pragma nounroll\n#endif", None),
    ],
)
def test_a_pragma_is_read_to_its_end(pragma: str, behind: str | None) -> None:
    text = (
        "__global__ void k(float *o, int n) {\n  float a[8];\n"
        f"{pragma}\n"
        "  for (int i = 0; i < n; ++i) o[i] = 1;\n}\n"
    )
    if behind is None:
        with pytest.raises(DeclinedError, match="kept rolled already"):
            proposed(text, "o[i]")
    else:
        assert proposed(text, "o[i]") == [text.replace(pragma, behind)]


def test_a_program_that_asks_for_constants_is_left() -> None:
    text = NESTED.replace("p[i + j]", "p[i + j] + __builtin_constant_p(i)")
    with pytest.raises(DeclinedError, match="asks what is a constant"):
        proposed(text, "p[i + j]")


def test_each_loop_is_tried_by_itself() -> None:
    """Two loops beside each other: one writes what the other accumulates."""
    text = textwrap.dedent("""\
        __global__ void k(float *o, int n) {
          float a[8];
          for (int i = 0; i < 8; ++i) a[i] = n;
          for (int j = 0; j < 8; ++j) o[j] = a[j];
        }
        """)
    first, second = "  for (int i", "  for (int j"
    rolled = "  #pragma unroll 1\n"
    assert proposed(text, "a[i]", "a[j]") == [
        text.replace(first, rolled + first).replace(second, rolled + second),
        text.replace(first, rolled + first),
        text.replace(second, rolled + second),
    ]


SPILLING = """\
__global__ void __launch_bounds__(1024, 2) sums(const float *x, float *o, float a, float b, int n) {
  float s = 0, g = x[threadIdx.x];
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < 48; ++k) s += x[i * 1024 + k] * expf(a * k + b * g);
    o[i * 1024 + threadIdx.x] = s;
  }
}
"""
"""The exponentials of all 48 turns are computed once, in front of the loop over i."""


@pytest.mark.toolchain
def test_a_kernel_that_spills_for_its_turns_spills_nothing_with_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmemscope.rewrites.REWRITES", (keep_rolled.REWRITE,))
    path = tmp_path / "a.cu"
    path.write_text(SPILLING)
    with WorkerPool(1) as pool:
        _, outcome = fix(
            [str(path)], Session(from_flags({"arch": ("sm_90",)}).settings, pool), Asked()
        )
    assert not outcome.failures
    inner = next(one for one in outcome.trials if "-#pragma unroll\n" in (one.patch or ""))
    assert inner.verdict == "removed"
    assert inner.before.spill_stores
    assert inner.after is not None
    assert inner.after.spill_stores in (0, None)
    outer = next(one for one in outcome.trials if "-#pragma unroll\n" not in (one.patch or ""))
    assert outer.verdict == "no-effect", "its turns are not those that the values are of"

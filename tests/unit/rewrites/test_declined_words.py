"""What is said of a rewrite that proposes nothing: the true reason, and its line."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.fixing.rank import ranked
from lmemscope.model import Edit, Figures, Rewriting, Trial
from lmemscope.rewrites import proposals
from tests.support.rewriting import kernel, target


def reasons(*body: str, type_: str = "int[8]") -> dict[str, str]:
    """By rewrite, why none is proposed for an array of a kernel."""
    text = kernel(*body)
    _, declined = proposals(target(text, "a", type_))
    return {name: one.reason for one in declined for name in one.rewrites}


@pytest.mark.parametrize("cast", ["reinterpret_cast", "const_cast", "static_cast"])
def test_a_cast_is_no_function(cast: str) -> None:
    said = reasons("int a[8];", f"int *q = {cast}<int *>(a);", "out[0] = q[n] + a[n];")
    assert not any(cast in one for one in said.values()), said
    assert "line 3" in said["select"]


def test_other_declarators_are_the_reason() -> None:
    said = reasons("for (int i = 0, a[8] = {1}; i < n; ++i) out[i] = a[p[i]];")
    assert "line 2 declares other variables" in said["select"]


def test_what_is_never_stepped_is_no_reason() -> None:
    said = reasons("int a[8];", "a[n & 7] = 1;", "out[0] = a[p[0] & 7];")
    assert "stepped" not in said["shift"]


def test_a_jump_has_its_line() -> None:
    body = ("int a[8], i = 0;", "again: a[i] = n;", "i = (i + 1) % 8;", "if (i < n) goto again;")
    assert "line 3" in reasons(*body, "out[0] = a[i];")["shift"]


def test_equal_rows_without_an_effect_are_shown_once() -> None:
    def trial(verdict: str, text: bytes, registers: int = 20) -> Trial:
        edits = (Edit("/p/a.cu", 0, 0, text),)
        figures = Figures(registers, 32, 0, 0, 0, 4, 4, 128, 1.0)
        return Trial(
            input="a.cu",
            arch="sm_90",
            kernel="k",
            object="a",
            fingerprint="0",
            cause="dynamic-index",
            place=None,
            rewriting=Rewriting("unroll", "safe", edits, text.decode()),
            verdict=verdict,  # type: ignore[arg-type]
            rank=None,
            before=figures,
            after=replace(figures),
            cost_before=10.0,
            cost_after=10.0,
            patch=None,
        )

    more, less = trial("no-effect", b"two loops"), trial("no-effect", b"one loop")
    other = trial("no-effect", b"three loops", registers=30)
    shown = [one.rewriting.summary for one in ranked([more, less, other])]
    assert shown == ["one loop", "three loops"]
    both = [trial("removed", b"long form"), trial("removed", b"short")]
    assert [one.rewriting.summary for one in ranked(both)] == ["short", "long form"]


def tried(kernel: str, text: bytes = b"edit", **changes: object) -> Trial:
    """A trial of one rewrite that removes an array, in one of several kernels."""
    figures = Figures(20, 32, 0, 0, 0, 4, 4, 128, 1.0)
    one = Trial(
        input=f"{kernel}.cu",
        arch="sm_90",
        kernel=f"{kernel}(int*)",
        object="a",
        fingerprint=kernel,
        cause="dynamic-index",
        place=None,
        rewriting=Rewriting("unroll", "safe", (Edit("/p/a.cuh", 0, 0, text),), "unroll"),
        verdict="removed",
        rank=None,
        before=figures,
        after=replace(figures, stack_frame=0),
        cost_before=10.0,
        cost_after=5.0,
        patch=None,
        error=None,
    )
    return replace(one, **changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cost_after": 20.0}, "kb (kb.cu, sm_90) is modelled to be slower with it (× 0.5)"),
        (
            {"verdict": "worse", "error": "kb spills more"},
            "in kb (kb.cu, sm_90): kb spills more",
        ),
    ],
)
def test_the_kernel_that_a_rewrite_harms_is_named_with_its_figure(
    changes: dict[str, object], said: str
) -> None:
    found = ranked([tried("ka"), tried("kb", **changes)])
    first = next(one for one in found if one.input == "ka.cu")
    assert (first.rank, first.error) == (None, said)

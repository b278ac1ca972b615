"""One array of a template is told once, whatever its instances and architectures."""

from __future__ import annotations

from typing import Any

from lmemscope.exporters.alike import alike
from lmemscope.exporters.github import render_annotations
from lmemscope.model import GateFailure, GateResult, SourceLocation
from tests.support.builders import changed, gate_as, judged

PLACE = SourceLocation("a.cu", 7)


def failed(kernel: str, bytes_: int = 128, **changes: Any) -> GateFailure:
    (one,) = judged(kernel, "dynamic-index", bytes_=bytes_, object_="recent").findings
    said = f"dynamic-index `recent`, {bytes_} bytes"
    failure = GateFailure("new", "a.cu", "sm_90", kernel, kernel, "none", said, one, PLACE, "nvcc")
    made: GateFailure = changed(failure, **changes)
    return made


def test_instances_of_a_template_are_told_once_and_the_largest_first() -> None:
    one = failed("k<1>", 64)
    large = failed("k<4>", 256)
    elsewhere = failed("k<1>", 64, arch="sm_120")
    other = failed("k<1>", location=SourceLocation("a.cu", 9))
    limit = failed("k<2>", kind="limit")
    assert alike((one, large, other, elsewhere, limit)) == [
        [large, one, elsewhere], [other], [limit]
    ]  # fmt: skip


def shown(*failures: GateFailure) -> list[str]:
    result = GateResult("failed", False, failures, (), (), (), (), (), ())
    lines: list[str] = gate_as("text", result).splitlines()
    return lines


def test_what_is_told_once_names_the_others() -> None:
    failures = (failed("k<1>"), failed("k<2>"), failed("k<1>", arch="sm_120"))
    lines = shown(*failures)
    heads = [one for one in lines if one.startswith("new: ")]
    # A kernel counts once for all architectures.
    assert heads == [
        "new: k<1> and 1 more (a.cu, sm_90, sm_120): dynamic-index `recent`, 128 bytes"
    ]
    assert "  also:     k<2> on sm_90" in lines
    assert "Gate failed: 3 failures." in lines
    result = GateResult("failed", False, failures, (), (), (), (), (), ())
    (annotation,) = render_annotations(result).splitlines()
    assert annotation.startswith("::error file=a.cu,line=7,")
    assert "k<2>" in annotation


def test_a_kernel_of_one_name_is_no_other_kernel_but_in_another_file() -> None:
    alone = shown(failed("k"), failed("k", arch="sm_120"))
    assert not [line for line in alone if line.startswith("  also:")]
    lines = shown(failed("k"), failed("k", input="b.cu"), failed("z", input="b.cu"))
    assert "  also:     the same in b.cu, z (b.cu)" in lines


def exceeding(kernel: str, figure: int, **changes: Any) -> GateFailure:
    said = {"kind": "limit", "expected": "max-frame 8 for *", "found": f"frame {figure}"}
    return failed(kernel, figure=figure, **{**said, **changes})


REGISTERS = {"expected": "max-registers 32 for *", "found": "registers 40", "finding": None}


def test_a_limit_that_instances_of_a_template_exceed_is_told_once_with_the_most() -> None:
    instances = [
        exceeding(f"k<{n}>", n, arch=arch) for n in (16, 64) for arch in ("sm_80", "sm_90")
    ]
    others = [
        exceeding("other", 16, location=SourceLocation("a.cu", 20)),
        *(exceeding(name, 40, **REGISTERS) for name in ("k<16>", "z", "k<64>")),
    ]
    lines = shown(*instances, *others)
    heads = [line for line in lines if line.startswith("limit: ")]
    assert heads == [
        "limit: k<64> and 1 more (a.cu, sm_80, sm_90): frame 64",
        "limit: other (a.cu, sm_90): frame 16",
        "limit: k<16> and 1 more (a.cu, sm_90): registers 40",
        "limit: z (a.cu, sm_90): registers 40",
    ]

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


def test_what_is_told_once_names_the_others() -> None:
    failures = (failed("k<1>"), failed("k<2>"), failed("k<1>", arch="sm_120"))
    result = GateResult("failed", False, failures, (), (), (), (), (), ())
    text = gate_as("text", result)
    heads = [one for one in text.splitlines() if one.startswith("new: ")]
    assert heads == ["new: k<1> and 2 more (a.cu, sm_90): dynamic-index `recent`, 128 bytes"]
    assert "  also:     k<2>, k<1> (sm_120)" in text.splitlines()
    assert "3 failures" in text
    (annotation,) = render_annotations(result).splitlines()
    assert annotation.startswith("::error file=a.cu,line=7,")
    assert "k<2>" in annotation

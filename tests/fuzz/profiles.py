"""Pages of Nsight Compute and saved measurements, mutated."""

from __future__ import annotations

import functools

from lmemscope.analysis.measuring import measured_kernels
from lmemscope.exporters import measured_document, render
from lmemscope.formats import ncu_csv
from lmemscope.gate.measured import with_measured
from lmemscope.model import GateResult, Measurement
from tests.support.profiles import analysis, page, profile

_LINES = 12
"""Of each page: an input is mutated many times."""


@functools.cache
def pages() -> tuple[bytes, ...]:
    """The beginnings of raw, details and source pages."""
    found = [page("printing", "raw"), page("histogram", "details"), page("printing", "sass")]
    return tuple("\n".join(text.splitlines()[:_LINES]).encode() for text in found)


@functools.cache
def documents() -> tuple[bytes, ...]:
    """A saved measurement."""
    kernels = measured_kernels(profile("printing"), analysis().units)
    return (render(Measurement(version="0", profiler=None, kernels=kernels), "json").encode(),)


def read_pages(data: bytes) -> None:
    """Join a page with the analysis, as ``--import`` does, and show it."""
    text = data.decode("utf-8", "replace")
    is_source = ncu_csv.is_source_page(text)
    known = pages()[0].decode()
    found, _ = ncu_csv.profile([known] if is_source else [text], [text] if is_source else [])
    shown = Measurement(
        version="0", profiler=None, kernels=measured_kernels(found, analysis().units)
    )
    for name in ("table", "markdown", "html", "json"):
        render(shown, name)


def read_document(data: bytes) -> None:
    """Judge a saved measurement, and show it."""
    found = measured_document.SAVED.parse(data, "measured.json")
    nothing = GateResult("passed", False, (), (), (), (), (), (), ())
    with_measured(nothing, found, "measured.json", 0.05, ("*",))
    for name in ("table", "markdown", "html"):
        render(found, name)

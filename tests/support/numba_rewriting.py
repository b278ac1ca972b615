"""Numba rewrites tried on a text: shared by the tests of them."""

from __future__ import annotations

import importlib.util
import os

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.model import InlineFrame, LaunchBounds, Rewriting, SourceLocation
from lmemscope.rewrites import said
from lmemscope.rewrites.base import Hit
from lmemscope.rewrites.numba import proposals
from lmemscope.rewrites.numba_arrays import NumbaTarget
from lmemscope.sources.edits import patched
from lmemscope.sources.python_places import PythonText
from tests.support.builders import access, kernel_with, local_object, source_text

needs_numba = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)


def numba_target(
    text: str | bytes, *, block: int | None = None, bounds: LaunchBounds | None = None
) -> NumbaTarget:
    data = text.encode() if isinstance(text, str) else text
    parsed = PythonText(data)
    line = data[: data.index(b"local.array")].count(b"\n") + 1
    place = SourceLocation("a.py", line)
    own = local_object("dynamic-index", name="a", type="float32[24]", declared=place, size=96)
    used = access("dynamic-index", chain=(InlineFrame.at(place, None),))
    made = replace(
        kernel_with("dynamic-index"), objects=(own,), accesses=(used,), launch_bounds=bounds
    )
    ((case, finding),) = rules.cases(made, source_text({"a.py": data.decode()}))
    hits = (Hit(made, finding, case),)
    path = os.path.abspath("a.py")
    return NumbaTarget(
        "dynamic-index", "a", "float32[24]", place, place, path, parsed, "k", hits, block
    )


def tried(text: str | bytes, block: int | None = 64) -> tuple[dict[str, Rewriting], str]:
    found, reasons = proposals(numba_target(text, block=block))
    return {one.rewrite: one for one in found}, said(reasons)


def after(text: str | bytes, rewrite: str, block: int | None = 64) -> str:
    data = text.encode() if isinstance(text, str) else text
    return patched(data, tried(text, block)[0][rewrite].edits).decode()

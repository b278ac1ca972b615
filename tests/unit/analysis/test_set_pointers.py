"""Pointers that lead where a parameter does."""

from __future__ import annotations

import pytest

from lmemscope.analysis.set_pointers import pointers_made_of
from tests.support.builders import source_text, variable

TEXT = """\
__device__ int hash(const void *key, int n) {
  const uint8_t *data = (const uint8_t *)key;
  const uint64_t *blocks = (const uint64_t *)(data);
  const uint8_t *tail = (const uint8_t *)(data + n * 16);
  const uint8_t *other = (const uint8_t *)(n > 2 ? tail : data);
  const uint8_t *chosen = n > 2 ? data : 0;
  const uint8_t *far = table + *data;
"""


@pytest.mark.parametrize(
    ("name", "leads"),
    [("data", True), ("blocks", True), ("tail", True), ("chosen", False), ("far", False)],
)
def test_pointers_made_of_pointers_lead_there_too(name: str, leads: bool) -> None:
    names = ("key", "data", "blocks", "tail", "other", "chosen", "far")
    held = [
        variable(one, "const uint8_t*", 8, line, function="hash", is_parameter=one == "key")
        for line, one in enumerate(names, 1)
    ]
    found = pointers_made_of(source_text({"a.cu": TEXT}), held[0], held)
    assert (name in found) == leads

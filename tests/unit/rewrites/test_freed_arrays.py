"""Arrays that the program frees: no other memory is better for that."""

from __future__ import annotations

import pytest

from lmemscope.rewrites import REWRITES
from tests.support.local_arrays import declined, proposed

TEXT = """\
__global__ void k(const int *in, char *out, int n) {
  char a[8];
  for (int i = 0; i < n; ++i) a[in[i] & 7] = in[i];
  out[threadIdx.x] = a[n & 7];
}
"""
MOVING = ("select", "shared-memory", "shared-row", "packed")


@pytest.mark.parametrize("freeing", ["free(a);", "std::free(a);", "delete a;", "delete[] a;"])
def test_nothing_moves_an_array_that_is_freed(freeing: str) -> None:
    text = TEXT.replace("n & 7];\n}", f"n & 7];\n  {freeing}\n}}")
    moving = [one for one in REWRITES if one.name in MOVING]
    assert moving
    for one in moving:
        reason = declined(one, text, "a", "char[8]")
        assert reason is not None
        assert "line 5 frees it" in reason


def test_what_is_called_otherwise_is_no_reason() -> None:
    (select,) = (one for one in REWRITES if one.name == "select")
    assert proposed(
        select, TEXT.replace("n & 7];\n}", "n & 7];\n  set_free(n);\n}"), "a", "char[8]"
    )

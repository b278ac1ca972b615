"""What a rewriting does is said as an order, which stands alone in every format."""

from __future__ import annotations

import pytest

from lmemscope.model import Cause
from lmemscope.rewrites import proposals
from lmemscope.rewrites.shared_room import for_threads
from tests.support.rewriting import kernel, target


@pytest.mark.parametrize(
    ("rewrite", "said", "cause", "body"),
    [
        ("shared-memory", "keep `a` in a column of shared memory for each of 64 threads",
         "dynamic-index", ("float a[8];", "a[p[n] & 7] = n;", "out[0] = a[n & 7];")),
        ("static-table", "make `a` one table for all threads (static const)",
         "const-table", ("float a[4] = {1, 2, 3, 4};", "out[0] = a[p[n] & 3];")),
        ("drop-volatile", "declare `a` without `volatile`",
         "volatile", ("volatile int a = 1;", "out[0] = a;")),
    ],
)  # fmt: skip
def test_it_begins_with_a_verb(
    rewrite: str, said: str, cause: Cause, body: tuple[str, ...]
) -> None:
    kind = {"volatile": "volatile int", "const-table": "float[4]"}.get(cause, "float[8]")
    asked = target(kernel(*body), "a", kind, cause, line=" a")
    found = {one.rewrite: one.summary for one in reversed(proposals(asked)[0])}
    assert found[rewrite] == said
    assert all(one[0].isalpha() for one in found.values())


def test_whose_room_it_is() -> None:
    assert for_threads(64) == "for each of 64 threads"
    assert for_threads(1) == "for the one thread of a block"

"""Edits made to a text, and edits within what another one keeps."""

from __future__ import annotations

import pytest

from lmemscope.model import Edit
from lmemscope.sources.edits import overlap, patched

TEXT = b"a[b[i]] += c;"
KEPT = ((6, 2, 6), (14, 2, 6))
OUTER = Edit("/p/a.cu", 0, 11, b"a.set(b[i], a[b[i]] + ", kept=KEPT)


def inner(start: int, end: int, text: bytes) -> Edit:
    return Edit("/p/a.cu", start, end, text)


def test_an_edit_is_made_wherever_another_one_keeps_its_text() -> None:
    edits = [OUTER, inner(3, 4, b".get("), inner(5, 6, b")"), inner(12, 12, b")")]
    assert patched(TEXT, edits) == b"a.set(b.get(i), a[b.get(i)] + c);"
    assert patched(TEXT[:11], edits[:-1]) == b"a.set(b.get(i), a[b.get(i)] + "
    assert not overlap(edits)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 4), (5, 8), (6, 8), (8, 12)])
def test_an_edit_of_what_another_one_replaces_overlaps(start: int, end: int) -> None:
    edits = [OUTER, inner(start, end, b"x")]
    assert overlap(edits)
    with pytest.raises(ValueError, match="overlap"):
        patched(TEXT, edits)


def test_edits_of_two_files_do_not_overlap() -> None:
    assert not overlap([OUTER, Edit("/p/b.cu", 0, 11, b"x")])


def test_a_head_stands_before_what_stays() -> None:
    head = Edit("/p/a.cu", 2, 2, b"int ", "head")
    assert patched(b"x;y;", [head]) == b"x;int y;"
    for other in (inner(2, 3, b"C z"), inner(2, 2, b"C ")):
        assert b"int" not in patched(b"x;y;", [head, other])
    assert patched(b"x;y;", [head, inner(0, 1, b"z")]) == b"z;int y;"

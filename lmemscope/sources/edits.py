"""Edits made to a text."""

from __future__ import annotations

from collections.abc import Iterable

from lmemscope.model import Edit


def patched(data: bytes, edits: Iterable[Edit], start: int = 0) -> bytes:
    """A file's bytes, or a part of them, with edits made.

    Args:
        data: the bytes.
        edits: of the file.
        start: where in the file the bytes begin.

    Raises:
        ValueError: two of them overlap, or one lies outside.
    """
    parts, at = [], 0
    for edit in sorted(edits):
        begin, end = edit.start - start, edit.end - start
        if begin < at or end < begin or end > len(data):
            raise ValueError(f"edits of {edit.file} overlap at byte {edit.start}")
        parts += [data[at:begin], edit.text]
        at = end
    return b"".join((*parts, data[at:]))

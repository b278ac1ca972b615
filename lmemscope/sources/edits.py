"""Apply edits to a text, including edits within text that another edit moves or repeats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from lmemscope.model import Edit


def patched(data: bytes, edits: Iterable[Edit], start: int = 0) -> bytes:
    """A file's bytes, or a part of them, with edits applied.

    If another edit's text keeps the edited bytes, the edit is applied there, wherever they occur.

    Args:
        data: the bytes.
        edits: of the file.
        start: position of the bytes in the file.

    Raises:
        ValueError: two edits overlap, or one is outside.
    """
    parts, at = [], start
    for edit in _side_by_side(edits):
        if edit.start < at or edit.end > start + len(data):
            raise ValueError(f"an edit of {edit.file} lies outside at byte {edit.start}")
        parts += [data[at - start : edit.start - start], edit.text]
        at = edit.end
    return b"".join((*parts, data[at - start :]))


def by_file(edits: Iterable[Edit]) -> Mapping[str, tuple[Edit, ...]]:
    """Edits grouped by file."""
    found: dict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        found[edit.file].append(edit)
    return {file: tuple(own) for file, own in found.items()}


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether two edits of one file touch the same text, and neither keeps what the other edits."""
    try:
        for own in by_file(edits).values():
            _side_by_side(own)
    except ValueError:
        return True
    return False


def _side_by_side(edits: Iterable[Edit]) -> list[Edit]:
    """A file's edits in order, with nested ones applied to the text of the outer one.

    Raises:
        ValueError: two edits overlap.
    """
    every = [*edits]
    begun = {edit.start for edit in every if edit.counts != "head"}
    # An insertion before a text is outside the edit that replaces the text.
    order = sorted(
        (edit for edit in every if edit.counts != "head" or edit.start not in begun),
        key=lambda edit: (edit.start, edit.end > edit.start, -edit.end, edit.text),
    )
    found: list[Edit] = []
    position = 0
    while position < len(order):
        edit = order[position]
        first = position = position + 1
        while position < len(order) and order[position].start < edit.end:
            position += 1
        found.append(_with_inner(edit, order[first:position]))
    return found


def _with_inner(edit: Edit, inner: Sequence[Edit]) -> Edit:
    """An edit, with others applied in the text that it keeps."""
    if not inner:
        return edit
    left = {*inner}
    parts, at = [], 0
    for offset, begin, end in edit.kept:
        own = [one for one in inner if begin <= one.start and one.end <= end]
        left -= {*own}
        behind = offset + end - begin
        parts += [edit.text[at:offset], patched(edit.text[offset:behind], own, begin)]
        at = behind
    if left:
        raise ValueError(f"edits of {edit.file} overlap at byte {min(left).start}")
    return Edit(edit.file, edit.start, edit.end, b"".join((*parts, edit.text[at:])))

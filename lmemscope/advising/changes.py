"""The lines that edits change, short enough to stand below a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher

from lmemscope.model import Edit
from lmemscope.sources.edits import by_file, patched
from lmemscope.sources.encoding import shown_lines

_BLOCK = 6
"""Lines of one change that are shown."""
_ALL = 18
"""Lines that are shown in all."""


def changed_lines(edits: Iterable[Edit], data: Callable[[str], bytes | None], home: str) -> str:
    """Lines that edits remove (``-``) and add (``+``), with what is left out counted.

    Args:
        edits: of one rewriting.
        data: gives a file's bytes, or None where it cannot be read.
        home: the file whose name need not be said.

    Raises:
        ValueError: edits overlap.
    """
    every = tuple(edits)
    helpers = tuple(one for one in every if _is_helper(one))
    files = by_file(one for one in every if one not in helpers)
    lines: list[str] = []
    for file, own in sorted(files.items(), key=lambda one: (one[0] != home, one[0])):
        before = data(file)
        if before is None:
            continue
        if file != home:
            lines.append(f"// {os.path.basename(file)}")
        lines += _changes(shown_lines(before), shown_lines(patched(before, own)))
    if len(lines) > _ALL:
        lines = [*lines[:_ALL], f"// {len(lines) - _ALL} more lines"]
    added = sum(one.text.count(b"\n") for one in helpers)
    if added:
        lines.append(f"// and {added} lines of helpers, as in `lmemscope fix --format patch`")
    return "\n".join(lines)


def _is_helper(edit: Edit) -> bool:
    """Whether an edit only adds many lines: a class that the others use."""
    return edit.start == edit.end and edit.text.count(b"\n") > _BLOCK


def _changes(before: list[str], after: list[str]) -> Iterator[str]:
    """The blocks that differ; edits leave most lines as they are."""
    start = next(
        (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new),
        min(len(before), len(after)),
    )
    left = min(len(before), len(after)) - start
    end = next(
        (at for at in range(left) if before[-1 - at] != after[-1 - at]),
        left,
    )
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from _block("-", old[a:b])
            yield from _block("+", new[c:d])
        if kind == "insert":
            # What is only added says nothing without what it stands before.
            yield from _block(" ", after[start + d : start + d + 1])


def _block(sign: str, lines: list[str]) -> Iterator[str]:
    shown = len(lines) if len(lines) <= _BLOCK else _BLOCK - 1
    for line in lines[:shown]:
        yield f"{sign} {line}".rstrip()
    if shown < len(lines):
        yield f"{sign} // {len(lines) - shown} more lines"

"""Unified diffs that ``git apply`` and ``patch -p1`` take, whatever bytes the file holds."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable

from lmemscope.discover.checkouts import is_top, upwards
from lmemscope.files import read_input
from lmemscope.model import Edit
from lmemscope.sources.edits import by_file, patched

_NO_END = "\\ No newline at end of file\n"


def diff(edits: Iterable[Edit], directory: str) -> str:
    """The edits as a patch, with names relative to a directory.

    Where a file is outside of it, names are relative to another (`base_of`): none may lead
    upwards, or nothing applies it. Bytes that are no UTF-8 stand as surrogates, as in names of
    files.

    Raises:
        OSError: a file cannot be read.
        ValueError: edits overlap.
    """
    parts: list[str] = []
    edits = tuple(edits)
    directory = base_of(edits, directory)
    for file, own in sorted(by_file(edits).items()):
        data = read_input(file)
        name = os.path.relpath(file, directory)
        before, after = _lines(data), _lines(patched(data, own))
        for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
            parts.append(line if line.endswith("\n") else f"{line}\n{_NO_END}")
    return "".join(parts)


def base_of(edits: Iterable[Edit], directory: str) -> str:
    """Where a patch of edits applies: a directory, if all files are below it.

    Else the repository that holds it and them, or else the nearest directory above it and them.
    """
    files = {edit.file for edit in edits}
    if not any(os.path.relpath(file, directory).startswith(os.pardir) for file in files):
        return directory
    above = os.path.commonpath([directory, *map(os.path.dirname, files)])
    *_, top = upwards(above)
    return top if is_top(top) else above


def _lines(data: bytes) -> list[str]:
    """Lines with their ends; a carriage return is no end of its own."""
    text = data.decode("utf-8", "surrogateescape")
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [
        line for line in text.split("\n")[-1:] if line
    ]

"""Lines of the user's source files, as line tables name them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable
from pathlib import Path

from lmemscope.model import KernelReport, SourceLine, SourceLocation


class DisplayPaths:
    """Paths as a reader knows them: as typed, or relative to the working directory.

    Args:
        path: absolute path of the unit's input.
        typed: what the user typed for it.
    """

    def __init__(self, path: str, typed: str) -> None:
        self._path, self._typed = path, typed

    def shown(self, place: SourceLocation) -> SourceLocation:
        """A location with its path as a reader knows it."""
        if os.path.normpath(place.file) == self._path:
            return SourceLocation(self._typed, place.line)
        relative = os.path.relpath(place.file) if os.path.isabs(place.file) else place.file
        return SourceLocation(place.file if relative.startswith("..") else relative, place.line)


class SourceText:
    """Reads files once; a file that is not there has no lines."""

    def line(self, file: str, number: int) -> str:
        """Text of a line without its comment, or an empty string."""
        lines = _lines(file)
        return _without_comment(lines[number - 1]) if 0 < number <= len(lines) else ""

    def raw(self, file: str, number: int) -> str:
        """Text of a line as it stands there, or an empty string."""
        lines = _lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def mentions(self, file: str, number: int, name: str) -> bool:
        """Whether a line holds a name as a word."""
        return (
            re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", self.line(file, number)) is not None
        )

    def subscript(self, file: str, number: int, name: str) -> str | None:
        """The index of the first ``name[…]`` on a line; several dimensions as ``[i][j]``."""
        text = self.line(file, number)
        before = "" if name.startswith(".") else r"(?<![\w.])"
        pattern = rf"{before}{re.escape(name)}\s*\["
        for match in re.finditer(pattern, text):
            parts = []
            position = match.end() - 1
            while position < len(text) and text[position] == "[":
                end = _closing(text, position)
                if end < 0:
                    break
                parts.append(text[position + 1 : end].strip())
                position = end + 1
                while position < len(text) and text[position] == " ":
                    position += 1
            if parts and not all(part.isdigit() for part in parts):
                return parts[0] if len(parts) == 1 else "".join(f"[{part}]" for part in parts)
        return None


def quoted_lines(kernels: Iterable[KernelReport]) -> tuple[SourceLine, ...]:
    """The source lines that kernels' findings, objects and accesses are at, as they are now."""
    places: set[SourceLocation] = set()
    for kernel in kernels:
        facts = kernel.facts
        places.update(use.location for use in facts.lines)
        places.update(found.declared for found in facts.objects if found.declared is not None)
        for access in (*facts.accesses, *facts.generic):
            places.update(frame.location for frame in access.chain)
        for finding in kernel.findings:
            places.update(finding.related)
            if finding.location is not None:
                places.add(finding.location)
    text = SourceText()
    return tuple(
        SourceLine(place.file, place.line, line)
        for place in sorted(places)
        if (line := text.raw(place.file, place.line).rstrip())
    )


@functools.lru_cache(maxsize=64)
def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _without_comment(line: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", line.partition("//")[0])


def _closing(text: str, position: int) -> int:
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == "[") - (text[index] == "]")
        if depth == 0:
            return index
    return -1

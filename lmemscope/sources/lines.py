"""Lines of the user's source files, read from disk."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from lmemscope.model import KernelReport, SourceLine, SourceLocation, SourceText
from lmemscope.sources.encoding import shown_lines


@functools.lru_cache(maxsize=64)
def read_lines(file: str) -> list[str]:
    """Lines of a file, without line ends; none where it cannot be read."""
    try:
        return shown_lines(Path(file).read_bytes())
    except OSError:
        return []


def from_disk() -> SourceText:
    """The user's files as they are now."""
    return SourceText(read_lines)


def quoted_lines(kernels: Iterable[KernelReport], text: SourceText) -> tuple[SourceLine, ...]:
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
    return tuple(
        SourceLine(place.file, place.line, line)
        for place in sorted(places)
        if (line := text.raw(place.file, place.line).rstrip())
    )

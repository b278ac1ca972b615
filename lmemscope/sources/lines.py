"""Read lines of the user's source files from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lmemscope.files import cached_while_unchanged, read_input
from lmemscope.model import CompileOptions, KernelReport, SourceLine, SourceLocation, SourceText
from lmemscope.sources.encoding import shown_lines


def read_lines(file: str) -> list[str]:
    """A file's current lines without line ends; empty if it cannot be read."""
    try:
        return _read_lines(file)
    except (OSError, ValueError):
        return []


@cached_while_unchanged(64)
def _read_lines(file: str) -> list[str]:
    return shown_lines(read_input(file))


def from_disk(
    asked: set[str] | None = None,
    main: str | None = None,
    options: CompileOptions | None = None,
    mentioning: Callable[[str, str], tuple[str, ...]] = lambda file, word: (),
) -> SourceText:
    """The user's files, read from disk when their lines are first needed.

    Args:
        asked: receives the name of each file whose lines were used.
        main: the file that is compiled, if it is a source.
        options: its compile options.
        mentioning: finds the project's other sources that contain a word.
    """
    known: dict[str, list[str]] = {}

    def lines_of(file: str) -> list[str]:
        if file not in known:
            known[file] = read_lines(file)
            if asked is not None:
                asked.add(file)
        return known[file]

    return SourceText(lines_of, main, options, mentioning)


def quoted_lines(kernels: Iterable[KernelReport], text: SourceText) -> tuple[SourceLine, ...]:
    """The current source lines at the locations of kernels' findings, objects and accesses."""
    places: set[SourceLocation] = set()
    for kernel in kernels:
        facts = kernel.facts
        places.update(use.location for use in facts.lines)
        places.update(found.declared for found in facts.objects if found.declared is not None)
        for access in facts.accesses:
            if access.chain:
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

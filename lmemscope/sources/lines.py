"""Lines of the user's source files, read from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lmemscope.files import cached_while_unchanged, read_input
from lmemscope.model import CompileOptions, KernelReport, SourceLine, SourceLocation, SourceText
from lmemscope.sources.encoding import shown_lines


def read_lines(file: str) -> list[str]:
    """Lines of a file as it is now, without line ends; none where it cannot be read."""
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
    """The user's files as they are when their lines are first wanted.

    Args:
        asked: where to note the name of each file whose lines were wanted.
        main: the file that is compiled, where it is a source.
        options: what it is compiled with.
        mentioning: which other sources of the project around a file hold a word.
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
    """The source lines that kernels' findings, objects and accesses are at, as they are now."""
    places: set[SourceLocation] = set()
    for kernel in kernels:
        facts = kernel.facts
        places.update(use.location for use in facts.lines)
        places.update(found.declared for found in facts.objects if found.declared is not None)
        for access in facts.accesses:
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

"""List the edits that the change under review makes to the gate itself, for its reviewer.

The baseline, comments in sources, build databases and the files that run this program are versioned
with the sources, so an author can edit them. Each edit that may let something pass gets a sentence.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from lmemscope.config.file import OWN
from lmemscope.config.options import DEFAULT_BASELINE
from lmemscope.discover.cpp_files import is_cpp_name
from lmemscope.discover.locate import is_database, shown_path
from lmemscope.discover.revision import LARGEST_TEXT
from lmemscope.discover.walk import Globs
from lmemscope.files import text_beside
from lmemscope.model import Account, count, kind_of

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.discover.revision import Revision
    from lmemscope.model import BaselineEntry, Report

_MOST = 20
_PROGRAM = b"lmemscope"
_NAMED = re.compile(rb"(?<!\btool\.)lmemscope(?!\.\w+/\d)")
"""The program's name, except in its section of pyproject.toml or in a document's schema."""
_RUN_BY_PYTHON = re.compile(
    rb"\bmark\.lmem\b|[(,]\s*lmem\b|[\"']lmemscope\b|\bimport\s+lmemscope\b"
)
"""The pytest plugin's marker and fixture, the program in a command, and the package name."""
_DOCUMENT = re.compile(r".*\.(?:md|rst)", re.IGNORECASE)


def unbuilt(revision: Revision, report: Report, unchanged: Collection[str]) -> frozenset[str]:
    """Files with kernels that a change adds or edits, but that no input includes.

    Args:
        revision: the change's base.
        report: of a build.
        unchanged: inputs that were skipped.
    """
    named = chain.from_iterable((u.file, *(u.sources or ())) for u in report.units)
    known = chain.from_iterable(_places(file) for file in (*named, *unchanged))
    left = revision.changed - revision.deleted - {*known}
    return frozenset(filter(_holds_kernels, left))


def _holds_kernels(path: str) -> bool:
    from lmemscope.sources.python_words import may_hold_kernels

    kind = kind_of(path)
    if kind is None or kind.is_header or not (kind.is_cuda or kind.reads):
        return False
    return not _is_python(path) or may_hold_kernels(text_beside(path) or b"")


def _places(file: str) -> tuple[str, str]:
    """A file's location by its own path, and with links resolved."""
    directory, name = os.path.split(os.path.abspath(file))
    return os.path.join(os.path.realpath(directory), name), os.path.realpath(file)


def edits(
    revision: Revision,
    report: Report,
    added: Sequence[BaselineEntry],
    settings: Settings,
    unbuilt: Collection[str] = (),
) -> Iterator[Account]:
    """Account for each edit since a revision.

    Args:
        revision: the change's base.
        report: of the inputs as they are now.
        added: baseline entries that the revision lacks.
        settings: holds the globs that exclude files.
        unbuilt: files with kernels that no input of the build includes.
    """
    yield from map(_edit, _comments(report, revision))
    for one in added[:_MOST]:
        named = f" `{one.object}`" if one.object is not None else ""
        yield _edit(
            f"new in the baseline since {revision.name}: {one.kernel} ({one.input}, {one.arch}): "
            f"{one.cause}{named}, {count(one.bytes, 'byte')}"
        )
    if len(added) > _MOST:
        yield _edit(f"… and {len(added) - _MOST} more entries of the baseline")
    admit = Globs.of(settings).admit
    running = _running(revision)
    for path in sorted(revision.changed):
        name = os.path.relpath(path, revision.top)
        differs = _differs(path, revision)
        if os.path.basename(path) == DEFAULT_BASELINE and path in revision.deleted:
            yield _edit(f"{name}, the baseline of {revision.name}, is gone")
        elif is_database(path):
            yield _edit(f"{shown_path(path)}, which says how files are compiled, {differs}")
        elif path in running:
            yield _edit(f"{name}, which may say how this check runs, {differs}")
        elif _is_read(path) and path not in revision.deleted and not admit(path):
            yield _edit(f"{name} {differs}, and include or exclude leaves it out")
        elif path in unbuilt:
            yield _edit(f"{name} {differs}, and the build does not compile it")


def _differs(path: str, revision: Revision) -> str:
    if path in revision.deleted:
        return f"is gone since {revision.name}"
    verb = "is not that of" if path in revision.known else "is new since"
    return f"{verb} {revision.name}"


def _edit(text: str) -> Account:
    return Account("change", "", "left-out", text)


def _running(revision: Revision) -> frozenset[str]:
    """Changed files that may control how this program is run: they mention it, or did."""
    changed = sorted(revision.changed)
    paths = [path for path in changed if not _is_other(os.path.relpath(path, revision.top))]
    were = revision.contents(paths)
    return frozenset(
        path
        for path in paths
        if any(map(_names_of(path).search, (_text(path), were.get(path, b""))))
    )


def _text(path: str) -> bytes:
    """A file's content; empty unless it is text of ordinary size."""
    is_small = os.path.isfile(path) and os.path.getsize(path) <= LARGEST_TEXT
    return text_beside(path) or b"" if is_small else b""


def _is_other(name: str) -> bool:
    """Whether a changed file is reported elsewhere or, judging by its name, runs nothing."""
    if os.path.basename(name) in (DEFAULT_BASELINE, OWN) or is_database(name):
        return True
    return _DOCUMENT.fullmatch(name) is not None or (_is_read(name) and not _is_python(name))


def _names_of(path: str) -> re.Pattern[bytes]:
    return _RUN_BY_PYTHON if _is_python(path) else _NAMED


def _comments(report: Report, revision: Revision) -> Iterator[str]:
    """Allowing comments that are new, and other comments that are gone or changed."""
    looked_at = {unit.file: None for unit in report.units}
    headers = {one.file: None for unit in report.units for one in unit.directives if one.file}
    known = {os.path.realpath(file) for file in (*looked_at, *headers)}
    others = (shown_path(path) for path in sorted(revision.changed - known) if _is_read(path))
    files = [file for file in (*looked_at, *headers, *others) if revision.why(file) is not None]
    were = revision.contents(os.path.realpath(file) for file in files)
    new: list[tuple[str, int, _Said]] = []
    gone: list[tuple[str, _Said]] = []
    for file in sorted(set(files)):
        has = _comments_of(file, text_beside(file) or b"")
        had = Counter(said for _, said in _comments_of(file, were.get(os.path.realpath(file), b"")))
        for line, said in has:
            if had[said] > 0:
                had[said] -= 1
            else:
                new.append((file, line, said))
        gone += ((file, said) for said in sorted(had.elements()))
    # A comment that moved with its kernel means the same.
    appeared, vanished = Counter(said for *_, said in new), Counter(said for _, said in gone)
    for file, line, said in new:
        if vanished[said] > 0:
            vanished[said] -= 1
        elif said[0] == "allow":
            where = f"{file}:{line}"
            yield f"{where}: this allowance is new since {revision.name}: {said[2]}"
    for file, said in gone:
        word, kernel, argument = said
        if appeared[said] > 0:
            appeared[said] -= 1
        elif word != "allow":
            for_ = f" of {kernel}" if kernel else ""
            yield (
                f"{file}: this comment{for_} is changed or gone since {revision.name}: "
                f"{word} {argument}"
            )


_Said: TypeAlias = tuple[str, str, str]
"""A comment's keyword, kernel and argument."""
_Comment: TypeAlias = tuple[int, _Said]


def _comments_of(file: str, data: bytes) -> list[_Comment]:
    """The comments of a file with their lines; Python files give no kernel names."""
    from lmemscope.sources.cuda import read_cuda_source
    from lmemscope.sources.encoding import decoded, readable

    if _PROGRAM not in data:
        return []
    text = readable(decoded(data).text)
    if _is_python(file):
        from lmemscope.sources.python_comments import anywhere

        return [(line, (word, "", said)) for line, word, said in anywhere(text)]
    source = read_cuda_source(text)
    found = [(one.line, (one.word, one.kernel, one.argument)) for one in source.kernel_directives]
    found += [
        (one.line, (one.word, "", one.argument))
        for one in source.directives
        if one.word == "instantiate"
    ]
    return sorted(found)


def _is_read(file: str) -> bool:
    """Whether comments in a file are read."""
    kind = kind_of(file)
    return is_cpp_name(file) or (kind is not None and (kind.is_cuda or kind.reads == "imports"))


def _is_python(file: str) -> bool:
    kind = kind_of(file)
    return kind is not None and kind.reads == "imports"

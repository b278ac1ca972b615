"""Determine which inputs `check` covers, and which files of the baseline still exist on disk."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.discover.cpp_files import is_cpp_name
from lmemscope.discover.locate import is_build, is_saved
from lmemscope.discover.other_languages import language_of
from lmemscope.discover.walk import Globs
from lmemscope.files import digest_of, read_beside
from lmemscope.gate.accounting import Inputs
from lmemscope.model import Gap, InputId, kind_of
from lmemscope.sources.encoding import decoded

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.model import Baseline, Report

_INCLUDING = frozenset(("nvrtc", "nvcc"))
"""Front ends whose inputs include the user's headers."""


def inputs_of(
    paths: Sequence[str],
    report: Report,
    known: Baseline | None,
    settings: Settings,
    *,
    globs_typed: bool,
    archs_typed: bool,
    deleted: frozenset[str] | None = None,
) -> Inputs:
    """Collect what the gate needs to know about the files on disk.

    Args:
        paths: as typed.
        report: the report of these paths.
        known: the baseline, with the report's paths.
        settings: holds the globs.
        globs_typed, archs_typed: whether these were given on the command line.
        deleted: as for `Inputs`.
    """
    saved = any(map(is_saved, paths))
    looked_at = {unit.file: None for unit in report.units}
    identities = {_identity(name): name for name in looked_at}
    on_disk = any(identity is not None for identity in identities)
    present: set[str] = set()
    aliases: dict[str, str] = {}
    for name in {entry.input for entry in known.findings} if known is not None else ():
        named = InputId.parse(name)
        file = named.file
        identity = _identity(file)
        # A report made elsewhere may name files that do not exist on this machine.
        if identity is not None or (saved and not on_disk):
            present.add(file)
        if file not in looked_at and identity is not None and identity in identities:
            aliases[file] = identities[identity]
        # A section of a build log is named after the source it belongs to.
        part = named.variant
        if part and os.path.exists(os.path.join(os.path.dirname(file), part)):
            present.add(name)
    admit = Globs.of(settings).admit
    directories = [path for path in paths if os.path.isdir(path)]
    return Inputs(
        directories=tuple(map(os.path.abspath, directories)),
        build=any(map(is_build, paths)),
        saved=saved,
        only_sources=all(map(_is_source, paths)),
        present=frozenset(present),
        aliases=aliases,
        excluded=frozenset(file for file in present if not admit(os.path.abspath(file))),
        globs_typed=globs_typed,
        archs_typed=archs_typed,
        deleted=deleted,
    )


def _is_source(path: str) -> bool:
    """Whether a path names a text file that may define kernels."""
    kind = kind_of(path)
    is_read = kind.is_cuda or kind.reads == "imports" if kind is not None else is_cpp_name(path)
    return is_read and os.path.isfile(path) and language_of(path) is None


def with_stale(paths: Sequence[str], report: Report) -> Report:
    """The report, with a gap for each file that has changed since a saved report was made.

    Changes are found by the digests of the input and its headers and by the quoted lines. A missing
    file counts as changed, and so does an input whose headers the report does not list.
    """
    saved = [path for path in paths if is_saved(path)]
    if not saved:
        return report
    digests: dict[str, str] = {}
    quoted: dict[str, dict[int, str]] = defaultdict(dict)
    for unit in report.units:
        if unit.source_digest is not None:
            digests[unit.file] = unit.source_digest
        digests.update(unit.sources or {})
        for one in unit.source_lines:
            quoted[one.file][one.line] = one.text
    stale = {file: "" for file, was in digests.items() if digest_of(file) not in (None, was)}
    for file, line in _differing(quoted):
        stale.setdefault(file, f" (line {line} differs)")
    gaps = [
        Gap("read", f"{file} has changed since {saved[0]} was written{why}", "evidence", file)
        for file, why in stale.items()
    ]
    gaps += [
        Gap("read", f"{file}, which {saved[0]} was made from, is not on disk", "evidence", file)
        for file in digests
        if not os.path.lexists(file)
    ]
    unknown = {
        unit.file: None
        for unit in report.units
        if unit.sources is None and unit.failure is None and unit.frontend in _INCLUDING
    }
    gaps += [
        Gap("read", f"{saved[0]} does not say which headers {file} includes", "evidence", file)
        for file in unknown
    ]
    return replace(report, gaps=(*report.gaps, *gaps))


def _differing(quoted: Mapping[str, Mapping[int, str]]) -> Iterator[tuple[str, int]]:
    """Files with the first line that differs from its quotation; unreadable files are skipped."""
    for file, lines in sorted(quoted.items()):
        try:
            found = decoded(read_beside(file)).text.split("\n")
        except OSError:
            continue
        for number, text in sorted(lines.items()):
            now = found[number - 1] if 0 < number <= len(found) else None
            if now is None or now.strip() != text.strip():
                yield file, number
                break


def _identity(path: str) -> tuple[int, int] | None:
    """A key that identifies a file whatever its path; None if there is no such file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino

"""Report kernels in headers that are not compiled: directories include sources, not headers.

A header's kernels are compiled with the sources that include it. If no source includes it, nothing
is compiled; otherwise, templates that no source instantiates are missing. Both must be reported, or
a gate would pass code that it never saw. This is known only once all units are.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Iterator, Sequence

from lmemscope.discover.checkouts import is_own
from lmemscope.discover.cpp_files import source_of
from lmemscope.discover.walk import Globs
from lmemscope.files import read_beside
from lmemscope.model import Gap, HeaderTemplates, Unit, UnitReport, kind_of, listed
from lmemscope.routes import kind_of_unit
from lmemscope.sources.cuda import DEVICE_CODE_IN_STRING
from lmemscope.sources.includes import closure

_KERNEL = re.compile(rb"\b__global__\b")
_HEADERS = 8


def unseen(headers: Sequence[str], units: Sequence[Unit]) -> tuple[Gap, ...]:
    """A gap for headers with kernels that no source includes, if there are any.

    Args:
        headers: for display.
        units: of the same command, with their include options.
    """
    # C++ files are checked where they are found.
    lonely = {
        os.path.realpath(header): header
        for header in headers
        if kind_of(header) is None or _has_kernel(header)
    }
    real = functools.cache(os.path.realpath)
    compiled: set[object] = set()
    for unit in units:
        if not lonely:
            return ()
        way = (unit.path, unit.options)
        if way in compiled or not kind_of_unit(unit).is_cuda:
            continue
        compiled.add(way)
        for file in _files(unit):
            lonely.pop(real(file), None)
    return tuple(
        Gap("instantiate", reason, "uninstantiated") for reason in _of_nobody(lonely.values())
    )


def _of_nobody(files: Collection[str]) -> Iterator[str]:
    """Sentences about files with kernels that no source includes, by whether they can be named."""
    headers = [file for file in files if kind_of(file) is not None]
    sources = {file: source_of(file) for file in files if kind_of(file) is None}
    for file, source in sources.items():
        if source.strings:
            yield f"{file}:{source.strings[0]} {DEVICE_CODE_IN_STRING}"
    others = [file for file, source in sources.items() if source.kernels or not source.strings]
    if headers:
        yield (
            f"{listed(headers)}: kernels in headers that no source here includes are not "
            f"compiled; add the headers to the command (… {headers[0]}), with --instantiate for "
            "templates that nobody launches"
        )
    if others:
        yield (
            f"{listed(others)}: kernels in files that are neither .cu nor .cuh, and that no "
            "source here includes, are not compiled; rename them, name a source or a build that "
            "compiles them, or exclude them"
        )


def uninstantiated(
    reports: Sequence[UnitReport], inputs: Collection[str], named: Sequence[str], globs: Globs
) -> tuple[tuple[Gap, ...], tuple[str, ...]]:
    """Template kernels in headers that no unit of a command instantiates.

    They are gaps in directories that the user named, and notes elsewhere and in third-party code: a
    library has hundreds of templates that a project does not use.

    Args:
        reports: of all units.
        inputs: absolute paths of separately compiled files, whose own reports cover them.
        named: what the user named.
        globs: headers that they exclude are ignored.

    Returns:
        Gaps and notes: one per header up to a limit, then one for the rest.
    """
    known: dict[str, list[HeaderTemplates]] = {}
    for report in reports:
        for header in report.headers:
            known.setdefault(header.path, []).append(header)
    directories = [os.path.abspath(path) for path in named if os.path.isdir(path)]
    own: list[tuple[str, list[str]]] = []
    foreign: list[tuple[str, list[str]]] = []
    for path, seen in sorted(known.items(), key=lambda item: item[1][0].file):
        if path in inputs or not globs.admit(path):
            continue
        instantiated = {name for header in seen for name in header.instantiated}
        others = dict.fromkeys(name for header in seen for name in header.others)
        missing = [name for name in others if name not in instantiated]
        if missing:
            ours = any(is_own(path, directory) for directory in directories)
            (own if ours else foreign).append((seen[0].file, missing))
    gaps = (Gap("instantiate", reason, "uninstantiated") for reason in _sentences(own))
    return tuple(gaps), tuple(_sentences(foreign))


def _sentences(found: Sequence[tuple[str, list[str]]]) -> list[str]:
    said = [
        f"{file}: template kernels that no unit instantiates: {listed(names)} "
        f"({_command(file, names[0])})"
        for file, names in found[:_HEADERS]
    ]
    rest = found[_HEADERS:]
    if rest:
        files = listed([file for file, _ in rest])
        said.append(f"{files}: template kernels that no unit instantiates")
    return said


def _command(file: str, name: str) -> str:
    comment = f"// lmemscope: instantiate {name}<…>"
    kind = kind_of(file)
    if kind is None or not kind.is_header:
        return f"write {comment} in it"
    return f"name it too, … {file} --instantiate '{name}<…>', or write {comment} in it"


def _files(unit: Unit) -> tuple[str, ...]:
    """The files that a unit reads; empty if it is unreadable, which compiling will report."""
    try:
        return closure(unit.path, unit.options).files
    except OSError:
        return ()


def _has_kernel(path: str) -> bool:
    try:
        return _KERNEL.search(read_beside(path)) is not None
    except OSError:
        return False

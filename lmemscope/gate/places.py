"""Where the paths of a baseline start: a gate that is run elsewhere must mean the same files.

The file holds paths relative to a directory of the project, so that it does not depend on where
somebody stands; in a comparison they are spelled as the report spells them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from lmemscope.model import Baseline, Report

_STANDARD_INPUT = "-"
_ENDINGS = frozenset({".cu", ".cuh", ".ptx", ".cubin", ".py", ".log"})


def file_of_input(name: str) -> str:
    """The file of an input, whose part or variant stands in brackets behind the file's name.

    A file's own name may hold brackets too: what has the ending of an input is the file.
    """
    if not name.endswith("]"):
        return name
    ends = [at for at, letter in enumerate(name) if letter == "["]
    named = (name[:at] for at in ends if os.path.splitext(name[:at])[1].lower() in _ENDINGS)
    return next(named, name[: ends[0]] if ends else name)


def as_written(baseline: Baseline, directory: str) -> Baseline:
    """A baseline with the paths that its file holds.

    Args:
        baseline: its paths start from the working directory.
        directory: that the file's paths start from, absolute; those below it become relative.
    """

    def written(path: str) -> str:
        own = os.path.abspath(path)
        below = own.startswith(os.path.join(directory, ""))
        return path if os.path.isabs(path) and not below else os.path.relpath(own, directory)

    return _respelled(baseline, written)


def as_reported(baseline: Baseline, directory: str, report: Report) -> Baseline:
    """A baseline with the paths as a report spells them, else from the working directory.

    Args:
        baseline: as it was read.
        directory: that the file's paths start from, absolute.
        report: that it is compared with.
    """
    spelled: dict[str, str] = {}
    for unit in report.units:
        path = file_of_input(unit.input)
        spelled.setdefault(os.path.abspath(path), path)

    def reported(path: str) -> str:
        own = os.path.normpath(os.path.join(directory, path))
        known = spelled.get(own)
        if known is not None:
            return known
        return path if os.path.isabs(path) else os.path.relpath(own)

    return _respelled(baseline, reported)


def _respelled(baseline: Baseline, spell: Callable[[str], str]) -> Baseline:
    """With other paths; a program or a variant stands in brackets behind the file's."""
    known: dict[str, str] = {}
    entries = []
    for entry in baseline.entries:
        path = file_of_input(entry.input)
        variant = entry.input.removeprefix(path)
        if path == _STANDARD_INPUT:
            entries.append(entry)
            continue
        if path not in known:
            known[path] = spell(path)
        entries.append(replace(entry, input=f"{known[path]}{variant}"))
    return replace(baseline, entries=tuple(entries))

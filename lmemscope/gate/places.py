"""Convert baseline paths, so that a gate run in another directory refers to the same files.

The file's paths are relative to a directory of the project, not to the working directory. For a
comparison they are spelled as in the report.
"""

from __future__ import annotations

import os

from lmemscope.model import STANDARD_INPUT, Baseline, InputId, Report, respelled


def as_written(baseline: Baseline, directory: str) -> Baseline:
    """A baseline with paths as stored in its file.

    Args:
        baseline: its paths are relative to the working directory.
        directory: absolute base directory of the file's paths; paths below it become relative, also
            if links lead there.
    """

    def written(path: str) -> str:
        if path == STANDARD_INPUT:
            return path
        own = os.path.abspath(path)
        for name, base in ((own, directory), (os.path.realpath(own), os.path.realpath(directory))):
            if name.startswith(os.path.join(base, "")):
                return os.path.relpath(name, base)
        return path if os.path.isabs(path) else os.path.relpath(own, directory)

    return respelled(baseline, written)


def as_reported(baseline: Baseline, directory: str, report: Report) -> Baseline:
    """A baseline with paths as in a report, else relative to the working directory.

    Args:
        baseline: as read.
        directory: absolute base directory of the file's paths.
        report: that it is compared with.
    """
    spelled: dict[str, str] = {}
    for unit in report.units:
        path = unit.file
        spelled.setdefault(os.path.abspath(path), path)
    linked = {os.path.realpath(own): path for own, path in spelled.items()}
    places = (InputId.parse(entry.input).file for entry in baseline.findings)
    known = {os.path.normpath(os.path.join(directory, path)) for path in places}

    def reported(path: str) -> str:
        if path == STANDARD_INPUT:
            return path
        own = os.path.normpath(os.path.join(directory, path))
        other = linked.get(os.path.realpath(own))
        if own in spelled:
            return spelled[own]
        # A file that the baseline also lists under the report's name is not listed twice.
        if other is not None and os.path.abspath(other) not in known:
            return other
        return path if os.path.isabs(path) else os.path.relpath(own)

    return respelled(baseline, reported)

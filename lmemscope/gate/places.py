"""Where the paths of a baseline start: a gate that is run elsewhere must mean the same files.

The file holds paths relative to a directory of the project, so that it does not depend on where
somebody stands; in a comparison they are spelled as the report spells them.
"""

from __future__ import annotations

import os

from lmemscope.model import STANDARD_INPUT, Baseline, InputId, Report, respelled


def as_written(baseline: Baseline, directory: str) -> Baseline:
    """A baseline with the paths that its file holds.

    Args:
        baseline: its paths start from the working directory.
        directory: that the file's paths start from, absolute; those below it become relative, also
            where links lead there.
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
    """A baseline with the paths as a report spells them, else from the working directory.

    Args:
        baseline: as it was read.
        directory: that the file's paths start from, absolute.
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
        # What the baseline knows under the report's name too is not known twice.
        if other is not None and os.path.abspath(other) not in known:
            return other
        return path if os.path.isabs(path) else os.path.relpath(own)

    return respelled(baseline, reported)

"""Find installed Python packages through their metadata, without importing or running them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from glob import escape, glob
from importlib.metadata import Distribution, distributions

from lmemscope.discover.locate import shown_path
from lmemscope.errors import UsageError
from lmemscope.routes import binary_kind

_ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")


def files_of(name: str, search: Sequence[str] | None = None) -> tuple[str, ...]:
    """A package's files that may contain device code, sorted; links to one file count once.

    Args:
        name: as pip knows it.
        search: directories that packages are installed in; None for those of this interpreter and
            of the active environment.

    Raises:
        UsageError: it is not installed, or has no such file.
    """
    places = list(installed_in(os.environ) if search is None else search)
    found = next(iter(distributions(name=name, path=places)), None)
    if found is None:
        raise UsageError(
            "usage",
            f"package {name} is not installed in {', '.join(places[:3]) or 'any directory'}",
            hint="name its wheel or its directory instead",
        )
    files = {os.path.realpath(path): path for path in sorted(_paths(found), reverse=True)}
    binaries = tuple(sorted(path for path in files.values() if binary_kind(path) is not None))
    if not binaries:
        raise UsageError(
            "usage",
            f"package {name} holds no library, object or archive",
            hint="a package may consist of others: name the one with the libraries",
        )
    return tuple(map(shown_path, binaries))


def installed_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Package directories: the active environment's, then this interpreter's."""
    active = [environment[name] for name in _ENVIRONMENTS if environment.get(name)]
    theirs = [
        place
        for root in active
        for place in sorted(glob(os.path.join(escape(root), "lib", "python3*", "site-packages")))
    ]
    return tuple(dict.fromkeys((*theirs, *filter(os.path.isdir, sys.path))))


def _paths(package: Distribution) -> list[str]:
    located = (str(package.locate_file(one)) for one in package.files or ())
    return [os.path.normpath(path) for path in located if os.path.isfile(path)]

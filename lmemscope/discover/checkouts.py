"""Determine where a project ends (at the top of its git checkout), and which files are its own."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator

from lmemscope.discover.locate import is_below
from lmemscope.model import STANDARD_INPUT, InputId

_FOREIGN = re.compile(
    r"third[-_]?party|3rd[-_]?party|_?deps|dependencies|extern(?:als?)?|vendor(?:ed)?|submodules?"
    r"|(?:site|dist)-packages|cutlass|cccl|cub|thrust",
    re.IGNORECASE,
)
"""Names of directories that contain other people's code."""


def is_top(directory: str) -> bool:
    """Whether a directory is the top of a checkout; in a submodule, ``.git`` is a file."""
    return os.path.lexists(os.path.join(directory, ".git"))


def upwards(directory: str) -> Iterator[str]:
    """A directory and its parents, up to the top of its checkout or of the file system."""
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory or is_top(directory):
            return
        directory = above


def in_repository(path: str) -> str:
    """The path of a file or input relative to its repository, as git servers identify it.

    A file that does not exist, or is in no checkout, keeps its name.
    """
    own = os.path.abspath(path)
    if path == STANDARD_INPUT or not os.path.lexists(InputId.parse(own).file):
        return path
    top = next(filter(is_top, upwards(os.path.dirname(own))), None)
    return path if top is None else os.path.relpath(own, top)


def is_own(path: str, directory: str) -> bool:
    """Whether a path is below a directory, and not in a library within the project's tree."""
    if not is_below(path, directory):
        return False
    parent = os.path.dirname(path)
    while len(parent) > len(directory):
        # A submodule or other clone has its own .git.
        if _FOREIGN.fullmatch(os.path.basename(parent)) or _is_top(parent):
            return False
        parent = os.path.dirname(parent)
    return True


_is_top = functools.cache(is_top)

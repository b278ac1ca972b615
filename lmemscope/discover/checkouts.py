"""Where a project ends: at the top of a git checkout, its own or a submodule's; what is its own."""

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
"""Directories of other people's code, by name."""


def is_top(directory: str) -> bool:
    """Whether a directory is the top of a checkout; ``.git`` is a file in a submodule."""
    return os.path.lexists(os.path.join(directory, ".git"))


def upwards(directory: str) -> Iterator[str]:
    """An absolute directory and those above it, up to its checkout's or the file system's top."""
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory or is_top(directory):
            return
        directory = above


def in_repository(path: str) -> str:
    """A file or an input as its repository calls it, by which servers of git place it.

    One that is not there, or in no checkout, keeps its name.
    """
    own = os.path.abspath(path)
    if path == STANDARD_INPUT or not os.path.lexists(InputId.parse(own).file):
        return path
    top = next(filter(is_top, upwards(os.path.dirname(own))), None)
    return path if top is None else os.path.relpath(own, top)


def is_own(path: str, directory: str) -> bool:
    """Whether an absolute path is below a directory, and no library's in the project's tree."""
    if not is_below(path, directory):
        return False
    parent = os.path.dirname(path)
    while len(parent) > len(directory):
        # A submodule or another clone has a .git of its own.
        if _FOREIGN.fullmatch(os.path.basename(parent)) or _is_top(parent):
            return False
        parent = os.path.dirname(parent)
    return True


_is_top = functools.cache(is_top)

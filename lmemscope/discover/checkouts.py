"""Where a project ends: at the top of a git checkout, its own or a submodule's."""

from __future__ import annotations

import os
from collections.abc import Iterator


def is_top(directory: str) -> bool:
    """Whether a directory is the top of a checkout; ``.git`` is a file in a submodule."""
    return os.path.lexists(os.path.join(directory, ".git"))


def upwards(directory: str) -> Iterator[str]:
    """A directory and those above it, to the top of its checkout, or of the file system.

    Args:
        directory: absolute.
    """
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory or is_top(directory):
            return
        directory = above

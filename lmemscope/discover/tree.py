"""Walk a directory tree without recursion, so that its depth is not limited.

Until Python 3.12, ``os.walk`` calls itself for each level and fails about 1,000 levels down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator


def walk(
    directory: str, on_error: Callable[[OSError], None] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield directories from the top down in sorted order, like ``os.walk``.

    Links to directories are listed but not entered.

    Args:
        directory: where to begin.
        on_error: called for each directory that cannot be read.

    Yields:     A directory, the names of its directories, and those of its files. Remove a name
    from the first list to skip that directory.
    """
    pending = [directory]
    while pending:
        here = pending.pop()
        names: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    (names if _is_directory(entry) else files).append(entry.name)
        except OSError as error:
            if on_error is not None:
                on_error(error)
            continue
        names.sort()
        files.sort()
        yield here, names, files
        below = (os.path.join(here, name) for name in reversed(names))
        pending += [path for path in below if not os.path.islink(path)]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False

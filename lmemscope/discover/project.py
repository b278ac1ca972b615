"""List and search the sources of the project around a file, where its kernels may be launched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import accumulate, islice

from lmemscope.discover.checkouts import is_top, upwards
from lmemscope.discover.tree import walk
from lmemscope.files import read_beside
from lmemscope.model import kind_of

_HOSTS = (".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc")
"""Endings of C++ files other than the kinds that are inputs, in lower case."""
_SKIPPED = frozenset({"CMakeFiles", "__pycache__", "node_modules", "build", "third_party"})
_FILES = 2000
"""Maximum number of files read in a project; of a larger one, the first are used."""
LOOSE_FILES = 500
"""A working directory outside a checkout counts as a project up to this many sources."""
_FOLDERS = 1000
"""Maximum number of folders searched."""
_MENTIONS = 100
"""Maximum number of files returned for a word; those further away are left out."""
MOST_BYTES = 64 << 20
"""Maximum number of bytes searched in a project, and kept in memory for the next search. Reading
all of a large project again, for each word of each file, would take minutes."""
_BYTES = 1 << 20
"""Larger sources are generated and launch nothing."""


def project_sources(path: str) -> tuple[str, ...]:
    """Absolute paths of C++ and CUDA sources in the project around a file, nearest folders first.

    The project is the file's checkout. Without one it is the working directory, if the file is
    below it and it has few sources, else the file's own folder. Hidden folders, build folders,
    links and files above one megabyte are left out, as are the most distant files beyond 64
    megabytes in total.
    """
    top, is_checkout = _top(path)
    sizes = dict(_sources(top))
    if not is_checkout and len(sizes) > LOOSE_FILES:
        # In a home or temporary directory, other sources are unrelated to this one.
        sizes = dict(_sources(os.path.dirname(path)))
    found = sorted(sizes, key=lambda one: (_apart(path, one), one))
    ends = accumulate(sizes[one] for one in found)
    return tuple(one for one, end in zip(found, ends, strict=True) if end <= MOST_BYTES)


class Projects:
    """The text of projects; each project is listed once, and searched once per word.

    Attributes:
        asked: the answers of `mentioning` so far, by file and word.
    """

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], tuple[str, ...]] = {}
        self._known: dict[str, tuple[str, ...]] = {}

    def mentioning(self, path: str, word: str) -> tuple[str, ...]:
        """Absolute paths of sources in the project of a file that contain a word, nearest first.

        Args:
            path: of the file, absolute or relative to the working directory.
            word: an identifier.
        """
        own = os.path.abspath(path)
        if own not in self._known:
            self._known[own] = project_sources(own)
        if (own, word) not in self.asked:
            holding = (file for file in self._known[own] if word.encode() in _texts.of(file))
            self.asked[own, word] = tuple(islice(holding, _MENTIONS))
        return self.asked[own, word]


class _Texts:
    """Contents of files, which are read again if they change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        self._kept = 0

    def of(self, file: str) -> bytes:
        """A file's bytes; empty if it was deleted after it was listed."""
        try:
            stat = os.stat(file)
            stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            known = self._known.get(file)
            if known is not None and known[0] == stamp:
                return known[1]
            text = read_beside(file)
        except OSError:
            return b""
        self._kept += len(text) - (0 if known is None else len(known[1]))
        if self._kept > MOST_BYTES:
            self._known, self._kept = {}, len(text)
        self._known[file] = (stamp, text)
        return text


_texts = _Texts()
"""Shared by the units in this process: most belong to one project."""


def _top(path: str) -> tuple[str, bool]:
    """The candidate project folder for a file, and whether it is a checkout."""
    own = os.path.dirname(path)
    for directory in upwards(own):
        if is_top(directory):
            return directory, True
    working = os.path.abspath(os.curdir)
    is_below = os.path.commonpath((own, working)) == working and working != os.path.sep
    return working if is_below else own, False


def _sources(top: str) -> Iterator[tuple[str, int]]:
    """Sources below a folder, each with its size in bytes."""
    count = 0
    for folders, (root, names, files) in enumerate(walk(top)):
        if folders == _FOLDERS:
            return
        names[:] = [one for one in names if not one.startswith(".") and one not in _SKIPPED]
        for name in files:
            path = os.path.join(root, name)
            if _is_source(name) and not os.path.islink(path):
                if count == _FILES:
                    return
                count += 1
                try:
                    size = os.path.getsize(path)
                except OSError:
                    continue  # deleted after the folder was listed
                if size <= _BYTES:
                    yield path, size


def _is_source(name: str) -> bool:
    kind = kind_of(name)
    return name.lower().endswith(_HOSTS) or (kind is not None and kind.is_cuda)


def _apart(one: str, other: str) -> int:
    """Number of folders between two files."""
    return os.path.relpath(other, os.path.dirname(one)).count(os.path.sep)

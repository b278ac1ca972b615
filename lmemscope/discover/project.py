"""The sources of the project that a file belongs to: where else its kernels may be launched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import accumulate, islice

from lmemscope.discover.checkouts import is_top, upwards
from lmemscope.discover.tree import walk
from lmemscope.files import read_beside
from lmemscope.model import kind_of

_HOSTS = (".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc")
"""Endings of C++ beside the kinds that are inputs, in small letters."""
_SKIPPED = frozenset({"CMakeFiles", "__pycache__", "node_modules", "build", "third_party"})
_FILES = 2000
"""Files up to which a project is read for this; of a larger one the first are."""
LOOSE_FILES = 500
"""Sources up to which a working directory that is no checkout is taken for a project."""
_FOLDERS = 1000
"""Folders up to which one is looked through."""
_MENTIONS = 100
"""Files that may hold a word that is asked for; those further away are left out."""
MOST_BYTES = 64 << 20
"""Bytes of a project that are looked through, and of projects that are kept for the next word. Read
again for each word of each file, all of a large one would take minutes."""
_BYTES = 1 << 20
"""A source that is larger was generated, and launches nothing."""


def project_sources(path: str) -> tuple[str, ...]:
    """Absolute paths of C++ and CUDA sources of the project around a file, nearest folders first.

    The project is the file's checkout; without one, the working directory where the file is below
    it and that holds few sources, else the file's own folder. Hidden folders, those of builds and
    links are left out, and so is what is larger than a megabyte, and what is furthest away in more
    than 64.
    """
    top, is_checkout = _top(path)
    sizes = dict(_sources(top))
    if not is_checkout and len(sizes) > LOOSE_FILES:
        # A home directory, or that of temporary files: others' sources say nothing of this one.
        sizes = dict(_sources(os.path.dirname(path)))
    found = sorted(sizes, key=lambda one: (_apart(path, one), one))
    ends = accumulate(sizes[one] for one in found)
    return tuple(one for one, end in zip(found, ends, strict=True) if end <= MOST_BYTES)


class Projects:
    """The text of projects, each listed once, and looked through once for each word.

    Attributes:
        asked: the answers of `mentioning` so far, by the file and the word.
    """

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], tuple[str, ...]] = {}
        self._known: dict[str, tuple[str, ...]] = {}

    def mentioning(self, path: str, word: str) -> tuple[str, ...]:
        """Absolute paths of sources of the project around a file that hold a word, nearest first.

        Args:
            path: of the file, absolute or from the working directory.
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
    """Bytes of files, which are read again when they have changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        self._kept = 0

    def of(self, file: str) -> bytes:
        """A file's bytes; none where it is gone since it was listed."""
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
"""Of the projects of this process's units: most units are of one project."""


def _top(path: str) -> tuple[str, bool]:
    """The folder that a file's project may be, and whether it is a checkout."""
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
                    continue  # Gone since the folder was listed.
                if size <= _BYTES:
                    yield path, size


def _is_source(name: str) -> bool:
    kind = kind_of(name)
    return name.lower().endswith(_HOSTS) or (kind is not None and kind.is_cuda)


def _apart(one: str, other: str) -> int:
    """Folders between two files."""
    return os.path.relpath(other, os.path.dirname(one)).count(os.path.sep)

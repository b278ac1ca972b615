"""Read option files named on a command line: ``@file`` and nvcc's ``--options-file``.

They come with the scanned tree, like the database that names them. Only regular files of limited
size are opened, to a limited depth, and none recursively.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from lmemscope.errors import InputError
from lmemscope.formats.shell_words import shell_words

_LARGEST = 4 << 20
_DEPTH = 8
_WORDS = 100_000


class Words(Iterator[str]):
    """The words of a command line, one by one; `insert` puts a file's words in front.

    Args:
        words: as split by a shell.
        directory: base of relative names, also in nested files, as for nvcc and GCC.
    """

    def __init__(self, words: Iterable[str], directory: str) -> None:
        self._directory = directory
        self._levels: list[tuple[str, Iterator[str]]] = [("", iter(words))]
        self._given = 0
        self.files: list[str] = []
        """The files that were read, absolute if the directory is."""

    def __next__(self) -> str:
        while self._levels:
            word = next(self._levels[-1][1], None)
            if word is None:
                self._levels.pop()
                continue
            self._given += 1
            if self._given > _WORDS:
                raise InputError("plan", f"a command line of more than {_WORDS} words")
            return word
        raise StopIteration

    def put_back(self, word: str) -> None:
        """Return a word once more."""
        self._levels.append(("", iter((word,))))

    def insert(self, name: str) -> None:
        """Put the words of a file before the remaining ones.

        Raises:
            InputError: it cannot be read, is not a regular file, is too large, or names itself.
        """
        path = os.path.normpath(os.path.join(self._directory, name))
        if any(path == level for level, _ in self._levels):
            raise InputError("plan", f"the response file {path} names itself")
        if len(self._levels) > _DEPTH:
            raise InputError("plan", f"response files name others more than {_DEPTH} deep")
        self.files.append(path)
        self._levels.append((path, iter(_words(path))))


def _words(path: str) -> list[str]:
    try:
        # Non-blocking: the name may be a pipe that nobody writes to.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _unusable(path, "it is no regular file")
            data = os.read(descriptor, _LARGEST + 1)
        finally:
            os.close(descriptor)
        if len(data) > _LARGEST:
            raise _unusable(path, f"it is larger than {_LARGEST >> 20} MiB")
        return shell_words(data.decode("utf-8", "surrogateescape"))
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error


def _unusable(path: str, why: str) -> InputError:
    return InputError(
        "plan",
        f"the response file {path} cannot be read: {why}",
        hint="configure the project again; build systems write these files when they configure",
    )

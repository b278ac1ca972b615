"""Divide the parts of one file among several workers: each takes the next when it is free."""

from __future__ import annotations

import fcntl
import os
from collections import deque
from types import TracebackType

from lmemscope.model import Share


class Claims:
    """The parts of a file that one worker takes; a context manager.

    All workers walk through the parts in the same order. A file of claims has one byte per part
    taken: its worker's number. Bytes are appended under a lock, because appending alone is not
    atomic on network file systems.

    Args:
        share: the worker's number, and the file of claims. What a worker of that number took before
            it was killed is taken again.
    """

    def __init__(self, share: Share) -> None:
        self.share = share
        self._passed = 0
        self._own: deque[int] = deque()
        self._file: int | None = None

    def __enter__(self) -> Claims:
        if self.share.claims is not None:
            self._file = os.open(self.share.claims, os.O_RDWR | os.O_CREAT)
            taken = enumerate(os.pread(self._file, os.fstat(self._file).st_size, 0))
            self._own += (place for place, worker in taken if worker == self.share.number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, where: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)

    def is_own(self) -> bool:
        """Whether this worker reads the next part."""
        if self._file is None:
            return True
        if not self._own:
            self._own.append(self._take(self._file))
        is_own = self._own[0] == self._passed
        if is_own:
            self._own.popleft()
        self._passed += 1
        return is_own

    def _take(self, file: int) -> int:
        """The place of the first part that no worker has taken."""
        fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            place = os.fstat(file).st_size
            os.pwrite(file, bytes((self.share.number,)), place)
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN)
        return place

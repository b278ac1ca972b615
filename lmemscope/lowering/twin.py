"""The debug compilation of what nvcc compiles, from the same preprocessed text, beside the rest.

Most of the time that nvcc takes for a file goes into reading its headers. A debug compilation of
its own would have them preprocessed again and would begin when all else is done. Here it begins
when there is PTX that declares local memory, for then names are as good as sure to be wanted, and
runs beside ptxas and the analysis.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lmemscope.errors import LmemscopeError
from lmemscope.tools import nvcc, process
from lmemscope.tools.toolchain import Toolchain

_DECLARES = b".local "
"""What declarations of local memory hold in PTX; accesses go on with a dot."""


class Twin:
    """The debug compilation of one unit: none yet, running, or done."""

    def __init__(self) -> None:
        self._directory: str | None = None
        self._running: process.Running | None = None
        self._of: bytes | None = None
        self._target = ""

    def directory(self) -> str:
        """An empty directory for what nvcc keeps; what was begun before is given up."""
        self.end()
        self._directory = tempfile.mkdtemp(prefix="lmemscope-kept-")
        return self._directory

    def begin(self, compiled: nvcc.NvccResult, toolchain: Toolchain) -> None:
        """Begin the twin of a compilation that kept its preprocessed text in `directory`.

        Nothing is begun where no name is wanted, or where the text of a debug compilation may be
        another: then a whole one is the caller's to make.
        """
        if self._directory is None or _DECLARES not in compiled.ptx:
            return
        try:
            found = nvcc.debug_step(compiled, self._directory, toolchain)
            if found is not None:
                command, environment, self._target = found
                self._running = process.start(command, env=environment, cwd=None)
                self._of = compiled.ptx
        except LmemscopeError:
            # The whole compilation meets it too, and says so.
            self._running = None

    def ptx(self, of: bytes | None) -> bytes | None:
        """PTX of the debug compilation that belongs to some PTX, or None where there is none."""
        running, self._running = self._running, None
        if running is None:
            return None
        if self._of is not of:
            running.end()
            return None
        if running.finish().returncode != 0:
            return None
        try:
            with open(self._target, "rb") as stream:
                return stream.read()
        except OSError:
            return None

    def end(self) -> None:
        """End what runs, and remove what was kept."""
        if self._running is not None:
            self._running.end()
            self._running = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


_current: ContextVar[Twin | None] = ContextVar("twin", default=None)


def current() -> Twin | None:
    """The twin of the unit that is being analysed, or None where no names are wanted."""
    return _current.get()


@contextmanager
def beside(names: bool) -> Iterator[None]:
    """While this lasts, compilations by nvcc have twins.

    Args:
        names: whether variables' names are wanted at all.
    """
    twin = Twin() if names else None
    token = _current.set(twin)
    try:
        yield
    finally:
        _current.reset(token)
        if twin is not None:
            twin.end()

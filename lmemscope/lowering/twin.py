"""The debug compilation of a unit, beside the rest of its analysis.

It begins as soon as there is PTX that declares local memory, for then names are as good as sure to
be wanted, and runs in a process of its own beside ptxas and the analysis. What nvcc compiles begins
with the text that it has preprocessed already: most of its time goes into reading headers.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from lmemscope.errors import LmemscopeError
from lmemscope.tools import isolated, nvcc, nvrtc, process
from lmemscope.tools.toolchain import Toolchain

_DECLARES = b".local "
"""What declarations of local memory hold in PTX; accesses go on with a dot."""


class Twin:
    """The debug compilation of one unit: none yet, running, or done."""

    def __init__(self) -> None:
        self._directory: str | None = None
        self._cicc: process.Running | None = None
        self._nvrtc: isolated.Running[bytes] | None = None
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
                self._cicc = process.start(command, env=environment, cwd=None)
                self._of = compiled.ptx
        except LmemscopeError:
            # The whole compilation meets it too, and says so.
            self._cicc = None

    def begin_nvrtc(
        self,
        ptx: bytes,
        source: str,
        name: str,
        options: Sequence[str],
        name_expressions: Sequence[str],
        toolchain: Toolchain,
    ) -> None:
        """Begin the twin of a compilation by NVRTC, unless no name is wanted.

        Args:
            ptx: what it made.
            source, name, options, name_expressions, toolchain: what it was given.
        """
        self.end()
        if _DECLARES not in ptx:
            return
        # Where none can be begun, a whole compilation meets it too, and says so.
        with contextlib.suppress(LmemscopeError):
            flags = nvrtc.debug_options(options)
            self._nvrtc = nvrtc.begin_to_ptx(source, name, flags, name_expressions, toolchain)
            self._of = ptx

    def ptx(self, of: bytes | None) -> bytes | None:
        """PTX of the debug compilation that belongs to some PTX, or None where there is none.

        Raises:
            CompileError, WorkerCrashError: NVRTC refused it, or crashed.
        """
        if self._of is not of:
            self.end()
            return None
        beside, self._nvrtc = self._nvrtc, None
        if beside is not None:
            return beside.finish()
        running, self._cicc = self._cicc, None
        if running is None or running.finish().returncode != 0:
            return None
        try:
            with open(self._target, "rb") as stream:
                return stream.read()
        except OSError:
            return None

    def end(self) -> None:
        """End what runs, and remove what was kept."""
        running, self._cicc, self._nvrtc = (self._cicc, self._nvrtc), None, None
        for one in running:
            if one is not None:
                one.end()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


_current: ContextVar[Twin | None] = ContextVar("twin", default=None)


def current() -> Twin | None:
    """The twin of the unit that is being analysed, or None where no names are wanted."""
    return _current.get()


@contextmanager
def beside(names: bool) -> Iterator[None]:
    """While this lasts, compilations have twins.

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

"""What this process does while a compiler runs in another: it imports, and analyses PTX.

Importing the analysis takes as long as compiling a small file, and ptxas takes as long as half of
the analysis, which needs the PTX alone. All of it happens on the thread that waits for the
compiler: two threads that import at once can get modules half made
(https://github.com/python/cpython/issues/83065).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from lmemscope.tools import ptxas
from lmemscope.tools.toolchain import Toolchain

if TYPE_CHECKING:
    from lmemscope.analysis.ptx.callgraph import ModuleFlow


class Ahead:
    """The analyses of one unit's PTX, as far as they are made.

    Args:
        causes: whether causes will be asked for, and not facts alone.
        wanted: whether a kernel's report is, by its name in PTX.
        load: imports the analysis.
    """

    def __init__(
        self, causes: bool, wanted: Callable[[str], bool], load: Callable[[], None]
    ) -> None:
        self._causes, self._wanted, self._load = causes, wanted, load
        self._of: bytes | None = None
        self._flow: ModuleFlow | None = None

    def load(self) -> None:
        """Import the analysis, unless it is there."""
        self._load()

    def analyse(self, ptx: bytes) -> None:
        """Analyse some PTX; it takes the place of any other."""
        self._load()
        from lmemscope.analysis.ptx.callgraph import ModuleFlow
        from lmemscope.formats.ptx import PtxModule

        self._of = self._flow = None
        # Who asks for what could not be made meets the error again, and says so.
        with contextlib.suppress(Exception):
            flow = ModuleFlow(PtxModule(ptx))
            self._prepare(flow)
            self._of, self._flow = ptx, flow

    def flow(self, of: bytes | None) -> ModuleFlow | None:
        """The analyses of some PTX, to be kept by the caller, or None where there are none."""
        flow = self._flow if of is not None and self._of is of else None
        self._of = self._flow = None
        return flow

    def prepare(self, flow: ModuleFlow | None) -> None:
        """Make what the causes will need, which variables' names do not change.

        Args:
            flow: of a module, or None where there is nothing to make.
        """
        if flow is None:
            return
        try:
            self._prepare(flow)
        except Exception:  # noqa: BLE001 - who asks for it meets it again, and says so
            flow.forget()

    def _prepare(self, flow: ModuleFlow) -> None:
        from lmemscope.analysis.ptx.preparation import prepare

        prepare(flow, self._causes, self._wanted)


_current: ContextVar[Ahead | None] = ContextVar("ahead", default=None)


@contextmanager
def beside(
    causes: bool, wanted: Callable[[str], bool], load: Callable[[], None]
) -> Iterator[Ahead]:
    """While this lasts, compilers are not only waited for; arguments as for `Ahead`."""
    ahead = Ahead(causes, wanted, load)
    token = _current.set(ahead)
    try:
        yield ahead
    finally:
        _current.reset(token)


def load() -> None:
    """What to do while a compiler runs that makes PTX."""
    ahead = _current.get()
    if ahead is not None:
        ahead.load()


def assemble(
    ptx: bytes, name: str, flags: Sequence[str], toolchain: Toolchain
) -> ptxas.PtxasResult:
    """`lmemscope.tools.ptxas.assemble`, with analyses of its input made meanwhile."""
    ahead = _current.get()
    meanwhile = None if ahead is None else lambda: ahead.analyse(ptx)
    return ptxas.assemble(ptx, name, flags, toolchain, meanwhile)

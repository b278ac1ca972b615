"""Analyses of PTX while a compiler runs: this process only waits for it meanwhile.

ptxas takes as long as all of the analysis or longer, and half of the analysis needs the PTX alone.
So it is made in a thread while ptxas runs, and goes on while a debug compilation does. What was not
reached is made when it is asked for, as if there had been no thread.

The thread runs only while this one does little but wait: where both want the interpreter, each call
into the system lets the other have it for 5 ms.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
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
        imported: returns when all of the analysis can be imported; by one thread alone, because
            imports by two at a time can cross.
    """

    def __init__(
        self, causes: bool, wanted: Callable[[str], bool], imported: Callable[[], None]
    ) -> None:
        self._causes, self._wanted, self._imported = causes, wanted, imported
        self._of: bytes | None = None
        self._flow: ModuleFlow | None = None

    @contextmanager
    def of(self, ptx: bytes) -> Iterator[None]:
        """While this lasts, analyses of some PTX are made; they take the place of any others."""
        made: list[ModuleFlow] = []

        def work(is_ended: Callable[[], bool]) -> None:
            from lmemscope.analysis.ptx.callgraph import ModuleFlow
            from lmemscope.analysis.ptx.preparation import prepare
            from lmemscope.formats.ptx import PtxModule

            flow = ModuleFlow(PtxModule(ptx))
            prepare(flow, self._causes, self._wanted, is_ended)
            made.append(flow)

        self._of = self._flow = None
        with _beside(self._imported, work):
            yield
        if made:
            self._of, self._flow = ptx, made[0]

    def flow(self, of: bytes | None) -> ModuleFlow | None:
        """The analyses of some PTX, to be kept by the caller, or None where there are none."""
        flow = self._flow if of is not None and self._of is of else None
        self._of = self._flow = None
        return flow

    @contextmanager
    def goes_on(self, flow: ModuleFlow | None) -> Iterator[None]:
        """While this lasts, what was not reached is made; nobody else may use the flow meanwhile.

        Args:
            flow: of a module, or None where there is nothing to make.
        """
        if flow is None:
            yield
            return
        from lmemscope.analysis.ptx.preparation import prepare

        def work(is_ended: Callable[[], bool]) -> None:
            try:
                prepare(flow, self._causes, self._wanted, is_ended)
            except BaseException:
                flow.forget()
                raise

        with _beside(self._imported, work):
            yield


@contextmanager
def _beside(
    imported: Callable[[], None], work: Callable[[Callable[[], bool]], None]
) -> Iterator[None]:
    """While this lasts, and at most one function longer, a thread works.

    Args:
        imported: waits until the work can begin; it does not begin if this has ended by then.
        work: is given what says whether it is to end; it must leave nothing half made if it raises.
    """
    ended, deciding, has_begun = threading.Event(), threading.Lock(), False

    def run() -> None:
        nonlocal has_begun
        imported()
        with deciding:
            has_begun = not ended.is_set()
        # Who asks for what could not be made meets the error again, and says so.
        with contextlib.suppress(Exception):
            if has_begun:
                work(ended.is_set)

    def end() -> None:
        with deciding:
            ended.set()
        if has_begun:
            thread.join()

    # Who is told to end waits for nobody.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    except Exception:
        end()
        raise
    finally:
        ended.set()
    end()


_current: ContextVar[Ahead | None] = ContextVar("ahead", default=None)


@contextmanager
def beside(
    causes: bool, wanted: Callable[[str], bool], imported: Callable[[], None]
) -> Iterator[Ahead]:
    """While this lasts, PTX is analysed while ptxas runs; arguments as for `Ahead`."""
    ahead = Ahead(causes, wanted, imported)
    token = _current.set(ahead)
    try:
        yield ahead
    finally:
        _current.reset(token)


def assemble(
    ptx: bytes, name: str, flags: Sequence[str], toolchain: Toolchain
) -> ptxas.PtxasResult:
    """`lmemscope.tools.ptxas.assemble`, with analyses of its input made meanwhile."""
    ahead = _current.get()
    meanwhile = nullcontext if ahead is None else partial(ahead.of, ptx)
    return ptxas.assemble(ptx, name, flags, toolchain, meanwhile)

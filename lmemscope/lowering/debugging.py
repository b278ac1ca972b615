"""A debug compilation that runs while its program is assembled and analysed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from msgspec.structs import replace

from lmemscope.errors import WorkerCrashError
from lmemscope.formats.ptx_printf import only_prints
from lmemscope.model import Artifacts, Variable
from lmemscope.tools import child
from lmemscope.tools.child import Child, KilledError
from lmemscope.tools.process import Meanwhile

ReadVariables = Callable[[Artifacts], tuple[Variable, ...]]


class Debugging:
    """What to do beside the compilation of one unit, and the debug compilation once it has begun.

    Args:
        meanwhile: called while a compiler runs.
        is_told: whether the source itself tells the variables of what has this PTX.
        wants_names: whether variables' names are wanted of all kernels.
    """

    def __init__(
        self,
        meanwhile: Meanwhile,
        is_told: Callable[[Artifacts], bool] = lambda artifacts: False,
        *,
        wants_names: bool,
    ) -> None:
        self.meanwhile, self._is_told = meanwhile, is_told
        self._wants_names = wants_names
        self._child: Child | None = None
        self._program: object = None

    def begin(self, artifacts: Artifacts) -> None:
        """Begin in a process of its own, where PTX has variables that the source does not tell.

        Args:
            artifacts: of which the PTX is known, and how it was made.
        """
        wanted = self._wants_names and not artifacts.cached and artifacts.source is not None
        if not wanted or not has_variables(artifacts.ptx or b"") or self._is_of(artifacts):
            return
        if not child.is_single_threaded():
            return  # A fresh interpreter would cost more than it gains.
        if self._is_told(artifacts):
            return
        from lmemscope.lowering.debug import variables_of

        self.close()
        # Without one it is compiled when it is asked for.
        with contextlib.suppress(WorkerCrashError):
            self._child = Child(forks=True)
            self._child.send(variables_of, (replace(artifacts, ptx=None),))
            self._program = _program(artifacts)

    def variables(self, artifacts: Artifacts, read: ReadVariables) -> tuple[Variable, ...]:
        """The variables: what began for this program, else what ``read`` gives.

        Raises:
            LmemscopeError: as ``read``.
        """
        if self._child is not None and self._is_of(artifacts):
            with contextlib.suppress(KilledError):
                succeeded, value = self._child.receive()
                if not succeeded:
                    raise value
                found: tuple[Variable, ...] = value
                return found
        return read(artifacts)

    def close(self) -> None:
        """End what was begun and not asked for."""
        if self._child is not None:
            self._child.close()
        self._child = self._program = None

    def _is_of(self, artifacts: Artifacts) -> bool:
        return self._child is not None and self._program == _program(artifacts)


def has_variables(ptx: bytes) -> bool:
    """Whether what PTX has in local memory may have the names of variables."""
    return b".local" in ptx and not only_prints(ptx)


def _program(artifacts: Artifacts) -> object:
    """What a debug compilation follows from, within one analysis."""
    return artifacts.frontend, artifacts.options, artifacts.instantiated, artifacts.program

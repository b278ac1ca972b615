"""Run the debug compilation in parallel with the assembly and analysis of the same program."""

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
    """Work to do while one unit is compiled, and its debug compilation once started.

    Args:
        meanwhile: called while a compiler runs.
        is_told: whether the source itself gives the variables of a program with this PTX.
        wants_names: whether variable names are wanted for all kernels.
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
        """Start in a separate process, if the PTX has variables that the source does not reveal.

        Args:
            artifacts: whose PTX is known, and how it was made.
        """
        wanted = self._wants_names and not artifacts.cached and artifacts.source is not None
        if not wanted or not has_variables(artifacts.ptx or b"") or self._is_of(artifacts):
            return
        if not child.is_single_threaded():
            return  # A fresh interpreter would cost more time than it saves.
        if self._is_told(artifacts):
            return
        from lmemscope.lowering.debug import variables_of

        self.close()
        # Without a worker, the debug compilation runs when its result is needed.
        with contextlib.suppress(WorkerCrashError):
            self._child = Child(forks=True)
            self._child.send(variables_of, (replace(artifacts, ptx=None),))
            self._program = _program(artifacts)

    def variables(self, artifacts: Artifacts, read: ReadVariables) -> tuple[Variable, ...]:
        """The variables, from the compilation started for this program, else from ``read``."""
        if self._child is not None and self._is_of(artifacts):
            with contextlib.suppress(KilledError):
                succeeded, value = self._child.receive()
                if not succeeded:
                    raise value
                found: tuple[Variable, ...] = value
                return found
        return read(artifacts)

    def close(self) -> None:
        """Stop a debug compilation whose result was not used."""
        if self._child is not None:
            self._child.close()
        self._child = self._program = None

    def _is_of(self, artifacts: Artifacts) -> bool:
        return self._child is not None and self._program == _program(artifacts)


def has_variables(ptx: bytes) -> bool:
    """Whether local memory in the PTX may belong to named variables."""
    return b".local" in ptx and not only_prints(ptx)


def _program(artifacts: Artifacts) -> object:
    """What identifies a debug compilation within one analysis."""
    return artifacts.frontend, artifacts.options, artifacts.instantiated, artifacts.program

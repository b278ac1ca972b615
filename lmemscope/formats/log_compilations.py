"""Find compilations in a build log without a ptxas report: no -Xptxas -v, or -dlto.

Each run of ptxas with -v prints at least the bytes of global memory. If compilations ran one after
another, a step without a report before the next has none. If they ran at the same time, there must
be at least as many reports as sources and architectures.
"""

from __future__ import annotations

from lmemscope.formats.build_steps import Step, is_same_file
from lmemscope.formats.log_lines import Announced, Event, Module, OtherReport, Properties, Trouble
from lmemscope.model import listed

_UNNAMED = "a compilation of several files"


class Compilations:
    """The compilations in a log, and which of them ptxas reported."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._modules = 0
        self._reported: list[str | None] = []
        self._open: Step | None = None

    def take(self, event: Event) -> None:
        """Process one event."""
        if isinstance(event, Step):
            self._open = event if event.language == "CUDA" else None
            if self._open is not None:
                self._steps.append(event)
            return
        failed = isinstance(event, (OtherReport, Trouble)) and event.error is not None
        self._modules += isinstance(event, Module)
        if (failed or isinstance(event, (Module, Announced, Properties))) and self._open:
            self._reported.append(self._open.source)

    def unreported(self, *, is_parallel: bool) -> tuple[str, ...]:
        """Sources without a report, or a description of how many there are at least.

        Args:
            is_parallel: whether the output of compilations is interleaved.
        """
        if not is_parallel:
            lacking = (one.source for one in self._steps if not self._is_reported(one))
            return tuple(dict.fromkeys(source or _UNNAMED for source in lacking))
        expected: dict[str | None, int] = {}
        for step in self._steps:
            same = (one for one in expected if is_same_file(one, step.source))
            source = next(same, step.source)
            expected[source] = max(expected.get(source, 0), len(step.archs), 1)
        lacking_reports = sum(expected.values()) - self._modules
        if not self._modules or lacking_reports <= 0:
            return ()
        names = listed([source or _UNNAMED for source in expected])
        return (f"{lacking_reports} of the compilations of {names}",)

    def _is_reported(self, step: Step) -> bool:
        return any(one == step.source or is_same_file(one, step.source) for one in self._reported)

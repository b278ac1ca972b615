"""Per-task time limits, measured in processor time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lmemscope.running.processor_time import seconds_of


@dataclass(frozen=True, slots=True)
class Limited:
    """A function with a time limit.

    `WorkerPool` ends the process when the limit is reached; other executors just call the function.

    Attributes:
        function: importable by name.
        seconds: its limit, in processor time if the system reports it, else in elapsed time.
    """

    function: Callable[..., Any]
    seconds: float

    def __call__(self, *args: Any) -> Any:
        """Call the function and return its result."""
        return self.function(*args)


_PATIENCE = 10
"""Elapsed time limit, as a multiple of the processor time: a task that waits forever uses none."""
_SOON = 1.0
"""Minimum number of seconds between two checks of processor time."""


def limit_of(function: Callable[..., Any], seconds: float | None) -> float | None:
    """The time limit of a task in seconds, given the general one; None for no limit."""
    own = function.seconds if isinstance(function, Limited) else None
    return min((one for one in (own, seconds) if one is not None), default=None)


@dataclass
class Deadline:
    """The deadline of one task.

    Attributes:
        seconds: its time limit.
        ends: elapsed time of the next check.
        last: elapsed time at which it ends in any case.
        pid: the process whose processor time counts, or None.
        before: that process's processor time when the task began; None if unknown.
    """

    seconds: float
    ends: float
    last: float
    pid: int | None
    before: float | None

    @classmethod
    def of(cls, seconds: float, pid: int | None) -> Deadline:
        """The deadline of a task that starts now."""
        now = time.monotonic()
        before = seconds_of(pid) if pid is not None else None
        patience = _PATIENCE if before is not None else 1
        return cls(seconds, now + seconds, now + seconds * patience, pid, before)

    @property
    def is_known(self) -> bool:
        """Whether processor time is available."""
        return self.before is not None

    def left(self) -> float:
        """Number of seconds to wait."""
        return max(0.0, min(self.ends, self.last) - time.monotonic())

    def is_over(self) -> bool:
        """Whether the task has used up its time; if not, extend the deadline by what is left."""
        now = time.monotonic()
        if now >= self.last or self.before is None or self.pid is None:
            return now >= self.ends
        taken = seconds_of(self.pid)
        if taken is None or taken - self.before >= self.seconds:
            return True
        self.ends = now + max(_SOON, self.seconds - (taken - self.before))
        return False

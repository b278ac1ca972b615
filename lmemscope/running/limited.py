"""A task with a time limit of its own, and when that is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lmemscope.running.processor_time import seconds_of


@dataclass(frozen=True, slots=True)
class Limited:
    """A function that is given up on after some seconds of processor time.

    Where a `WorkerPool` runs it, its process is ended then; any other executor only calls it.

    Attributes:
        function: importable by name.
        seconds: that it may take: of processor time, as far as the system tells that, or else of
            elapsed time.
    """

    function: Callable[..., Any]
    seconds: float

    def __call__(self, *args: Any) -> Any:
        """What the function gives."""
        return self.function(*args)


_PATIENCE = 10
"""How many times its processor time a task may take: one that waits for ever uses none."""
_SOON = 1.0
"""Seconds after which processor time is looked at again, at least."""


def limit_of(function: Callable[..., Any], seconds: float | None) -> float | None:
    """The seconds that a task may take, where each task has some, or None: without end."""
    own = function.seconds if isinstance(function, Limited) else None
    return min((one for one in (own, seconds) if one is not None), default=None)


@dataclass
class Deadline:
    """When a task is given up on.

    Attributes:
        seconds: that it may take.
        ends: when elapsed time is looked at.
        last: when it is over, whatever is known.
        pid: the process whose processor time counts, or None.
        before: what that had taken when the task began; None where it is not known.
    """

    seconds: float
    ends: float
    last: float
    pid: int | None
    before: float | None

    @classmethod
    def of(cls, seconds: float, pid: int | None) -> Deadline:
        """The deadline of a task that begins now."""
        now = time.monotonic()
        before = seconds_of(pid) if pid is not None else None
        patience = _PATIENCE if before is not None else 1
        return cls(seconds, now + seconds, now + seconds * patience, pid, before)

    @property
    def is_known(self) -> bool:
        """Whether processor time counts."""
        return self.before is not None

    def left(self) -> float:
        """Seconds to wait for."""
        return max(0.0, min(self.ends, self.last) - time.monotonic())

    def is_over(self) -> bool:
        """Whether the task has had its time; else it is waited for as long as it has left."""
        now = time.monotonic()
        if now >= self.last or self.before is None or self.pid is None:
            return now >= self.ends
        taken = seconds_of(self.pid)
        if taken is None or taken - self.before >= self.seconds:
            return True
        self.ends = now + max(_SOON, self.seconds - (taken - self.before))
        return False

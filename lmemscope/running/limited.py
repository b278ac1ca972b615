"""A task with a time limit of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limited:
    """A function that is given up on after some seconds.

    Where a `WorkerPool` runs it, its process is ended then; any other executor only calls it.

    Attributes:
        function: importable by name.
        seconds: that it may take.
    """

    function: Callable[..., Any]
    seconds: float

    def __call__(self, *args: Any) -> Any:
        """What the function gives."""
        return self.function(*args)


def limit_of(function: Callable[..., Any], seconds: float | None) -> float | None:
    """The seconds that a task may take, where each task has some, or None: without end."""
    own = function.seconds if isinstance(function, Limited) else None
    return min((one for one in (own, seconds) if one is not None), default=None)

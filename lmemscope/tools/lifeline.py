"""Ends a group of processes as soon as the process that started it is gone, whatever ended it.

A process that is killed can tidy nothing up, its children learn nothing of its end, and what they
started learns less: ``PR_SET_PDEATHSIG`` reaches children alone, and goes by the thread that
started them. The kernel can see to all of it: a pipe, whose writing end only the parent has, tells
its reading end when it is closed, and that end can be made to answer with a signal to a whole group
(fcntl(2): ``O_ASYNC``, ``F_SETOWN``, ``F_SETSIG``). No code of ours has to be running for that.

Linux alone has this; elsewhere a worker ends when it next asks for a task. A group is tied just
after it has been started: who is killed between the two leaves it behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal


class Lifeline:
    """A pipe; the group that is tied to it lives no longer than the process that made it.

    Attributes:
        end: what the group's processes inherit.
    """

    def __init__(self) -> None:
        self.end, self._held = os.pipe()

    def tie(self, group: int) -> None:
        """Let the end of this process kill a group of processes."""
        if not hasattr(fcntl, "F_SETSIG"):
            return
        with contextlib.suppress(OSError):  # some sandboxes know no such signals
            fcntl.fcntl(self.end, fcntl.F_SETOWN, -group)
            fcntl.fcntl(self.end, fcntl.F_SETSIG, signal.SIGKILL)
            flags = fcntl.fcntl(self.end, fcntl.F_GETFL)
            fcntl.fcntl(self.end, fcntl.F_SETFL, flags | os.O_ASYNC)

    def release(self) -> None:
        """Close the pipe of a group that has ended."""
        # In this order: the number may be another group's by now, and must get no signal.
        for descriptor in (self.end, self._held):
            with contextlib.suppress(OSError):
                os.close(descriptor)

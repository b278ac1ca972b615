"""End a process group as soon as the process that started it is gone, however it ended.

A killed process cannot clean up, and its descendants do not notice: ``PR_SET_PDEATHSIG`` reaches
only direct children, and follows the thread that started them. The kernel can do it: the reading
end of a pipe is notified when its writing end, which only the parent holds, is closed, and can be
set to signal a whole process group (fcntl(2): ``O_ASYNC``, ``F_SETOWN``, ``F_SETSIG``). None of our
code has to be running then.

This works only on Linux; elsewhere a worker ends when it next asks for a task. A group is tied just
after it starts; if the parent is killed in between, the group survives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal


class Lifeline:
    """A pipe; a process group tied to it ends with the process that created it.

    Attributes:
        end: the end inherited by the group's processes.
    """

    def __init__(self) -> None:
        self.end, self._held = os.pipe()

    def tie(self, group: int) -> None:
        """Arrange for a process group to be killed when this process ends."""
        if not hasattr(fcntl, "F_SETSIG"):
            return
        with contextlib.suppress(OSError):  # some sandboxes do not support these signals
            fcntl.fcntl(self.end, fcntl.F_SETOWN, -group)
            fcntl.fcntl(self.end, fcntl.F_SETSIG, signal.SIGKILL)
            flags = fcntl.fcntl(self.end, fcntl.F_GETFL)
            fcntl.fcntl(self.end, fcntl.F_SETFL, flags | os.O_ASYNC)

    def release(self) -> None:
        """Close the pipe of a group that has ended."""
        # In this order: the ID may belong to another group by now, which must get no signal.
        for descriptor in (self.end, self._held):
            with contextlib.suppress(OSError):
                os.close(descriptor)

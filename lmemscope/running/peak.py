"""How much memory a task took: a worker's own, and that of the programs it ran.

Linux alone can be asked; elsewhere nothing is known. Sources: proc(5), ``VmHWM`` and
``clear_refs``; getrusage(2), ``ru_maxrss``.
"""

from __future__ import annotations

import re
import resource
import sys

_KIB = 1024
_HIGHEST = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_PROGRAMS = "lmemscope.tools.process"


class Peak:
    """From here on; `taken` is asked once, when the task has ended."""

    def __init__(self) -> None:
        self._reset = _reset()
        self._children = _largest_child()
        _of_programs()

    def taken(self) -> int | None:
        """Bytes that were used at most, or None where that cannot be known.

        The worker and its largest program, as if both had been largest at the same time.
        """
        own = _highest() if self._reset else None
        if own is None:
            return None
        # Of programs that ended, the system tells the largest so far. That is the task's where
        # the figure grew; otherwise those know that ran them.
        largest = _largest_child()
        return own + max(_of_programs(), largest if largest > self._children else 0)


def _reset() -> bool:
    try:
        with open("/proc/self/clear_refs", "wb") as stream:
            stream.write(b"5")
    except OSError:
        return False
    return True


def _highest() -> int | None:
    try:
        with open("/proc/self/status", "rb") as stream:
            match = _HIGHEST.search(stream.read())
    except OSError:
        return None
    return int(match.group(1)) * _KIB if match else None


def _largest_child() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _KIB


def _of_programs() -> int:
    """The largest of the tools that were run since this was last asked."""
    # A worker that ran none need not import it; another thread may be importing it just now.
    take_peak = getattr(sys.modules.get(_PROGRAMS), "take_peak", None)
    taken: int = 0 if take_peak is None else take_peak()
    return taken

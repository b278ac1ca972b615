"""The processor time of a process and of all that it has started, as Linux tells it.

Elapsed time is no measure of a compilation: on a busy machine it is several times as much.
"""

from __future__ import annotations

import os

_PROC = "/proc"
_PARENT, _TIMES = 1, slice(11, 15)
"""Fields of ``/proc/PID/stat`` behind the command's name: the parent, and the times of the process
and of its children that have ended (proc(5): utime, stime, cutime, cstime)."""


def seconds_of(pid: int) -> float | None:
    """Seconds that a process, its children and theirs have run; None where the system has no such
    figures.
    """
    try:
        ticks = os.sysconf("SC_CLK_TCK")
        every = {int(name): _fields(name) for name in os.listdir(_PROC) if name.isdigit()}
    except (OSError, ValueError, AttributeError):
        return None
    if every.get(pid) is None:
        return None
    children: dict[int, list[int]] = {}
    for number, fields in every.items():
        if fields is not None:
            children.setdefault(int(fields[_PARENT]), []).append(number)
    total, left, seen = 0, [pid], {pid}
    while left:
        number = left.pop()
        total += sum(map(int, (every[number] or [])[_TIMES]))
        new = [one for one in children.get(number, ()) if one not in seen]
        seen.update(new)
        left += new
    return total / ticks


def _fields(name: str) -> list[str] | None:
    """What is said of a process; None where it has ended."""
    try:
        with open(os.path.join(_PROC, name, "stat"), encoding="ascii", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()
    except OSError:
        return None

"""Read the processor time of a process and its descendants from Linux's /proc.

Elapsed time is a poor measure of a compilation: on a busy machine it is several times as long.
"""

from __future__ import annotations

import os

_PROC = "/proc"
_PARENT, _TIMES = 1, slice(11, 15)
"""Fields of ``/proc/PID/stat`` after the command name: the parent, and the processor times of the
process and of its children that have ended (proc(5): utime, stime, cutime, cstime)."""


def seconds_of(pid: int) -> float | None:
    """Processor time in seconds of a process and its descendants; None if not available."""
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
    """The fields of a process; None if it has ended."""
    try:
        with open(os.path.join(_PROC, name, "stat"), encoding="ascii", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()
    except OSError:
        return None

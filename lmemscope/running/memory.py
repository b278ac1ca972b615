"""How many units may run at a time, by what they take against what is free.

A compiler takes from 100 MB to several GB for a file, so that one for each CPU can be more than
the machine has. A unit starts when what it is expected to take fits beside those that run, or when
none runs: one that is larger than the machine still gets its chance, alone. Units start in the
order in which they asked, so that a large one is never passed over for ever.

What a unit is expected to take is what it took last time, with the processes it started; it is
kept beside the store's entries. Where that is not known it is a cautious guess. What is free is
what the kernel calls available, or what the control groups leave where that is less (kernel
documentation: filesystems/proc, admin-guide/cgroup-v2 and cgroup-v1/memory).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from lmemscope import whole
from lmemscope.files import read_beside
from lmemscope.model import Unit, UnitReport

MIB = 1 << 20

GUESS = 1024 * MIB
"""Of a unit that a compiler will read and that was never measured: more than nearly all take."""

SMALL_GUESS = 256 * MIB
"""Of one that is only assembled or read."""

RESERVE = 256 * MIB
"""Left to the rest of the machine while more than one unit runs."""

REMEMBERED = 20_000
"""Units whose need is kept; those measured longest ago are forgotten first."""

_READING_SECONDS = 0.05
_RECHECK_SECONDS = 1.0
_SMALL = (".ptx", ".cubin")


def fits(need: int, running: Sequence[int], room: int | None, free: int | None) -> bool:
    """Whether a unit may start. All in bytes.

    Args:
        need: what the unit is expected to take.
        running: the same of each unit that runs.
        room: what was free for all of them together, None where that is not known.
        free: what is free now; what the running ones will still take is not off it yet.
    """
    if not running or room is None or free is None:
        return True
    return sum(running) + need + RESERVE <= room and need + RESERVE <= free


class Admission:
    """Lets units start in turn as memory allows; any thread may call any method.

    Args:
        free: reads the bytes that are free, or None where nothing says so.
    """

    def __init__(self, free: Callable[[], int | None]) -> None:
        self._free = free
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._running: dict[object, int] = {}
        self._room: int | None = None
        self._read_at = -_READING_SECONDS
        self._last: int | None = None
        self._closed = False

    def enter(self, need: int) -> object | None:
        """Wait until a unit that needs so many bytes may start.

        Returns:
            What `leave` takes, or None when all was closed meanwhile.
        """
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                while not self._closed:
                    if self._waiting[0] is ticket and self._fits(need):
                        self._running[ticket] = need
                        return ticket
                    # Another program may have ended, which nobody tells us.
                    self._changed.wait(_RECHECK_SECONDS)
                return None
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def leave(self, ticket: object) -> None:
        """Tell that the unit has ended, however it did."""
        with self._changed:
            del self._running[ticket]
            self._changed.notify_all()

    def close(self) -> None:
        """Turn away all that wait, and all that come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fits(self, need: int) -> bool:
        now = time.monotonic()
        if now - self._read_at >= _READING_SECONDS:
            self._read_at, self._last = now, self._free()
            if self._last is not None:
                # Measured before our units took anything; another program may end later.
                self._room = max(self._last, self._room or 0)
        return fits(need, tuple(self._running.values()), self._room, self._last)


class Needs:
    """What units took when they were last compiled.

    Args:
        directory: the store's, or None to know and keep nothing.
    """

    def __init__(self, directory: str | None) -> None:
        self._path = None if directory is None else os.path.join(directory, "memory", "needs.json")
        self._known: dict[str, int] | None = None
        self._new: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, unit: Unit) -> int:
        """Bytes that a unit is expected to take."""
        with self._lock:
            if self._known is None:
                self._known = _read_needs(self._path)
            known = self._known.get(_key(unit))
        if known is not None:
            return known * MIB
        small = unit.excerpt is not None or unit.path.endswith(_SMALL)
        return SMALL_GUESS if small else GUESS

    def note(self, unit: Unit, outcome: object, peak: int | None) -> None:
        """Remember what a unit took, unless it came from the cache or did not get far.

        Args:
            unit: that ended.
            outcome: its report, or what was raised in its place.
            peak: bytes, or None where they could not be measured.
        """
        if peak is None or not isinstance(outcome, UnitReport) or outcome.cached:
            return
        with self._lock:
            self._new[_key(unit)] = -(-peak // MIB)

    def save(self) -> None:
        """Keep what was noted; a directory that cannot be written keeps nothing."""
        with self._lock:
            new, self._new = self._new, {}
        if self._path is None or not new:
            return
        # Read again: another run may have written since. Its figures are as good as ours.
        kept = {key: value for key, value in _read_needs(self._path).items() if key not in new}
        entries = [*kept.items(), *new.items()][-REMEMBERED:]
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            whole.write(self._path, json.dumps(dict(entries)).encode("ascii"), own=True)


def _read_needs(path: str | None) -> dict[str, int]:
    """MiB by unit; nothing where the file is not what `Needs.save` writes."""
    if path is None:
        return {}
    try:
        found = json.loads(read_beside(path).decode("ascii"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if type(value) is int and value >= 0}


def _key(unit: Unit) -> str:
    """Names a unit by all but its contents: an edited file takes about what it took."""
    follows = (unit.path, unit.frontend, unit.arch, unit.options, unit.toolkit, unit.program)
    text = repr(follows).encode("utf-8", "surrogateescape")
    return f"{zlib.crc32(text):08x}{zlib.adler32(text):08x}"


def free_memory(root: str = "/") -> int | None:
    """Bytes that new processes can take, or None where nothing says so.

    Args:
        root: where ``proc`` and ``sys`` are, for tests.
    """
    return min(
        (left for left in (_available(root), *_left_by_groups(root)) if left is not None),
        default=None,
    )


def _available(root: str) -> int | None:
    match = re.search(r"^MemAvailable:\s+(\d+) kB$", _text(f"{root}/proc/meminfo"), re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def _left_by_groups(root: str) -> Iterator[int | None]:
    """What each control group above this process leaves, in either version."""
    for line in _text(f"{root}/proc/self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            for group in _upwards(f"{root}/sys/fs/cgroup", path):
                yield _left(group, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            for group in _upwards(f"{root}/sys/fs/cgroup/memory", path):
                yield _left(
                    group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
                )


def _upwards(mount: str, path: str) -> Iterable[str]:
    """Directories of a group and of those above it; in a container only some of them are there."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return ("/".join((mount, *parts[:count])) for count in range(len(parts), -1, -1))


def _left(group: str, limit: str, usage: str, cached: str) -> int | None:
    most, used = _text(f"{group}/{limit}").strip(), _text(f"{group}/{usage}").strip()
    if not (most.isdigit() and used.isdigit()):
        return None  # "max", or no such group here
    # Contents of files that nobody used of late count as used, and go when memory is wanted.
    match = re.search(rf"^{cached} (\d+)$", _text(f"{group}/memory.stat"), re.MULTILINE)
    return max(0, int(most) - int(used) + (int(match.group(1)) if match else 0))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""

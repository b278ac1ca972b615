"""Read ninja's records of a build: ``.ninja_log`` and ``.ninja_deps``.

Formats: ninja's ``build_log.cc`` and ``deps_log.cc``, versions 5 to 7 of the log and 3 and 4 of the
dependencies. The log has a hash of the command for each output: MurmurHash64A in versions 5 and 6,
rapidhash in version 7.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

_HEADER = re.compile(rb"# ninja log v(\d{1,3})\n")
_DEPS = b"# ninjadeps\n"
_LONGEST_RECORD = 1 << 19
_64 = (1 << 64) - 1
_MURMUR_SEED, _MURMUR_FACTOR = 0xDECAFBADDECAFBAD, 0xC6A4A7935BD1E995
_RAPID_SEED = 0xBDD89AA982704029
_RAPID_SECRET = (0x2D358DCCAA6C78A5, 0x8BB84B93962EACC9, 0x4B33A62ED433D4A3)


@dataclass(frozen=True, slots=True)
class Logged:
    """The last run that made an output.

    Attributes:
        time: in ns: of the output or, in newer versions, of the command's start. An input changed
            after it is newer.
        command: hash of the command.
    """

    time: int
    command: int


@dataclass(frozen=True, slots=True)
class NinjaLog:
    """A parsed log.

    Attributes:
        version: of its format.
        runs: by output, as ninja spells it.
    """

    version: int
    runs: Mapping[str, Logged] = field(default_factory=dict)

    def shows(self, output: str, command: str) -> bool | None:
        """Whether a command was the last to make an output; None if unknown."""
        run, hashed = self.runs.get(output), command_hash(command, self.version)
        return None if run is None or hashed is None else hashed == run.command


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The files that a compilation read, from its depfile.

    Attributes:
        time: of the output in ns when they were recorded.
        files: as ninja spells them.
    """

    time: int
    files: tuple[str, ...]


def command_hash(command: str, version: int) -> int | None:
    """A command's hash for a version of the log; None if the version is unknown."""
    if version not in (5, 6, 7):
        return None
    hashed = _rapid if version == 7 else _murmur
    return hashed(command.encode("utf-8", "surrogateescape"))


def parse_ninja_log(data: bytes) -> NinjaLog:
    """The runs in a log; invalid lines are skipped."""
    header = _HEADER.match(data)
    if header is None:
        return NinjaLog(0)
    runs: dict[str, Logged] = {}
    for line in data[header.end() :].splitlines():
        parts = line.split(b"\t")
        if len(parts) != 5:
            continue
        try:
            run = Logged(int(parts[2]), int(parts[4], 16))
        except ValueError:
            continue
        runs[parts[3].decode("utf-8", "surrogateescape")] = run
    return NinjaLog(int(header[1]), runs)


def parse_ninja_deps(data: bytes) -> dict[str, Dependencies]:
    """Dependencies by output; reading stops at a damaged record, as in ninja."""
    start = len(_DEPS)
    if not data.startswith(_DEPS) or len(data) < start + 4:
        return {}
    (version,) = struct.unpack_from("<i", data, start)
    if version not in (3, 4):
        return {}
    paths: list[str] = []
    records: dict[int, tuple[int, tuple[int, ...]]] = {}
    at, head = start + 4, 12 if version == 4 else 8
    while at + 4 <= len(data):
        (size,) = struct.unpack_from("<I", data, at)
        is_deps, size = bool(size >> 31), size & 0x7FFFFFFF
        at += 4
        if size > _LONGEST_RECORD or size % 4 or at + size > len(data) or size < 4:
            break
        if not is_deps:
            paths.append(data[at : at + size - 4].rstrip(b"\0").decode("utf-8", "surrogateescape"))
        elif size < head:
            break
        else:
            output, time = struct.unpack_from("<iq" if version == 4 else "<ii", data, at)
            records[output] = (time, struct.unpack_from(f"<{(size - head) // 4}i", data, at + head))
        at += size
    return {
        paths[output]: Dependencies(time, tuple(paths[one] for one in files))
        for output, (time, files) in records.items()
        if all(0 <= one < len(paths) for one in (output, *files))
    }


def _murmur(data: bytes) -> int:
    """MurmurHash64A (Austin Appleby's MurmurHash2, 64-bit), with ninja's seed."""
    mixed = _MURMUR_SEED ^ (len(data) * _MURMUR_FACTOR & _64)
    whole = len(data) & ~7
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        word = word * _MURMUR_FACTOR & _64
        word = (word ^ word >> 47) * _MURMUR_FACTOR & _64
        mixed = (mixed ^ word) * _MURMUR_FACTOR & _64
    if data[whole:]:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MURMUR_FACTOR & _64
    mixed = (mixed ^ mixed >> 47) * _MURMUR_FACTOR & _64
    return mixed ^ mixed >> 47


def _rapid(data: bytes) -> int:
    """rapidhash, version 1 (Nicolas De Carli), with its own seed and secret."""
    first, second, third = _RAPID_SECRET
    size, at = len(data), 0
    seed = _RAPID_SEED ^ _mix(_RAPID_SEED ^ first, second) ^ size

    def read(place: int, width: int = 8) -> int:
        return int.from_bytes(data[place : place + width], "little")

    if size > 16:
        left = size
        if left > 48:
            one = two = seed
            while left >= 48:
                seed = _mix(read(at) ^ first, read(at + 8) ^ seed)
                one = _mix(read(at + 16) ^ second, read(at + 24) ^ one)
                two = _mix(read(at + 32) ^ third, read(at + 40) ^ two)
                at, left = at + 48, left - 48
            seed ^= one ^ two
        if left > 16:
            seed = _mix(read(at) ^ third, read(at + 8) ^ seed ^ second)
            if left > 32:
                seed = _mix(read(at + 16) ^ third, read(at + 24) ^ seed)
        low, high = read(size - 16), read(size - 8)
    elif size >= 4:
        step = (size & 24) >> (size >> 3)
        low = read(0, 4) << 32 | read(size - 4, 4)
        high = read(step, 4) << 32 | read(size - 4 - step, 4)
    else:
        low = high = 0  # rapidhash differs here; no command is so short
    product = (low ^ second) * (high ^ seed)
    return _mix((product & _64) ^ first ^ size, (product >> 64) ^ second)


def _mix(one: int, other: int) -> int:
    product = one * other
    return (product & _64) ^ product >> 64

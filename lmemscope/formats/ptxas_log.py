"""Parse the report of ``ptxas -v`` (and ``nvlink -v``), toolkits 11 to 13, also through NVRTC.

Line formats were recorded from the tools: `tests/support/data/ptxas_log` holds the output of twelve
versions, and the script to record more. A line of unknown format is kept in ``unknown_lines``: it
is counted and shown, but never fatal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from lmemscope.model import KernelKind, PtxasFacts

# NVRTC prints "ptxas         .     128 bytes stack frame, …"; standalone ptxas indents by four
# spaces.
_PREFIX = re.compile(r"^(ptxas|nvlink)\s+(info|warning|warn|fatal|error|\.)\s*:?\s*")
_LOCATED = re.compile(r"^ptxas .*, line \d+; (?:error|fatal|warning|info)\s*:")
COMPILING = re.compile(r"^Compiling entry function '(.+)' for '(sm_\w+)'")
PROPERTIES = re.compile(r"^Function properties for '?(.+?)'?:?(?: \(target: (sm_\w+)\))?$")
STACK = re.compile(
    r"^(\d{1,18}) bytes stack frame, (\d{1,18}) bytes spill stores, (\d{1,18}) bytes spill loads"
)
_N = r"(\d{1,18})"
USED = re.compile(r"^[Uu]sed (\d{1,18}) registers(.*)")
_PART = re.compile(r"(?:used )?(\d{1,18})(?:\+(\d{1,18}))? (\S.*)")
UNKNOWN_STACK = re.compile(
    r"Stack size for entry function '([^']+)' cannot be statically determined"
)
SPILLED = re.compile(
    r"^Registers are spilled to local memory in function '(.+)', "
    r"(\d{1,18}) bytes spill stores, (\d{1,18}) bytes spill loads"
)
FRAME = re.compile(r"^Local memory used for function '(.+)', size of stack frame: (\d{1,18}) bytes")
MODULE = re.compile(r"^\d+ bytes gmem")
_BY_LAUNCH_BOUNDS = re.compile(
    r"^Overriding global maxrregcount (\d{1,18}) with entry-specific value (\d{1,18})"
)
_BY_OPTION = re.compile(
    rf"^Overriding maximum register limit {_N} for '(.+)' with\s+{_N} of maxrregcount option"
)
_LOWER_BOUND = re.compile(
    rf"^For profile sm_\w+ adjusting per thread register count of {_N} to lower bound of {_N}"
)
_KNOWN = (
    MODULE,
    _BY_LAUNCH_BOUNDS,
    *(
        re.compile(shape)
        for shape in (
            r"^Compile time = ",
            r"^Value of threads per SM for entry ",
            r"^Ptx assembly aborted due to errors",
            r"^'\S+' (?:is|for) .*deprecated",
            r"^\(C\d+\) ",
        )
    ),
)
LONGEST = 1 << 16
"""Number of characters of a line that are examined: a mangled name has a few thousand at most."""
_LEFT_ASIDE = ("bytes cmem", "bytes gmem", "texture", "surface", "sampler")
_POINTER_STORED = "A pointer to local memory was stored into the parameter buffer"
_NO_KERNEL = "__cuda_dummy_entry__"


@dataclass(slots=True)
class PtxasFunction:
    """One function in the report; None for figures that it does not give.

    Attributes:
        name: mangled, as printed.
        kind: ``entry`` where "Compiling entry function" announced it.
        entry: the kernel with which the function was compiled; for a kernel, its own name; None for
            a function in a relocatable object.
        registers: per thread.
        stack_frame: bytes per thread.
        spill_stores, spill_loads: bytes at instruction sites.
        cumulative_stack: bytes per thread of the deepest call path (from 12.4).
        shared: bytes per block.
        barriers: named barriers.
        local: bytes per thread as nvlink and very old toolkits print it.
        linked_stack: bytes per thread of the deepest call path after linking, from nvlink.
        linked: whether nvlink reported it; ptxas's own figures, if any, are separate.
        arch: the target named by nvlink, if it links for several.
    """

    name: str
    kind: KernelKind
    entry: str | None
    registers: int | None = None
    stack_frame: int | None = None
    spill_stores: int | None = None
    spill_loads: int | None = None
    cumulative_stack: int | None = None
    shared: int | None = None
    barriers: int | None = None
    local: int | None = None
    linked_stack: int | None = None
    linked: bool = False
    arch: str | None = None

    @property
    def facts(self) -> PtxasFacts:
        """The figures under the names used in `PtxasFacts`."""
        return PtxasFacts(*(getattr(self, name) for name in PtxasFacts.__struct_fields__))


@dataclass
class PtxasLog:
    """A parsed report.

    Attributes:
        arch: from "for 'sm_90'", or None.
        functions: in order; a function called by several kernels appears once per kernel.
        stack_unknown: kernels whose stack size "cannot be statically determined".
        capped_by_option: registers by kernel, if ``-maxrregcount`` took effect.
        cap_adjusted: (requested, used) if the cap was raised to the architecture's lower bound.
        messages: text that is not part of the ptxas report: diagnostics of the C++ front end, and
            errors and warnings of ptxas that name a location in a file.
        unknown_lines: ptxas lines of unknown format.
    """

    arch: str | None = None
    functions: list[PtxasFunction] = field(default_factory=list)
    stack_unknown: frozenset[str] = frozenset()
    capped_by_option: dict[str, int] = field(default_factory=dict)
    cap_adjusted: tuple[int, int] | None = None
    messages: tuple[str, ...] = ()
    unknown_lines: tuple[str, ...] = ()

    def entry(self, name: str) -> PtxasFunction | None:
        """The kernel (or relocatable function) with a name."""
        found = self._by_entry.get(name, ())
        return next((f for f in found if f.name == name), None)

    def callees(self, entry: str) -> list[PtxasFunction]:
        """Functions compiled with a kernel but not inlined into it."""
        return [f for f in self._by_entry.get(entry, ()) if f.name != entry]

    def first(self, name: str) -> PtxasFunction | None:
        """The first function with a name, whichever kernel it was compiled with."""
        return self._by_name.get(name)

    @cached_property
    def _by_entry(self) -> dict[str, list[PtxasFunction]]:
        """Functions by their kernel, or by their own name if they have none."""
        found: dict[str, list[PtxasFunction]] = {}
        for function in self.functions:
            found.setdefault(function.entry or function.name, []).append(function)
        return found

    @cached_property
    def _by_name(self) -> dict[str, PtxasFunction]:
        return {function.name: function for function in reversed(self.functions)}


def parse_ptxas_log(text: str) -> PtxasLog:
    """Parse a report, alone or inside a compiler's log."""
    log = PtxasLog()
    unknown: list[str] = []
    messages: list[str] = []
    stack_unknown: set[str] = set()
    warned: dict[str, _Warned] = {}
    entry: str | None = None
    current: PtxasFunction | None = None
    for raw in text.replace("\0", "").splitlines():
        line = _PREFIX.sub("", raw[:LONGEST].strip()).strip()
        if not line:
            continue
        if match := COMPILING.match(line):
            entry, log.arch = match.group(1), match.group(2)
            current = None
        elif match := PROPERTIES.match(line):
            name, linked = match.group(1), raw.lstrip().startswith("nvlink")
            is_entry = name == entry or linked
            owner = name if is_entry else entry
            current = PtxasFunction(name, "entry" if is_entry else "function", owner)
            current.linked, current.arch = linked, match.group(2)
            log.functions.append(current)
        elif match := STACK.match(line):
            if current is None:
                unknown.append(raw)
                continue
            current.stack_frame, current.spill_stores, current.spill_loads = map(
                int, match.groups()
            )
        elif match := USED.match(line):
            if current is None and entry is not None:
                # Toolkits without "Function properties" (before sm_20's ABI) continue like this.
                current = PtxasFunction(entry, "entry", entry)
                log.functions.append(current)
            if current is None:
                unknown.append(raw)
                continue
            current.registers = int(match.group(1))
            if not _read_resources(current, match.group(2)):
                unknown.append(raw.rstrip())
        elif match := UNKNOWN_STACK.search(line):
            stack_unknown.add(match.group(1))
        elif match := SPILLED.match(line):
            found = warned.setdefault(match.group(1), _Warned())
            found.spills.add((int(match.group(2)), int(match.group(3))))
        elif match := FRAME.match(line):
            warned.setdefault(match.group(1), _Warned()).frames.add(int(match.group(2)))
        elif match := _BY_OPTION.match(line):
            if match.group(2) != _NO_KERNEL:
                log.capped_by_option[match.group(2)] = int(match.group(3))
        elif match := _LOWER_BOUND.match(line):
            log.cap_adjusted = (int(match.group(1)), int(match.group(2)))
        elif _LOCATED.match(raw) or _POINTER_STORED in raw:
            messages.append(raw.strip())
        elif not _PREFIX.match(raw):
            messages.append(raw.rstrip())
        elif not (
            MODULE.match(line)
            or _BY_LAUNCH_BOUNDS.match(line)
            or any(shape.match(line) for shape in _KNOWN)
        ):
            unknown.append(raw.rstrip())
    own: dict[str, list[PtxasFunction]] = {}
    for function in log.functions:
        if not function.linked:
            own.setdefault(function.name, []).append(function)
    for name, found in warned.items():
        _take_warning(log, name, found, own.get(name, []))
    log.stack_unknown = frozenset(stack_unknown)
    log.unknown_lines, log.messages = tuple(unknown), tuple(messages)
    return log


@dataclass(slots=True)
class _Warned:
    """Figures from warnings about one name; several if functions share it."""

    frames: set[int] = field(default_factory=set)
    spills: set[tuple[int, int]] = field(default_factory=set)


def _take_warning(log: PtxasLog, name: str, warned: _Warned, alike: list[PtxasFunction]) -> None:
    """Use a warning about a function if its report was not requested, or lines are missing."""
    if not alike:
        alike = [PtxasFunction(name, "function", None)]
        log.functions += alike
    for function in alike:
        if function.stack_frame is None and len(warned.frames) == 1:
            (function.stack_frame,) = warned.frames
        if function.spill_stores is None and len(warned.spills) == 1:
            ((function.spill_stores, function.spill_loads),) = warned.spills


def _read_resources(function: PtxasFunction, text: str) -> bool:
    """Parse ``, used 1 barriers, 552 bytes cumulative stack size, 1024 bytes smem, …``.

    Returns:
        Whether every part is of a known kind.
    """
    known = True
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _PART.match(part)
        if match is None:
            known = False
            continue
        value, what = int(match.group(1)) + int(match.group(2) or 0), match.group(3)
        if what == "barriers":
            function.barriers = value
        elif what == "bytes cumulative stack size":
            function.cumulative_stack = value
        elif what == "stack":
            function.linked_stack = value
        elif what.startswith("bytes smem"):
            function.shared = value
        elif what.startswith("bytes lmem"):
            function.local = value
        elif not what.startswith(_LEFT_ASIDE):
            known = False
    return known

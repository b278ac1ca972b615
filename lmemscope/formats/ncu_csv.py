"""Parse Nsight Compute's CSV exports (``ncu --csv``): counters per launch and per instruction.

Three layouts are supported, recognised by their header rows. Columns are found by name, because
versions add and rename them:

- the raw page: a row per launch and a column per metric, with the units below the header;
- the details page: a row per launch and metric;
- the source page as SASS: for each launch a row with the kernel's name, a header, and a row per
  instruction.

Text around the tables (``==PROF==`` lines, the program's own output) is skipped.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from lmemscope.errors import FormatError
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Profile, ProfiledInstruction, ProfiledLaunch, ProfiledSource

Row = list[str]
Page = str | Iterable[str]
"""A text, or its lines with line ends."""

EXECUTED = "Instructions Executed"
LOCAL_SECTORS = "L2 Theoretical Sectors Local"
"""Sectors of requests to L1 by local accesses; over a kernel they add up to
``l1tex__t_sectors_pipe_lsu_mem_local_op_{ld,st}.sum`` (measured with 2025.3 on an H200)."""
SAMPLES = ("# Samples", "Warp Stall Sampling (All Samples)", "Warp Stall Sampling (All Cycles)")
"""All samples at an instruction, as named by various versions."""
WAITING, THROTTLED, ISSUED = "stall_long_sb", "stall_lg", "stall_selected"
_COLUMNS = frozenset((EXECUTED, LOCAL_SECTORS, *SAMPLES, WAITING, THROTTLED, ISSUED))
"""The columns read from a source page, which has about 60."""

_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_GROUPED_BY_DOTS = re.compile(r"-?\d{1,3}(?:\.\d{3})+(?:,\d*)?")
_DOTS_ONLY_IF_GROUPED = re.compile(r"-?(?:\d{1,3}(?:\.\d{3}){2,}|\d[\d.]*,(?:\d{1,2}|\d{4,}))")
_PLAIN = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_THREE = re.compile(r"\d{1,9}")
_SCALES = {
    "nsecond": 1e-9,
    "ns": 1e-9,
    "usecond": 1e-6,
    "us": 1e-6,
    "msecond": 1e-3,
    "ms": 1e-3,
    "second": 1.0,
    "s": 1.0,
}
"""Seconds per unit in which ncu writes times."""
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_COUNTED = re.compile(r"([KMGT])(byte|sector|request|inst|warp|cycle)(?=$|/)")
_OWN = frozenset(
    {
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Section Name"),
    }
)
_CAPABILITY = tuple(f"device__attribute_compute_capability_{part}" for part in ("major", "minor"))
"""The metrics to use if the page has no ``CC`` column, as before 2022."""
_OF_LOCAL = re.compile("mem_local_op|inst_executed_op_local|executed_local|sectors_local")
"""In the names of metrics that are 0 for a launch without local memory."""
_LAUNCH_METRICS = {"Block Size": "launch__block_dim", "Grid Size": "launch__grid_dim"}


def launches(page: Page, names: Collection[str] | None = None) -> tuple[ProfiledLaunch, ...]:
    """The launches on a raw or details page, in file order.

    Args:
        page: its text.
        names: of the metrics to read; None for all.

    Raises:
        FormatError: the text contains no such page, or one that does not match its header.
    """
    rows = _rows(page)
    head = next((row for row in rows if row[0] == "ID" and "Kernel Name" in row), None)
    if head is None:
        raise FormatError("ncu", "it holds no page of launches: no row begins with ID")
    _refuse_repeated(head)
    is_long = {"Metric Name", "Metric Value"} <= {*head}
    wanted = frozenset((*(names or ()), *_OWN, *_CAPABILITY))
    kept = [n for n, name in enumerate(head) if names is None or is_long or name in wanted]
    # The details page leaves out the columns of rules in rows of metrics.
    least = head.index("Metric Value") + 1 if is_long else len(head)
    whole = (
        [*row, *[""] * (len(head) - len(row))]
        for row in rows
        if least <= len(row) <= len(head) and row != head
    )
    body = [[row[n] for n in kept] for row in whole]
    read = _long if is_long else _wide
    return tuple(read([head[n] for n in kept], body))


def sources(
    page: Page, is_wanted: Callable[[str], bool] = lambda kernel: True
) -> tuple[ProfiledSource, ...]:
    """The instructions of each launch on a source page, in file order.

    Args:
        page: its text.
        is_wanted: whether a kernel's instructions are wanted, by its name; blocks of others are
            empty.

    Raises:
        FormatError: the text contains no source page with SASS addresses.
    """
    found: list[ProfiledSource] = []
    kernel, head, wanted = "", Row(), True
    body: list[Row] = []

    def end() -> None:
        if head:
            found.append(ProfiledSource(kernel, tuple(_instructions(head, body))))

    for row in _rows(page):
        if row[0] == "Kernel Name" and len(row) > 1:
            end()
            kernel, head, body, wanted = row[1], [], [], is_wanted(row[1])
        elif "Address" in row and "Source" in row:
            end()
            head, body = row, []
        elif head and wanted and len(row) == len(head):
            body.append(row)
    end()
    if not found:
        raise FormatError("ncu", "it holds no source page: no row has the columns Address, Source")
    return tuple(found)


def profile(
    pages: Sequence[Page], source_pages: Sequence[Page], names: Collection[str] | None = None
) -> tuple[Profile, bool]:
    """The pages of one profile, and whether its source pages match its launches.

    Versions print a launch's instructions once, or several times in succession. Instructions of
    kernels without local memory accesses are omitted.

    Args:
        pages: of launches.
        source_pages: of their instructions, if any.
        names: of the metrics to read; None for all.

    Raises:
        FormatError: as `launches` and `sources`, or there is no page of launches.
    """
    run = tuple(one for page in pages for one in launches(page, names))
    if not run:
        raise FormatError(
            "ncu",
            "it has no page with the counters of kernels",
            hint="add the raw page: ncu --import FILE.ncu-rep --csv --page raw",
        )
    using = {_base(one.kernel) for one in run if _may_use_local_memory(one)}
    code = tuple(
        one for page in source_pages for one in sources(page, lambda name: _base(name) in using)
    )
    if not code:
        return Profile(run), True
    paired = _paired(run, code)
    return Profile(run, paired or ()), paired is not None


def _may_use_local_memory(launch: ProfiledLaunch) -> bool:
    """Whether a launch accessed local memory, or has no counter to tell."""
    told = [value for name, value in launch.metrics.items() if _OF_LOCAL.search(name)]
    return not told or any(told)


def _paired(
    run: Sequence[ProfiledLaunch], code: Sequence[ProfiledSource]
) -> tuple[ProfiledSource, ...] | None:
    """The instructions of each launch; None if they cannot be matched.

    Successive launches of one kernel have equally many successive blocks, or a multiple, and the
    blocks of one launch are equal. A kernel may have no block.
    """
    launched = [[*group] for _, group in groupby(run, key=lambda one: one.kernel)]
    shown = [[*group] for _, group in groupby(code, key=lambda one: one.kernel)]
    is_whole = len(launched) == len(shown)
    found: list[ProfiledSource] = []
    for group in launched:
        name = group[0].kernel
        if shown and (is_whole or _base(name) == _base(shown[0][0].kernel)):
            blocks = shown.pop(0)
            times, rest = divmod(len(blocks), len(group))
            parts = [blocks[n : n + times] for n in range(0, len(blocks), times or 1)]
            if rest or any(one != part[0] for part in parts for one in part):
                return None
            found += [part[0] for part in parts]
        else:
            found += [ProfiledSource(name, ())] * len(group)
    return None if shown else tuple(found)


def _base(name: str) -> str:
    """A kernel's name without parts that versions and pages spell differently."""
    return short_name(demangle(name)).partition("<")[0]


def is_source_page(page: Page) -> bool:
    """Whether a text is a source page rather than a page of launches."""
    for row in _rows(page):
        if row[0] == "ID" and "Kernel Name" in row:
            return False
        if "Address" in row and "Source" in row:
            return True
    return False


def _rows(page: Page) -> Iterator[Row]:
    """Nonempty rows; lines of ncu's log are skipped."""
    text = io.StringIO(page) if isinstance(page, str) else page
    lines = (line for line in text if not line.startswith("=="))
    try:
        for row in csv.reader(lines):
            if row:
                yield row
    except csv.Error as error:
        raise FormatError("ncu", f"it is no CSV: {error}") from error


def _refuse_repeated(head: Row) -> None:
    named = [name for name in head if name in _OWN]
    if len(set(named)) != len(named):
        raise FormatError("ncu", "its head names a column twice")


def _wide(head: Row, body: Sequence[Row]) -> Iterator[ProfiledLaunch]:
    units: Mapping[str, str] = {}
    if body and not body[0][0]:
        units = dict(zip(head, body[0], strict=True))
        body = body[1:]
    dotted = _is_dotted(cell for row in body for cell in row)
    for row in body:
        cells = dict(zip(head, row, strict=True))
        metrics = {
            name: value
            for name, cell in cells.items()
            if name not in _OWN
            and (value := _number(cell, units.get(name, ""), dotted=dotted)) is not None
        }
        yield _launch(cells, metrics)


def _long(head: Row, body: Sequence[Row]) -> Iterator[ProfiledLaunch]:
    dotted = _is_dotted(row[head.index("Metric Value")] for row in body)
    found: dict[tuple[str, str], tuple[dict[str, str], dict[str, float]]] = {}
    for row in body:
        cells = dict(zip(head, row, strict=True))
        key = cells["ID"], cells.get("Process ID", "")
        metrics = found.setdefault(key, (cells, {}))[1]
        value = _number(cells["Metric Value"], cells.get("Metric Unit", ""), dotted=dotted)
        if cells["Metric Name"] and value is not None:
            metrics[cells["Metric Name"]] = value
    for cells, metrics in found.values():
        yield _launch(cells, metrics)


def _launch(cells: Mapping[str, str], metrics: dict[str, float]) -> ProfiledLaunch:
    for column, metric in _LAUNCH_METRICS.items():
        for axis, size in zip("xyz", _THREE.findall(cells.get(column, "")), strict=False):
            metrics.setdefault(f"{metric}_{axis}", float(size))
    return ProfiledLaunch(
        cells["Kernel Name"],
        cells.get("ID", ""),
        cells.get("Process ID") or None,
        cells.get("Process Name") or None,
        cells.get("Device") or None,
        cells.get("CC") or _capability(metrics),
        metrics,
    )


def _capability(metrics: Mapping[str, float]) -> str | None:
    parts = [metrics[name] for name in _CAPABILITY if name in metrics]
    return ".".join(f"{part:.0f}" for part in parts) if len(parts) == len(_CAPABILITY) else None


def _instructions(head: Row, body: Sequence[Row]) -> Iterator[ProfiledInstruction]:
    address, text = head.index("Address"), head.index("Source")
    named = {name: n for n, name in reversed([*enumerate(head)]) if name in _COLUMNS}
    dotted = _is_dotted(cell for row in body for cell in row)
    for row in body:
        place = _address(row[address])
        if place is None:
            continue
        figures = {
            name: value
            for name, n in named.items()
            if (value := _number(row[n], "", dotted=dotted)) is not None
        }
        yield ProfiledInstruction(place, row[text].strip(), figures)


def _address(cell: str) -> int | None:
    digits = cell.strip().removeprefix("0x")
    if not digits or len(digits) > 16:
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


def _is_dotted(cells: Iterator[str]) -> bool:
    """Whether numbers use a locale's format: 1.234.567,89."""
    return any(_DOTS_ONLY_IF_GROUPED.fullmatch(cell) for cell in cells)


def _number(cell: str, unit: str, *, dotted: bool) -> float | None:
    """A number in seconds, bytes or a count; None for a cell without one."""
    cell = cell.strip()
    if dotted and _GROUPED_BY_DOTS.fullmatch(cell):
        cell = cell.replace(".", "")
    elif not dotted and _GROUPED.fullmatch(cell):
        cell = cell.replace(",", "")
    if dotted:
        cell = cell.replace(",", ".")
    if len(cell) > 64 or not _PLAIN.fullmatch(cell):
        return None
    return float(cell) * _scale(unit)


def _scale(unit: str) -> float:
    if unit in _SCALES:
        return _SCALES[unit]
    prefixed = _COUNTED.match(unit)
    return _PREFIXES[prefixed[1]] if prefixed is not None else 1.0

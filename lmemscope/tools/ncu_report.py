"""Read profiles with ``ncu_report``, Nsight Compute's Python package, if ncu is missing.

The package loads a native library, so a file is read in a separate process. (Nsight Compute, Python
Report Interface.)
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from lmemscope.errors import InputError, WorkerCrashError
from lmemscope.formats import ncu_csv
from lmemscope.model import (
    Profile,
    ProfiledInstruction,
    ProfiledLaunch,
    ProfiledSource,
    Tool,
)
from lmemscope.tools import child

PACKAGE = "ncu-report"
_MODULE = "ncu_report"
_INSTANCES = {
    ncu_csv.EXECUTED: "inst_executed",
    ncu_csv.LOCAL_SECTORS: "memory_l2_theoretical_sectors_local",
    ncu_csv.SAMPLES[0]: "smsp__pcsamp_sample_count",
    ncu_csv.WAITING: "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    ncu_csv.THROTTLED: "smsp__pcsamp_warps_issue_stalled_lg_throttle",
    ncu_csv.ISSUED: "smsp__pcsamp_warps_issue_stalled_selected",
}
"""Columns of the source page, by the metrics whose instances they show."""
_NANO = 1e-9
_BYTES = 16
_LARGEST_CODE = 1 << 24
"""Maximum size of a kernel's code in bytes."""


def is_there() -> bool:
    """Whether the package is installed."""
    return importlib.util.find_spec(_MODULE) is not None


def tool() -> Tool:
    """The package with its version."""
    try:
        version = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        version = None  # found on the path but not installed
    return Tool(PACKAGE, version, None)


def read(path: str) -> Profile:
    """The content of a ``.ncu-rep`` file.

    Raises:
        InputError: it is not such a file, or its version is newer than the package.
    """
    try:
        found: Profile = child.call(_read, path)
    except WorkerCrashError as error:
        raise _refusal(path) from error
    return found


def _refusal(path: str) -> InputError:
    return InputError(
        "import",
        f"{path} is no profile that {PACKAGE} {tool().version or ''} reads",
        hint=f"pip install -U {PACKAGE}, or name an ncu that reads it: --ncu PATH",
    )


def _read(path: str) -> Profile:
    module = importlib.import_module(_MODULE)
    try:
        context = module.load_report(path)
    except RuntimeError as error:
        raise _refusal(path) from error
    if context is None:
        raise _refusal(path)
    launches: list[ProfiledLaunch] = []
    sources: list[ProfiledSource] = []
    for number in range(context.num_ranges()):
        actions = context.range_by_idx(number)
        for index in range(actions.num_actions()):
            action = actions.action_by_idx(index)
            name = action.name(action.NameBase_MANGLED)
            launches.append(_launch(action, name, len(launches)))
            sources.append(ProfiledSource(name, tuple(_instructions(action))))
    if not launches:
        raise _refusal(path)
    return Profile(tuple(launches), tuple(sources) if any(s.instructions for s in sources) else ())


def _launch(action: Any, name: str, number: int) -> ProfiledLaunch:
    metrics: dict[str, float] = {}
    for metric_name in action.metric_names():
        metric = action.metric_by_name(metric_name)
        value = metric.value() if metric is not None else None
        if isinstance(value, (int, float)):
            seconds = metric.unit() in ("ns", "nsecond")
            metrics[metric_name] = float(value) * (_NANO if seconds else 1.0)
    part = "device__attribute_compute_capability_{}"
    major, minor = (metrics.get(part.format(one)) for one in ("major", "minor"))
    capability = None if major is None or minor is None else f"{major:.0f}.{minor:.0f}"
    device = metrics.get("launch__device_id")
    return ProfiledLaunch(
        name,
        str(number),
        None,
        None,
        None if device is None else f"{device:.0f}",
        capability,
        metrics,
    )


def _instructions(action: Any) -> Iterator[ProfiledInstruction]:
    """The kernel's own code; functions it calls are elsewhere, and on no source page."""
    found = {
        column: instances
        for column, name in _INSTANCES.items()
        if (instances := _by_address(action.metric_by_name(name))) is not None
    }
    executed = found.get(ncu_csv.EXECUTED)
    if not executed:
        return
    for address in range(min(executed), min(executed) + _LARGEST_CODE, _BYTES):
        text = action.sass_by_pc(address).strip()
        if not text:
            break
        figures = {column: one.get(address, 0.0) for column, one in found.items()}
        yield ProfiledInstruction(address, text, figures)


def _by_address(metric: Any) -> dict[int, float] | None:
    if metric is None or not metric.has_correlation_ids():
        return None
    places = metric.correlation_ids()
    return {places.as_uint64(n): float(metric.as_double(n)) for n in range(metric.num_instances())}

"""Sentences and cells about a measurement, shared by all formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, LiteralString

from lmemscope.exporters.layout import short_name
from lmemscope.model import MeasuredKernel, MeasuredShare, Measurement, count, listed

COLUMNS: Final[tuple[LiteralString, ...]] = (
    *("cause", "variable", "line", "moved:", "of L1 traffic:", "sectors/request:", "predicted:"),
    *("stalls:", "cost:", "modelled:"),
)
"""Columns in the table of a kernel's shares; a trailing colon marks numbers."""

UNKNOWN = "-"
_NAMED = 8
"""Number of kernels without local memory that are listed by name."""
_BYTES = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0))
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def uses_local_memory(kernel: MeasuredKernel) -> bool:
    """Whether a kernel moved local memory, or may have because it was not counted."""
    return kernel.traffic.local_sectors != 0


def title(kernel: MeasuredKernel) -> str:
    """A kernel's name and where it ran."""
    on = f" on {kernel.arch}" if kernel.arch is not None else ""
    gpus = f", GPUs {', '.join(kernel.devices)}" if len(kernel.devices) > 1 else ""
    return f"{short_name(kernel.demangled)}{on}{gpus}"


def launched(kernel: MeasuredKernel) -> str:
    """How it was launched, in one line."""
    return ", ".join(
        filter(
            None,
            (
                count(kernel.launches, "launch"),
                time(kernel.seconds) if kernel.seconds is not None else "",
                f"blocks of {kernel.block}" if kernel.block is not None else "",
                f"{kernel.registers} registers" if kernel.registers is not None else "",
                _occupancy(kernel),
            ),
        )
    )


def _occupancy(kernel: MeasuredKernel) -> str:
    if kernel.occupancy is None:
        return ""
    limit = kernel.occupancy_limit
    most = f" (at most {percent(limit)})" if limit is not None else ""
    return f"occupancy {percent(kernel.occupancy)}{most}"


def moved(kernel: MeasuredKernel) -> str:
    """Its local memory traffic, in one line."""
    traffic = kernel.traffic
    if traffic.local_bytes is None:
        return "local memory: not counted"
    parts = [f"local memory: {size(traffic.local_bytes)} to and from L1"]
    if kernel.local_share is not None:
        parts.append(f"{percent(kernel.local_share)} of the kernel's L1 traffic")
    if kernel.l1_hit_rate is not None:
        parts.append(f"{percent(kernel.l1_hit_rate)} L1 hits")
    if kernel.samples and kernel.stall_samples is not None:
        parts.append(
            f"{percent(kernel.stall_samples / kernel.samples)} of warp samples wait for it"
        )
    return ", ".join(parts)


def cells(kernel: MeasuredKernel, share: MeasuredShare) -> tuple[str, ...]:
    """A row of the table with `COLUMNS`."""
    place = share.location
    waiting = share.stall_samples
    return (
        share.cause,
        share.object or UNKNOWN,
        f"{place.file}:{place.line}" if place is not None else UNKNOWN,
        UNKNOWN if share.bytes is None else size(share.bytes),
        UNKNOWN if share.of_traffic is None else percent(share.of_traffic),
        _decimal(share.measured),
        _decimal(share.predicted),
        UNKNOWN if waiting is None or not kernel.samples else percent(waiting / kernel.samples),
        _cycles(share.measured_cost),
        _cycles(share.modelled_cost),
    )


def notes(kernel: MeasuredKernel) -> Iterator[str]:
    """Notes on a kernel's table."""
    if kernel.reason is not None:
        yield f"Not joined by instruction: {kernel.reason}."


def summary(found: Measurement) -> str:
    """What was measured, as a sentence."""
    using = [one for one in found.kernels if uses_local_memory(one)]
    launches = sum(one.launches for one in found.kernels)
    seconds = [one.seconds for one in found.kernels if one.seconds is not None]
    total = f" in {time(sum(seconds))}" if seconds else ""
    return (
        f"{count(len(found.kernels), 'kernel')} measured, {count(launches, 'launch')}{total}; "
        f"{len(using)} with local memory"
    )


def clean(found: Measurement) -> str | None:
    """The kernels without local memory, as a sentence."""
    names = [short_name(one.demangled) for one in found.kernels if not uses_local_memory(one)]
    return f"No local memory was accessed in {listed(names, _NAMED)}" if names else None


def measured_by(found: Measurement) -> str:
    """The profiler, and how the program ended."""
    tool = found.profiler
    version = f" {tool.version}" if tool is not None and tool.version is not None else ""
    by = f"Measured with {tool.name}{version}" if tool is not None else "Read from CSV"
    if found.command and found.exit_status is not None:
        return f"{by}; {found.command[0]} ended with {found.exit_status}"
    return by


def size(bytes_: float) -> str:
    """Bytes in the largest unit that gives at least 1."""
    return _scaled(bytes_, _BYTES)


def time(seconds: float) -> str:
    """Seconds, in the largest unit that gives at least 1."""
    return _scaled(seconds, _TIMES)


def _scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    unit, scale = next((one for one in units if value >= one[1]), units[-1])
    number = value / scale
    return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"


def percent(part: float) -> str:
    """A fraction as a percentage; a small nonzero value is not shown as 0."""
    if 0 < part < 0.001:
        return "<0.1%"
    return f"{100 * part:.0f}%" if part >= 0.0995 or not part else f"{100 * part:.1f}%"


def _decimal(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def _cycles(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2g}"

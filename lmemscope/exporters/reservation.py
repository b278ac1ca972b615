"""The driver's memory reservation as text lines, shared by terminal, Markdown and HTML."""

from __future__ import annotations

from lmemscope.exporters import layout
from lmemscope.model import KernelReport, Report, count

_SHOWN = 8
_MIB = 1 << 20


def title(report: Report) -> str:
    """The heading; empty if no device was named."""
    found = report.reservation
    if found is None:
        return ""
    return (
        f"Device memory that the driver reserves on {found.device.name} "
        f"({found.device.multiprocessors} multiprocessors of {found.device.threads} threads, "
        f"stack limit {found.stack_limit} B)"
    )


def drawn(report: Report) -> list[str]:
    """The largest kernels, then the total for the set; empty if no device was named."""
    found = report.reservation
    if found is None:
        return []
    over = [
        kernel
        for unit in report.units
        for kernel in unit.kernels
        if kernel.footprint is not None
        and (kernel.footprint.per_thread > found.stack_limit or kernel.footprint.is_least)
    ]
    over.sort(key=lambda one: (-_bytes(one), one.facts.demangled))
    lines = []
    for kernel in over[:_SHOWN]:
        own = kernel.footprint
        assert own is not None
        least = ", and no more: its stack's depth is not known" if own.is_least else ""
        lines.append(
            f"{layout.short_name(kernel.facts.demangled)}: {own.per_thread} B per thread, "
            f"{mebibytes(own.bytes)}{least}"
        )
    if len(over) > _SHOWN:
        lines.append(f"{count(len(over) - _SHOWN, 'more kernel')} above the stack limit")
    by = f", for {layout.short_name(found.kernel)}" if found.kernel else ", for the stack limit"
    lines.append(f"local memory of all: {mebibytes(found.local_bytes)}{by}")
    if found.launch_bytes is not None:
        pending = f"{found.pending_launches} pending launches"
        lines.append(f"{pending}: about {mebibytes(found.launch_bytes)}")
    return lines


def mebibytes(size: int) -> str:
    """A size in MiB."""
    return f"{size / _MIB:.0f} MiB"


def _bytes(kernel: KernelReport) -> int:
    return kernel.footprint.bytes if kernel.footprint is not None else 0

"""Device memory that the driver reserves for local memory, predicted.

A context holds local memory for every thread that the GPU can have resident, whatever is launched:
bytes per thread times threads per multiprocessor times multiprocessors. It begins with
``cudaLimitStackSize`` per thread, grows when a kernel is launched that needs more (or when the
limit is raised), and does not shrink by itself. A module that launches from the device adds a
buffer for pending launches when it is loaded. Measured, with every number: docs/reservation.md.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from lmemscope.model import (
    DEVICES,
    Device,
    Footprint,
    KernelFacts,
    KernelReport,
    Report,
    Reservation,
    UnitReport,
)

_GRAIN = 2 << 20
"""Bytes that the driver takes from the device at a time."""
_PENDING_FIRST, _PENDING_EACH = 82 << 20, 9376
"""Bytes for the device runtime, and for each pending launch: fitted to eight limits on an H100 with
driver 580 (docs/reservation.md); NVIDIA publishes neither."""


def find_device(name: str) -> tuple[Device, ...]:
    """The known GPUs of a name, however it is spelled: the exact one, or all that begin so."""
    wanted = _plain(name)
    exact = tuple(one for one in DEVICES if _plain(one.name) == wanted)
    return exact or tuple(one for one in DEVICES if wanted and _plain(one.name).startswith(wanted))


def local_memory(device: Device, per_thread: int) -> int:
    """Bytes of device memory for so many bytes of local memory per resident thread."""
    wanted = device.resident_threads * per_thread
    return -(-wanted // _GRAIN) * _GRAIN


def pending_memory(launches: int) -> int:
    """Bytes of device memory for so many pending launches, in a module that launches."""
    return -(-(_PENDING_FIRST + launches * _PENDING_EACH) // _GRAIN) * _GRAIN


def reserve(report: Report, device: Device, stack_limit: int, pending_launches: int) -> Report:
    """The report with what the driver would reserve for each kernel, and for all of them.

    Args:
        report: of the kernels.
        device: where they would run.
        stack_limit: ``cudaLimitStackSize``.
        pending_launches: ``cudaLimitDevRuntimePendingLaunchCount``.
    """
    units = tuple(_of_unit(unit, device, stack_limit) for unit in report.units)
    kernels = [one for unit in units for one in unit.kernels if one.footprint is not None]
    worst = max(kernels, key=lambda one: _bytes(one), default=None)
    least = local_memory(device, stack_limit)
    most = _bytes(worst) if worst is not None else least
    launching = any(one.facts.launches for one in kernels)
    return replace(
        report,
        units=units,
        reservation=Reservation(
            device,
            stack_limit,
            pending_launches,
            worst.facts.demangled if worst is not None and most > least else None,
            most,
            pending_memory(pending_launches) if launching else None,
        ),
    )


def _bytes(kernel: KernelReport) -> int:
    return kernel.footprint.bytes if kernel.footprint is not None else 0


def _of_unit(unit: UnitReport, device: Device, stack_limit: int) -> UnitReport:
    facts = {kernel.facts.name: kernel.facts for kernel in unit.kernels}
    kernels = []
    for kernel in unit.kernels:
        footprint = None
        if kernel.facts.kind == "entry":
            reached = _launched(kernel.facts, facts)
            per_thread = max(stack_limit, *(_needed(one) for one in reached))
            footprint = Footprint(
                device.name,
                local_memory(device, per_thread),
                device.resident_threads,
                per_thread,
                is_least=not all(one.stack_known for one in reached),
            )
        kernels.append(replace(kernel, footprint=footprint))
    return replace(unit, kernels=tuple(kernels))


def _launched(kernel: KernelFacts, facts: dict[str, KernelFacts]) -> list[KernelFacts]:
    """The kernel, and all that it launches: what these need is reserved when it is launched."""
    found: dict[str, KernelFacts] = {}
    work = [kernel]
    while work:
        one = work.pop()
        if one.name not in found:
            found[one.name] = one
            work += [
                facts[n.child] for n in one.launches if n.child is not None and n.child in facts
            ]
    return list(found.values())


def _needed(facts: KernelFacts) -> int:
    """Bytes of local memory per thread on the deepest path that is known."""
    linked = facts.ptxas.linked_stack if facts.ptxas is not None else None
    known = (facts.stack_frame, facts.cumulative_stack, linked)
    return max((one for one in known if one is not None), default=0)


def _plain(name: str) -> str:
    return re.sub(r"nvidia|geforce|tesla|[^a-z0-9]", "", name.lower())

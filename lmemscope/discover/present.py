"""Determine the GPU that ``--device`` names."""

from __future__ import annotations

from lmemscope.analysis.reservation import find_device
from lmemscope.config.options import Settings
from lmemscope.errors import UsageError
from lmemscope.model import DEVICES, Device
from lmemscope.tools.driver import present_gpu

PRESENT = "present"


def chosen_device(settings: Settings) -> Device | None:
    """The GPU for which a command makes predictions; None if none was requested.

    Raises:
        UsageError: the GPU is unknown, or its description is incomplete.
    """
    name, count, threads = settings.device, settings.sm_count, settings.threads_per_sm
    if name is None:
        if count is None and threads is None:
            return None
        if count is None or threads is None:
            raise UsageError(
                "device",
                "without --device it takes both --sm-count and --threads-per-sm",
            )
        return Device(f"a GPU of {count} multiprocessors", count, threads, "as given")
    known = _known(name) if count is None or threads is None else None
    given = Device(name, count or 0, threads or 0, "as given")
    if known is None:
        return given
    if count is None and threads is None:
        return known
    return Device(known.name, count or known.multiprocessors, threads or known.threads, "as given")


def _known(name: str) -> Device:
    if name == PRESENT:
        found = present_gpu()
        if found is None:
            raise UsageError(
                "device", "--device present: no GPU found", hint="name one, such as --device H200"
            )
        return found[1]
    devices = find_device(name)
    if len(devices) == 1:
        return devices[0]
    listed = ", ".join(one.name for one in devices or DEVICES)
    if devices:
        raise UsageError("device", f"--device {name} may be several: {listed}")
    raise UsageError(
        "device",
        f"unknown GPU {name!r}",
        hint=f"known: {listed}; or say --sm-count and --threads-per-sm too",
    )

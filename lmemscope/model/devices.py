"""Known GPUs, and what the driver reserves on one for local memory and device-side launches."""

from __future__ import annotations

from msgspec import Struct

DEFAULT_STACK_LIMIT = 1024
"""``cudaLimitStackSize`` of a new context, in bytes per thread."""
DEFAULT_PENDING_LAUNCHES = 2048
"""``cudaLimitDevRuntimePendingLaunchCount`` of a new context."""


class Device(Struct, frozen=True):
    """A GPU, as far as the driver's reservation goes.

    Attributes:
        name: as it is sold.
        multiprocessors: that are enabled.
        threads: that are resident on one multiprocessor at most.
        source: where the number of multiprocessors is from.
    """

    name: str
    multiprocessors: int
    threads: int
    source: str

    @property
    def resident_threads(self) -> int:
        """Threads that the whole GPU holds at a time."""
        return self.multiprocessors * self.threads


class Footprint(Struct, frozen=True):
    """Device memory that the driver reserves so that a kernel can run.

    Attributes:
        device: its name.
        bytes: of device memory: local memory per thread times resident threads.
        resident_threads: of the device.
        per_thread: bytes of local memory that each resident thread gets.
        is_least: whether the kernel may need more than `per_thread`, because its stack depth is not
            statically known: the driver reserves no more for it, and it fails beyond that.
    """

    device: str
    bytes: int
    resident_threads: int
    per_thread: int
    is_least: bool = False


class Reservation(Struct, frozen=True):
    """What the driver reserves for a set of kernels that one context runs.

    Attributes:
        device: where.
        stack_limit: ``cudaLimitStackSize``, in bytes per thread.
        pending_launches: ``cudaLimitDevRuntimePendingLaunchCount``.
        kernel: demangled name of the kernel with the most; None where none needs more than the
            limit.
        local_bytes: device memory for local memory, of the worst kernel: the driver keeps it for
            all.
        launch_bytes: device memory for pending launches, once a module that launches is loaded;
            None where no kernel launches.
    """

    device: Device
    stack_limit: int
    pending_launches: int
    kernel: str | None
    local_bytes: int
    launch_bytes: int | None

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.local_bytes + (self.launch_bytes or 0)


# Whitepapers: NVIDIA's, "… GPU Architecture".
_AMPERE = "A100 whitepaper"
_HOPPER = "H100 whitepaper"
_GA102 = "GA102 whitepaper"
_ADA = "Ada whitepaper"
_RTX = "RTX Blackwell whitepaper"
_TURING = "Turing whitepaper"
_DATASHEET = "datasheet: CUDA cores by 128"
_MEASURED = "the driver's own figure"

DEVICES = (
    Device("T4", 40, 1024, _TURING),
    Device("RTX 2080 Ti", 68, 1024, _TURING),
    Device("A100", 108, 2048, _AMPERE),
    Device("A30", 56, 2048, "datasheet: CUDA cores by 64"),
    Device("A10", 72, 1536, _DATASHEET),
    Device("A40", 84, 1536, _GA102),
    Device("RTX A6000", 84, 1536, _GA102),
    Device("RTX 3060", 28, 1536, _DATASHEET),
    Device("RTX 3080", 68, 1536, _GA102),
    Device("RTX 3090", 82, 1536, _GA102),
    Device("L4", 58, 1536, _DATASHEET),
    Device("L40S", 142, 1536, _ADA),
    Device("RTX 6000 Ada", 142, 1536, _ADA),
    Device("RTX 4080", 76, 1536, _ADA),
    Device("RTX 4090", 128, 1536, _ADA),
    Device("H100 PCIe", 114, 2048, _HOPPER),
    Device("H100 SXM", 132, 2048, _MEASURED),
    Device("H200", 132, 2048, _HOPPER),
    Device("RTX 5080", 84, 1536, _RTX),
    Device("RTX 5090", 170, 1536, _RTX),
)
"""Threads per multiprocessor: CUDA C++ Programming Guide, "Compute Capabilities", table "Technical
Specifications per Compute Capability", maximum number of resident threads per SM: 1024 for 7.5,
2048 for 8.0 and 9.0, 1536 for 8.6, 8.9 and 12.0."""

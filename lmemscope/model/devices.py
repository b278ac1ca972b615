"""Known GPUs, and device memory that the driver reserves for stacks and device-side launches."""

from __future__ import annotations

from msgspec import Struct

DEFAULT_STACK_LIMIT = 1024
"""Default ``cudaLimitStackSize`` of a context, in bytes per thread."""
DEFAULT_PENDING_LAUNCHES = 2048
"""Default ``cudaLimitDevRuntimePendingLaunchCount`` of a context."""


class Device(Struct, frozen=True):
    """A GPU, with what determines the driver's reservation.

    Attributes:
        name: the product name.
        multiprocessors: number enabled.
        threads: maximum resident threads per multiprocessor.
        source: the source of the number of multiprocessors.
    """

    name: str
    multiprocessors: int
    threads: int
    source: str

    @property
    def resident_threads(self) -> int:
        """Maximum resident threads of the whole GPU."""
        return self.multiprocessors * self.threads


class Footprint(Struct, frozen=True):
    """Device memory that the driver reserves to run a kernel.

    Attributes:
        device: name of the GPU.
        bytes: device memory: local memory per thread times resident threads.
        resident_threads: of the device.
        per_thread: local memory in bytes for each resident thread.
        is_least: whether the kernel may need more than `per_thread`, because its stack depth is not
            statically known. The driver reserves no more, and the kernel fails beyond that.
    """

    device: str
    bytes: int
    resident_threads: int
    per_thread: int
    is_least: bool = False


class Reservation(Struct, frozen=True):
    """What the driver reserves for the kernels that run in one context.

    Attributes:
        device: name of the GPU.
        stack_limit: ``cudaLimitStackSize``, in bytes per thread.
        pending_launches: ``cudaLimitDevRuntimePendingLaunchCount``.
        kernel: demangled name of the kernel with the largest stack; None if none exceeds the limit.
        local_bytes: device memory for local memory of the largest kernel, kept for all.
        launch_bytes: device memory for pending launches once a module with launches is loaded; None
            if no kernel launches.
    """

    device: Device
    stack_limit: int
    pending_launches: int
    kernel: str | None
    local_bytes: int
    launch_bytes: int | None

    @property
    def bytes(self) -> int:
        """The total."""
        return self.local_bytes + (self.launch_bytes or 0)


# NVIDIA's whitepapers, "… GPU Architecture".
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

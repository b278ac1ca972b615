"""Query this machine's GPU through the CUDA driver."""

from __future__ import annotations

import ctypes
import functools

from lmemscope.model import Device

_MULTIPROCESSORS, _THREADS, _MAJOR, _MINOR = 16, 39, 75, 76
"""CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, _MAX_THREADS_PER_MULTIPROCESSOR and
_COMPUTE_CAPABILITY_MAJOR and _MINOR, CUDA driver API, cuda.h."""


@functools.cache
def present_gpu() -> tuple[str, Device] | None:
    """Architecture and properties of the first GPU; None without driver or device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    if driver.cuInit(0) != 0 or driver.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return None
    if driver.cuDeviceGetName(name, len(name), device) != 0:
        return None
    values = []
    for attribute in (_MULTIPROCESSORS, _THREADS, _MAJOR, _MINOR):
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device) != 0:
            return None
        values.append(value.value)
    count, threads, major, minor = values
    shown = name.value.decode("utf-8", "replace")
    return f"sm_{major}{minor}", Device(shown, count, threads, "the driver")

"""CUDA C++ to a loaded module on a machine with a GPU: NVRTC, then the driver's linker.

For the measurements of this directory that need device-side launches: relocatable code, linked with
the device runtime, libcudadevrt. CuPy has to be installed; nothing else is asked for.
"""

from __future__ import annotations

import os
import site
import sys
from functools import cache
from pathlib import Path
from typing import Any

from cupy.cuda import device, function
from cupy_backends.cuda.libs import nvrtc

_LIBRARY = "libcudadevrt.a"


def load(source: str) -> Any:
    """A module of a program, with what it launches itself: `cupy.cuda.function.Module`."""
    capability = device.Device().compute_capability
    program = nvrtc.createProgram(source, "measured.cu", [], [])
    options = [f"--gpu-architecture=compute_{capability}", "-rdc=true", "--std=c++17"]
    try:
        nvrtc.compileProgram(program, options)
    except nvrtc.NVRTCError:
        sys.stderr.write(nvrtc.getProgramLog(program))
        raise
    linker = function.LinkState()
    ptx = nvrtc.getPTX(program)
    linker.add_ptr_data(ptx if isinstance(ptx, bytes) else ptx.encode(), "measured.ptx")
    if "<<<" in source:
        linker.add_ptr_file(device_runtime())
    module = function.Module()
    module.load(linker.complete())
    return module


@cache
def device_runtime() -> str:
    """The path of libcudadevrt.a, of a toolkit's or of NVIDIA's wheels.

    Raises:
        FileNotFoundError: it is nowhere.
    """
    named = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    toolkits = [*map(Path, named), *sorted(Path("/usr/local").glob("cuda*"))]
    packages = [Path(one) for one in (*site.getsitepackages(), *sys.path) if one]
    wheels = [found for one in packages for found in one.glob("nvidia/*/lib")]
    folders = [
        one / part for one in toolkits for part in ("lib64", "lib", "targets/x86_64-linux/lib")
    ]
    for folder in (*folders, *wheels):
        if (folder / _LIBRARY).is_file():
            return str(folder / _LIBRARY)
    raise FileNotFoundError(_LIBRARY)

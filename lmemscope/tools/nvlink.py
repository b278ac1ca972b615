"""Link relocatable objects with nvlink, run as nvcc runs it (``nvcc -dlink -dryrun``)."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmemscope.model import Tool
from lmemscope.tools import process
from lmemscope.tools.toolchain import INSTALLED, Toolchain

_RUNTIME = "libcudadevrt.a"
_LIBRARY_DIRS = ("lib", "lib64", "lib/x64", os.path.join("targets", "x86_64-linux", "lib"))
_CPUS = {"x86_64": "X86_64", "AMD64": "X86_64", "aarch64": "AARCH64", "arm64": "AARCH64"}


@dataclass(frozen=True, slots=True)
class NvlinkResult:
    """nvlink's output.

    Attributes:
        image: the linked cubin, or None if it wrote none.
        log: its messages, with input names as in reports.
        command: quoted for a shell.
        tool: the nvlink that ran.
    """

    image: bytes | None
    log: str
    command: str
    tool: Tool


@dataclass(frozen=True, slots=True)
class LinkObject:
    """An object to link.

    Attributes:
        name: as in reports.
        content: of a relocatable cubin; None for a host object or archive at ``path``.
        path: absolute.
    """

    name: str
    content: bytes | None = None
    path: str = ""


def device_runtime(toolchain: Toolchain = INSTALLED) -> str | None:
    """Path of ``libcudadevrt.a``, which device-side launches need, or None if not found."""
    for headers in toolchain.header_dirs():
        for directory in _LIBRARY_DIRS:
            path = os.path.normpath(os.path.join(headers, os.pardir, directory, _RUNTIME))
            if os.path.isfile(path):
                return path
    return None


def link(
    objects: Sequence[LinkObject],
    arch: str,
    toolchain: Toolchain = INSTALLED,
    timeout: float | None = None,
) -> NvlinkResult:
    """Link device code; errors in the code are in the log.

    Raises:
        ToolMissingError: nvlink is not installed.
        StageTimeoutError: it ran longer than ``timeout``.
    """
    nvlink = toolchain.tool("nvlink")
    assert nvlink.path is not None
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        target = Path(directory, "linked.cubin")
        command, names = [nvlink.path, f"-arch={arch}", "-v"], {}
        command.append(f"-cpu-arch={_CPUS.get(platform.machine(), 'unknown')}")
        for number, one in enumerate(objects):
            path = one.path
            if one.content is not None:
                path = str(Path(directory, f"{number}.cubin"))
                Path(path).write_bytes(one.content)
            command.append(path)
            names[path] = one.name
        runtime = device_runtime(toolchain)
        if runtime is not None:
            command.append(runtime)
            names[runtime] = _RUNTIME
        done = process.run([*command, "-o", str(target)], timeout=timeout)
        log, shown = done.output, done.command_line
        # Longest first: one path may be a prefix of another.
        for path in sorted(names, key=len, reverse=True):
            log = log.replace(f"'{path}'", f"'{names[path]}'")
        shown = shown.replace(str(target), "linked.cubin").replace(f"{directory}{os.sep}", "")
        image = target.read_bytes() if done.returncode == 0 and target.exists() else None
        return NvlinkResult(image, log, shown, nvlink)

"""Check the toolchain for ``doctor``: which tools exist, and whether their versions match."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.errors import ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools.toolchain import Toolchain, host_compiler, tool_version, wheel_of

_READER = "nvdisasm"
"""It reads ptxas output, including that of older versions."""

_CUPY = re.compile(r"cupy(?:-cuda\d+x?|-rocm-[\d-]+)?")
_CUDA_12 = re.compile(r"nvidia-cuda-(?:nvrtc|runtime|nvcc|cccl)-cu12")
_CUDA_13 = re.compile(r"nvidia-(?:cuda-(?:nvrtc|runtime|nvcc|cccl|crt)|nvvm)")
_WHEELS_OF = re.compile(r"/nvidia/(?:(cu13)|cuda_\w+)/")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis: a tool that was found, or a hint about a missing one."""

    name: str
    tool: Tool | None
    hint: str | None
    purpose: str


def examine(toolchain: Toolchain) -> tuple[Finding, ...]:
    """Look for every tool."""
    from lmemscope.tools import nvrtc

    findings = [_found("nvrtc", lambda: nvrtc.library(toolchain), "compiles CUDA C++")]
    for name, purpose in (
        ("ptxas", "assembles .ptx inputs and the output of nvcc"),
        ("nvcc", "compiles files that hold host code"),
        ("nvdisasm", "disassembles for `dump --sass`"),
        ("nvlink", "links for --link"),
    ):
        findings.append(_found(name, lambda name=name: toolchain.tool(name), purpose))
    findings.append(_found("nvjitlink", lambda: _optimising_linker(toolchain), "links for --lto"))
    for name, component in (("cuda headers", "cudart"), ("cccl headers", "cccl")):
        path = toolchain.find_headers(component)
        found = Tool(name, None, path) if path else None
        hint = None if found else f"pip install {wheel_of(name, toolchain)}"
        findings.append(Finding(name, found, hint, "headers that CUDA sources include"))
    compiler = host_compiler()
    findings.append(
        Finding(
            "host compiler",
            Tool("host compiler", None, compiler) if compiler else None,
            None if compiler else "apt install g++ (Debian/Ubuntu), dnf install gcc-c++ (Fedora)",
            "preprocesses for nvcc",
        )
    )
    return tuple(findings)


def _optimising_linker(toolchain: Toolchain) -> Tool:
    from lmemscope.tools import nvjitlink

    return nvjitlink.tool(toolchain)


def mismatches(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Version conflicts: tools of different toolkits, and other copies on PATH."""
    paths = {finding.name: finding.tool.path for finding in findings if finding.tool is not None}
    places = {
        os.path.dirname(os.path.realpath(paths.get(name) or "")) for name in ("nvcc", "ptxas")
    }
    # Such an nvcc is used with the ptxas beside it.
    apart = ("nvcc",) if {"nvcc", "ptxas"} <= paths.keys() and len(places) > 1 else ()
    versions: dict[str, list[str]] = {}
    releases: dict[str, tuple[int, ...]] = {}
    for finding in findings:
        if finding.tool is not None and finding.tool.version is not None:
            release = ".".join(finding.tool.version.split(".")[:2])
            releases[finding.name] = tuple(map(int, release.split(".")))
            if finding.name not in (_READER, *apart):
                versions.setdefault(release, []).append(finding.name)
    written = max((releases[name] for name in ("nvrtc", "ptxas") if name in releases), default=())
    said = []
    if len(versions) > 1:
        listed = "; ".join(f"{release}: {', '.join(names)}" for release, names in versions.items())
        said.append(
            f"tools of different toolkits ({listed}); PTX of a newer one is refused by an older "
            "ptxas; upgrade the nvidia-cuda-* wheels together"
        )
    if apart and releases.get("nvcc") not in (None, releases.get("nvrtc")):
        said.append(
            f"nvcc is of another toolkit, {'.'.join(map(str, releases['nvcc']))}: what it compiles "
            "is assembled by the ptxas beside it; set CUDA_HOME to have it from another toolkit"
        )
    if _READER in releases and releases[_READER] < written:
        said.append(
            f"{_READER} {'.'.join(map(str, releases[_READER]))} is older than what writes the code "
            f"it reads ({'.'.join(map(str, written))}); upgrade it: pip install --upgrade "
            f"{wheel_of(_READER)}"
        )
    for name in ("nvcc", "ptxas"):
        on_path = shutil.which(name)
        ours = next((f.tool for f in findings if f.name == name and f.tool is not None), None)
        if (
            on_path
            and ours
            and ours.path
            and os.path.realpath(on_path) != os.path.realpath(ours.path)
        ):
            version = tool_version(on_path)
            said.append(f"another {name} ({version}) is on PATH at {on_path}; it is not used")
    return tuple(said)


def installed_wheels(path: Sequence[str] | None = None) -> Mapping[str, str]:
    """Versions of installed distributions by normalised name.

    Args:
        path: directories to search; by default Python's import path.
    """
    found = importlib.metadata.distributions(path=list(sys.path if path is None else path))
    named = ((_name_of(one), one) for one in found)
    return {re.sub(r"[-_.]+", "-", name).lower(): one.version for name, one in named if name}


def _name_of(wheel: importlib.metadata.Distribution) -> str | None:
    """Its name; None if its metadata is damaged, which Python versions treat differently."""
    try:
        return wheel.metadata["Name"]
    except (FileNotFoundError, KeyError):
        return None


def several_cupys(wheels: Iterable[str]) -> str | None:
    """Advice if several distributions provide the package ``cupy``, or None."""
    cupys = sorted(name for name in wheels if _CUPY.fullmatch(name))
    if len(cupys) < 2:
        return None
    return (
        f"{' and '.join(cupys)} are installed together, and overwrite each other's files; "
        f"remove them all and install the one for your CUDA: pip uninstall -y {' '.join(cupys)}; "
        f"pip install {'cupy-cuda13x' if 'cupy-cuda13x' in cupys else cupys[-1]}"
    )


def mixed_lines(findings: Iterable[Finding], wheels: Iterable[str]) -> str | None:
    """Advice if both CUDA 12 and CUDA 13 wheels were found, or None.

    Both can be installed side by side; CuPy uses the NVRTC of the version it was built for.
    """
    lines: dict[str, list[str]] = {}
    for finding in findings:
        path = finding.tool.path if finding.tool is not None else None
        match = _WHEELS_OF.search(f"{path}/") if path and finding.name != _READER else None
        if match:
            lines.setdefault("13" if match.group(1) else "12", []).append(finding.name)
    if len(lines) < 2:
        return None
    wanted = "12" if "nvrtc" in lines["12"] else "13"
    other = _CUDA_13 if wanted == "12" else _CUDA_12
    listed = "; ".join(f"CUDA {line}: {', '.join(lines[line])}" for line in sorted(lines))
    extra = " ".join(sorted(name for name in wheels if other.fullmatch(name)))
    return (
        f"wheels of two CUDA lines are used together ({listed}); keep that of NVRTC, which CuPy "
        f"loads: pip uninstall -y {extra or 'the others'}"
    )


def _found(name: str, find: object, purpose: str) -> Finding:
    assert callable(find)
    try:
        return Finding(name, find(), None, purpose)
    except ToolMissingError as error:
        return Finding(name, None, error.hint, purpose)

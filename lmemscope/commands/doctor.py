"""``lmemscope doctor``: which tools there are, and whether they belong together."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

import click

from lmemscope.commands.options import flag
from lmemscope.config.options import option
from lmemscope.errors import ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools.toolchain import WHEELS, Toolchain, host_compiler, tool_version

_ESSENTIAL = ("nvrtc", "ptxas", "cuda headers")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis: a tool that was found, or the hint for one that was not."""

    name: str
    tool: Tool | None
    hint: str | None
    purpose: str


def examine(toolchain: Toolchain) -> tuple[Finding, ...]:
    """Look for every part of the toolchain."""
    from lmemscope.tools import nvrtc

    findings = [_found("nvrtc", lambda: nvrtc.library(toolchain), "compiles CUDA C++")]
    for name, purpose in (
        ("ptxas", "assembles .ptx inputs and the output of nvcc"),
        ("nvcc", "compiles files that hold host code"),
        ("nvdisasm", "disassembles for `dump --sass`"),
        ("cuobjdump", "an independent witness in the tests"),
    ):
        findings.append(_found(name, lambda name=name: toolchain.tool(name), purpose))
    for name, component in (("cuda headers", "cudart"), ("cccl headers", "cccl")):
        path = toolchain.find_headers(component)
        found = Tool(name, None, path) if path else None
        hint = None if found else f"pip install {WHEELS[name]}"
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


def mismatches(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Version conflicts: tools of different toolkits, and others of theirs on PATH."""
    versions: dict[str, list[str]] = {}
    for finding in findings:
        if finding.tool is not None and finding.tool.version is not None:
            release = ".".join(finding.tool.version.split(".")[:2])
            versions.setdefault(release, []).append(finding.name)
    said = []
    if len(versions) > 1:
        listed = "; ".join(f"{release}: {', '.join(names)}" for release, names in versions.items())
        said.append(
            f"tools of different toolkits ({listed}); PTX of a newer one is refused by an older "
            "ptxas; upgrade the nvidia-cuda-* wheels together"
        )
    for name in ("nvcc", "ptxas"):
        on_path = shutil.which(name)
        ours = next((f.tool for f in findings if f.name == name and f.tool is not None), None)
        if on_path and ours and ours.path and not os.path.samefile(on_path, ours.path):
            version = tool_version(on_path)
            said.append(f"another {name} ({version}) is on PATH at {on_path}; it is not used")
    return tuple(said)


@click.command(name="doctor")
@flag(option("toolkit"), help="Examine the toolkit in DIR.")
def command(toolkit: str | None) -> None:
    """Show which tools were found, where, their versions, and what is missing.

    Ends with code 3 when a tool that every analysis needs is missing.
    """
    from lmemscope.discover.plan import choose_arch

    findings = examine(Toolchain(toolkit))
    for finding in findings:
        if finding.tool is not None:
            version = finding.tool.version or ""
            click.echo(f"{finding.name:<14} {version:<10} {finding.tool.path}")
        else:
            click.echo(f"{finding.name:<14} {'missing':<10} {finding.purpose}: {finding.hint}")
    click.echo(f"{'default arch':<14} {choose_arch()[1]}")
    for problem in mismatches(findings):
        click.echo(f"note: {problem}")
    missing = [f.name for f in findings if f.tool is None and f.name in _ESSENTIAL]
    if missing:
        raise ToolMissingError("toolchain", f"missing: {', '.join(missing)}")


def _found(name: str, find: object, purpose: str) -> Finding:
    assert callable(find)
    try:
        return Finding(name, find(), None, purpose)
    except ToolMissingError as error:
        return Finding(name, None, error.hint, purpose)

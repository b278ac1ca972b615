"""Device code inside host objects, archives and executables, taken out by cuobjdump."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lmemscope import files
from lmemscope.model import Tool
from lmemscope.tools import process
from lmemscope.tools.toolchain import INSTALLED, Toolchain

_MEMBER = re.compile(r"^member .*:(?P<name>[^:\n]+):\s*$")
_FILE = re.compile(r"^Extracting ELF file\s+\d+: (?P<name>\S+)\s*$")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A cubin of a host file.

    Attributes:
        member: of an archive, the object that holds it; else an empty string.
        name: as cuobjdump calls it, with its architecture.
        content: the ELF file.
    """

    member: str
    name: str
    content: bytes


def extract(
    path: str, toolchain: Toolchain = INSTALLED, timeout: float | None = None
) -> tuple[tuple[Extracted, ...], Tool]:
    """All cubins of a host object, archive, library or executable; none where it has none.

    Raises:
        ToolMissingError: there is no cuobjdump.
        StageTimeoutError: it ran longer than ``timeout``.
    """
    tool = toolchain.tool("cuobjdump")
    assert tool.path is not None
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        command = [tool.path, "-xelf", "all", str(Path(path).absolute())]
        done = process.run(command, cwd=Path(directory), timeout=timeout)
        found: list[Extracted] = []
        member = ""
        for line in done.output.splitlines():
            if (named := _MEMBER.match(line)) is not None:
                member = named["name"]
            elif (written := _FILE.match(line)) is not None:
                content = files.read_input(Path(directory, Path(written["name"]).name))
                found.append(Extracted(member, written["name"], content))
    return tuple(found), tool

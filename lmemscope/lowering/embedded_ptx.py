"""The PTX in a fat binary, assembled: for the lines of a cubin beside it, or in place of one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from lmemscope.formats.cubin import number_of
from lmemscope.lowering.binary import EmbeddedPtx, Image
from lmemscope.lowering.store import slot_by
from lmemscope.model import Unit
from lmemscope.tools import ptxas
from lmemscope.tools.ptxas import PtxasResult
from lmemscope.tools.toolchain import Toolchain

_TARGET = re.compile(rb"^[ \t]*\.target[ \t]+sm_(\d{1,9})([af]?)", re.MULTILINE)
_STAGE = "assembled"


def fitting(image: Image, arch: str) -> EmbeddedPtx | None:
    """The PTX of a fat binary for the newest target that an architecture can run.

    Args:
        image: of the fat binary.
        arch: real architecture, such as ``sm_90a``.

    Raises:
        FormatError: a text is damaged.
    """
    return next(_older(image, arch), None)


def nearest(image: Image, arch: str, names: Collection[str]) -> EmbeddedPtx | None:
    """The PTX that fits, else that for the oldest target which is newer than an architecture.

    Raises:
        FormatError: a text is damaged.
    """
    number = number_of(arch)
    newer = [ptx for ptx in image.ptx if ptx.entry.sm > number]
    ordered = (*_older(image, arch), *sorted(newer, key=lambda one: one.entry.sm))
    return next((ptx for ptx in ordered if any(one in ptx.parts.names for one in names)), None)


def _older(image: Image, arch: str) -> Iterator[EmbeddedPtx]:
    for ptx in sorted(image.ptx, key=lambda one: -one.entry.sm):
        target = _TARGET.search(ptx.text) if ptx.entry.sm <= number_of(arch) else None
        if target is not None and _runs(target[1].decode(), target[2].decode(), arch):
            yield ptx


def retargeted(text: bytes, arch: str) -> bytes:
    """A text as if it had been written for an architecture, if it was for a newer one.

    ptxas refuses what the architecture does not have.
    """
    target = _TARGET.search(text)
    if target is None or int(target[1]) <= number_of(arch):
        return text
    begin, end = target.start(1), target.end(2)
    return text[:begin] + arch.removeprefix("sm_").encode() + text[end:]


def _runs(number: str, suffix: str, arch: str) -> bool:
    """Whether PTX for a target can be assembled for an architecture, as far as names tell."""
    if suffix == "a":
        return arch == f"sm_{number}a"
    # A family has the same major version: all but the last digit.
    return not suffix or number[:-1] == str(number_of(arch))[:-1]


@dataclass(frozen=True, slots=True)
class _Record:
    """What is stored beside a cubin: ptxas's report."""

    log: str


def assembled(
    unit: Unit,
    text: bytes,
    arguments: Sequence[str],
    cache_directory: str | None,
    timeout: float | None = None,
    toolchain: Toolchain | None = None,
) -> PtxasResult:
    """Assemble a text with line information, or find what an earlier run made of it.

    Args:
        unit: whose text it is, with the architecture.
        text: to assemble.
        arguments: for ptxas, beside the architecture.
        cache_directory: where the store is, or None.
        timeout: seconds that ptxas may take, or None.
        toolchain: whose ptxas; None for that of the unit's toolkit.

    Raises:
        CompileError: ptxas refuses it.
        StageTimeoutError: it takes too long.
        ToolMissingError: there is no ptxas.
    """
    toolchain = toolchain or Toolchain(unit.toolkit)
    flags = (f"-arch={unit.arch}", "-v", "-lineinfo", *arguments)
    # Of one ptxas's making, whichever file the text is in.
    digest, tool = hashlib.sha256(text).hexdigest(), toolchain.tool("ptxas")
    slot = slot_by(cache_directory, digest, flags, tool.path)
    known = slot.load(_STAGE, _Record, blobs=1) if slot is not None else None
    if known is not None:
        record, (cubin,), (tool, *_) = known
        return PtxasResult(cubin, record.log, tool)
    result = ptxas.assemble(text, f"PTX in {unit.input}", flags, toolchain, timeout)
    if slot is not None:
        slot.store(_STAGE, _Record(result.log), [result.cubin], [result.tool])
    return result

"""Assemble PTX embedded in a fat binary, for a cubin's line information or in place of a cubin."""

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
    """The embedded PTX for the newest target that an architecture can run.

    Args:
        image: of the fat binary.
        arch: real architecture, such as ``sm_90a``.

    Raises:
        FormatError: the PTX is damaged.
    """
    return next(_older(image, arch), None)


def nearest(image: Image, arch: str, names: Collection[str]) -> EmbeddedPtx | None:
    """As `fitting`; failing that, the PTX for the oldest target newer than the architecture.

    Raises:
        FormatError: the PTX is damaged.
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
    """PTX with its target lowered to an architecture, if it was for a newer one.

    ptxas rejects whatever the architecture does not support.
    """
    target = _TARGET.search(text)
    if target is None or int(target[1]) <= number_of(arch):
        return text
    begin, end = target.start(1), target.end(2)
    return text[:begin] + arch.removeprefix("sm_").encode() + text[end:]


def _runs(number: str, suffix: str, arch: str) -> bool:
    """Whether PTX for a target can be assembled for an architecture, judging by their names."""
    if suffix == "a":
        return arch == f"sm_{number}a"
    # Architectures of one family share the major version: all digits but the last.
    return not suffix or number[:-1] == str(number_of(arch))[:-1]


@dataclass(frozen=True, slots=True)
class _Record:
    """What is stored beside an assembled cubin: the ptxas report."""

    log: str


def assembled(
    unit: Unit,
    text: bytes,
    arguments: Sequence[str],
    cache_directory: str | None,
    timeout: float | None = None,
    toolchain: Toolchain | None = None,
) -> PtxasResult:
    """Assemble PTX with line information, or load the result of an earlier run.

    Args:
        unit: the unit of the PTX, with the architecture.
        text: to assemble.
        arguments: for ptxas, besides the architecture.
        cache_directory: the store, or None.
        timeout: time limit for ptxas in seconds, or None.
        toolchain: provides ptxas; None for that of the unit's toolkit.

    Raises:
        CompileError: ptxas rejects the PTX.
        StageTimeoutError: it takes too long.
        ToolMissingError: ptxas is missing.
    """
    toolchain = toolchain or Toolchain(unit.toolkit)
    flags = (f"-arch={unit.arch}", "-v", "-lineinfo", *arguments)
    # The result depends on the text and on ptxas, not on the file that holds the text.
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

"""Binaries of the cubins that fuzzing begins with, and what a report has of them."""

from __future__ import annotations

from tests.support.device_containers import ZSTD, entry, fatbin, host_object
from tests.support.program import ROOT

SEEDS = ROOT / "tests" / "fuzz" / "seeds"


def cubin(name: str, sm: int = 90) -> bytes:
    """A cubin of a kernel with local memory; for another architecture only its header differs."""
    data = bytearray((SEEDS / f"{name}.cubin").read_bytes())
    data[49] = sm
    return bytes(data)


def library(*names: str, archs: tuple[int, ...] = (80, 90)) -> bytes:
    """A host library with a cubin for each architecture."""
    images = (entry(cubin(name, sm), sm, codec=ZSTD) for name in names for sm in archs)
    return host_object((".text", bytes(32)), (".nv_fatbin", fatbin(*images)))


def units(document: dict[str, object]) -> list[tuple[str, str, list[str]]]:
    """Input, architecture and kernels of each unit of a report."""
    found = document["units"]
    assert isinstance(found, list)
    return [(u["input"], u["arch"], [k["demangled"] for k in u["kernels"]]) for u in found]

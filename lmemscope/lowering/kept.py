"""Artefacts of an earlier run on the same bytes, or new ones that the next run finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lmemscope.lowering.store import Slot, slot_for
from lmemscope.model import Artifacts, CudaSource, Gap, Tool, Unit

_STAGE = "outputs"


def kept(
    unit: Unit,
    cache_directory: str | None,
    source: CudaSource | None,
    make: Callable[[], Artifacts],
) -> Artifacts:
    """What the store holds for a unit, else what ``make`` gives, put into the store.

    Args:
        unit: what to compile.
        cache_directory: where the store is, or None to compile always.
        source: what the unit's file says about itself as it is now.
        make: compiles.

    Raises:
        LmemscopeError: as ``make`` does.
    """
    slot = slot_for(cache_directory, unit)
    known = None if slot is None else _load(slot, unit, source)
    if known is not None:
        return known
    artifacts = make()
    if slot is None or artifacts.ptx is None:
        return artifacts
    head = {
        "frontend": artifacts.frontend,
        "options": artifacts.options,
        "instantiated": artifacts.instantiated,
        "log": artifacts.ptxas_log,
        "gaps": [(gap.stage, gap.reason) for gap in artifacts.gaps],
    }
    slot.store(_STAGE, head, [artifacts.ptx, artifacts.cubin], artifacts.tools)
    return replace(artifacts, key=slot.key)


def _load(slot: Slot, unit: Unit, source: CudaSource | None) -> Artifacts | None:
    found = slot.load(_STAGE)
    if found is None:
        return None
    head, (ptx, cubin) = found
    return Artifacts(
        unit=unit,
        frontend=head["frontend"],
        options=tuple(head["options"]),
        ptx=ptx,
        ptxas_log=head["log"],
        cubin=cubin,
        tools=tuple(Tool(tool["name"], tool["version"], tool["path"]) for tool in head["tools"]),
        gaps=tuple(Gap(stage, reason) for stage, reason in head["gaps"]),
        source=source,
        instantiated=tuple(head["instantiated"]),
        key=slot.key,
        cached=True,
    )

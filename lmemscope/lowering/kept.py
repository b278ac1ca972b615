"""Load a unit's artefacts from the store, or make and store them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from lmemscope.lowering.store import Outputs, Slot
from lmemscope.model import Artifacts, CudaSource, Unit

_STAGE = "outputs"


def kept(
    unit: Unit,
    slot: Slot | None,
    source: CudaSource | None,
    make: Callable[[], Artifacts],
) -> Artifacts:
    """A unit's artefacts from the store, or those that ``make`` returns, which are then stored.

    Args:
        unit: what to compile.
        slot: the unit's place in the store, or None to compile always.
        source: the unit's file as parsed now.
        make: compiles.

    Raises:
        LmemscopeError: as ``make``.
    """
    known = None if slot is None else _load(slot, unit, source)
    if known is not None:
        return known
    artifacts = make()
    if slot is None or artifacts.ptx is None:
        return artifacts
    record = Outputs(
        frontend=artifacts.frontend,
        options=artifacts.options,
        instantiated=artifacts.instantiated,
        log=artifacts.ptxas_log,
        gaps=artifacts.gaps,
    )
    slot.store(_STAGE, record, [artifacts.ptx, artifacts.cubin], artifacts.tools)
    return replace(artifacts, key=slot.key)


def _load(slot: Slot, unit: Unit, source: CudaSource | None) -> Artifacts | None:
    found = slot.load(_STAGE, Outputs, blobs=2)
    if found is None:
        return None
    record, (ptx, cubin), tools = found
    return Artifacts(
        unit=unit,
        frontend=record.frontend,
        options=record.options,
        ptx=ptx,
        ptxas_log=record.log,
        cubin=cubin,
        tools=tools,
        gaps=record.gaps,
        source=source,
        instantiated=record.instantiated,
        key=slot.key,
        cached=True,
    )

"""Turn a unit into its artefacts: PTX, the ptxas report, and a cubin.

Each kind of input enters at its own stage, and all end at the same point. What an input cannot
provide is a `Gap` with a reason, never an empty value that looks like an answer.
"""

from __future__ import annotations

from lmemscope.errors import LmemscopeError
from lmemscope.model import Artifacts, Unit
from lmemscope.routes import Along, kind_of_unit, route_of


def lower(unit: Unit, cache_directory: str | None = None, along: Along | None = None) -> Artifacts:
    """Turn a unit into its artefacts.

    Args:
        unit: what to compile.
        cache_directory: where outputs are stored, or None to compile always.
        along: what to do while a compiler runs.

    Raises:
        LmemscopeError: the input cannot be read, or a tool is missing or rejects it.
    """
    try:
        return route_of(kind_of_unit(unit)).lower(unit, cache_directory, along)
    except LmemscopeError as error:
        # Compilers receive the absolute path; users know the file as they typed it.
        if error.log is not None:
            error.log = error.log.replace(unit.path, unit.input)
        raise

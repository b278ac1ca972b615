"""From a unit to its artefacts: PTX, the report of ptxas, and a cubin.

Each input enters at its own stage and leaves at the same point. What an input cannot give is a
`Gap` with a reason, never an empty value that looks like an answer.
"""

from __future__ import annotations

from lmemscope.errors import LmemscopeError
from lmemscope.model import Artifacts, Unit
from lmemscope.routes import Along, kind_of_unit, route_of


def lower(unit: Unit, cache_directory: str | None = None, along: Along | None = None) -> Artifacts:
    """Take a unit to its artefacts.

    Args:
        unit: what to compile.
        cache_directory: where outputs of earlier runs are kept, or None to always compile.
        along: what to do while a compiler runs.

    Raises:
        LmemscopeError: the input cannot be read, or a tool is missing or refuses it.
    """
    try:
        return route_of(kind_of_unit(unit)).lower(unit, cache_directory, along)
    except LmemscopeError as error:
        # Compilers are given the absolute path; people know the file by what they typed.
        if error.log is not None:
            error.log = error.log.replace(unit.path, unit.input)
        raise

"""The gap for units that had to be compiled as relocatable device code."""

from __future__ import annotations

from lmemscope.model import Gap


def launching_gap(how: str) -> Gap:
    """The gap of a unit compiled as relocatable code because it launches kernels.

    Args:
        how: what was done, such as ``assembled as relocatable code (ptxas -c)``.
    """
    because = "because it launches from the device"
    return Gap("link", f"{how}, {because}; what the linker adds to its stack is not known")

"""What a report says of units that had to become relocatable code."""

from __future__ import annotations

from lmemscope.model import Gap


def launching_gap(how: str) -> Gap:
    """The gap of a unit that was compiled as relocatable code because it launches.

    Args:
        how: what was done, ``assembled as relocatable code (ptxas -c)``.
    """
    because = "because it launches from the device"
    return Gap("link", f"{how}, {because}; what the linker adds to its stack is not known")

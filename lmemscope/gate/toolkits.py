"""Which CUDA toolkits a limit or an allowance is for: `>=13.1,<14`, as Python writes versions.

What ptxas allocates differs between toolkits, so that a figure is one toolkit's.
(https://packaging.python.org/en/latest/specifications/version-specifiers/)
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from lmemscope.model import Tool

_TOOLS = ("ptxas", "nvrtc", "nvcc", "nvlink")
"""Whose version counts, the first that is known: ptxas makes the machine code."""


def toolkit_of(tools: Iterable[Tool]) -> Version | None:
    """The version of the toolkit that some tools are of; None where none says it."""
    known = {tool.name: tool.version for tool in tools if tool.version is not None}
    for name in _TOOLS:
        try:
            return Version(known[name])
        except (KeyError, InvalidVersion):
            continue
    return None


def is_within(versions: str | None, toolkit: Version | None) -> bool | None:
    """Whether a toolkit is one of some; None where it is not known.

    Args:
        versions: a specifier, checked; None for every toolkit.
        toolkit: as of `toolkit_of`.
    """
    if versions is None:
        return True
    if toolkit is None:
        return None
    return SpecifierSet(versions).contains(toolkit, prereleases=True)

"""Match CUDA toolkit versions in limits and allowances: `>=13.1,<14`, in Python's syntax.

ptxas allocates differently in each toolkit, so figures belong to one toolkit.
(https://packaging.python.org/en/latest/specifications/version-specifiers/)
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from lmemscope.model import Tool

_TOOLS = ("ptxas", "nvrtc", "nvcc", "nvlink")
"""Tools whose version counts, first known one first: ptxas makes the machine code."""


def toolkit_of(tools: Iterable[Tool]) -> Version | None:
    """The version of the toolkit that the tools belong to; None if unknown."""
    known = {tool.name: tool.version for tool in tools if tool.version is not None}
    for name in _TOOLS:
        try:
            return Version(known[name])
        except (KeyError, InvalidVersion):
            continue
    return None


def is_within(versions: str | None, toolkit: Version | None) -> bool | None:
    """Whether a toolkit version matches a specifier; None if the version is unknown.

    Args:
        versions: a valid specifier; None matches every toolkit.
        toolkit: from `toolkit_of`.
    """
    if versions is None:
        return True
    if toolkit is None:
        return None
    return SpecifierSet(versions).contains(toolkit, prereleases=True)

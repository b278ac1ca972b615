"""Kernels of other sources that run a header's function, and how large their blocks are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from lmemscope.rewrites.base import Target
from lmemscope.rules.callers import kernels_running
from lmemscope.rules.launched_elsewhere import largest_launch
from lmemscope.rules.remembered import Remembered

if TYPE_CHECKING:
    from tree_sitter import Node

    from lmemscope.model import SourceText

_MOST = 64
"""Files that include a header, at most, that are looked through."""


class RunElsewhere(NamedTuple):
    """The kernels of sources that a target's kernels are not in.

    Attributes:
        threads: the most of a block, as launches and bounds in sight say; None where none does.
        unknown: kernels of which nothing says it, each with its file.
    """

    threads: int | None
    unknown: tuple[str, ...]


_NONE = RunElsewhere(None, ())
_FOUND: Remembered[tuple[str, str, tuple[str, ...]], RunElsewhere] = Remembered()


def run_elsewhere(target: Target, function: Node) -> RunElsewhere:
    """The kernels that run a function of the target's file, where other sources include that.

    By their text, as far as the project's files are in sight: what runs it by a name that a macro
    makes is not seen.

    Args:
        target: in whose file the function is.
        function: its definition.
    """
    sources, name = target.hits[0].case.sources, target.syntax.function_name(function)
    if name is None or not sources.is_elsewhere(target.path):
        return _NONE
    key = target.path, name.decode(errors="replace"), target.files
    return _FOUND.of(sources, key, lambda: _found(sources, *key))


def _found(sources: SourceText, path: str, function: str, files: tuple[str, ...]) -> RunElsewhere:
    sizes, unknown = list[int](), list[str]()
    own = frozenset(map(os.path.abspath, files))
    for file in _including(path, sources):
        if file in own or file.endswith(".py"):
            continue
        for kernel in kernels_running(function, file, sources):
            if os.path.abspath(kernel.file) in own:
                continue
            size = largest_launch((kernel.name,), kernel.file, sources) or kernel.bound
            if size is None:
                unknown.append(f"`{kernel.name}` in `{os.path.basename(kernel.file)}`")
            else:
                sizes.append(min(size, kernel.bound or size))
    return RunElsewhere(max(sizes, default=None), tuple(dict.fromkeys(unknown)))


def _including(path: str, sources: SourceText) -> tuple[str, ...]:
    """The project's sources that include a file, or a header that does."""
    found, pending = dict[str, None](), [path]
    while pending and len(found) < _MOST:
        for one in sources.including(pending.pop(0)):
            if one not in found:
                found[one] = None
                if not one.endswith(".cu"):
                    pending.append(one)
    return tuple(found)

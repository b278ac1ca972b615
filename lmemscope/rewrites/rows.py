"""Arrays of several dimensions that code goes through as if they were of one.

``a[0][i]`` with an ``i`` beyond the row is undefined, and yet finds the next row's element wherever
the rows follow each other, as they do in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.rewrites.arrays import Elements
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.purity import may_convert
from lmemscope.rewrites.ranges import Ranges

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST = (1 << 31) - 1


def check_indices(elements: Elements, home: Target) -> None:
    """That each index is the same number for a function as for the language's own brackets.

    Raises:
        DeclinedError: one may not be.
    """
    for use in elements.uses:
        if any(may_convert(index, home) for index in use.indices):
            line = use.name.start_point.row + 1
            raise DeclinedError(f"line {line} has an index that other types may see as another")


def is_first_row(index: Node, target: Target) -> bool:
    """Whether an outer index is the first row's, from which code may go through all rows."""
    return target.syntax.text(index) == b"0"


def check_rows(elements: Elements, extents: Sequence[int] | None, target: Target) -> None:
    """That no index of an inner dimension is seen to come to the end of its row.

    In the first row, as in ``a[0][i]``, one whose end is not known may go through all rows.

    Raises:
        DeclinedError: one does.
    """
    if extents is None or len(extents) < 2:
        return
    home = replace(target, path=elements.path, syntax=elements.syntax)
    ranges = Ranges(home, elements.name, _MOST)
    for use in elements.uses:
        for index, extent in zip(use.indices[1:], extents[1:], strict=False):
            found = ranges.of(index) or ranges.by_operator(index)
            if found is None or found.promises:
                leaves = is_first_row(use.indices[0], home)
            else:
                leaves = found.high >= extent
            if leaves:
                line = use.name.start_point.row + 1
                raise DeclinedError(f"line {line} goes on from one of its rows to the next")

"""Programs whose grids have to be on the device all at once: occupancy decides whether they run."""

from __future__ import annotations

from dataclasses import replace

from lmemscope.model import Rewriting
from lmemscope.rewrites.base import Target

_WORDS = frozenset(
    (
        b"this_grid",
        b"grid_group",
        b"cudaLaunchCooperativeKernel",
        b"cuLaunchCooperativeKernel",
        b"cudaLaunchAttributeCooperative",
    )
)
_CAVEAT = "the grids that are launched still fit the device if fewer blocks fit a multiprocessor"


def promised(rewriting: Rewriting, target: Target) -> Rewriting:
    """A rewriting, unsafe where a grid that just fits the device may fit no more.

    Any rewrite may take registers or shared memory of a multiprocessor. A barrier of the program's
    own is not seen.
    """
    if not _WORDS & (target.syntax.words() | target.meanings.words):
        return rewriting
    caveat = f"{rewriting.caveat}; {_CAVEAT}" if rewriting.caveat else _CAVEAT
    return replace(rewriting, applicability="unsafe", caveat=caveat, promises=())

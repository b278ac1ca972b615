"""The rewrites: one file each, its docstring the rewrite's page.

A rewrite looks at one target, says which edits may help, and whether they can change what the
program does. It proves nothing: `lmemscope.fixing` compiles what it says.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.model import Rewriting
from lmemscope.rewrites import (
    bounded_loop,
    drop_volatile,
    fast_math,
    force_inline,
    grid_constant,
    launch_bounds,
    no_printf,
    packed,
    select,
    shared_memory,
    smem_spilling,
    static_table,
    unroll,
)
from lmemscope.rewrites.base import Rewrite, Target

REWRITES: tuple[Rewrite, ...] = (
    unroll.REWRITE,
    static_table.REWRITE,
    grid_constant.REWRITE,
    drop_volatile.REWRITE,
    force_inline.REWRITE,
    launch_bounds.REWRITE,
    smem_spilling.REWRITE,
    fast_math.REWRITE,
    no_printf.REWRITE,
    bounded_loop.REWRITE,
    packed.REWRITE,
    select.REWRITE,
    shared_memory.REWRITE,
)
"""In the order in which they are tried: the cheapest to run first."""


def proposals(target: Target) -> Iterator[Rewriting]:
    """Whatever may take a target out of local memory."""
    for rewrite in REWRITES:
        if target.cause in rewrite.causes:
            yield from rewrite.propose(target)

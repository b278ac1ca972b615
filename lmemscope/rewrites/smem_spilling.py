r"""Spill to shared memory

`asm volatile(".pragma \"enable_smem_spilling\";");` at the beginning of the kernel has ptxas spill
to shared memory as far as it has room there (CUDA 13 and newer; older ones ignore the pragma).

It is safe: the program does the same, and ptxas knows from the launch bounds how many threads share
the memory. It costs shared memory of the block, and with it L1 cache; beside dynamic shared memory
ptxas refuses it, and a launch that asks for some may find no room: declined where there is any in
sight.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.model import Rewriting
from lmemscope.rewrites.base import Hit, Rewrite, Target
from lmemscope.rewrites.dynamic import may_be_dynamic
from lmemscope.rewrites.written import first_in, kernels
from lmemscope.rules.register_cap import spilling_rooms

_PRAGMA = b'asm volatile(".pragma \\"enable_smem_spilling\\";");'
_WORD = 4
"""Bytes that ptxas moves at least, of each thread."""


def propose(target: Target) -> Iterator[Rewriting]:
    """The pragma in each kernel that spills."""
    found = kernels(target)
    if not found or not all(_has_room(target, hit) for hit in target.hits):
        return
    edits = []
    for kernel in found:
        body = kernel.child_by_field_name("body")
        if body is None or b"enable_smem_spilling" in target.syntax.text(body):
            return
        edit = first_in(target, body, _PRAGMA)
        if edit is None:
            return
        edits.append(edit)
    yield Rewriting("smem-spilling", "safe", tuple(edits), "spill to shared memory")


def _has_room(target: Target, hit: Hit) -> bool:
    """Whether ptxas knows the block, and some architecture has room for a word of each thread."""
    bounds = hit.facts.launch_bounds
    if bounds is None or not bounds.max_threads or hit.facts.callees or may_be_dynamic(target, hit):
        return False
    taken = (hit.facts.ptxas.shared if hit.facts.ptxas is not None else None) or 0
    return max(spilling_rooms(bounds.max_threads)) - taken >= _WORD * bounds.max_threads


REWRITE = Rewrite("smem-spilling", frozenset({"register-spill"}), propose, __name__)

r"""Spill to shared memory

`asm volatile(".pragma \"enable_smem_spilling\";");` at the beginning of the kernel makes ptxas
spill to shared memory as far as it fits (CUDA 13 and newer; older ones ignore the pragma).

Safe: the launch bounds tell ptxas how many threads share the memory; without them it assumes as
many as find registers, at most 1024. It costs shared memory, and so L1 cache. Declined if dynamic
shared memory is in sight, which ptxas refuses, as it does `-rdc=true`, and if the program asks for
L1 cache instead (`cudaFuncCachePreferL1`).
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.model import Rewriting
from lmemscope.rewrites.base import DeclinedError, Hit, Rewrite, RuledOutError, Target
from lmemscope.rewrites.dynamic import dynamic_at
from lmemscope.rewrites.written import first_in, kernels
from lmemscope.rules.register_cap import spilling_rooms, spilling_threads
from lmemscope.rules.shared import prefers_l1

_PRAGMA = b'asm volatile(".pragma \\"enable_smem_spilling\\";");'
_WORD = 4
"""Bytes that ptxas moves at least, of each thread."""


def propose(target: Target) -> Iterator[Rewriting]:
    """The pragma in each kernel that spills."""
    found = kernels(target)
    if not found:
        return
    for hit in target.hits:
        _check(target, hit)
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


def _check(target: Target, hit: Hit) -> None:
    """Whether ptxas may use it, and some architecture has room for a word of each thread.

    Raises:
        DeclinedError: it may not, or has none.
    """
    if hit.case.sources.is_relocatable:
        raise RuledOutError("ptxas refuses it in code that is linked later (`-rdc=true`)")
    bounds = hit.facts.launch_bounds
    threads = spilling_threads(hit.facts)
    asked = dynamic_at(target, hit)
    if asked is not None:
        raise DeclinedError(f"{asked} has dynamic shared memory, or a launch that may ask for some")
    if prefers_l1(hit.case):
        raise DeclinedError("its program asks for L1 cache in place of shared memory")
    if max(spilling_rooms(threads)) - _taken(hit) < _WORD * threads:
        what = "" if bounds is not None and bounds.max_threads else ", as no launch bounds say less"
        raise RuledOutError(f"shared memory has no room for a word of {threads} threads{what}")


def _taken(hit: Hit) -> int:
    """Bytes of shared memory that a block has already."""
    return (hit.facts.ptxas.shared if hit.facts.ptxas is not None else None) or 0


REWRITE = Rewrite(
    "smem-spilling",
    frozenset({"register-spill"}),
    propose,
    __name__,
    nothing="its kernels are not in this file, or have the pragma",
)

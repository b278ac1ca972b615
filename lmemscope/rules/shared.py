"""Shared memory of a kernel, as far as its text shows it."""

from __future__ import annotations

import re

from lmemscope.rules.base import Case

STATIC_BYTES = 48 * 1024
"""Static shared memory of a block: CUDA C++ Programming Guide, "Compute Capabilities"; more must
be dynamic, and the host must opt in to it."""
DYNAMIC = r"\bextern\b(?:[^;{}()]|\([^;{}()]*\))*\b__shared__\b"
"""Its declaration: what ``extern "C"`` defines may have shared memory of another kind inside."""
_PREFERS_L1 = re.compile(r"\b(?:cudaFuncCachePreferL1|cudaSharedmemCarveoutMaxL1)\b")


def prefers_l1(case: Case) -> bool:
    """Whether the program asks for as much L1 cache, and as little shared memory, as can be.

    Then what a block takes of shared memory may leave room for few blocks.
    """
    files = {case.facts.home, case.sources.main} - {None}
    return any(case.sources.matching(file, _PREFERS_L1) for file in files if file is not None)

"""A kernel's local memory as a whole: its own code and the functions in its section together.

Verdicts and the figures that are shown are about the same code, so both come from here.
"""

from __future__ import annotations

import re
from collections import defaultdict

from lmemscope.model import KernelFacts

SLOTS = frozenset({"register-spill", "callee-save"})
"""Causes whose bytes hold registers: no object is gone where these are."""
_NUMBER = re.compile(r"(?<=\$__internal_)\d+(?=_\$)")
"""What ptxas counts its own routines by, in the order in which a file's kernels need them."""


def frame_bytes(facts: KernelFacts) -> int:
    """Stack frames of a kernel and of the functions in it, as far as they are known, in bytes.

    A routine of ptxas's that nothing is reported of stores each register that it saves once.
    """
    return (facts.stack_frame or 0) + sum(_callee_frames(facts).values())


def _callee_frames(facts: KernelFacts) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in facts.callees:
        if one.ptxas is not None:
            found[one.name] = one.ptxas.stack_frame or 0
        elif one.sass is not None:
            found[one.name] = one.sass.store_bytes
    return found


def _callee_objects(facts: KernelFacts) -> dict[str, int]:
    """Bytes of objects in the frames of functions in a kernel, by function."""
    found: dict[str, int] = defaultdict(int)
    for share in facts.causes:
        if share.object_index is None or share.cause in SLOTS or share.cause == "promoted":
            continue
        owned = facts.objects[share.object_index]
        if owned.function != facts.name:
            found[owned.function] += owned.size
    return found


def slot_bytes(facts: KernelFacts) -> int:
    """Bytes of frames that hold registers."""
    own = sum(one.frame_bytes for one in facts.causes if one.cause in SLOTS)
    objects = _callee_objects(facts)
    return own + sum(
        max(0, size - objects.get(name, 0)) for name, size in _callee_frames(facts).items()
    )


def object_bytes(facts: KernelFacts) -> int:
    """Bytes of frames that something other than registers has, padding left out."""
    own = sum(one.frame_bytes for one in facts.causes if one.cause not in SLOTS)
    return own + sum(_callee_objects(facts).values())


def spill_bytes(facts: KernelFacts) -> int:
    """Bytes at sites that spill registers, in the kernel or in functions in it.

    What functions save for their callers, which ptxas counts with it, is in their frames.
    """
    every = (one.sites for one in facts.causes if one.cause == "register-spill")
    found = sum(one.load_bytes + one.store_bytes for one in every)
    return max(facts.spill_bytes or 0, found) if facts.kind == "entry" else found


def site_bytes(facts: KernelFacts) -> int:
    """Bytes at the sites of local loads and stores."""
    sites = facts.sass
    return 0 if sites is None else sites.load_bytes + sites.store_bytes


def unknown_figures(facts: KernelFacts) -> frozenset[str]:
    """Figures that are not known, and functions in the kernel of which none is.

    Of a routine such as that for a division ptxas reports nothing, and its machine code tells: a
    rewrite may bring another of them.
    """
    own = {"frame": facts.stack_frame, "spills": facts.spill_bytes, "sites": facts.sass}
    return frozenset(
        (
            *(name for name, figure in own.items() if figure is None),
            *(
                _NUMBER.sub("", one.name)
                for one in facts.callees
                if one.ptxas is None and one.sass is None
            ),
        )
    )


def is_less_known(before: KernelFacts, after: KernelFacts) -> bool:
    """Whether a figure is not known with a rewriting that is known without it.

    What is known on neither side, such as of a library's routine, is left out of comparisons.
    """
    return not unknown_figures(after) <= unknown_figures(before)

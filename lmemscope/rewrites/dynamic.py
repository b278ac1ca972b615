"""Whether launches of a kernel may ask for dynamic shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmemscope.formats.demangle import plain_name
from lmemscope.model import KernelFacts, SourceLocation, SourceText
from lmemscope.rewrites.base import Hit, Target
from lmemscope.rules.launch_reader import Launches
from lmemscope.rules.launched_elsewhere import launches_of
from lmemscope.rules.shared import DYNAMIC

BESIDE_DYNAMIC = "it fits beside the dynamic shared memory that launches ask for"
"""What who takes a rewrite promises of a kernel that may have such memory."""
_DYNAMIC = re.compile(
    DYNAMIC + r"|\bdynamicSmemBytes\b|\bcudaFuncAttributeMaxDynamicSharedMemorySize"
    r"|\bcu(?:da)?Launch(?:Cooperative)?Kernel(?:ExC?)?\b"
    r"|\b(?:cudaConfigureCall|__cudaPushCallConfiguration)\b"
)
"""Such memory, or a launch that may ask for it, of whatever kernel."""


def may_be_dynamic(facts: KernelFacts, sources: SourceText, files: Iterable[str]) -> bool:
    """Whether a file around a kernel declares such memory, or a launch may ask for some.

    A launch may ask for memory that nobody uses, so that fewer blocks run at a time. Who gets the
    kernel's address, or puts its name together, may launch it so.

    Args:
        facts: the kernel's.
        sources: text of its files, and of the project around them.
        files: that are around it.
    """
    looked = tuple(files)
    launches = launches_of(plain_name(facts.demangled), sources, looked)
    return not launches.are_all or _place(launches, sources, looked) is not None


def dynamic_at(target: Target, hit: Hit) -> str | None:
    """The line that declares such memory, or may ask for some; None where nothing does."""
    sources = hit.case.sources
    launches = launches_of(plain_name(hit.facts.demangled), sources, target.files)
    place = _place(launches, sources, target.files)
    if place is not None:
        return hit.case.line(place)
    return None if launches.are_all else "its program"


def _place(
    launches: Launches, sources: SourceText, files: tuple[str, ...]
) -> SourceLocation | None:
    """Where such memory is declared, or a launch asks for some or may."""
    for file in files:
        text = sources.code(file)
        declared = _DYNAMIC.search(text)
        if declared is not None:
            return SourceLocation(file, 1 + text.count("\n", 0, declared.start()))
    asking = (
        one
        for one in launches.written
        if not one.shape or (one.shape[2:] and one.shape[2].strip() != "0")
    )
    return next((one.place for one in asking), None)

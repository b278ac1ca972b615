"""Whether launches of a kernel may ask for dynamic shared memory."""

from __future__ import annotations

import re

from lmemscope.formats.demangle import plain_name
from lmemscope.model import SourceLocation
from lmemscope.rewrites.base import Hit, Target
from lmemscope.rules.launch_reader import launches_in
from lmemscope.rules.shared import DYNAMIC, has_dynamic

_DYNAMIC = re.compile(
    DYNAMIC + r"|\bdynamicSmemBytes\b|\bcudaFuncAttributeMaxDynamicSharedMemorySize"
    r"|\bcu(?:da)?Launch(?:Cooperative)?Kernel(?:ExC?)?\b"
)
"""Such memory, or a launch that may ask for it, of whatever kernel."""


def may_be_dynamic(target: Target, hit: Hit) -> bool:
    """Whether a file around a kernel declares such memory, or a launch there asks for some.

    A launch may ask for memory that nobody uses, so that fewer blocks run at a time.
    """
    return has_dynamic(hit.case) or dynamic_at(target, hit) is not None


def dynamic_at(target: Target, hit: Hit) -> str | None:
    """The first line that declares such memory, or may ask for some; None where none does."""
    for file in target.files:
        text = hit.case.sources.code(file)
        declared = _DYNAMIC.search(text)
        if declared is not None:
            line = 1 + text.count("\n", 0, declared.start())
            return hit.case.line(SourceLocation(file, line))
    kernel = plain_name(hit.facts.demangled)
    for one in launches_in(hit.case.sources, target.files, kernel).written:
        if one.shape[2:] and one.shape[2].strip() != "0":
            return hit.case.line(one.place)
    return None

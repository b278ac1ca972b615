"""Whether launches of a kernel may ask for dynamic shared memory."""

from __future__ import annotations

import re

from lmemscope.formats.demangle import plain_name
from lmemscope.formats.statements import parts_of
from lmemscope.model import SourceLocation
from lmemscope.rewrites.base import Hit, Target
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
    name = re.escape(plain_name(hit.facts.demangled))
    launch = re.compile(rf"(?<!\w){name}\s*(?:<[^;{{}}]*?>)?\s*<\s*<\s*<(?P<shape>[^;]*?)>\s*>\s*>")
    for file in target.files:
        text = hit.case.sources.code(file)

        def line(at: int, text: str = text, file: str = file) -> str:
            return hit.case.line(SourceLocation(file, 1 + text.count("\n", 0, at)))

        declared = _DYNAMIC.search(text)
        if declared is not None:
            return line(declared.start())
        for found in launch.finditer(text):
            parts = [one.strip() for one in parts_of(found["shape"])]
            if len(parts) > 2 and parts[2] != "0":
                return line(found.start())
    return None

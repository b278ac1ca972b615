"""Find the branches of preprocessor conditions: alternatives, and host-only code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.model.blanked import blanked

_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b([^\n]*)", re.MULTILINE)
_ARCHITECTURE = re.compile(
    r"(!?)\s*+(?:defined\s*+)?\(?\s*+__CUDA_ARCH__\s*\)?\s*((?:>=?|!=)\s*\d+)?"
)


@dataclass(slots=True)
class Branch:
    """The lines between two directives of one condition, without the directives.

    Attributes:
        first, last: lines of the two directives.
        group: number of the condition; its branches are mutually exclusive.
        is_hosts: whether device compilations skip it, because of ``__CUDA_ARCH__``.
    """

    first: int
    last: int
    group: int
    is_hosts: bool


def branches(text: str) -> list[Branch]:
    """All branches in a source, in the order of their ends."""
    found: list[Branch] = []
    opened: list[tuple[int, int, bool | None]] = []
    """For each condition: its number, the branch's line, and whether it is device code."""
    groups, line, position = 0, 1, 0
    text = blanked(text).code
    for match in _CONDITION.finditer(text):
        word, rest = match.groups()
        line += text.count("\n", position, match.start())
        position = match.start()
        if word in ("if", "ifdef", "ifndef"):
            opened.append((groups, line, _is_devices(word, rest)))
            groups += 1
        elif opened:
            group, begun, device = opened.pop()
            found.append(Branch(begun, line, group, device is False))
            if word != "endif":
                other = None if device is None or word == "elif" else not device
                opened.append((group, line, other))
    return found


def _is_devices(word: str, condition: str) -> bool | None:
    """Whether a condition holds only in device compilations, or only on the host; else None."""
    text = condition.strip()
    if word in ("ifdef", "ifndef"):
        return (word == "ifdef") if text == "__CUDA_ARCH__" else None
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    match = _ARCHITECTURE.fullmatch(text)
    return None if match is None else not match[1]

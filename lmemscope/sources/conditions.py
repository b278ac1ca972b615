"""Branches of a source's conditions: which are alternatives, which are the host's."""

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
    """The lines between two lines of one condition, which are not among them.

    Attributes:
        first, last: those two lines.
        group: number of the condition; its branches exclude each other.
        is_hosts: whether device compilations leave it out, because ``__CUDA_ARCH__`` says so.
    """

    first: int
    last: int
    group: int
    is_hosts: bool


def branches(text: str) -> list[Branch]:
    """All branches of a source, in the order in which they end."""
    found: list[Branch] = []
    opened: list[tuple[int, int, bool | None]] = []
    """Of each condition: its number, the line of the branch, whether that is the device's."""
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
    """Whether a condition holds in device compilations alone, or in the host's; None for others."""
    text = condition.strip()
    if word in ("ifdef", "ifndef"):
        return (word == "ifdef") if text == "__CUDA_ARCH__" else None
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    match = _ARCHITECTURE.fullmatch(text)
    return None if match is None else not match[1]

"""Loops as the source writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceText

_HEADER = re.compile(r"^(?P<indent>\s*)for\s*\((?P<init>[^;]*);(?P<condition>[^;]*);(?P<tail>.*)$")
_COUNTER = re.compile(r"(?:^|[\s,])(?P<name>\w+)\s*=\s*(?P<start>[^,]+)")
_BOUND = re.compile(r"\s*(?P<left>\w+)\s*(?:<=|<|!=)\s*(?P<right>[^&|]+?)\s*")


@dataclass(frozen=True, slots=True)
class Loop:
    """A ``for`` whose header stands on one line.

    Attributes:
        file, line: of the header.
        text: the header and what follows on its line, without indentation.
        counter, start: the variable that it counts with, and its first value.
        bound: what the counter is compared with, where the condition is that comparison alone.
        init, condition, step: the parts of the header.
        rest: what stands behind it.
    """

    file: str
    line: int
    text: str
    counter: str
    start: str
    bound: str | None
    init: str
    condition: str
    step: str
    rest: str


def loop_at(sources: SourceText, file: str, line: int) -> Loop | None:
    """The ``for`` on a line, if one begins there."""
    header = _HEADER.match(sources.line(file, line))
    if header is None:
        return None
    counter = _COUNTER.search(header["init"])
    closed = closed_at(f"({header['tail']}", 0)
    if counter is None or closed is None:
        return None
    end = closed - 2
    bound = _BOUND.fullmatch(header["condition"])
    compared = bound is not None and bound["left"] == counter["name"]
    return Loop(
        file=file,
        line=line,
        text=sources.line(file, line).strip(),
        counter=counter["name"],
        start=counter["start"].strip(),
        bound=bound["right"] if bound is not None and compared else None,
        init=header["init"].strip(),
        condition=header["condition"].strip(),
        step=header["tail"][:end].strip(),
        rest=header["tail"][end + 1 :].strip(),
    )

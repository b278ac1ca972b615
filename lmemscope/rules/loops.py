"""Loops as the source writes them: the one whose counter indexes an array, and how it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceText
from lmemscope.rules.base import Case

_HEADER = re.compile(r"^(?P<indent>\s*)for\s*\((?P<init>[^;]*);(?P<condition>[^;]*);(?P<tail>.*)$")
_COUNTER = re.compile(r"(?:^|[\s,])(?P<name>\w+)\s*=\s*(?P<start>[^,]+)")
_BOUND = re.compile(r"\s*(?P<left>\w+)\s*(?:<=|<|!=)\s*(?P<right>[^&|]+?)\s*")
_PRAGMA = re.compile(r"^\s*#\s*pragma\s+(?:nv_)?unroll\b(?P<count>.*)$")
_LEAVES = re.compile(
    r"\b(?P<inner>for|while|do|switch)\b|\b(?P<leaves>break|return|goto)\b|(?P<brace>[{}])"
)
_LINES_LOOKED_AT = 100


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

    @property
    def declares_counter(self) -> bool:
        """Whether the counter is a variable of the loop's own."""
        return _declares(self.init)

    @property
    def counts_up(self) -> bool:
        """Whether it counts from 0 in steps of one."""
        steps = (f"++{self.counter}", f"{self.counter}++", f"{self.counter}+=1")
        return self.start == "0" and self.step.replace(" ", "") in steps


def _declares(init: str) -> bool:
    """Whether the first part of a header declares what it counts with."""
    return re.match(r"\s*(?:[\w:]+\s+)+\w+\s*=", init) is not None


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


def counting_loops(case: Case) -> list[Loop]:
    """The loops around the finding's line whose counters the index names, innermost first."""
    place = case.location
    if place is None or case.index is None or case.index.expression is None:
        return []
    words = set(re.findall(r"[A-Za-z_]\w*", case.index.expression))
    lowest = max(1, place.line - _LINES_LOOKED_AT)
    found, depth, bare, opened = [], 0, True, False
    for line in range(place.line, lowest - 1, -1):
        text = case.sources.line(place.file, line).strip()
        loop = loop_at(case.sources, place.file, line)
        if line < place.line:
            code = case.sources.code_line(place.file, line)
            depth += code.count("{") - code.count("}")
            # Without braces, only the statement below a header belongs to the loop.
            bare = bare and (loop is not None or not text or text.startswith("#"))
        around = line == place.line or depth > 0 or (bare and loop is not None and not loop.rest)
        if loop is not None and (around or opened) and loop.counter in words:
            found.append(loop)
        # A brace may have a line of its own, below the header.
        opened = (depth > 0 and text == "{") or (opened and not text)
        depth = min(depth, 0)
    return found


def body_of(sources: SourceText, loop: Loop) -> list[str]:
    """The lines of a loop's body, the rest of the header's own first."""
    lines, depth, opened = [loop.rest], loop.rest.count("{") - loop.rest.count("}"), bool(loop.rest)
    for number in range(loop.line + 1, loop.line + _LINES_LOOKED_AT):
        if opened and depth <= 0:
            break
        text, code = sources.line(loop.file, number), sources.code_line(loop.file, number)
        depth += code.count("{") - code.count("}")
        opened = opened or "{" in text or text.rstrip().endswith(";")
        lines.append(text)
    return lines


def pragma_above(sources: SourceText, file: str, line: int) -> str | None:
    """What ``#pragma unroll`` on the line before asks for: ``""`` without a number."""
    found = _PRAGMA.match(sources.line(file, line - 1))
    return found["count"].strip(" ()") if found is not None else None


def early_exit(sources: SourceText, file: str, line: int) -> int | None:
    """The line of the first ``break``, ``return`` or ``goto`` that leaves a loop, in its braces.

    A ``break`` of a loop or a ``switch`` inside leaves that alone.
    """
    depth, inner = 0, [0]  # Depths at which what has a break of its own is open; first the loop's.
    inside = False
    for number in range(line, line + _LINES_LOOKED_AT):
        text = sources.code_line(file, number)
        for found in _LEAVES.finditer(text):
            if found["inner"]:
                inside = number > line or inside or bool(depth)
            elif found["brace"] == "{":
                depth += 1
                if inside:
                    inner.append(depth)
                inside = False
            elif found["brace"]:
                if inner[-1] == depth and len(inner) > 1:
                    inner.pop()
                depth -= 1
            elif (depth or number == line) and (
                found["leaves"] != "break" or (len(inner) == 1 and not inside)
            ):
                return number
        inside = inside and not text.rstrip().endswith(";")
        if depth <= 0 and (number > line or text.rstrip().endswith((";", "}"))):
            return None
    return None

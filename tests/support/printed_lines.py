"""Line comments of nvdisasm's text listings: a witness for what `lmemscope` reads itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"\.text\.([^:\s]+):")
_SOURCE = re.compile(r'\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,16})\*/\s+[^;]*;")
_PTX_FILE = ".nv_debug_ptx_txt"


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """Where a listing says that an instruction comes from.

    Attributes:
        chain: file and line, from the innermost frame outwards.
        ptx_line: the line of the PTX text, or None.
    """

    chain: tuple[tuple[str, int], ...]
    ptx_line: int | None


def printed_lines(text: str) -> dict[str, dict[int, PrintedLine]]:
    """By function and code offset, of a ``-g -gi -gp`` listing.

    A comment holds until the next one of its kind, so every instruction has the current two.
    """
    result: dict[str, dict[int, PrintedLine]] = {}
    for part in re.split(r"(?m)^(?=\.text\.)", text):
        header = _HEADER.match(part)
        if header is not None:
            result[header[1]] = dict(_of_function(part))
    return result


def _of_function(text: str) -> list[tuple[int, PrintedLine]]:
    found: list[tuple[int, PrintedLine]] = []
    chain: list[tuple[str, int]] = []
    ptx_line = None
    goes_on = False
    for line in text.splitlines():
        source = _SOURCE.match(line)
        if source is not None and source[1] == _PTX_FILE:
            ptx_line = int(source[2])
        elif source is not None:
            place = (source[1], int(source[2]))
            # The frames of a chain follow each other: each begins where the one before is inlined.
            chain = chain if goes_on and chain[-1] == place else [place]
            chain += [(source[3], int(source[4]))] if source[3] is not None else []
            goes_on = True
        elif (instruction := _INSTRUCTION.match(line)) is not None:
            found.append((int(instruction[1], 16), PrintedLine(tuple(chain), ptx_line)))
            goes_on = False
    return found

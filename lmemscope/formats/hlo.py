"""Read the HLO that XLA dumps beside its PTX (``--xla_dump_to``): each kernel's source line.

Layout, as in JAX 0.10: ``MODULE.NUMBER.ptx`` has the kernels of
``MODULE.TARGET_gpu_after_optimizations.txt``. The latter has tables of files, locations and stack
frames, then instructions whose metadata refer to a frame; in earlier versions they contain the file
and line. A kernel has the name of its root instruction, with ``_`` for characters not allowed in
identifiers; if it takes several steps, the later ones have a number after ``__``.
"""

from __future__ import annotations

import os
import re

from lmemscope.files import cached_while_unchanged, read_beside
from lmemscope.model import SourceLocation

_DUMPED = re.compile(r"(.+)\.\d+\.ptx")
_OPTIMISED = "_gpu_after_optimizations.txt"
_FILE = re.compile(rb'^(\d+) "(.*)"$')
_PLACE = re.compile(rb"^(\d+) \{file_name_id=(\d+) .*?\bline=(\d+)\b")
_FRAME = re.compile(rb"^(\d+) \{file_location_id=(\d+)\b")
_INSTRUCTION = re.compile(rb"^ +(?:ROOT )?%?([\w.$-]+) = .*\bmetadata=\{(.*)$")
_FRAME_OF = re.compile(rb"\bstack_frame_id=(\d+)")
_PLACE_OF = re.compile(rb'\bsource_file="([^"]*)" source_line=(\d+)')
_OTHER = re.compile(rb"[^\w]")
_TABLES = (b"FileNames", b"FunctionNames", b"FileLocations", b"StackFrames")


def hlo_beside(ptx: str) -> str | None:
    """Path of the optimised HLO for a PTX file; None unless there is exactly one."""
    directory, name = os.path.split(ptx)
    dumped = _DUMPED.fullmatch(name)
    if dumped is None:
        return None
    try:
        names = os.listdir(directory or os.curdir)
    except OSError:
        return None
    found = [one for one in names if one.startswith(f"{dumped[1]}.") and one.endswith(_OPTIMISED)]
    return os.path.join(directory, found[0]) if len(found) == 1 else None


def kernel_lines(text: bytes) -> dict[str, SourceLocation]:
    """The location of each kernel's root operation in the program that XLA compiled.

    Args:
        text: of the HLO.

    Returns:
        By kernel name; files as the program's build named them. Empty if unknown.
    """
    tables: dict[bytes, dict[bytes, tuple[bytes, ...]]] = {name: {} for name in _TABLES}
    rows = {b"FileNames": _FILE, b"FileLocations": _PLACE, b"StackFrames": _FRAME}
    found: dict[str, SourceLocation] = {}
    doubtful: set[str] = set()
    table: bytes | None = None
    for line in text.splitlines():
        if line in tables:
            table = line
        elif not line:
            table = None
        elif table is not None:
            row = rows[table].match(line) if table in rows else None
            if row is not None:
                tables[table][row[1]] = row.groups()[1:]
        else:
            instruction = _INSTRUCTION.match(line)
            place = _place(instruction[2], tables) if instruction is not None else None
            if instruction is not None and place is not None:
                name = _OTHER.sub(b"_", instruction[1]).decode()
                if found.setdefault(name, place) != place:
                    doubtful.add(name)
    return {name: place for name, place in found.items() if name not in doubtful}


@cached_while_unchanged(8)
def kernel_lines_in(path: str) -> dict[str, SourceLocation]:
    """The same for a file, cached for the many PTX files of its module.

    Raises:
        OSError: it cannot be read.
    """
    return kernel_lines(read_beside(path))


def line_of(kernel: str, lines: dict[str, SourceLocation]) -> SourceLocation | None:
    """A kernel's own line, or that of the kernel of which it is a later step."""
    return lines.get(kernel) or lines.get(kernel.rpartition("__")[0])


def _place(
    metadata: bytes, tables: dict[bytes, dict[bytes, tuple[bytes, ...]]]
) -> SourceLocation | None:
    own = _PLACE_OF.search(metadata)
    if own is not None:
        return SourceLocation(own[1].decode("utf-8", "replace"), int(own[2]))
    frame = _FRAME_OF.search(metadata)
    (place,) = tables[b"StackFrames"].get(frame[1], (b"",)) if frame is not None else (b"",)
    file, line = tables[b"FileLocations"].get(place, (b"", b"0"))
    (path,) = tables[b"FileNames"].get(file, (b"",))
    return SourceLocation(path.decode("utf-8", "replace"), int(line)) if path else None

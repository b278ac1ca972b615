"""Choose which line of an inline chain to show to a reader; only this module decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lmemscope.model.request import InlineFrame, SourceLocation

_LIBRARY = re.compile(
    r"(?:^|/)(?:cccl|cub|thrust|libcudacxx|include/crt|cuda/std)/|^/usr/(?:local/)?include/"
    r"|/c\+\+/\d|^/(?:usr/local|opt)/[^/]*cuda[^/]*/(?:.*/)?include/|/targets/[^/]+/include/"
    r"|(?:^|/)(?:site|dist)-packages/|/nvidia/\w+/include/|^__nv_nvrtc_builtin_header"
)
"""Directories of the system, of toolkits, of packages and of NVIDIA's C++ libraries (which projects
often copy), and NVRTC's names for its built-in headers."""


_COPIED = re.compile(
    r"(?:^|/)(?:third[-_]?party|3rd[-_]?party|external|vendor|_deps|submodules)/", re.IGNORECASE
)
"""Directories in which projects keep copies of other projects."""


_SOURCE = re.compile(r"\.(?:cu|cpp|cc|cxx|c\+\+|c)$", re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def is_library(file: str) -> bool:
    """Whether a path is a library's: users neither change nor annotate its files."""
    return _LIBRARY.search(file) is not None


def is_foreign(file: str) -> bool:
    """Whether a file belongs to a library, or is a project's copy of another project's file."""
    return is_library(file) or _COPIED.search(file) is not None


def reader_line(chain: Sequence[InlineFrame], home: str | None) -> SourceLocation | None:
    """The line of an inline chain to show to a reader, or None if there is none.

    That is the innermost line in the file that defines the kernel, else the outermost in the user's
    code. For a kernel defined in a library, it is the innermost line of the user's; for one in a
    header, the innermost in a source file whose functions it calls; for library code only, the
    outermost line. Compilers use line 0 for code that belongs to no line: it is skipped in favour
    of a call site further out.

    Args:
        chain: innermost frame first.
        home: the file that defines the kernel, spelled as in the chain; None if unknown.
    """
    if not chain:
        return None
    lines = [frame.location for frame in chain if frame.location.line > 0]
    users = [line for line in lines if not is_library(line.file)]
    if home is not None and is_library(home):
        inside = users
    else:
        inside = [line for line in users if line.file == home]
        if home is not None and _SOURCE.search(home) is None:
            inside = [*(line for line in users if _SOURCE.search(line.file)), *inside]
    return next(iter((*inside, *reversed(users), *reversed(lines))), None)


def calling_line(chain: Sequence[InlineFrame]) -> SourceLocation | None:
    """The user's line that calls library code: the innermost of the user's own lines."""
    outermost = None
    for frame in chain:
        if frame.location.line > 0:
            if not is_library(frame.location.file):
                return frame.location
            outermost = frame.location
    return outermost

"""The line to look at: which line of an inline chain a reader is sent to, decided here alone."""

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
"""Directories of the system, of a toolkit, of packages, and of NVIDIA's C++ libraries, which
projects keep copies of; and what NVRTC calls the headers that it holds itself."""


_COPIED = re.compile(
    r"(?:^|/)(?:third[-_]?party|3rd[-_]?party|external|vendor|_deps|submodules)/", re.IGNORECASE
)
"""Directories that projects keep copies of others in."""


_SOURCE = re.compile(r"\.(?:cu|cpp|cc|cxx|c\+\+|c)$", re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def is_library(file: str) -> bool:
    """Whether a file is a library's, by its path: its users neither change nor annotate it."""
    return _LIBRARY.search(file) is not None


def is_foreign(file: str) -> bool:
    """Whether a file is a library's, or a project's copy of another project's."""
    return is_library(file) or _COPIED.search(file) is not None


def reader_line(chain: Sequence[InlineFrame], home: str | None) -> SourceLocation | None:
    """The line of an inline chain that a reader is sent to, or None where there is none.

    The innermost one in the file that defines the kernel, else the outermost of the user's. Of a
    library's kernel, the innermost of the user's; of one in a header, the innermost in a source
    file, whose functions it calls; of nothing but a library's code, the outermost.
    Compilers give what belongs to no line the number 0: that is none, and a call site further out
    says more.

    Args:
        chain: innermost frame first.
        home: the file that defines the kernel, spelled as in the chain; None where not known.
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
    """The user's line that calls a library's code: the innermost of the user's own.

    Args:
        chain: innermost frame first.
    """
    outermost = None
    for frame in chain:
        if frame.location.line > 0:
            if not is_library(frame.location.file):
                return frame.location
            outermost = frame.location
    return outermost

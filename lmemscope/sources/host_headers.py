"""Headers that NVRTC cannot open: for want of one it refuses a source that is sure to read it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lmemscope.model import CompileOptions, CudaSource

HOST_HEADERS = frozenset(
    "algorithm array assert.h atomic bitset cassert cctype cerrno cfloat chrono climits cmath "
    "complex condition_variable cstdarg cstddef cstdint cstdio cstdlib cstring ctime ctype.h deque "
    "dirent.h errno.h exception fcntl.h fenv.h filesystem float.h forward_list fstream functional "
    "future getopt.h initializer_list inttypes.h iomanip ios iosfwd iostream istream iterator "
    "limits limits.h list locale malloc.h map math.h memory mutex new numeric omp.h optional "
    "ostream pthread.h queue random ratio regex set signal.h sstream stack stdarg.h stdbool.h "
    "stddef.h stdexcept stdint.h stdio.h stdlib.h streambuf string string.h string_view strings.h "
    "sys/mman.h sys/resource.h sys/stat.h sys/time.h sys/types.h sys/wait.h system_error thread "
    "time.h tuple type_traits typeinfo unistd.h unordered_map unordered_set utility valarray "
    "variant vector".split()
)
"""Of the C and C++ libraries and of the system; NVRTC 13.5 opens none of them without a directory
that holds it (``tests/unit/sources/test_host_headers.py`` asks the one that is installed)."""


def refused_for(
    source: CudaSource, path: str, options: CompileOptions, header_dirs: Sequence[str]
) -> str | None:
    """A header for want of which NVRTC is sure to refuse a file, or None where none is known.

    Args:
        source: what its own text says.
        path: of it, absolute.
        options: that it is compiled with.
        header_dirs: of the toolkit, which NVRTC searches too.
    """
    if options.nvrtc_args:
        # They may name directories, or define what a condition asks for.
        return None
    searched = (os.path.dirname(path), *options.include_dirs, *header_dirs)
    for name in source.always_included:
        if name in HOST_HEADERS and not any(
            os.path.exists(os.path.join(directory, name)) for directory in searched
        ):
            return name
    return None

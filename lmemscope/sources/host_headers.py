"""Predict when NVRTC must reject a source because it includes a host header."""

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
"""Headers of the C and C++ libraries and the system that NVRTC 13.5 cannot open without an include
directory (``tests/unit/sources/test_host_headers.py`` queries the installed one)."""


def refused_for(
    source: CudaSource, path: str, options: CompileOptions, header_dirs: Sequence[str]
) -> str | None:
    """A missing header because of which NVRTC is sure to reject a file, or None if unknown.

    Args:
        source: read from its own text.
        path: its absolute path.
        options: its compile options.
        header_dirs: the toolkit's, which NVRTC searches too.
    """
    if options.nvrtc_args:
        # They may name directories, or define what a condition tests.
        return None
    searched = (os.path.dirname(path), *options.include_dirs, *header_dirs)
    for name in source.always_included:
        if name in HOST_HEADERS and not any(
            os.path.exists(os.path.join(directory, name)) for directory in searched
        ):
            return name
    return None

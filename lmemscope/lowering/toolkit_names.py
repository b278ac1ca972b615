"""A macro of the toolkit's headers that a unit names and that nvcc may define otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.lowering import store
from lmemscope.model import Unit
from lmemscope.sources.includes import closure
from lmemscope.sources.toolkit_macros import is_alike, macros_of, named_headers, words_at_risk


def named(unit: Unit, directories: Sequence[str], cache_directory: str | None) -> str | None:
    """The macro's name, or None where there is none.

    Args:
        unit: what is compiled.
        directories: of the toolkit's headers.
        cache_directory: where the names that a header defines are kept, or None.
    """
    try:
        read = closure(unit.path, unit.options)
    except OSError:
        return None
    headers = tuple(named_headers(read.missing, directories))
    words = words_at_risk(read.files) if headers else frozenset()
    if not words:
        return None
    for header in headers:
        names = store.remembered_names(cache_directory, header, directories)
        if names is None:
            names = macros_of(header, directories)
            store.remember_names(cache_directory, header, directories, names)
        for name in sorted(words & names):
            if not is_alike(name, header, directories):
                return name.decode("utf-8", "replace")
    return None

"""Where the cache is; a module of its own, because whoever reads settings asks it."""

from __future__ import annotations

import os


def default_directory() -> str | None:
    """``LMEMSCOPE_CACHE_DIR``, else ``lmemscope`` in the user's cache directory (XDG).

    None for a user who has no home: a directory where others write is no place for a cache.
    """
    chosen = os.environ.get("LMEMSCOPE_CACHE_DIR")
    if chosen:
        return os.path.abspath(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # As the XDG specification has it, a relative path there counts for nothing.
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lmemscope") if os.path.isabs(base) else None

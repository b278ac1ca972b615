"""Where the cache is; a module of its own, because whoever reads settings asks it."""

from __future__ import annotations

import os


def default_directory() -> str:
    """``LMEMSCOPE_CACHE_DIR``, else ``lmemscope`` in the user's cache directory (XDG)."""
    chosen = os.environ.get("LMEMSCOPE_CACHE_DIR")
    if chosen:
        return os.path.abspath(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lmemscope")

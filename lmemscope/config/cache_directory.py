"""Locate the cache directory; a separate module, because every reader of settings imports it."""

from __future__ import annotations

import os


def default_directory() -> str | None:
    """``LMEMSCOPE_CACHE_DIR``, else ``lmemscope`` in the user's cache directory (XDG).

    None for a user without a home directory: a shared directory is not safe for a cache.
    """
    chosen = os.environ.get("LMEMSCOPE_CACHE_DIR")
    if chosen:
        return os.path.abspath(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path must be ignored.
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lmemscope") if os.path.isabs(base) else None

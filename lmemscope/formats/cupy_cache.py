"""Read files of CuPy's kernel cache: a digest, names of template instances, and the cubin.

``~/.cupy/kernel_cache/DIGEST.cubin`` begins with the hexadecimal SHA-1 of what follows. Newer
versions put the mangled names of a module's instances before the code (`_compiler_cache.py` and
`compiler.py` of CuPy 14).
"""

from __future__ import annotations

import hashlib
import re

_DIGEST = re.compile(rb"[0-9a-f]{40}")
_NAMES = b"\x93CUPYNE\x00"
_NUMBER = 4


def unwrapped(data: bytes) -> bytes:
    """The cubin in a cache file; the bytes of any other file unchanged."""
    found = _DIGEST.match(data)
    if found is None:
        return data
    payload = data[found.end() :]
    digest = hashlib.sha1(payload, usedforsecurity=False).hexdigest()
    if digest.encode() != found[0]:
        return data
    if not payload.startswith(_NAMES):
        return payload
    position = len(_NAMES) + _NUMBER
    for _ in range(int.from_bytes(payload[len(_NAMES) : position], "little")):
        size = int.from_bytes(payload[position : position + _NUMBER], "little")
        position += _NUMBER + size
        if position > len(payload):
            return data
    return payload[position:]

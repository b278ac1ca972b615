"""A digest of a JSON document as its last field, by which a later edit is seen.

It is no signature: who makes a document can make its digest. It tells a document that a program
filtered, or a person edited, from one that was left as it was written. Indentation and escapes of
strings do not count.
"""

from __future__ import annotations

import hashlib
from typing import Any

from lmemscope.formats import codec

FIELD = "digest"


def sealed(data: bytes) -> bytes:
    """A JSON object in one line, with its digest.

    Args:
        data: as `lmemscope.formats.codec.encode` gives it; with at least one field.
    """
    return data[:-1] + f',"{FIELD}":"{_digest(data)}"}}'.encode()


def broken(data: bytes) -> str | None:
    """Why a document is not as it was written, or None where it is.

    Args:
        data: of a file, which is known to be a JSON object.
    """
    document: dict[str, Any] = codec.decode(data, dict)
    said = document.pop(FIELD, None)
    if said is None:
        return "it holds no digest: another program, or an earlier lmemscope, wrote it"
    if said != _digest(codec.encode(document)):
        return "it was changed after lmemscope wrote it"
    return None


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()

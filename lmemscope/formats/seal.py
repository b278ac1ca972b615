"""Add a digest to a JSON document as its last field, to detect later edits.

It is not a signature: anyone can compute a digest. It distinguishes a document that a program
filtered, or a person edited, from an unmodified one. Indentation and string escapes do not matter.
"""

from __future__ import annotations

import hashlib
from typing import Any

from lmemscope.formats import codec

FIELD = "digest"


def sealed(data: bytes) -> bytes:
    """A JSON object on one line, with its digest.

    Args:
        data: from `lmemscope.formats.codec.encode`; with at least one field.
    """
    return data[:-1] + f',"{FIELD}":"{_digest(data)}"}}'.encode()


def broken(data: bytes) -> str | None:
    """Why a document is not as it was written, or None if it is.

    Args:
        data: of a file known to contain a JSON object.
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

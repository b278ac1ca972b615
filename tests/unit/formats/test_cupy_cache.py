"""Files of CuPy's kernel cache."""

from __future__ import annotations

import hashlib

import pytest

from lmemscope.formats.cupy_cache import unwrapped

CODE = b"\x7fELF code"
NAMES = b"\x93CUPYNE\x00" + (2).to_bytes(4, "little")
NAMES += b"".join(len(one).to_bytes(4, "little") + one for one in (b"_Z1kIiEvv", b"_Z1kIfEvv"))


def wrapped(payload: bytes) -> bytes:
    return hashlib.sha1(payload, usedforsecurity=False).hexdigest().encode() + payload


@pytest.mark.parametrize("payload", [CODE, NAMES + CODE])
def test_the_code_is_taken_out(payload: bytes) -> None:
    assert unwrapped(wrapped(payload)) == CODE


@pytest.mark.parametrize(
    "data", [CODE, b"", b"a" * 40 + CODE, wrapped(CODE)[:-1], wrapped(NAMES[:-3])]
)
def test_other_files_stay_as_they_are(data: bytes) -> None:
    assert unwrapped(data) == data

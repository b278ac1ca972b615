"""Whether a cubin's toolkit marks spills, by the version that ptxas notes in it."""

from __future__ import annotations

import pytest

from lmemscope.formats.cubin import Cubin, release
from lmemscope.formats.elf import ElfFile
from tests.support.device_containers import host_object
from tests.support.seeded import cubin

NOTED = b"release 13.5, V13.5."


@pytest.mark.parametrize(
    ("noted", "is_marked"),
    [
        (NOTED, True),
        (b"release 13.0, V13.0.", True),
        (b"release 12.6, V12.6.", True),
        (b"release 12.5, V12.5.", False),
        (b"release 13.5, X13.5.", False),
    ],
)
def test_toolkits_since_12_6_mark_every_spill(noted: bytes, is_marked: bool) -> None:
    data = cubin("rolled_loop")
    assert NOTED in data
    found = Cubin(data.replace(NOTED, noted)).functions
    assert {one.is_marked for one in found} == {is_marked}


def test_a_version_that_no_toolkit_has_is_none() -> None:
    note = b"Cuda compilation tools, release 1, V1." + b"9" * 5000 + b".1"
    assert release(ElfFile(host_object((".note.nv.tkinfo", note)))) is None

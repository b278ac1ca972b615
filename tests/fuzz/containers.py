"""Device code inside other files: the containers alone, and a whole scan of such a file."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path

from lmemscope.app.readings import reports_of
from lmemscope.app.worker import analyse_binary
from lmemscope.errors import LmemscopeError
from lmemscope.formats.containers import budget_for, read_images
from lmemscope.formats.fatbin import unpack
from lmemscope.model import Unit, Wanted
from tests.support.device_containers import (
    LZ4,
    ZSTD,
    archive,
    conda_package,
    entry,
    fatbin,
    host_object,
    package,
)

_CUBINS = Path(__file__).parent / "seeds"


@functools.cache
def seeds() -> tuple[bytes, ...]:
    """One small file of each kind, around cubins that ptxas made."""
    small = (_CUBINS / "rolled_loop.cubin").read_bytes()
    other = (_CUBINS / "recursion.cubin").read_bytes()
    images = fatbin(
        entry(small, 90, codec=ZSTD), entry(b".version 9.0", 120, kind=1), entry(other, 90)
    )
    library = host_object((".text", bytes(64)), (".nv_fatbin", images + bytes(8) + images))
    plain = host_object(("__nv_relfatbin", fatbin(entry(other, 80, codec=LZ4))))
    static = archive(("a.o", plain), ("a_long_name_of_a_member.o", library))
    wheel = package(("p/lib.so", library), ("p/lib.a", static), ("p/__init__.py", b"pass"))
    return (images, library, plain, static, wheel, package(("p.whl", wheel)), _conda(library))


def _conda(library: bytes) -> bytes:
    return conda_package(("lib/libp.so", library), ("info/index.json", b"{}"))


def read_containers(data: bytes) -> None:
    """Every image, unpacked."""
    budget = budget_for(len(data))
    for file in read_images(memoryview(data), budget):
        for image in file.entries:
            with contextlib.suppress(LmemscopeError):
                unpack(image, budget)


def read_binary(data: bytes) -> None:
    """The reports of a file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        unit = Unit("binary", file.name, "auto", "")
        reports_of(unit, [analyse_binary(unit, Wanted())])

"""Host objects, libraries, programs, archives and packages: the images inside, one by one."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.errors import FormatError, InputError
from lmemscope.files import open_regular
from lmemscope.formats.containers import (
    HEAD,
    Images,
    budget_for,
    kind_of_head,
    read_images,
    read_zip,
)
from lmemscope.formats.cubin import architecture
from lmemscope.formats.elf import ElfFile
from lmemscope.formats.fatbin import Budget, Entry, unpack
from lmemscope.model import Artifacts, Unit
from lmemscope.routes import Along, Asked, Expansion


@dataclass(frozen=True, slots=True)
class Image:
    """A cubin or PTX inside a file.

    Attributes:
        path: of the file within the input; empty for the input itself.
        entry: where it lies; of PTX, what its fat binary says of it.
        data: of a cubin, its bytes; empty for PTX.
        problem: why the bytes, or what follows in this file, cannot be read; else None.
    """

    path: str
    entry: Entry | None
    data: bytes | memoryview = b""
    problem: FormatError | None = None


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """None: a directory stands for them only where it holds no other input."""
    del path, beside
    return False


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit for all images: its file is read once, whatever architectures are asked for."""
    frontend = "auto" if asked.frontend == "both" else asked.frontend
    archs = " ".join(asked.archs) if asked.explicit else ""
    return Expansion((replace(unit, arch=archs, frontend=frontend),))


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Refuse: such a file stands for many images, and no compiler made all of them at once.

    Raises:
        InputError: always.
    """
    del cache_directory, along
    raise InputError(
        "read",
        f"{unit.input} holds device code for several translation units or architectures",
        hint="extract one with: cuobjdump -xelf all FILE",
    )


def images(unit: Unit) -> Iterator[Image]:
    """The images of a unit's file, in its order; what cannot be read is among them as a problem.

    Raises:
        InputError: the file cannot be opened.
    """
    with _contents(unit) as found:
        yield from found


@contextmanager
def _contents(unit: Unit) -> Iterator[Iterator[Image]]:
    try:
        stream = open_regular(unit.path)
    except FileNotFoundError as error:
        raise InputError("read", f"{unit.input} does not exist", hint="check the path") from error
    except OSError as error:
        raise InputError("read", f"{unit.input} cannot be read: {error.strerror}") from error
    with stream:
        head = stream.read(HEAD)
        size = stream.seek(0, 2)
        stream.seek(0)
        budget = budget_for(size)
        if kind_of_head(head) == "zip":
            yield _unpacked(read_zip(stream, budget), budget)
            return
        # Mapped, for most bytes of a library are not device code and are never read.
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        yield _unpacked(read_images(memoryview(data), budget), budget)


def _unpacked(files: Iterator[Images], budget: Budget) -> Iterator[Image]:
    for file in files:
        for entry in file.entries:
            if entry.kind != "cubin":
                yield Image(file.path, entry)
                continue
            try:
                yield Image(file.path, entry, unpack(entry, budget))
            except FormatError as error:
                yield Image(file.path, entry, b"", error)
        if file.problem is not None:
            yield Image(file.path, None, b"", file.problem)


def arch_of(data: bytes | memoryview) -> str:
    """The architecture of a cubin.

    Raises:
        FormatError: it is damaged.
    """
    return architecture(ElfFile(data))

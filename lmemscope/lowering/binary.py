"""Host objects, libraries, programs, archives and packages: the images inside, one by one."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from lmemscope.errors import FormatError, InputError
from lmemscope.files import open_regular
from lmemscope.formats.balance import Balance
from lmemscope.formats.containers import (
    HEAD,
    Images,
    budget_for,
    kind_of_head,
    read_images,
    read_zip,
)
from lmemscope.formats.fatbin import Budget, Entry, reserve, unpack
from lmemscope.formats.ptx_cut import PtxParts
from lmemscope.model import ALL_IMAGES, Artifacts, Share, Unit, kind_of
from lmemscope.routes import Along, Asked, Expansion
from lmemscope.sources.jit_packages import compiler_of
from lmemscope.sources.python_words import may_hold_kernels


@dataclass(frozen=True)
class EmbeddedPtx:
    """A PTX text inside a file; unpacked when it is asked for.

    Attributes:
        entry: where it lies.
        budget: what may still be unpacked of the input.
    """

    entry: Entry
    budget: Budget

    @cached_property
    def text(self) -> bytes:
        """The text.

        Raises:
            FormatError: it is damaged.
        """
        return bytes(unpack(self.entry, self.budget)).rstrip(b"\0")

    @cached_property
    def parts(self) -> PtxParts:
        """Its functions."""
        return PtxParts(self.text)


@dataclass(frozen=True, slots=True)
class Image:
    """A cubin or PTX inside a file.

    Attributes:
        path: of the file within the input; empty for the input itself.
        entry: where it lies; of PTX, what its fat binary says of it.
        data: of a cubin, its bytes; empty for PTX.
        ptx: all PTX of the same fat binary, which is of the same translation unit.
        cubins: numbers of the architectures that the fat binary has machine code for.
        problem: why the bytes, or what follows in this file, cannot be read; else None.
        unread: what the file may hold that is not read, in words; else None.
        number: place in the input: of the package's member, and of what that holds.
    """

    path: str
    entry: Entry | None
    data: bytes | memoryview = b""
    ptx: tuple[EmbeddedPtx, ...] = ()
    cubins: frozenset[int] = frozenset()
    problem: FormatError | None = None
    unread: str | None = None
    number: tuple[int, int] = (0, 0)


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


def images(unit: Unit, share: Share = ALL_IMAGES) -> Iterator[Image]:
    """The images of a unit's file, in its order; what cannot be read is among them as a problem.

    Args:
        unit: the binary.
        share: which of them; the others are only counted, also for what the file may unpack to.

    Raises:
        InputError: the file cannot be opened.
    """
    with _contents(unit, share) as found:
        yield from found


@contextmanager
def _contents(unit: Unit, share: Share) -> Iterator[Iterator[Image]]:
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
        budget, balance = budget_for(size), Balance(share)
        if kind_of_head(head) == "zip":
            yield _unpacked(read_zip(stream, budget, balance=balance), budget, balance)
            return
        # Mapped, for most bytes of a library are not device code and are never read.
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        yield _unpacked(read_images(memoryview(data), budget), budget, balance)


def _unpacked(files: Iterator[Images], budget: Budget, balance: Balance) -> Iterator[Image]:
    member = number = 0
    for file in files:
        if file.member != member:
            member, number = file.member, 0
        yield from _of_file(file, budget, balance, number)
        number += len(file.entries) + 1
        del file  # before the next one is read


def _of_file(file: Images, budget: Budget, balance: Balance, before: int) -> Iterator[Image]:
    number = before
    for fatbin in file.fatbins:
        ptx = tuple(EmbeddedPtx(entry, budget) for entry in fatbin if entry.kind == "ptx")
        cubins = frozenset(entry.sm for entry in fatbin if entry.kind == "cubin")
        for entry in fatbin:
            number += 1
            if not (file.is_alone or balance.is_own(entry.size)):
                with suppress(FormatError):  # whose it is says so
                    if entry.kind == "cubin":
                        reserve(entry, budget)
                continue
            where = file.member, number
            try:
                data = unpack(entry, budget) if entry.kind == "cubin" else b""
                yield Image(file.path, entry, data, ptx, cubins, number=where)
            except FormatError as error:
                yield Image(file.path, entry, problem=error, number=where)
    if not (file.is_alone or balance.share.is_first):
        return
    unread, where = _unread(file), (file.member, number + 1)
    if unread is not None:
        yield Image(file.path, None, unread=unread, number=where)
    if file.problem is not None:
        yield Image(file.path, None, problem=file.problem, number=where)


def _unread(file: Images) -> str | None:
    """What a file of a package may hold that nothing here reads, or None."""
    if file.packed:
        return "an archive that is not unpacked"
    if file.text is None:
        return None
    kind = kind_of(file.path)
    if kind is None or kind.name != "Python":
        return kind.name if kind is not None else None
    text = bytes(file.text)
    return compiler_of(text) or ("kernels in Python" if may_hold_kernels(text) else None)

"""Walk objects, libraries, executables, archives and packages, and yield the images inside."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from lmemscope.errors import FormatError, InputError
from lmemscope.files import open_regular
from lmemscope.formats.claims import Claims
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
from lmemscope.sources import jit_packages, python_words
from lmemscope.sources.jit_packages import compiler_of
from lmemscope.sources.python_words import may_hold_kernels, words_in

_SIGNS = jit_packages.SIGNS | python_words.SIGNS
_PART = 1 << 20
"""Images of a fat binary are taken together up to this many stored bytes: code of neighbouring
architectures is alike, and its loops are found once."""


@dataclass(frozen=True)
class EmbeddedPtx:
    """PTX text inside a file, decompressed on demand.

    Attributes:
        entry: its location.
        budget: how many bytes may still be decompressed from the input.
    """

    entry: Entry
    budget: Budget

    @cached_property
    def text(self) -> bytes:
        """The PTX text.

        Raises:
            FormatError: it is damaged.
        """
        return bytes(unpack(self.entry, self.budget)).rstrip(b"\0")

    @cached_property
    def parts(self) -> PtxParts:
        """The text split into its functions."""
        return PtxParts(self.text)


@dataclass(frozen=True, slots=True)
class Image:
    """A cubin or PTX inside a file.

    Attributes:
        path: of the file within the input; empty for the input itself.
        entry: its location; for PTX, its fat binary header.
        data: the bytes of a cubin; empty for PTX.
        ptx: all PTX in the same fat binary, which comes from the same translation unit.
        cubins: numbers of the architectures for which the fat binary has machine code.
        problem: why the bytes, or the rest of this file, cannot be read; else None.
        unread: a description of possible contents that are not read; else None.
        number: position in the input: of the package's member, then of the image within it.
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
    """None: a directory includes them only if it contains no other input."""
    del path, beside
    return False


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit for all images: the file is read once, whatever architectures are requested."""
    frontend = "auto" if asked.frontend == "both" else asked.frontend
    archs = " ".join(asked.archs) if asked.explicit else ""
    return Expansion((replace(unit, arch=archs, frontend=frontend),))


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Always fails: such a file holds many images, and no single compilation made them all.

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
    """The images in a unit's file, in order; unreadable ones are included with their problem.

    Args:
        unit: the binary.
        share: which images to read; the others are counted, also towards the decompression limit.

    Raises:
        InputError: the file cannot be opened.
    """
    with _files(unit, share) as (files, budget, claims):
        yield from _unpacked(files, budget, claims)


def ptx_beside_cubins(unit: Unit) -> int:
    """Bytes of PTX in a unit's fat binaries, counted for each cubin beside it; none is unpacked.

    Raises:
        InputError: the file cannot be opened.
    """
    with _files(unit, ALL_IMAGES) as (files, _, _):
        return sum(map(_ptx_beside, (fatbin for file in files for fatbin in file.fatbins)))


def _ptx_beside(fatbin: Sequence[Entry]) -> int:
    largest = max((entry.size for entry in fatbin if entry.kind == "ptx"), default=0)
    return largest * sum(entry.kind == "cubin" for entry in fatbin)


@contextmanager
def _files(unit: Unit, share: Share) -> Iterator[tuple[Iterator[Images], Budget, Claims]]:
    try:
        stream = open_regular(unit.path)
    except FileNotFoundError as error:
        raise InputError("read", f"{unit.input} does not exist", hint="check the path") from error
    except OSError as error:
        raise InputError("read", f"{unit.input} cannot be read: {error.strerror}") from error
    with stream, Claims(share) as claims:
        head = stream.read(HEAD)
        size = stream.seek(0, 2)
        stream.seek(0)
        budget = budget_for(size)
        if kind_of_head(head) == "zip":
            yield read_zip(stream, budget, claims=claims), budget, claims
            return
        # Memory-mapped: most of a library's bytes are not device code and are never read.
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        yield read_images(memoryview(data), budget), budget, claims


def _unpacked(files: Iterator[Images], budget: Budget, claims: Claims) -> Iterator[Image]:
    member = number = 0
    for file in files:
        if file.member != member:
            member, number = file.member, 0
        yield from _of_file(file, budget, claims, number)
        number += len(file.entries) + 1
        del file  # free it before reading the next


def _of_file(file: Images, budget: Budget, claims: Claims, before: int) -> Iterator[Image]:
    number = before
    for fatbin in file.fatbins:
        ptx = tuple(EmbeddedPtx(entry, budget) for entry in fatbin if entry.kind == "ptx")
        cubins = frozenset(entry.sm for entry in fatbin if entry.kind == "cubin")
        is_own, left = file.is_alone, 0
        for entry in fatbin:
            number += 1
            if left <= 0 and not file.is_alone:
                is_own, left = claims.is_own(), _PART
            left -= len(entry.stored)
            if not is_own:
                with suppress(FormatError):  # reported where the image is read
                    if entry.kind == "cubin":
                        reserve(entry, budget)
                continue
            where = file.member, number
            try:
                data = unpack(entry, budget) if entry.kind == "cubin" else b""
                yield Image(file.path, entry, data, ptx, cubins, number=where)
            except FormatError as error:
                yield Image(file.path, entry, problem=error, number=where)
    if not (file.is_alone or claims.share.is_first):
        return
    unread, where = _unread(file), (file.member, number + 1)
    if unread is not None:
        yield Image(file.path, None, unread=unread, number=where)
    if file.problem is not None:
        yield Image(file.path, None, problem=file.problem, number=where)


def _unread(file: Images) -> str | None:
    """A description of what a package's file may contain that is not read here, or None."""
    if file.packed:
        return "an archive that is not unpacked"
    if file.text is None:
        return None
    kind = kind_of(file.path)
    if kind is None or kind.name != "Python":
        return kind.name if kind is not None else None
    text = bytes(file.text)
    words = words_in(text, _SIGNS)
    return compiler_of(text, words) or (
        "kernels in Python" if may_hold_kernels(text, words) else None
    )

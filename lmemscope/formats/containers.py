"""Find device code in host objects, archives and packages, however nested.

Nothing is written to disk, and member names are only displayed. The unpacked size is limited in
relation to the file's size (`Budget`), so that no file takes much more memory or time than a normal
one.
"""

from __future__ import annotations

import contextlib
import heapq
import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Literal, cast

from lmemscope.errors import FormatError
from lmemscope.formats import archive, fatbin
from lmemscope.formats.claims import Claims
from lmemscope.formats.elf import SHF_ALLOC, WITHOUT_BYTES, ElfFile, extent
from lmemscope.formats.fatbin import Budget, Entry
from lmemscope.formats.inflate import open_member
from lmemscope.model import ALL_IMAGES

HEAD = 64
"""Number of leading bytes that identify a file's kind."""
_ELF, _ZIP, _ZSTD = b"\x7fELF", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
_EMPTY_ZIP = b"PK\x05\x06"
_EM_CUDA = 190
_SECTIONS = frozenset({".nv_fatbin", "__nv_relfatbin", ".nv.fatbin"})
_EMBEDDED = (
    re.compile(re.escape(fatbin.MAGIC) + rb"\x01\0"),
    re.compile(rb"\x7fELF\x02\x01[\s\S]{12}\xbe\0"),
)
"""How fat binaries and cubins begin; searching for each separately is several times faster."""
_TEXTS = (".ptx", ".cu", ".py")
_PACKED = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".zst")
_DEEPEST = 4
_CHUNK = 1 << 20
LARGE = 64 << 20
"""A package member larger than this, in bytes, is not held in memory; only its device code is."""
WINDOW = 8 << 20
"""Number of bytes of such a member read at once."""
_FATBIN_HEAD = struct.Struct("<4sHHQ")
_PLAUSIBLE = 1 << 40
"""A damaged fat binary may claim up to this many bytes; larger values are other data."""
_RATIO, _SPARE = 64, 128 << 20
"""Maximum unpacked bytes per byte of the file, plus a constant: large libraries in packages reach
25."""
_MOST_MEMBERS = 1 << 18
_LARGE, _PART = 32, 1 << 20
"""A package member is large if it exceeds this fraction of the package. Small ones are divided
among workers by parts of at least this many bytes."""
_COMPRESSIBLE = 2
"""Host code compresses below this ratio: torch's to a quarter, its device code to three quarters.
"""

Kind = Literal["cubin", "host", "fatbin", "archive", "zip", "tar.zst"]


@dataclass(frozen=True, slots=True)
class Images:
    """The device code in one file.

    Attributes:
        path: nested member names, joined by slashes; empty for the input itself.
        fatbins: the images in each of its fat binaries, in file order.
        problem: why it could not be read completely; None if it was.
        text: the content of a file that may contain kernels as text, judging by its name.
        packed: whether it is an archive that is not unpacked.
        member: index of the package member that contains it; else 0.
        is_alone: whether this worker reads all of that member.
    """

    path: str
    fatbins: tuple[tuple[Entry, ...], ...] = ()
    problem: FormatError | None = None
    text: memoryview | None = None
    packed: bool = False
    member: int = 0
    is_alone: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All images, in file order."""
        return tuple(entry for fatbin in self.fatbins for entry in fatbin)


def budget_for(size: int) -> Budget:
    """The unpacking budget for an input of a given size."""
    return Budget(_RATIO * size + _SPARE)


def kind_of_head(head: bytes) -> Kind | None:
    """A file's kind by its first bytes; None for files without device code."""
    if head.startswith(_ELF):
        return "cubin" if int.from_bytes(head[18:20], "little") == _EM_CUDA else "host"
    if head.startswith(fatbin.MAGIC):
        return "fatbin"
    if head.startswith((archive.MAGIC, archive.THIN)):
        return "archive"
    if head.startswith((_ZIP, _EMPTY_ZIP)):
        return "zip"
    return "tar.zst" if head.startswith(_ZSTD) else None


def read_images(
    data: memoryview, budget: Budget, path: str = "", depth: int = 0
) -> Iterator[Images]:
    """The device code of a file in memory, one file at a time; damage is recorded as a problem.

    Args:
        data: of the file.
        budget: what may still be unpacked.
        path: of the file within the input.
        depth: number of enclosing containers.
    """
    try:
        kind = kind_of_head(bytes(data[:HEAD]))
        if depth > _DEEPEST:
            raise FormatError("read", "containers are nested too deeply")
        if kind == "cubin":
            yield Images(path, ((Entry("cubin", 0, (0, 0), data, len(data), None),),))
        elif kind == "fatbin":
            yield _images(path, [data])
        elif kind == "host":
            yield from _host(data, path)
        elif kind == "archive":
            for name, content in archive.members(data):
                yield from read_images(content, budget, _below(path, name), depth + 1)
        elif kind == "zip":
            yield from read_zip(io.BytesIO(data), budget, path, depth)
        elif kind == "tar.zst":
            yield from _tar(io.BytesIO(data), budget, path, depth)
    except FormatError as error:
        yield Images(path, (), error)


def _below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _host(data: memoryview, path: str) -> Iterator[Images]:
    elf = ElfFile(data)
    if not elf.sections:
        raise FormatError("elf", "it has no section headers, which tell where device code is")
    found = [elf.content(section) for section in elf.sections if section.name in _SECTIONS]
    if found:
        yield _images(path, found)
    for section in elf.sections:
        is_loaded = section.flags & SHF_ALLOC and section.type not in WITHOUT_BYTES
        if is_loaded and section.name not in _SECTIONS:
            yield from _embedded(elf.content(section), path)


def _embedded(data: memoryview, path: str) -> Iterator[Images]:
    """Fat binaries and cubins embedded in other data, as by ``bin2c`` and ``.incbin``."""
    end = 0
    found = (pattern.finditer(data) for pattern in _EMBEDDED)
    for match in heapq.merge(*found, key=lambda match: match.start()):
        if match.start() < end:
            continue  # part of the previous fat binary
        content = data[match.start() :]
        if match[0].startswith(fatbin.MAGIC):
            read = fatbin.read_first(content)
            if read.entries and read.problem is None:
                end = match.start() + read.size
                yield Images(path, tuple(read.entries))
            continue
        try:
            cubin = content[: extent(content)]
            ElfFile(cubin)
        except FormatError:
            continue
        end = match.start() + len(cubin)
        yield Images(path, ((Entry("cubin", 0, (0, 0), cubin, len(cubin), None),),))


def _images(path: str, parts: list[memoryview]) -> Images:
    read = [fatbin.read_fatbins(part) for part in parts]
    problems = [one.problem for one in read if one.problem is not None]
    error = FormatError("fatbin", problems[0]) if problems else None
    return Images(path, tuple(fatbin for one in read for fatbin in one.entries), error)


def read_zip(
    stream: IO[bytes],
    budget: Budget,
    path: str = "",
    depth: int = 0,
    claims: Claims | None = None,
) -> Iterator[Images]:
    """The device code in a package's members, each read into memory separately.

    Args:
        stream: of the package.
        budget, path, depth: as for `read_images`.
        claims: what this worker reads, if several share the package. Large members with device
            code are read by all of them, each for its own images.
    """
    claims = claims if claims is not None else Claims(ALL_IMAGES)
    try:
        package = zipfile.ZipFile(stream)
        members = package.infolist()
        if len(members) > _MOST_MEMBERS:
            raise FormatError("zip", f"it has {len(members)} members")
    except (FormatError, *_ZIP_ERRORS) as error:
        yield Images(path, (), _problem("zip", error))
        return
    shared, others = _parts(members)
    for is_alone, parts in ((False, shared), (True, others)):
        for part in parts:
            for place in part if not is_alone or claims.is_own() else ():
                for images in _read_member(package, members[place], budget, path, depth):
                    yield replace(images, member=place, is_alone=is_alone)
                    del images  # free them before reading the next file


def _parts(members: Sequence[zipfile.ZipInfo]) -> tuple[list[list[int]], list[list[int]]]:
    """Indices of the members that all workers read, and parts that one worker each reads.

    Large members that hardly compress are read by all workers, each for its own images: they are
    mostly device code, which is already packed, and their cost depends on the kernels. The others
    are read after them, largest first, so that the workers end at about the same time.
    """
    large = sum(member.compress_size for member in members) // _LARGE
    shared: list[list[int]] = []
    others: list[int] = []
    for place, member in enumerate(members):
        is_packed = member.compress_size * _COMPRESSIBLE > member.file_size
        if is_packed and member.compress_size > large:
            shared.append([place])
        else:
            others.append(place)
    parts: list[list[int]] = []
    left = 0
    for place in sorted(others, key=lambda place: -members[place].file_size):
        if left <= 0:
            parts.append([])
            left = _PART
        parts[-1].append(place)
        left -= members[place].file_size
    return shared, parts


def _read_member(
    package: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget, path: str, depth: int
) -> Iterator[Images]:
    """The device code in a package member."""
    below = _below(path, member.filename)
    try:
        with open_member(package, member) as content:
            head = content.read(HEAD)
            kind = kind_of_head(head)
            if kind is None and not _is_told(member.filename):
                return
            if kind == "tar.zst":
                yield from _tar(content, budget, below, depth, head)
                return
            if kind is None and not _is_text(member.filename):
                yield Images(below, packed=True)
                return
            budget.spend(member.file_size, "zip")
            if kind == "host" and member.file_size > LARGE:
                yield from _streamed(content, head, member.file_size, below)
                return
            data = _whole(content, head, member.file_size)
    except (FormatError, *_ZIP_ERRORS) as error:
        yield Images(below, (), _problem("zip", error))
        return
    if kind is None:
        yield Images(below, text=data)
        return
    yield from read_images(data, budget, below, depth + 1)


def _is_told(name: str) -> bool:
    """Whether a file that is not a binary may contain device code, by its name."""
    return _is_text(name) or name.lower().endswith(_PACKED)


def _is_text(name: str) -> bool:
    return name.lower().endswith(_TEXTS)


_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    EOFError,
    OSError,
    ValueError,  # a negative seek, or UnicodeDecodeError
    RuntimeError,  # an encrypted member, or NotImplementedError
    zlib.error,
    struct.error,
)


def _problem(stage: str, error: Exception) -> FormatError:
    if isinstance(error, FormatError):
        return error
    return FormatError(stage, f"it is cut off, damaged or packed in an unknown way: {error}")


def _whole(content: IO[bytes], head: bytes, size: int) -> memoryview:
    """All bytes of a member, in a single allocation."""
    data = bytearray(size)
    data[: len(head)] = head
    view, position = memoryview(data), len(head)
    while position < size:
        chunk = content.read(min(_CHUNK, size - position))
        if not chunk:
            raise FormatError("zip", "it is cut off")
        view[position : position + len(chunk)] = chunk
        position += len(chunk)
    content.read(1)  # to the end, where the checksum is verified
    return view


def _streamed(content: IO[bytes], head: bytes, size: int, path: str) -> Iterator[Images]:
    """The device code in a large library, found by its magic bytes.

    The section table is at the end of the file, and reading up to it would make each worker hold
    the whole file.
    """
    window = _Window(content, head, size)
    while window.more():
        match = _next_embedded(window.data, window.at)
        if match is None:
            window.skip(len(window.data) - HEAD)
            continue
        window.skip(match.start())
        header, passed = bytes(window.take(HEAD)), 1
        if header.startswith(fatbin.MAGIC):
            _, _, begin, rest = _FATBIN_HEAD.unpack_from(header)
            read = fatbin.read_fatbins(window.take(begin + rest))
            is_one = begin == _FATBIN_HEAD.size and rest < _PLAUSIBLE
            if any(read.entries) or (is_one and read.problem):
                error = FormatError("fatbin", read.problem) if read.problem else None
                yield Images(path, tuple(read.entries), error)
                passed = begin + rest
        else:
            with contextlib.suppress(FormatError):
                cubin = window.take(extent(header))
                ElfFile(cubin)
                passed = len(cubin)
                yield Images(path, ((Entry("cubin", 0, (0, 0), cubin, passed, None),),))
        window.at += passed
    content.read(1)  # to the end, where the checksum is verified


def _next_embedded(data: bytes, at: int) -> re.Match[bytes] | None:
    """The next magic bytes of a fat binary or cubin, from a position on."""
    fatbins, cubins = _EMBEDDED
    found = fatbins.search(data, at)
    if found is None:
        return cubins.search(data, at)
    return cubins.search(data, at, found.start()) or found


class _Window:
    """The current part of a stream.

    Attributes:
        data: bytes read and not yet passed, and some before them.
        at: current position in them.
    """

    def __init__(self, content: IO[bytes], head: bytes, size: int) -> None:
        self._content, self._left = content, size - len(head)
        self.data, self.at = head, 0

    def more(self) -> bool:
        """Read more if little is left; return whether there is data."""
        if len(self.data) - self.at <= HEAD:
            self._fill(WINDOW)
        return len(self.data) - self.at > HEAD

    def skip(self, place: int) -> None:
        """Advance to a position; never moves back."""
        self.at = max(self.at, place)

    def take(self, size: int) -> memoryview:
        """The next bytes; fewer at the end of the stream."""
        self._fill(size)
        return memoryview(self.data)[self.at : self.at + size]

    def _fill(self, size: int) -> None:
        missing = min(self.at + size - len(self.data), self._left)
        if missing <= 0:
            return
        parts = [self.data[self.at :]]
        while missing > 0:
            parts.append(self._content.read(min(WINDOW, self._left)))
            if not parts[-1]:
                raise FormatError("zip", "it is cut off")
            missing -= len(parts[-1])
            self._left -= len(parts[-1])
        self.data, self.at = b"".join(parts), 0


def _tar(
    content: IO[bytes], budget: Budget, path: str, depth: int, head: bytes = b""
) -> Iterator[Images]:
    """The device code in a zstd-compressed tar archive, as in ``.conda`` packages."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    try:
        with unpacker.stream_reader(cast(IO[bytes], _Joined(head, content.read))) as stream:
            bounded = _Joined(b"", _metered(stream.read, budget))
            with tarfile.open(fileobj=bounded, mode="r|") as package:
                for member in package:
                    file = package.extractfile(member) if member.isreg() else None
                    start = file.read(HEAD) if file is not None else b""
                    if file is None:
                        continue
                    below, kind = _below(path, member.name), kind_of_head(start)
                    if kind is not None:
                        yield from read_images(_rest(file, start), budget, below, depth + 1)
                    elif _is_text(below):
                        yield Images(below, text=_rest(file, start))
                    elif _is_told(below):
                        yield Images(below, packed=True)
    except (FormatError, tarfile.TarError, zstandard.ZstdError, *_ZIP_ERRORS) as error:
        yield Images(path, (), _problem("tar", error))


def _rest(file: IO[bytes], start: bytes) -> memoryview:
    """All bytes of a file of unknown size, in memory that grows as needed."""
    data = bytearray(start)
    while chunk := file.read(_CHUNK):
        data += chunk
    return memoryview(data)


def _metered(read: Callable[[int], bytes], budget: Budget) -> Callable[[int], bytes]:
    def counted(size: int) -> bytes:
        data = read(size)
        budget.spend(len(data), "tar")
        return data

    return counted


class _Joined(io.RawIOBase):
    """Bytes that were already read, followed by the rest of the stream."""

    def __init__(self, head: bytes, read: Callable[[int], bytes]) -> None:
        self._head, self._read = head, read

    def readable(self) -> bool:
        """Always true."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes; a chunk at most if all are requested."""
        size = _CHUNK if size < 0 else size
        given, self._head = self._head[:size], self._head[size:]
        return given or self._read(size)

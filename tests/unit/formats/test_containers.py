"""What holds device code: each container, nested ones, and what is damaged or hostile."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmemscope.formats import containers
from lmemscope.formats.claims import Claims
from lmemscope.formats.containers import Images, budget_for, read_images, read_zip
from lmemscope.formats.fatbin import Budget, unpack
from lmemscope.model import Share
from tests.support.device_containers import (
    LZ4,
    ZSTD,
    archive,
    conda_package,
    cubin,
    entry,
    fatbin,
    host_object,
    package,
)

FATBIN = ".nv_fatbin"


def found(data: bytes) -> list[Images]:
    return list(read_images(memoryview(data), budget_for(len(data))))


def payloads(data: bytes) -> dict[str, list[bytes]]:
    """By file, the images as they are when unpacked; the file must hold no damage."""
    budget = budget_for(len(data))
    read = found(data)
    assert [one.problem for one in read if one.problem is not None] == []
    binaries = [one for one in read if one.text is None]
    return {one.path: [bytes(unpack(image, budget)) for image in one.entries] for one in binaries}


@pytest.mark.parametrize("codec", [0, LZ4, ZSTD])
def test_an_image_is_unpacked_however_it_is_packed(codec: int) -> None:
    image = cubin(90) + bytes(5000)
    assert payloads(fatbin(entry(image, codec=codec))) == {"": [image]}


def test_an_entry_says_its_architecture_and_kind() -> None:
    data = fatbin(
        entry(cubin(80), 80), entry(b".version 9.0", 120, kind=1), entry(b"ir", 90, kind=8)
    )
    (one,) = found(data)
    assert [(image.kind, image.sm) for image in one.entries] == [
        ("cubin", 80),
        ("ptx", 120),
        ("other", 90),
    ]


def test_fat_binaries_lie_one_after_another_with_padding_between() -> None:
    section = fatbin(entry(cubin(80))) + bytes(16) + fatbin(entry(cubin(90)))
    assert payloads(host_object((".text", b"code"), (FATBIN, section))) == {
        "": [cubin(80), cubin(90)]
    }


@pytest.mark.parametrize("name", [".nv_fatbin", "__nv_relfatbin", ".nv.fatbin"])
def test_every_section_that_holds_device_code_is_read(name: str) -> None:
    assert payloads(host_object((name, fatbin(entry(cubin()))))) == {"": [cubin()]}


def test_what_holds_no_device_code_gives_nothing() -> None:
    assert found(host_object((".text", b"code"))) == []
    assert found(b"not at all") == []
    assert found(b"") == []


@pytest.mark.parametrize("image", [fatbin(entry(cubin(), codec=LZ4)), cubin()])
def test_device_code_among_other_data_is_read(image: bytes) -> None:
    data = bytes(24) + image + b"and so on"
    assert payloads(host_object((".rodata", data))) == {"": [cubin()]}


def test_the_magic_alone_is_no_device_code() -> None:
    constants = fatbin()[:8] + b"\xff" * 24 + b"\x7fELF\x02\x01" + bytes(12) + b"\xbe\0"
    assert found(host_object((".text", constants))) == []


def test_members_that_may_hold_kernels_are_told() -> None:
    members = (("k.ptx", b".version 9.0"), ("a.py", b"x = 1"), ("t.tar.xz", b""), ("t.txt", b""))
    for data in (package(*members), conda_package(*members)):
        told = {
            one.path.rpartition("/")[2]: (None if one.text is None else bytes(one.text), one.packed)
            for one in found(data)
        }
        assert told == {
            "k.ptx": (b".version 9.0", False),
            "a.py": (b"x = 1", False),
            "t.tar.xz": (None, True),
        }


def test_containers_are_read_however_nested() -> None:
    library = host_object((FATBIN, fatbin(entry(cubin(75), codec=ZSTD))))
    static = archive(("a.o", library), ("a_name_longer_than_fifteen.o", library), ("text", b"no"))
    wheel = package(("p/lib.so", library), ("p/lib.a", static), ("p/__init__.py", b"import p"))
    read = payloads(package(("dist/p.whl", wheel), ("readme", b"text")))
    assert read == {
        "dist/p.whl/p/lib.so": [cubin(75)],
        "dist/p.whl/p/lib.a/a.o": [cubin(75)],
        "dist/p.whl/p/lib.a/a_name_longer_than_fifteen.o": [cubin(75)],
    }
    conda = payloads(conda_package(("lib/libp.so", library), ("info", b"text")))
    assert conda == {"pkg-a-1.tar.zst/lib/libp.so": [cubin(75)]}


def test_a_damaged_member_does_not_hide_the_others() -> None:
    good = host_object((FATBIN, fatbin(entry(cubin()))))
    read = found(package(("bad.so", good[:-40]), ("good.so", good)))
    assert {(one.path, one.problem is None, len(one.entries)) for one in read} == {
        ("bad.so", False, 0),
        ("good.so", True, 1),
    }


def test_images_before_the_damage_are_kept() -> None:
    section = fatbin(entry(cubin(80)), entry(cubin(90)))
    (one,) = found(host_object((FATBIN, section[:-16])))
    assert [image.sm for image in one.entries] == [90]
    assert one.problem is not None
    assert one.problem.stage == "fatbin"


def test_an_image_that_unpacks_to_something_else_is_refused() -> None:
    whole = entry(cubin() + bytes(4000), codec=ZSTD)
    for data in (fatbin(whole[:56] + (9).to_bytes(8, "little") + whole[64:]), b""):
        for one in found(data):
            for image in one.entries:
                with pytest.raises(Exception, match="zstd data is damaged"):
                    unpack(image, budget_for(len(data)))


def test_what_unpacks_without_end_is_refused() -> None:
    bomb = package(("a.so", b"\x7fELF" + bytes(300 << 20)))
    assert len(bomb) < 1 << 20
    (one,) = found(bomb)
    assert one.problem is not None
    assert "more than a file of its size" in one.problem.message
    with pytest.raises(Exception, match="more than a file of its size"):
        unpack(found(fatbin(entry(bytes(1 << 20), codec=LZ4)))[0].entries[0], Budget(1000))


def test_nesting_has_an_end() -> None:
    data = fatbin(entry(cubin()))
    for _ in range(9):
        data = package(("inner.zip", data))
    (one,) = found(data)
    assert one.problem is not None
    assert "nested" in one.problem.message


def test_names_of_members_are_only_shown() -> None:
    library = host_object((FATBIN, fatbin(entry(cubin()))))
    (path,) = payloads(package(("../../etc/lib.so", library)))
    assert path == "../../etc/lib.so"


def test_a_member_with_another_checksum_is_damaged() -> None:
    library = host_object((FATBIN, fatbin(entry(cubin()))))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as made:
        made.writestr("a.so", library)
    data = bytearray(stream.getvalue())
    data[data.index(b"\x7fELF") + 70] ^= 1
    (one,) = found(bytes(data))
    assert one.problem is not None
    assert one.problem.stage == "zip"


IMAGES = fatbin(entry(cubin(80), 80), entry(cubin(90), codec=ZSTD)), fatbin(entry(cubin(100), 100))
LIBRARIES = {
    "sections": host_object((".text", b"code" * 9), (FATBIN, IMAGES[0] + bytes(8) + IMAGES[1])),
    "relocatable": host_object(("__nv_relfatbin", IMAGES[1])),
    "among other data": host_object((".rodata", bytes(24) + IMAGES[0] + b"and" + cubin() + b"so")),
    "the magic alone": host_object((".text", fatbin()[:8] + b"\xff" * 24 + bytes(40))),
    "far apart": host_object(
        (FATBIN, IMAGES[0]), (".data", bytes(20000)), (".nv.fatbin", IMAGES[1])
    ),
}


def test_a_large_library_in_a_package_gives_the_same_and_is_not_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = package(*LIBRARIES.items())

    def images() -> Iterator[tuple[str, bytes, int]]:
        """Path, bytes, and how many bytes are held for it."""
        budget = budget_for(len(data))
        for one in found(data):
            assert one.problem is None
            for image in one.entries:
                yield one.path, bytes(unpack(image, budget)), len(bytes(image.stored.obj))

    whole = list(images())
    assert len(whole) == 10
    monkeypatch.setattr(containers, "LARGE", 0)
    monkeypatch.setattr(containers, "WINDOW", 512)
    streamed = list(images())
    assert [one[:2] for one in streamed] == [one[:2] for one in whole]
    most = len(LIBRARIES["far apart"])
    assert max(held for _, _, held in whole) >= most > 8 * max(held for _, _, held in streamed)


@pytest.mark.parametrize("cut", range(8, 400, 56))
def test_damage_in_a_large_library_is_said(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    section = fatbin(entry(cubin(80)), entry(cubin(90)))
    library = host_object((FATBIN, section))
    end = library.index(section) + len(section)
    monkeypatch.setattr(containers, "LARGE", 0)
    read = found(package(("cut.so", library[: end - cut])))
    assert [one.problem.stage for one in read if one.problem is not None] == ["fatbin"]


def test_workers_share_what_is_large_and_packed_and_read_the_rest_once(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(200_000)
    data = package(
        ("p/device.so", host_object((FATBIN, fatbin(entry(cubin(80) + noise, codec=ZSTD))))),
        ("p/host.so", host_object((FATBIN, fatbin(entry(cubin(90) + bytes(4_000_000)))))),
        *((f"p/{name}.py", b"import cupy") for name in "abcd"),
    )

    def read_by(number: int | None) -> dict[str, Images]:
        path = str(tmp_path / "claims") if number is not None else None
        with Claims(Share(number or 0, path)) as claims:
            found = read_zip(io.BytesIO(data), budget_for(len(data)), claims=claims)
            return {images.path: images for images in found}

    first, second = read_by(0), read_by(1)
    assert first.keys() == read_by(None).keys()
    assert [path for path, images in first.items() if not images.is_alone] == ["p/device.so"]
    assert second.keys() == {"p/device.so"}

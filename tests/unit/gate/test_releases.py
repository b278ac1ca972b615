"""Packages of two releases: their files and kernels are matched by what a release keeps."""

from __future__ import annotations

import pytest

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.kernel_names import lasting_name, matches
from lmemscope.model.inputs import without_hashes

WHEEL = "dist/a-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl[{}]"
NEXT = "dist/a-1.2.post1-cp311-cp311-manylinux_2_27_x86_64.whl[{}]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (WHEEL.format("a/lib.so"), NEXT.format("a/lib.so")),
        (WHEEL.format("a.libs/liba-a7a60d30.so.4.8.5"), NEXT.format("a.libs/liba-01234567.so.5")),
        ("libcurand.so.10", "libcurand.so.11"),
        ("p/a-gpu-2.1-py3.9_cuda12_0.conda[lib/x.so]", "p/a-gpu-2.2-py3.9_0.conda[lib/x.so]"),
    ],
)
def test_a_package_of_the_next_release(old: str, new: str) -> None:
    assert without_hashes(old) == without_hashes(new)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (WHEEL.format("a/lib.so"), WHEEL.format("a/lib2.so")),
        (WHEEL.format("a/lib.so"), WHEEL.replace("cp311", "cp312").format("a/lib.so")),
        (WHEEL.format("a/lib.so"), WHEEL.replace("/a-", "/b-").format("a/lib.so")),
        ("libx-cpu.so", "libx-gpu.so"),
        ("k-1.0.cu", "k-2.0.cu"),
    ],
)
def test_what_is_another_file(one: str, other: str) -> None:
    assert without_hashes(one) != without_hashes(other)


def test_cub_is_the_same_for_other_architectures() -> None:
    scopes = ("CUB_200700_530_600_NS", "CUB_300001_SM_900_1000_NS", "_V_300500_SM_900")
    old, *others = (f"_ZN3cub{len(scope)}{scope}11EmptyKernelIvEEvv" for scope in scopes)
    assert {lasting_name(one) for one in (old, *others)} == {"_ZN3cub11EmptyKernelIvEEvv"}
    assert {short_name(demangle(one)) for one in others} == {"cub::EmptyKernel<void>"}
    shown = short_name(demangle(old))
    assert shown == lasting_name("cub::CUB_200700_530_600_NS::EmptyKernel<void>")
    assert shown == "cub::EmptyKernel<void>"
    assert matches(["cub::EmptyKernel*"], old, demangle(old))
    assert matches(["cub::CUB_200700*"], old, demangle(old))

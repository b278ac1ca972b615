"""Packages as users have them: models that PyTorch exports, what pip installed, large members."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.device_containers import (
    archive,
    conda_package,
    entry,
    fatbin,
    host_object,
    package,
)
from tests.support.program import run_program
from tests.support.seeded import cubin, library, units

LARGE = 24 << 20
READING = """
import sys
from lmemscope.app.worker import analyse_binary
from lmemscope.model import Unit, Wanted

def read(path):
    found = analyse_binary(Unit(path, path, "auto", ""), Wanted()).found
    assert not any(one.error for one in found), found
    return sum(len(one.kernels) for one in found)

def peak():
    status = open("/proc/self/status").read()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10

small, large = sys.argv[1:]
read(small)  # with all that is imported
before = peak()
print(read(large), peak() - before)
"""


def exported(*members: tuple[str, bytes]) -> bytes:
    """A model as ``torch._inductor.aoti_compile_and_package`` writes it: members as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as made:
        for name, content in (("archive_format", b"pt2"), *members, (".data/version", b"1")):
            made.writestr(f"net/{name}", content)
    return stream.getvalue()


def test_an_exported_model_is_read_member_by_member(tmp_path: Path) -> None:
    model = tmp_path / "net.pt2"
    model.write_bytes(
        exported(
            ("data/aotinductor/model/c1.cubin", cubin("rolled_loop")),
            ("data/aotinductor/model/c1.wrapper.so", library("constant_table", archs=(90,))),
            ("data/weights/weight_0", random.Random(1).randbytes(4096)),
        )
    )
    done = run_program("scan", "net.pt2", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert [(name, arch) for name, arch, _ in units(done.document)] == [
        ("net.pt2[net/data/aotinductor/model/c1.cubin]", "sm_90"),
        ("net.pt2[net/data/aotinductor/model/c1.wrapper.so]", "sm_90"),
    ]
    assert done.kernel("reverse_rolled")["stack_frame"] == 192
    assert run_program("check", "net.pt2", "--max-frame", "4096", cwd=tmp_path).code == 0
    assert run_program("check", "net.pt2", "--max-frame", "128", cwd=tmp_path).code == 1
    model.write_bytes(model.read_bytes()[:-40])
    cut = run_program("scan", "net.pt2", cwd=tmp_path)
    assert cut.code == 3
    assert "net.pt2" in cut.out + cut.err


class TestInstalled:
    """``--package`` on a virtual environment whose packages would end the program if imported."""

    @pytest.fixture
    def environment(self, tmp_path: Path) -> Path:
        root = tmp_path / "venv"
        site = root / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        for name, content in (("solver", library("rolled_loop")), ("plain", None)):
            (site / name).mkdir(parents=True)
            (site / name / "__init__.py").write_text("raise SystemExit('imported')")
            record = f"{name}/__init__.py,,\n"
            if content is not None:
                (site / name / "kernels.so").write_bytes(content)
                record += f"{name}/kernels.so,,\n"
            metadata = site / f"{name}-1.0.dist-info"
            metadata.mkdir()
            (metadata / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
            (metadata / "RECORD").write_text(record)
        return root

    def run(self, environment: Path, *arguments: str) -> Any:
        return run_program(*arguments, cwd=environment.parent, VIRTUAL_ENV=str(environment))

    def test_it_is_scanned_and_checked(self, environment: Path) -> None:
        done = self.run(environment, "scan", "--package", "Solver", "--format", "json")
        assert done.code == 0, done.err
        found = units(done.document)
        assert {Path(name).name for name, _, _ in found} == {"kernels.so"}
        assert [arch for _, arch, _ in found] == ["sm_80", "sm_90"]
        for frame, code in (("4096", 0), ("128", 1)):
            gate = self.run(environment, "check", "--package", "solver", "--max-frame", frame)
            assert gate.code == code, gate.out + gate.err

    @pytest.mark.parametrize(
        ("name", "why"), [("absent", "is not installed"), ("plain", "holds no library")]
    )
    def test_one_without_device_code_is_an_error(
        self, environment: Path, name: str, why: str
    ) -> None:
        done = self.run(environment, "scan", "--package", name)
        assert done.code == 2
        assert f"package {name} {why}" in done.err


def noise(number: int, size: int) -> bytes:
    """What no codec packs, so that no limit of unpacking is met."""
    return random.Random(number).randbytes(size)


def beside(number: int, size: int) -> bytes:
    """A library with little device code."""
    code = (".nv_fatbin", fatbin(entry(cubin("rolled_loop"))))
    return host_object((".text", noise(number, size)), code)


def within(number: int, size: int) -> bytes:
    """A library that is device code throughout."""
    code = cubin("rolled_loop") + noise(number, size)
    return host_object((".nv_fatbin", fatbin(entry(code))))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process")
@pytest.mark.parametrize(
    ("name", "pack", "member"),
    [
        ("a.whl", package, beside),
        ("a.whl", package, within),
        ("a.pt2", exported, within),
        ("a.conda", conda_package, beside),
        ("a.zip", lambda *members: package(("lib.a", archive(*members))), None),
    ],
)
def test_reading_takes_at_most_twice_the_memory_of_the_largest_member(
    tmp_path: Path, name: str, pack: Any, member: Any
) -> None:
    """Of four members, so that what is kept of each would be seen."""
    made = [
        (f"{number}.so", member(number, LARGE) if member else beside(number, LARGE // 4))
        for number in range(4)
    ]
    (tmp_path / name).write_bytes(pack(*made))
    (tmp_path / "small.whl").write_bytes(package(("a.so", library("rolled_loop", archs=(90,)))))
    done = subprocess.run(
        [sys.executable, "-c", READING, "small.whl", name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kernels, taken = map(int, done.stdout.split())
    assert kernels == 4
    assert taken < 2.1 * LARGE, taken / LARGE


def test_an_object_may_be_called_as_cmake_calls_it(tmp_path: Path) -> None:
    (tmp_path / "k.cu.o").write_bytes(library("rolled_loop", archs=(90,)))
    assert run_program("check", "k.cu.o", "--max-frame", "4096", cwd=tmp_path).code == 0
    (tmp_path / "k.cu.in").write_text("__global__ void k() {}")
    done = run_program("check", "k.cu.o", "k.cu.in", "--max-frame", "4096", cwd=tmp_path)
    assert (done.code, "k.cu.in" in done.err + done.out) == (3, True)

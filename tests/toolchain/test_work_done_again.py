"""What has not changed is not made again: after an edit, in another revision, with an extra."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from lmemscope.app.checkout import BuildCopy, written_out
from lmemscope.app.execute import run
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.lowering import store as stores
from lmemscope.model import CompileOptions, Report, Unit
from lmemscope.running.pool import WorkerPool

KERNEL = """#include "common.h"
#include "shape.h"
__global__ void {name}(const int *at, float *out) {{
  float bins[BINS] = {{}};
  for (int i = 0; i < 1000; ++i) bins[at[i] & (BINS - 1)] += out[i] * {number};
  for (int i = 0; i < BINS; ++i) out[i * blockDim.x + threadIdx.x] = bins[i];
}}
"""
NUMBERS = (1, 2, 3)


class Project:
    """A repository with three kernels, a launch of one, and a build that generated a header."""

    def __init__(self, top: Path, store: str, *, is_absolute: bool = False) -> None:
        self.top, self.store = top, store
        (top / "src").mkdir()
        (top / "build" / "gen").mkdir(parents=True)
        (top / ".gitignore").write_text("build\n")
        (top / "src" / "common.h").write_text("#define BINS 32\n")
        (top / "build" / "gen" / "shape.h").write_text("#define SHAPE 1\n")
        for number in NUMBERS:
            self.write(f"k{number}.cu", KERNEL.format(name=f"k{number}", number=number))
        self.write("main.cu", "void k1(int *, float *);\n// launches nothing yet\n")
        src, gen = (top / "src", top / "build/gen") if is_absolute else ("../src", "gen")
        records = [
            {
                "directory": str(top / "build"),
                "file": f"{src}/k{number}.cu",
                "command": f"nvcc -I{top}/src -I{gen} -std=c++17 -c {src}/k{number}.cu -o k.o",
            }
            for number in NUMBERS
        ]
        (top / "build" / "compile_commands.json").write_text(json.dumps(records))
        self.git("init", "-q")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.top / "src" / name).write_text(text)

    def git(self, *arguments: str) -> None:
        own = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *own, *arguments], cwd=self.top, check=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "more")

    def scan(self) -> Report:
        with WorkerPool(1) as pool:
            return run(["build"], Session(Settings(archs=("sm_90",), cache=self.store), pool))

    def at(self, revision: str) -> Report:
        """A scan of a revision, as `diff --git` makes it."""
        settings = Settings(archs=("sm_90",), cache=self.store)
        with written_out(revision) as checkout:
            BuildCopy(checkout).write(["build"])
            os.chdir(checkout.directory)
            try:
                with WorkerPool(1) as pool:
                    return run(["build"], Session(checkout.mapped(settings), pool))
            finally:
                os.chdir(self.top)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    top = tmp_path / "project"
    top.mkdir()
    monkeypatch.chdir(top)
    return Project(top, str(tmp_path / "store"))


def compiled(report: Report) -> list[str]:
    """The inputs of which nothing was kept."""
    assert all(unit.failure is None for unit in report.units), report.units
    assert len(report.units) == len(NUMBERS)
    return [os.path.basename(unit.input) for unit in report.units if not unit.cached]


def advice(report: Report, name: str) -> str:
    (kernel,) = (k for unit in report.units for k in unit.kernels if name in k.facts.name)
    return " ".join(advice.text for one in kernel.findings for advice in one.advice)


@pytest.mark.toolchain
def test_one_edit_is_one_unit(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(compiled(project.scan())) == len(NUMBERS)
    assert compiled(project.scan()) == []
    project.write("k2.cu", KERNEL.format(name="k2", number=7))
    assert compiled(project.scan()) == ["k2.cu"]
    # Neither is what was only touched, nor a file that says nothing of any kernel here.
    os.utime(project.top / "src" / "k1.cu")
    project.write("main.cu", "void other();\n")
    assert compiled(project.scan()) == []


@pytest.mark.toolchain
def test_a_launch_that_appears_elsewhere_is_seen(project: Project) -> None:
    before = project.scan()
    project.write("main.cu", "void go(int *a, float *b) { k1<<<1, 192>>>(a, b); }\n")
    again = project.scan()
    # Its artefacts are kept; what is said of it is not.
    assert "192 threads" not in advice(before, "k1")
    assert "192 threads" in advice(again, "k1")


@pytest.mark.toolchain
def test_a_revision_compiles_what_differs_from_the_working_tree(project: Project) -> None:
    project.write("k2.cu", KERNEL.format(name="k2", number=7))
    project.commit()
    now = project.scan()
    first, second = project.at("HEAD~1"), project.at("HEAD")
    assert compiled(first) == ["k2.cu"]
    assert compiled(second) == []
    for unit, other in zip(now.units, second.units, strict=True):
        assert [k.facts.stack_frame for k in unit.kernels] == [
            k.facts.stack_frame for k in other.kernels
        ]
    # Each has a directory of its own, and finds what the last one made.
    assert compiled(project.at("HEAD~1")) == []


@pytest.mark.toolchain
def test_a_revision_is_not_compiled_by_the_name_that_its_build_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "named"
    top.mkdir()
    monkeypatch.chdir(top)
    project = Project(top, str(tmp_path / "store"), is_absolute=True)
    asking = KERNEL.format(name="k2", number=2).replace("[BINS]", "[sizeof(__FILE__)]")
    project.write("k2.cu", asking)
    project.commit()

    def unknown(report: Report) -> list[str]:
        gaps = ((unit, gap) for unit in report.units for gap in unit.gaps)
        return [os.path.basename(unit.input) for unit, gap in gaps if gap.kind == "evidence"]

    # In a directory of its own, it has another name; what is made there is not taken for the
    # working tree's, whose name is known.
    before = project.at("HEAD")
    assert unknown(before) == ["k2.cu"]
    live = project.scan()
    assert unknown(live) == []
    assert compiled(live) == ["k2.cu"]
    (frame,) = (k.facts.stack_frame for k in live.units[1].kernels)
    assert frame == -(-4 * len(f"{top}/src/k2.cu\0") // 8) * 8
    assert compiled(project.at("HEAD")) == []


@pytest.mark.toolchain
def test_a_header_of_the_revision_is_not_the_working_trees(project: Project) -> None:
    project.scan()
    project.write("common.h", "#define BINS 64\n")
    assert compiled(project.at("HEAD")) == []
    project.commit()
    frames = {k.facts.stack_frame for unit in project.at("HEAD").units for k in unit.kernels}
    assert frames == {256}
    frames = {k.facts.stack_frame for unit in project.at("HEAD~1").units for k in unit.kernels}
    assert frames == {128}


@pytest.mark.toolchain
def test_launches_of_the_revision_are_not_the_working_trees(project: Project) -> None:
    project.write("main.cu", "void go(int *a, float *b) { k1<<<1, 192>>>(a, b); }\n")
    project.commit()
    project.scan()
    assert "192 threads" not in advice(project.at("HEAD~1"), "k1")
    assert "192 threads" in advice(project.at("HEAD"), "k1")


@pytest.mark.parametrize(
    ("installed", "is_other"),
    [
        ("numba-0.70.0", False),
        ("numba_cuda-0.31.0", False),
        ("cuda_bindings-13.6.0", False),
        ("nvidia_nvjitlink-13.5.0", False),
        ("triton-3.9.0", False),
        ("nvidia_cuda_nvcc-13.6.1", True),
        ("nvidia_cuda_nvrtc-13.6.1", True),
        ("nvidia_cuda_cccl-13.6.1", True),
        ("nvidia_curand-13.6.1", True),
    ],
)
def test_a_key_names_only_packages_that_can_matter(
    installed: str, is_other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {}\n")
    unit = Unit("k.cu", str(source), "auto", "sm_90", CompileOptions())
    site = tmp_path / "site"
    (site / "nvidia_cuda_nvcc-13.5.1.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(site))

    def key() -> str:
        stores.installed_wheels.cache_clear()
        slot = stores.slot_for(str(tmp_path / "store"), unit)
        assert slot is not None
        return slot.key

    before = key()
    (site / f"{installed}.dist-info").mkdir()
    assert (key() != before) == is_other
    stores.installed_wheels.cache_clear()


CUPY = '''import cupy
twice = cupy.RawKernel(r"""
#include "shape.h"
extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= SHAPE; }
""", "twice", options=("-DOTHER=%d",))
thrice = cupy.RawKernel("extern \\"C\\" __global__ void thrice(float *x) { *x *= 3; }", "thrice")
'''


@pytest.mark.toolchain
def test_a_program_of_cupy_is_compiled_when_it_or_its_headers_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source, header = tmp_path / "kernels.py", tmp_path / "shape.h"

    def compiled_now() -> list[str]:
        settings = Settings(archs=("sm_90",), cache=str(tmp_path / "store"))
        with WorkerPool(1) as pool:
            report = run(["kernels.py"], Session(settings, pool))
        assert [unit.failure for unit in report.units] == [None, None]
        return [unit.input[len("kernels.py[") : -1] for unit in report.units if not unit.cached]

    source.write_text(CUPY % 1)
    header.write_text("#define SHAPE 2\n")
    assert compiled_now() == ["twice", "thrice"]
    assert compiled_now() == []
    # Lines of a program are counted within it: what stands elsewhere in the file is no part of it.
    source.write_text(CUPY % 1 + "\nprint(1)\n")
    assert compiled_now() == []
    source.write_text(CUPY % 2)
    assert compiled_now() == ["twice"]
    header.write_text("#define SHAPE 4\n")
    assert compiled_now() == ["twice"]

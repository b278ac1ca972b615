"""A built project: facts from its objects are those of a compilation, and so are the answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.app.plan import make_plan
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.formats.cubin import Cubin
from lmemscope.lowering.binary import images
from lmemscope.lowering.built import BuiltCode, code_of_object
from lmemscope.lowering.debugging import Debugging
from lmemscope.model import CompileOptions, Unit
from lmemscope.tools.toolchain import INSTALLED
from tests.support.program import Finished, run_program

pytestmark = pytest.mark.toolchain

CMAKE = shutil.which("cmake")
GENERATORS = {"Ninja": "ninja", "Unix Makefiles": "make"}

LISTS = """
cmake_minimum_required(VERSION 3.20)
project(demo LANGUAGES CXX CUDA)
set(CMAKE_CUDA_STANDARD 17)
add_library(plain STATIC src/add.cu src/device.cu "src/two words.cu")
add_library(slow STATIC src/count.cu src/promoted.cu)
add_library(linked STATIC src/add.cu)
set_target_properties(linked PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
target_include_directories(plain PRIVATE "include/with space")
target_compile_definitions(plain PRIVATE SIZE=40 "NAME=\\"a b\\"")
target_compile_definitions(linked PRIVATE SIZE=8)
target_include_directories(linked PRIVATE "include/with space")
"""
SOURCES = {
    "include/with space/size.h": "#define HALF (SIZE / 2)\n",
    "src/add.cu": '''#include "size.h"
template <int N> __global__ void add(float *a) {
  __shared__ float row[SIZE];
  row[threadIdx.x] = a[threadIdx.x + N];
  __syncthreads();
  a[threadIdx.x] = row[HALF];
}
void run_add(float *a) { add<1><<<1, 8>>>(a); add<2><<<1, 8>>>(a); }
''',
    "src/device.cu": '''template <int N> __global__ void scale(float *p) { p[threadIdx.x] *= N; }
template __global__ void scale<3>(float *);
extern "C" __global__ void halve(double *p) { p[threadIdx.x] = exp(p[threadIdx.x]) / 2; }
''',
    "src/two words.cu": '''__global__ void __launch_bounds__(64) fill(char *p) {
  p[threadIdx.x] = NAME[1];
}
void run_fill(char *p) { fill<<<1, 8>>>(p); }
''',
    "src/count.cu": '''__global__ void count(const int *at, float *out) {
  float bins[32] = {};
  for (int i = 0; i < 999; ++i) bins[at[i]] += 1;
  for (int i = 0; i < 32; ++i) out[i] = bins[i];
}
void run_count(const int *at, float *out) { count<<<1, 8>>>(at, out); }
''',
    "src/promoted.cu": '''__global__ void choose(float *out, int n) {
  float two[2] = {out[0], out[1]};
  two[n & 1] += 1;
  out[2] = two[0] + two[1];
}
void run_choose(float *out, int n) { choose<<<1, 8>>>(out, n); }
''',
}  # fmt: skip


def toolkit(root: Path) -> Path:
    """The installed wheels, laid out as CMake looks for a CUDA installation; its nvcc."""
    nvcc = Path(INSTALLED.find("nvcc"))
    wheels = nvcc.parent.parent
    (root / "bin").mkdir(parents=True)
    for path in nvcc.parent.iterdir():
        # nvcc looks for its parts beside itself, links followed.
        if path.name in ("nvcc", "nvcc.profile"):
            shutil.copy2(path, root / "bin" / path.name)
        else:
            (root / "bin" / path.name).symlink_to(path)
    for name in ("nvvm", "include", "lib"):
        (root / name).symlink_to(wheels / name)
    return root / "bin" / "nvcc"


class Project:
    """A CMake project and its build."""

    def __init__(self, root: Path, nvcc: Path, generator: str, architectures: str = "90") -> None:
        self.root, self.build = root, root / "build"
        for name, text in SOURCES.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (root / "CMakeLists.txt").write_text(LISTS)
        assert CMAKE is not None
        flags = [f"-DCMAKE_CUDA_COMPILER={nvcc}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        self.run(
            CMAKE,
            "-B",
            "build",
            "-G",
            generator,
            *flags,
            f"-DCMAKE_CUDA_ARCHITECTURES={architectures}",
        )
        self.make()

    def run(self, *command: str) -> None:
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def make(self) -> None:
        assert CMAKE is not None
        self.run(CMAKE, "--build", "build")

    def lmemscope(self, *arguments: str) -> Finished:
        return run_program(*arguments, cwd=self.root)

    def states(self) -> dict[str, str]:
        """What became of each unit's object."""
        units = self.lmemscope("scan", "build", "--format", "json").document["units"]
        return {name_of(unit): unit["built"]["state"] for unit in units}


def name_of(unit: dict[str, Any]) -> str:
    return os.path.basename(unit["input"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the project is, whoever builds it: what one test compiled is known to the next."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="module")
def nvcc(directory: Path) -> Path:
    return toolkit(directory / "cuda")


@pytest.fixture(scope="module", params=["Ninja"])
def project(request: pytest.FixtureRequest, directory: Path, nvcc: Path) -> Project:
    """What one generator makes; what it records is all that they differ in."""
    if CMAKE is None or shutil.which(GENERATORS[request.param]) is None:
        pytest.skip(f"cmake, and {GENERATORS[request.param]}")
    shutil.rmtree(directory / "a project", ignore_errors=True)
    return Project(directory / "a project", nvcc, request.param)


BUILT = {
    "add.cu": "current",
    "add.cu[linked]": "compiled",
    "device.cu": "current",
    "two words.cu": "current",
    "count.cu": "current",
    "promoted.cu": "current",
}


def facts(unit: dict[str, Any], kernel: dict[str, Any]) -> tuple[Any, ...]:
    """What a row of the table shows, and what a gate judges."""
    names = (
        "name stack_frame registers spill_stores spill_loads cumulative_stack stack_known".split()
    )
    findings = [(one["rule"], one["bytes"], one["fingerprint"]) for one in kernel["findings"]]
    return (
        unit["input"],
        unit["arch"],
        *(kernel[name] for name in names),
        kernel["cumulative_stack"],
        *(str(kernel[name]) for name in ("launch_bounds", "sass", "ptx", "verdict", "causes")),
        str(kernel["location"]),
        *findings,
    )


def all_facts(done: Finished) -> Counter[tuple[Any, ...]]:
    units = done.document["units"]
    assert [unit["failure"] for unit in units] == [None] * len(units)
    return Counter(facts(unit, kernel) for unit in units for kernel in unit["kernels"])


def test_rows_findings_and_gaps_are_those_of_a_compilation(project: Project) -> None:
    read = project.lmemscope("scan", "build", "--format", "json")
    compiled = project.lmemscope("scan", "build", "--format", "json", "--no-objects")
    assert {name_of(u): u["built"]["state"] for u in read.document["units"]} == BUILT
    assert all("built" not in unit for unit in compiled.document["units"])
    assert read.code == compiled.code == 0
    assert all_facts(read) == all_facts(compiled)
    gaps = [[unit["gaps"] for unit in one.document["units"]] for one in (read, compiled)]
    assert gaps[0] == gaps[1]
    # NVRTC compiles what holds no host code.
    tools = compiled.document["toolchain"]
    assert all(tools[name] == tool for name, tool in read.document["toolchain"].items())


def test_facts_alone_are_read_from_every_object(project: Project) -> None:
    """Local memory too: only its lines take a compilation, and they are said to be missing."""
    read, compiled = (
        project.lmemscope("scan", "build", "--no-causes", "--format", "json", *more)
        for more in ((), ("--no-objects",))
    )
    states = {name_of(unit): unit["built"]["state"] for unit in read.document["units"]}
    assert states == dict.fromkeys(BUILT, "current") | {"add.cu[linked]": "compiled"}
    names = (
        "stack_frame registers spill_stores spill_loads cumulative_stack stack_known launch_bounds "
        "sass sites ptx shared location occupancy"
    ).split()
    rows, others = (
        {
            (unit["input"], one["name"]): {name: one[name] for name in names}
            for unit in done.document["units"]
            for one in unit["kernels"]
        }
        for done in (read, compiled)
    )
    assert rows == others
    assert any(row["sass"]["ldl"] for row in rows.values())
    (said,) = (one for one in read.document["notes"] if "were read" in one)
    assert said.startswith("facts of 5 of 6 units")
    assert "1 without the lines of local memory" in said


def test_a_kernel_that_the_build_leaves_out_is_named(project: Project) -> None:
    source = project.root / "src" / "two words.cu"
    text = source.read_text()
    try:
        source.write_text(
            text + "#ifdef NEVER\n__global__ void unused(int *p) { *p = 1; }\n#endif\n"
        )
        project.make()
        done = project.lmemscope("scan", "build", "--no-causes", "--format", "json")
        (unit,) = (one for one in done.document["units"] if name_of(one) == "two words.cu")
        assert unit["built"]["state"] == "current"
        assert [gap["reason"] for gap in unit["gaps"]] == ["not in the build's object: unused"]
        # Whether NVRTC would make it, only NVRTC knows.
        assert project.states()["two words.cu"] == "compiled"
    finally:
        source.write_text(text)
        project.make()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--include", "src/add.cu"], 0),
        (["--include", "src/add.cu", "--max-registers", "1"], 1),
        (["--max-frame", "128", "--max-spill", "0"], 0),
    ],
)
def test_the_gate_answers_alike(project: Project, options: list[str], code: int) -> None:
    answers = []
    for more in ([], ["--no-objects"]):
        done = project.lmemscope("check", "build", *options, *more, "--format", "json")
        answers.append((done.code, done.document["failures"], done.document["missing"]))
    assert answers[0] == answers[1]
    assert answers[0][0] == code


def test_a_baseline_of_either_holds_for_the_other(project: Project) -> None:
    for written, checked in (([], ["--no-objects"]), (["--no-objects"], [])):
        saved = str(project.root / "baseline.json")
        assert project.lmemscope("baseline", "build", "-o", saved, *written).code == 0
        done = project.lmemscope("check", "build", "--baseline", saved, *checked)
        assert done.code == 0, done.out + done.err


def test_the_output_says_which_were_read(project: Project) -> None:
    done = project.lmemscope("scan", "build")
    assert "facts of 5 of 6 units were read from the build's objects" in done.out
    done = project.lmemscope("scan", "build", "--no-objects")
    assert "were read" not in done.out


def test_objects_of_machine_code_alone(directory: Path, nvcc: Path) -> None:
    """They tell all but what PTX declares, and the gate that asks for that does not take them."""
    if CMAKE is None or shutil.which("ninja") is None:
        pytest.skip("cmake, and ninja")
    project = Project(directory / "real", nvcc, "Ninja", "90-real")
    done = project.lmemscope("scan", "build", "--format", "json")
    states = {name_of(unit): unit["built"]["state"] for unit in done.document["units"]}
    assert states == BUILT
    compiled = project.lmemscope("scan", "build", "--format", "json", "--no-objects")
    read, others = (
        {
            (unit["input"], one["name"]): one
            for unit in each.document["units"]
            for one in unit["kernels"]
        }
        for each in (done, compiled)
    )
    assert read.keys() == others.keys()
    for key, one in read.items():
        of_machine = [
            {name: kernel[name] for name in ("registers", "stack_frame", "sass", "launch_bounds")}
            for kernel in (one, others[key])
        ]
        assert of_machine[0] == of_machine[1]
        assert one["ptx"] in (None, others[key]["ptx"])
    assert "4 without PTX" in project.lmemscope("scan", "build").out
    alone, count = (
        done.kernel("count")
        for done in (
            project.lmemscope("scan", "build", "--no-causes", "--format", "json"),
            compiled,
        )
    )
    assert (alone["ptx"], alone["lines"]) == (None, [])
    for name in ("registers", "stack_frame", "sass", "sites", "spill_stores", "spill_loads"):
        assert alone[name] == count[name], name
    for forbidden in ("promoted", "dynamic-index"):
        answers = [
            project.lmemscope("check", "build", "--forbid", forbidden, *more).code
            for more in ([], ["--no-objects"])
        ]
        assert answers == [1, 1]


@pytest.mark.parametrize("project", GENERATORS, indirect=True, scope="module")
def test_what_changed_is_compiled_until_it_is_built_again(project: Project) -> None:
    header = project.root / "include" / "with space" / "size.h"
    header.write_text("#define HALF (SIZE / 4)\n")
    assert project.states() == BUILT | {"add.cu": "stale"}
    project.make()
    assert project.states() == BUILT


def test_an_architecture_that_the_build_has_not(project: Project) -> None:
    done = project.lmemscope("scan", "build", "--arch", "sm_80", "--format", "json")
    assert {unit["built"]["state"] for unit in done.document["units"]} == {"compiled"}
    assert done.code == 0


def test_an_object_of_another_toolkit(project: Project) -> None:
    """Its own version is what counts, not what the build says of its compiler."""
    path = next(project.build.rglob("two?words.cu.o"))
    data, times = path.read_bytes(), path.stat()
    version = INSTALLED.tool("ptxas").version
    assert version is not None
    other = data.replace(f"V{version}".encode(), f"V{'9' * len(version)}".encode())
    try:
        path.write_bytes(other.replace(b"V99999", b"V1.2.3"))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert project.states()["two words.cu"] == "compiled"
    finally:
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_machine_code_that_is_not_made_again(project: Project) -> None:
    """Lines are taken from what is made here only where that is what the build has."""
    path = next(project.build.rglob("count.cu.o"))
    data, times = path.read_bytes(), path.stat()
    unit = Unit(str(path), str(path), "binary", "sm_90", CompileOptions())
    (cubin,) = (Cubin(one.data) for one in images(unit) if one.data)
    function = cubin.function("_Z5countPKiPf")
    place = data.index(bytes(cubin.code(function))) + function.sites[0].pc
    try:
        displaced = bytes([data[place + 5] ^ 4])
        path.write_bytes(data[: place + 5] + displaced + data[place + 6 :])
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert project.states() == BUILT | {"count.cu": "compiled"}
    finally:
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_ptx_that_is_not_made_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ptxas promoted is told of the object's PTX alone, as far as that is held."""
    monkeypatch.chdir(project.root)
    plan = make_plan(["build"], Session(Settings()))
    (unit,) = (one for one in plan.units if one.input.endswith("promoted.cu"))
    path = next(project.build.rglob("promoted.cu.o"))
    code = code_of_object(unit, str(path))
    assert isinstance(code, BuiltCode)
    assert code.ptx is not None
    never = Debugging(lambda: None, wants_names=False)
    made = code.explained(None, never)
    assert made is not None
    assert made.assembled is None
    other = code.ptx.replace(b"__local_depot0[8]", b"__local_depot0[12]")
    assert other != code.ptx
    assert replace(code, ptx=other).explained(None, never) is None


def test_a_saved_report_keeps_what_was_read(project: Project) -> None:
    saved = project.root / "saved.json"
    assert project.lmemscope("scan", "build", "-o", str(saved)).code == 0
    states = [unit["built"]["state"] for unit in json.loads(saved.read_text())["units"]]
    done = project.lmemscope("scan", str(saved), "--format", "json")
    assert [unit["built"]["state"] for unit in done.document["units"]] == states

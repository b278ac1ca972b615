"""``lmemscope tune`` on the real toolchain: every point is what ptxas makes by hand."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lmemscope.commands.schema import structure
from lmemscope.formats.json_schema import json_schema
from lmemscope.model import TuneReport
from lmemscope.tools.toolchain import INSTALLED
from tests.support import program
from tests.support.program import Finished

pytestmark = pytest.mark.toolchain

BODY = """\
  double v[30];
#pragma unroll
  for (int i = 0; i < 30; ++i) v[i] = in[i * n + threadIdx.x];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 30; ++i) v[i] = v[i] * v[(i + 7) % 30] + v[(i + 13) % 30];
  }
  double sum = 0.0;
#pragma unroll
  for (int i = 0; i < 30; ++i) sum += v[i] * (i + 1);
  out[threadIdx.x] = sum;
"""
SOURCE = f"""\
extern "C" __global__ void free_(const double *in, double *out, int n) {{
{BODY}}}

extern "C" __global__ void __launch_bounds__(256, 8)
    bounded(const double *in, double *out, int n) {{
{BODY}}}

extern "C" __global__ void small(float *out) {{ out[threadIdx.x] = 1.0f; }}
"""
_USED = re.compile(r"Used (\d+) registers")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(SOURCE)
    return tmp_path


def run_program(*arguments: str) -> Finished:
    return program.run_program(*arguments, cwd=Path.cwd())


def tune(*arguments: str, path: str = "k.cu") -> Finished:
    return run_program("tune", path, "--arch", "sm_90", "--format", "json", *arguments)


def by_name(done: Finished) -> dict[str, dict[str, Any]]:
    return {kernel["name"]: kernel for kernel in done.document["kernels"]}


def figures(ptx: Path, kernel: str, *flags: str) -> tuple[int, ...]:
    """Registers, frame, spill stores and loads, and shared memory that ptxas prints."""
    ptxas = INSTALLED.tool("ptxas").path
    assert ptxas is not None
    command = [ptxas, "-arch=sm_90", "-v", *flags, str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    text = (said.stdout + said.stderr).partition(f"Compiling entry function '{kernel}'")[2]
    text = text.partition("Compiling entry function")[0]
    used, frame, shared = _USED.search(text), _FRAME.search(text), _SHARED.search(text)
    assert used is not None
    assert frame is not None
    return (int(used[1]), *map(int, frame.groups()), int(shared[1]) if shared is not None else 0)


def shown(point: dict[str, Any]) -> tuple[int, ...]:
    names = ("registers", "stack_frame", "spill_stores", "spill_loads", "shared")
    return tuple(point[name] for name in names)


def test_every_point_is_what_ptxas_makes_by_hand(here: Path) -> None:
    kernels = by_name(tune("--smem-spilling"))
    ptx = here / "k.ptx"
    assert run_program("dump", "k.cu", "--ptx", "--arch", "sm_90", "-o", str(ptx)).code == 0
    text = ptx.read_text()
    pragma = here / "pragma.ptx"
    pragma.write_text(re.sub(r"^\{", '{ .pragma "enable_smem_spilling";', text, flags=re.MULTILINE))
    free = here / "free.ptx"
    free.write_text(re.sub(r"^\.minnctapersm.*", "", text, flags=re.MULTILINE))
    compared = spilled = 0
    for name, kernel in kernels.items():
        undo = ["-override-directive-values"] if kernel["overrides"] else []
        for point in kernel["points"]:
            cap = point["cap"]
            flags = [f"-maxrregcount={cap}", *undo] if cap is not None else []
            file = pragma if point["smem_spilling"] else ptx if cap is not None else free
            assert shown(point) == figures(file, name, *flags), (name, point["cap"])
            compared += 1
            spilled += point["smem_spilling"]
    assert compared > 8
    assert spilled > 1


def test_bounds_of_the_kernel_itself_are_undone_and_its_own_point_is_beside(here: Path) -> None:
    kernel = by_name(tune("--kernel", "bounded"))["bounded"]
    assert kernel["overrides"] == [".maxntid", ".minnctapersm"]
    assert kernel["block_from"] == "launch-bounds"
    assert {point["block"] for point in kernel["points"]} == {256}
    assert kernel["own"]["registers"] == 32
    assert kernel["natural"] > 60
    # What the bounds cost: past L1, tens of times.
    natural = kernel["points"][0]
    assert kernel["own"]["cost"] > 10 * natural["cost"]
    assert kernel["knee"] >= 64
    assert kernel["own"]["spill_stores"] > 1000


def test_points_fall_by_eight_and_end_where_spills_explode(here: Path) -> None:
    kernel = by_name(tune())["free_"]
    caps = [point["cap"] for point in kernel["points"]]
    assert caps[0] is None
    assert kernel["points"][0]["registers"] == kernel["natural"]
    assert caps[1:] == [*range((kernel["natural"] - 1) // 8 * 8, caps[-1] - 1, -8)]
    assert caps[-1] > 24
    assert sum(point["is_knee"] for point in kernel["points"]) == 1
    occupancies = [point["occupancy"] for point in kernel["points"]]
    assert occupancies == sorted(occupancies)


def test_one_worker_and_two_say_the_same(here: Path) -> None:
    one, two = (tune("--no-cache", "--jobs", jobs, "--smem-spilling") for jobs in ("1", "2"))
    assert one.code == two.code == 0
    assert one.document == two.document


def test_launch_bounds_are_swept_for_one_block_size(here: Path) -> None:
    kernel = by_name(tune("--launch-bounds", "--block", "128", "--kernel", "free_"))["free_"]
    bounds = kernel["points"][1:]
    assert {point["block"] for point in kernel["points"]} == {128}
    assert [point["min_blocks"] for point in bounds] == sorted(
        {point["min_blocks"] for point in bounds}
    )
    ptx = here / "k.ptx"
    assert run_program("dump", "k.cu", "--ptx", "--arch", "sm_90", "-o", str(ptx)).code == 0
    for point in bounds:
        flags = ("-maxntid=128", f"-minnctapersm={point['min_blocks']}")
        assert shown(point) == figures(ptx, "free_", *flags)
        assert point["registers"] <= point["cap"]


def test_launch_bounds_are_swept_without_the_kernels_maxnreg(here: Path) -> None:
    (here / "m.cu").write_text(SOURCE.replace("__launch_bounds__(256, 8)", "__maxnreg__(40)"))
    bounds = ("--launch-bounds", "--block", "128")
    kernels = by_name(tune(*bounds, path="m.cu"))
    assert kernels["bounded"]["own"]["registers"] == 40
    bounded, free = (
        [shown(one) for one in kernels[name]["points"]] for name in ("bounded", "free_")
    )
    assert bounded == free
    assert len(bounded) > 2


def test_a_limit_that_ptxas_raises_is_the_kernels_own_point(here: Path) -> None:
    """Registers of sm_90 are at least 24; one worker goes on to the other points."""
    kernel = by_name(tune("--maxrregcount", "20", "--kernel", "free_", "--jobs", "1"))["free_"]
    assert kernel["own"]["registers"] == 24
    free = by_name(tune("--kernel", "free_"))["free_"]
    assert [shown(one) for one in kernel["points"]] == [shown(one) for one in free["points"]]


def test_dynamic_shared_memory_is_said_and_what_ptxas_refuses_for_it(here: Path) -> None:
    body = BODY.replace("in[i * n + threadIdx.x]", "shared[i * n + threadIdx.x]")
    (here / "d.cu").write_text(
        "extern __shared__ double shared[];\n"
        f"__global__ void dyn(double *out, int n) {{\n{body}}}\n"
        "__global__ void plain(double *out) { out[threadIdx.x] = 1.0; }\n"
    )
    found = tune("--smem-spilling", path="d.cu").document
    dynamic = {one["demangled"][:3]: one["dynamic_shared"] for one in found["kernels"]}
    assert dynamic == {"dyn": True, "pla": False}
    (kernel,) = (one for one in found["kernels"] if one["dynamic_shared"])
    assert not any(one["smem_spilling"] for one in kernel["points"])
    assert any(one["spill_stores"] for one in kernel["points"])
    assert [note.partition(" ")[0] for note in found["notes"]] == ["dyn"]


def test_what_spills_most_as_compiled_is_first(here: Path) -> None:
    names = [kernel["name"] for kernel in tune().document["kernels"]]
    assert names == ["bounded", "free_", "small"]
    assert [one["name"] for one in tune(path="k.cu::sm*").document["kernels"]] == ["small"]


def test_the_document_has_its_schema_and_ptx_is_an_input(here: Path) -> None:
    source = tune()
    jsonschema.validate(source.document, json.loads(json.dumps(json_schema(structure("tune")))))
    ptx = here / "k.ptx"
    assert run_program("dump", "k.cu", "--ptx", "--arch", "sm_90", "-o", str(ptx)).code == 0
    again = by_name(tune(path="k.ptx"))
    for name, kernel in by_name(source).items():
        assert [shown(p) for p in again[name]["points"]] == [shown(p) for p in kernel["points"]]


def test_the_other_formats_show_every_point(here: Path) -> None:
    formats = {
        one: run_program("tune", "k.cu::free_", "--arch", "sm_90", "--format", one).out
        for one in ("table", "markdown", "html")
    }
    points = by_name(tune("--kernel", "free_"))["free_"]["points"]
    for text in formats.values():
        for point in points[1:]:
            assert re.search(rf"^\W*{point['cap']} +{point['registers']} ", text, re.MULTILINE)
        assert "◆" in text
    assert formats["html"].count("<circle") == 2 * len(points)
    assert "<script" not in formats["html"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("k.json",), 2, "is a saved report"),
        (("k.cubin",), 2, "has been assembled already"),
        (("k.cu", "--link"), 2, "leave out --link"),
        (("k.cu::fre",), 3, "the nearest names are free_"),
        (("gone.cu",), 3, "does not exist"),
        (("broken.cu",), 3, "error: expected"),
        (("k.cu", "--block", "2000"), 2, "--block"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    here: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (here / "broken.cu").write_text("__global__ void k( {}\n")
    if arguments[0] == "k.cubin":
        dump = ("dump", "k.cu", "--cubin", "--arch", "sm_90", "-o", "k.cubin")
        assert run_program(*dump).code == 0
    done = run_program("tune", *arguments, "--arch", "sm_90")
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_an_architecture_that_the_model_lacks_has_no_knee(here: Path) -> None:
    done = run_program("tune", "k.cu::free_", "--arch", "sm_110", "--format", "json")
    (kernel,) = done.document["kernels"]
    assert kernel["knee"] is None
    assert all(point["cost"] is None for point in kernel["points"])
    assert kernel["points"][0]["occupancy"] > 0


def test_the_report_is_its_own_document() -> None:
    assert structure("tune") is TuneReport

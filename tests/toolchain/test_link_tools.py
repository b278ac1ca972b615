"""Links by NVIDIA's own tools: what is reported is what nvlink and cuobjdump say of the image."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmemscope.formats.nvlink_log import parse_nvlink_log
from lmemscope.tools.nvlink import device_runtime
from lmemscope.tools.toolchain import INSTALLED
from tests.support.program import ROOT, Finished, run_program

pytestmark = pytest.mark.toolchain

LINKED = ROOT / "tests" / "support" / "data" / "linked"
SOURCES = sorted(LINKED.glob("*.cu"))
PAGE = ROOT / "docs" / "linked.md"
SCAN = ("scan", "--link", "tests/support/data/linked", "--arch", "sm_90")
_USAGE = re.compile(r"^ Function (\S+):\n  REG:(\d+) STACK:(\w+)", re.MULTILINE)


def tool(name: str, *arguments: str | Path) -> str:
    command = [INSTALLED.find(name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Host objects of the sources, as a build makes them."""
    made = {}
    for source in SOURCES:
        made[source.stem] = tmp_path_factory.getbasetemp() / f"{source.stem}.o"
        tool("nvcc", "-arch=sm_90", "-dc", source, "-o", made[source.stem])
    return made


@pytest.fixture
def program(once: Callable[[str, Callable[[], Finished]], Finished]) -> dict[str, Any]:
    """The sources linked, as JSON."""
    done = once("linked", lambda: run_program(*SCAN, "--no-causes", "--format", "json"))
    assert done.code == 0, done.err
    (link,) = json.loads(done.out)["links"]
    return dict(link)


def by_name(link: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {kernel["function"]["name"]: kernel for kernel in link["kernels"]}


def test_figures_are_those_of_nvlink_and_cuobjdump(
    program: dict[str, Any], objects: dict[str, Path], tmp_path: Path
) -> None:
    image = tmp_path / "linked.cubin"
    log = parse_nvlink_log(tool("nvlink", "-arch=sm_90", "-v", *objects.values(), "-o", image))
    usage = {
        name: (int(registers), int(stack) if stack.isdigit() else None)
        for name, registers, stack in _USAGE.findall(tool("cuobjdump", "-res-usage", image))
    }
    ours = by_name(program)
    assert ours.keys() == log.kernels.keys()
    assert len(ours) == 5
    for name, kernel in ours.items():
        said = log.kernels[name]
        figures = (kernel["function"]["registers"], kernel["linked_stack"])
        assert figures == (said.registers, said.stack if said.stack_known else None)
        assert figures == usage[name]
        assert not kernel["disagreements"]


def test_calls_across_files_are_followed(program: dict[str, Any]) -> None:
    kernels = by_name(program)
    smoothed = kernels["_Z8smoothedPKfPf"]["path"]["steps"]
    assert [Path(step["input"]).name for step in smoothed] == [
        "kernels.cu",
        "helpers.cu",
        "helpers.cu",
    ]
    calls = {call["caller"]: call for call in program["indirect"]}
    table = calls["_Z6mappedPfi"]
    assert [one["held_in"] for one in table["candidates"]] == [["table"], ["table"]]
    assert calls["_Z8measuredPfi"]["kind"] == "virtual"
    assert kernels["_Z8measuredPfi"]["indirect"] == ["_Z8measuredPfi"]
    walked = kernels["_Z6walkedPii"]
    turn = sum(call["stack_frame"] for call in walked["unknown"][0]["cycle"])
    assert walked["bound"] == 12 * turn


def test_objects_are_linked_as_their_sources_are(
    program: dict[str, Any], objects: dict[str, Path]
) -> None:
    others = [str(objects[name]) for name in ("helpers", "shapes")]
    done = run_program(
        "scan", "--link", str(LINKED / "kernels.cu"), *others, "--arch", "sm_90", "--no-causes",
        "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    (link,) = json.loads(done.out)["links"]
    kernels = by_name(link)
    assert {name: one["linked_stack"] for name, one in kernels.items()} == {
        name: one["linked_stack"] for name, one in by_name(program).items()
    }
    assert kernels["_Z8smoothedPKfPf"]["path"]["steps"][1]["input"].endswith("helpers.o")


def test_a_link_that_fails_leaves_the_inputs_alone() -> None:
    done = run_program("scan", "--link", "tests/support/data/linked/kernels.cu", "--arch", "sm_90")
    assert done.code == 3
    assert re.search(r"^smoothed +sm_90", done.out, re.MULTILINE)
    assert "kernels.cu uses smooth, which no input defines" in done.out.replace("\n", " ")


def test_device_side_launches_take_the_runtime() -> None:
    if device_runtime() is None:
        pytest.skip("no libcudadevrt.a")
    done = run_program(
        "scan", "--link", "kernels/device_launch.cu", "--arch", "sm_90", "--no-causes", "--format",
        "json",
    )  # fmt: skip
    (link,) = json.loads(done.out)["links"]
    assert link["failure"] is None
    parent = next(k for k in link["kernels"] if "parent_launches" in k["function"]["name"])
    assert parent["linked_stack"] == parent["path"]["bytes"] > 0
    assert any("__cudaCDP2" in step["name"] for step in parent["path"]["steps"])
    assert link["library_kernels"] > 0


def test_the_page_shows_what_the_command_prints() -> None:
    page = PAGE.read_text()
    shown = re.findall(r"```console\n\$ lmemscope (.*?)\n(.*?)```", page, re.DOTALL)
    assert shown
    for command, lines in shown:
        done = run_program(*command.split())
        for line in lines.strip().splitlines():
            assert line.strip() in done.out, line

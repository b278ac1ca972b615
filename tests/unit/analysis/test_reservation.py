"""What the driver reserves: the prediction against a GPU's own figures, and where it is shown."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.analysis.reservation import (
    find_device,
    local_memory,
    pending_memory,
    reserve,
)
from lmemscope.config.settings import Settings
from lmemscope.discover.present import chosen_device
from lmemscope.errors import UsageError
from lmemscope.exporters import render
from lmemscope.exporters.json import parse_report, render_json
from lmemscope.model import DEVICES, Device, Launch, PtxasFacts, Report
from tests.support.builders import facts, report_of
from tests.support.program import ROOT, run_program

MIB = 1 << 20
MEASURED: dict[str, Any] = json.loads((ROOT / "benchmarks/data/reservation.json").read_text())
SMALL = Device("small", 2, 1024, "a test")


def predictions() -> list[tuple[dict[str, Any], int]]:
    """Each measured step with what is predicted, beyond what the context itself takes."""
    found = MEASURED["device"]
    device = Device("measured", found["multiprocessors"], found["threads"], "")
    pairs = []
    for _, steps in groupby(MEASURED["rows"], key=lambda row: row["process"]):
        most = launches = 0
        for step in steps:
            most = max(most, step["stack"] or 1024)
            child = re.fullmatch(r"launch-(\d+)", step["case"])
            if step["step"] == "launch":
                most = max(most, step["local"], int(child[1]) if child else 0)
            if step["step"] == "load" and step["case"].startswith("launch"):
                launches = pending_memory(step["pending"] or 2048)
            own = local_memory(device, most) - local_memory(device, 1024)
            pairs.append((step, own + launches))
    return pairs


def test_every_measured_step_is_predicted_within_five_percent() -> None:
    pairs = predictions()
    assert len(pairs) == 394
    assert len({(row["stack"], row["pending"], row["case"]) for row, _ in pairs}) >= 12
    off = [
        (row, predicted / MIB)
        for row, predicted in pairs
        if abs(predicted - row["reserved"]) > max(0.05 * abs(row["reserved"]), 2 * MIB)
    ]
    assert off == []


def test_the_page_shows_what_was_measured_and_is_predicted() -> None:
    page = (ROOT / "docs/reservation.md").read_text()
    shown = re.findall(r"^\| [^|]+\| (\d+) \| (\d*) ?\| (-?\d+) \| (-?\d+) \|$", page, re.MULTILINE)
    known = {
        (predicted // MIB, row["reserved"] // MIB)
        for row, predicted in predictions()
        if row["step"] != "load" or row["case"].startswith("launch")
    }
    assert len(shown) >= 8
    for _, _, predicted, measured in shown:
        assert (int(predicted), int(measured)) in known


def test_the_page_lists_the_gpus_that_are_known() -> None:
    page = (ROOT / "docs/reservation.md").read_text()
    for one in DEVICES:
        assert f"| {one.name} | {one.multiprocessors} | {one.threads} | {one.source} |" in page


def test_memory_is_taken_in_whole_grains() -> None:
    assert local_memory(SMALL, 1024) == 2 * MIB
    assert local_memory(SMALL, 1025) == 4 * MIB


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("h200", ["H200"]),
        ("NVIDIA GeForce RTX 4090", ["RTX 4090"]),
        ("Tesla T4", ["T4"]),
        ("H100", ["H100 PCIe", "H100 SXM"]),
        ("A1", ["A100", "A10"]),
        ("A10", ["A10"]),
        ("voodoo", []),
        ("", []),
    ],
)
def test_a_gpu_is_found_however_it_is_spelled(name: str, found: list[str]) -> None:
    assert [one.name for one in find_device(name)] == found


def with_frame(name: str, frame: int, **changes: object) -> Any:
    ptxas = PtxasFacts(32, frame, 0, 0, frame, 0, 0)
    return facts(name, ptxas=ptxas, cubin=None, **changes)


def reserved(*kernels: Any, stack: int = 1024) -> Report:
    return reserve(report_of(*kernels), SMALL, stack, 2048)


def test_the_worst_kernel_decides_for_all() -> None:
    report = reserved(with_frame("little", 16), with_frame("much", 4096))
    per_thread = {
        one.facts.name: one.footprint.per_thread
        for one in report.units[0].kernels
        if one.footprint is not None
    }
    assert per_thread == {"little": 1024, "much": 4096}
    assert report.reservation is not None
    assert report.reservation.kernel == "much"
    assert report.reservation.local_bytes == local_memory(SMALL, 4096)
    assert report.reservation.launch_bytes is None


def test_below_the_limit_no_kernel_decides() -> None:
    found = reserved(with_frame("little", 16), stack=512).reservation
    assert found is not None
    assert (found.kernel, found.local_bytes) == (None, local_memory(SMALL, 512))


def test_a_parent_reserves_for_its_children() -> None:
    launch = Launch("child", "child", None, "parent", "ptx", "default")
    report = reserved(with_frame("parent", 0, launches=(launch,)), with_frame("child", 8192))
    footprints = [one.footprint for one in report.units[0].kernels]
    assert [one.per_thread for one in footprints if one is not None] == [8192, 8192]
    assert report.reservation is not None
    assert report.reservation.launch_bytes == pending_memory(2048)


def test_kernels_that_launch_each_other_end() -> None:
    first = with_frame("a", 2048, launches=(Launch("b", "b", None, "a", "ptx", "default"),))
    second = with_frame("b", 0, launches=(Launch("a", "a", None, "b", "ptx", "default"),))
    found = [one.footprint for one in reserved(first, second).units[0].kernels]
    assert [one.per_thread for one in found if one is not None] == [2048, 2048]


def test_a_depth_that_is_not_known_gets_the_limit() -> None:
    (kernel,) = reserved(with_frame("deep", 0, stack_known=False)).units[0].kernels
    assert kernel.footprint is not None
    assert kernel.footprint.is_least
    assert "its stack's depth is not known" in render(reserved(kernel.facts), "markdown")


def test_every_format_shows_it_and_json_gives_it_back() -> None:
    report = reserved(with_frame("much", 4096))
    for text in (render(report, "markdown"), render(report, "html")):
        assert "2 multiprocessors of 1024 threads" in text
        assert "much: 4096 B per thread, 8 MiB" in text
    again = parse_report(render_json(report))
    assert again.reservation == report.reservation
    assert [one.footprint for one in again.units[0].kernels] == [
        one.footprint for one in report.units[0].kernels
    ]


def test_without_a_gpu_nothing_of_it_is_said() -> None:
    text = render(report_of(with_frame("much", 4096)), "markdown")
    assert "reserves" not in text


def chosen(**given: object) -> Device | None:
    return chosen_device(replace(Settings(), **given))  # type: ignore[arg-type]


def test_the_gpu_is_the_one_that_is_named() -> None:
    assert chosen() is None
    assert chosen(device="H200", sm_count=10) == Device("H200", 10, 2048, "as given")
    assert chosen(device="mine", sm_count=3, threads_per_sm=64) == Device("mine", 3, 64, "as given")
    unnamed = chosen(sm_count=3, threads_per_sm=64)
    assert unnamed is not None
    assert unnamed.resident_threads == 192


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"device": "voodoo"}, "unknown GPU 'voodoo'"),
        ({"device": "H100"}, "H100 PCIe, H100 SXM"),
        ({"device": "voodoo", "sm_count": 3}, "unknown GPU"),
        ({"sm_count": 3}, "--threads-per-sm"),
    ],
)
def test_a_gpu_that_nobody_knows_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        chosen(**given)


@pytest.mark.toolchain
def test_the_program_predicts_for_a_saved_report(tmp_path: Any) -> None:
    path = tmp_path / "saved.json"
    run_program("scan", "kernels/large_array.cu", "--arch", "sm_90", "-o", str(path))
    done = run_program("scan", str(path), "--device", "H200")
    assert "decay_kept: 8000 B per thread, 2064 MiB" in done.out
    assert "reserves" not in run_program("scan", str(path)).out
    refused = run_program("scan", str(path), "--device", "voodoo")
    assert refused.code == 2

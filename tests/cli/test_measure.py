"""`measure` as a user meets it: a program under a profiler, files that it wrote, and the gate."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from lmemscope.tools import ncu_report
from tests.support.profiles import RECORDINGS, fake_ncu, written
from tests.support.program import DATA, Finished, run_program, start_program


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "report.json"
    path.write_bytes(gzip.decompress((DATA / "ncu" / "report.json.gz").read_bytes()))
    return str(path)


@pytest.fixture
def ncu(tmp_path: Path) -> str:
    return fake_ncu(tmp_path)


def recording(program: str) -> str:
    return str(RECORDINGS / program)


def imported(tmp_path: Path, report: str, program: str, *words: str) -> Finished:
    pages = written(tmp_path, program, "raw", "sass")
    return run_program("measure", *pages, "--source", report, *words)


@pytest.mark.parametrize("format_name", ["table", "markdown", "html"])
def test_each_format_shows_variables_with_their_counters(
    tmp_path: Path, report: str, format_name: str, snapshot: SnapshotAssertion
) -> None:
    done = imported(tmp_path, report, "histogram", "--format", format_name)
    assert (done.code, done.err) == (0, "")
    assert (done.out.partition("<body>")[2] or done.out) == snapshot
    for text in ("histogram_private", "bins", "dynamic-index", "1.07 GB", "27.4", "28.9"):
        assert text in done.out


def test_the_document_holds_each_access(tmp_path: Path, report: str) -> None:
    document = imported(tmp_path, report, "running_mean", "--format", "json").document
    assert document["schema"] == "lmemscope.measure/1"
    assert document["command"] == []
    ring = next(one for one in document["kernels"] if "ring" in one["name"])
    assert ring["joined"] == "instructions"
    first = ring["accesses"][0]
    assert (first["opcode"], first["executed"], first["sectors"]) == ("STL.128", 8, 128)
    assert (first["requests"], first["predicted"], first["object"]) == (32, 4, "window")
    assert ring["accesses"] == sorted(ring["accesses"], key=lambda one: one["pc"])


def test_a_program_is_run_as_it_is(tmp_path: Path, ncu: str, report: str) -> None:
    """Its input, output, errors and exit status are its own."""
    options = tmp_path / "options"
    done = start_program(
        *("measure", "--ncu", ncu, "--source", report, "--kernel", "mean_*<32>"),
        *("--launch-skip", "1", "--launch-count", "2", "-o", str(tmp_path / "m.json"), "--"),
        *("sh", "-c", 'echo "$1"; echo error >&2; exit 7', "sh", "--flag"),
        NCU_RECORDING=recording("running_mean"),
        NCU_OPTIONS=str(options),
    )
    assert (done.code, done.out, done.err) == (7, "--flag\n", "error\n")
    asked = dict(line.split(" ", 1) for line in options.read_text().splitlines() if " " in line)
    assert asked["--kernel-id"] == "::regex:mean_:^(2|3)$"
    assert asked["--kernel-name-base"] == "mangled"
    assert asked["--clock-control"] == "none"
    assert asked["--target-processes"] == "all"
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["exit_status"] == 7
    assert document["command"][0] == "sh"
    assert document["profiler"]["version"] == "2025.3.1.0"
    assert [one["joined"] for one in document["kernels"]] == ["instructions", "kernel"]


def test_a_program_that_does_not_end_is_ended(ncu: str, report: str) -> None:
    began = time.monotonic()
    done = start_program(
        *("measure", "--ncu", ncu, "--source", report, "--run-timeout", "1", "--"),
        *("sh", "-c", "sleep 60"),
        NCU_RECORDING=recording("running_mean"),
    )
    assert time.monotonic() - began < 40
    assert done.code == 0
    assert "ended after 1 s" in " ".join(done.out.split())
    assert "window" in done.out


@pytest.mark.parametrize(("status", "code"), [("0", 3), ("5", 5)])
def test_a_program_without_kernels_keeps_its_status(ncu: str, status: str, code: int) -> None:
    done = start_program("measure", "--ncu", ncu, "--", "sh", "-c", f"exit {status}")
    assert done.code == code
    assert f"ended with {status} and launched no kernel" in done.err


def test_a_driver_that_refuses_says_how_to_allow_it(ncu: str) -> None:
    done = start_program("measure", "--ncu", ncu, "--", "true", NCU_ERROR="ERR_NVGPUCTRPERM - no")
    assert done.code == 3
    assert "ERR_NVGPUCTRPERM" in done.err
    assert "NVreg_RestrictProfilingToAdminUsers" in done.err


def test_without_ncu_and_gpu_the_way_out_is_said(tmp_path: Path) -> None:
    done = run_program("measure", "--", "./app", PATH="/nowhere", CUDA_HOME=str(tmp_path))
    assert done.code == 3
    assert "ncu was not found, and there is no GPU here" in done.err
    assert "--import" in done.err


def test_without_any_reader_of_a_profile_the_ways_out_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.ncu-rep"
    path.write_bytes(b"NVR")
    monkeypatch.setattr(ncu_report, "is_there", lambda: False)
    done = run_program("measure", "--import", str(path), PATH="/nowhere", CUDA_HOME="/nowhere")
    assert done.code == 3
    assert "nothing here reads" in done.err
    assert "lmemscope[ncu]" in done.err
    assert "--page source" in " ".join(done.err.split())


def test_a_program_alone_names_no_variable(tmp_path: Path) -> None:
    done = run_program("measure", *written(tmp_path, "spill", "raw", "sass"))
    assert done.code == 0
    assert "nothing was analysed: name the kernels' source with --source" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "needs a program to run, or a profile"),
        (("--import", "x.csv", "--", "true"), "not both"),
        (("--ncu", "/nowhere/ncu", "--", "true"), "/nowhere/ncu is no program"),
        (("--import", "missing.csv"), "missing.csv cannot be read"),
        (("--import", "missing.ncu-rep"), "missing.ncu-rep cannot be read"),
        (("--import", "pyproject.toml"), "pyproject.toml is no export of Nsight Compute"),
        (("--launch-count", "0", "--", "true"), "0 is not in the range"),
    ],
)
def test_a_wrong_request_is_refused(words: tuple[str, ...], said: str) -> None:
    done = run_program("measure", *words)
    assert done.code in (2, 3)
    assert said in done.err
    assert done.out == ""


def test_kernels_that_nobody_launched_are_named(tmp_path: Path) -> None:
    done = run_program("measure", *written(tmp_path, "spill", "raw"), "--kernel", "nobody")
    assert done.code == 3
    assert "has no launch of a kernel that matches nobody" in done.err
    assert "thirty_doubles" in done.err


def test_a_page_without_instructions_is_joined_by_kernel(tmp_path: Path, report: str) -> None:
    done = run_program("measure", *written(tmp_path, "spill", "raw"), "--source", report)
    assert done.code == 0
    assert "Not joined by instruction: the profile has no source page" in done.out
    assert "register-spill" in done.out


def test_counters_that_are_missing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text('"ID","Kernel Name","CC","Device"\n"","","",""\n"0","k","9.0","0"\n')
    done = run_program("measure", "--import", str(path))
    assert done.code == 0
    assert "not counted" in done.out
    assert "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum" in done.out


def test_the_gate_fails_on_a_share_above_the_limit(tmp_path: Path, report: str) -> None:
    saved = str(tmp_path / "m.json")
    imported(tmp_path, report, "histogram", "-o", saved)
    limit = "--measured", saved, "--max-local-share"
    done = run_program("check", *limit, "5%")
    assert done.code == 1
    assert "97.4%" in done.out
    assert run_program("check", *limit, "99").code == 0
    answer = run_program("check", *limit, "5%", "--format", "json").document
    assert (answer["verdict"], answer["exit_code"]) == ("failed", 1)
    assert answer["failures"][0]["kernel"] == "histogram_private"
    assert run_program("check", *limit, "5%", "--kernel", "*shared").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--measured", "m.json"), "need each other"),
        (("--max-local-share", "5%"), "need each other"),
        (("--measured", "m.json", "--max-local-share", "101%"), "no percentage"),
        (("--measured", "missing.json", "--max-local-share", "5%"), "does not exist"),
        (("--measured", "pyproject.toml", "--max-local-share", "5%"), "no saved measurement"),
    ],
)
def test_the_gate_refuses_what_it_cannot_judge(words: tuple[str, ...], said: str) -> None:
    done = run_program("check", *words)
    assert done.code in (2, 3)
    assert said in done.err

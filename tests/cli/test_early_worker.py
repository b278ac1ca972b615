"""Which commands start a worker process: not those that are wrong, or that compile nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lmemscope.exporters.json import render_json
from tests.support.builders import facts, report_of

STARTED = 9
PROGRAM = """
import os
from lmemscope.tools import child
child.Child.__init__ = lambda *_, **__: os._exit(9)
from lmemscope.__main__ import main
main()
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["scan", "explain", "check"])
def test_a_saved_report_starts_no_worker(command: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(render_json(report_of(facts())))
    found = run(command, "-v" if command != "explain" else "--ptx", str(saved))
    assert found.returncode != STARTED
    assert "[internal]" not in found.stderr


@pytest.mark.parametrize("arguments", [["scan"], ["scan", "--jobs", "0"], ["scan", "missing.cu"]])
def test_what_names_no_input_starts_none(arguments: list[str]) -> None:
    assert run(*arguments).returncode in (2, 3)


@pytest.mark.parametrize(
    "options",
    [["--nonsense"], ["-arch=sm_90"], ["--jobs", "0"], ["--toolkit", "/"], ["-o", "report.txt.x"]],
)
def test_a_usage_error_starts_none_beside_a_file(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.cu").touch()
    found = run("scan", str(tmp_path / "a.cu"), *options)
    assert (found.returncode, found.stdout) == (2, "")


def test_an_input_starts_one(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.touch()
    assert run("scan", str(source)).returncode == STARTED
    assert run("explain", f"{source}::k*").returncode == STARTED

"""A worker is started before the command line is read, but not for what compiles nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lmemscope.exporters.json import render_json
from tests.support.builders import facts, report_of

STARTED = 9
PROGRAM = """
import os, sys
from lmemscope.running import launch
# Later the pool starts workers, too.
launch.start = lambda *_: os._exit(8 if "lmemscope.commands.group" in sys.modules else 9)
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


@pytest.mark.parametrize(
    "arguments", [["scan"], ["scan", "--jobs", "0"], ["scan", "--jobs", "0", "missing.cu"]]
)
def test_what_names_no_input_starts_none(arguments: list[str]) -> None:
    assert run(*arguments).returncode in (2, 3)


def test_an_input_starts_one_whatever_is_written(tmp_path: Path) -> None:
    source, database = tmp_path / "a.cu", tmp_path / "compile_commands.json"
    for path in (source, database):
        path.write_text("[]")
    assert run("scan", str(source), "-o", "report.json").returncode == STARTED
    assert run("explain", f"{source}::k*").returncode == STARTED
    assert run("scan", str(database)).returncode == STARTED

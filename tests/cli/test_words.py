"""The words of every command, from saved reports: whatever changes here is a change of words.

``python -m pytest -n0 tests/cli/test_words.py --snapshot-update`` renews them. What the words mean,
such as causes, figures and exit codes, is asserted elsewhere.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from lmemscope import __version__
from lmemscope.commands.group import LazyGroup, cli
from tests.support.program import ROOT, Finished, invoke

SAVED = "tests/fuzz/seeds/scan.report.json"
assert isinstance(cli, LazyGroup)
COMMANDS = cli.list_commands(None)  # type: ignore[arg-type]


def words(finished: Finished, *paths: Path) -> str:
    """What was said and the exit code, without what differs from machine to machine."""
    parts = [finished.out]
    parts += [f"--- standard error ---\n{finished.err}"] if finished.err else []
    text = "\n".join([*parts, f"--- exit code {finished.code} ---"])
    for path in paths:
        text = text.replace(str(path), "DIRECTORY")
    # The saved report is of an earlier version.
    return re.sub(rf"\b(?:{re.escape(__version__)}|0\.1\.0)\b", "VERSION", text)


@pytest.fixture
def changed(tmp_path: Path) -> str:
    """The saved report with one kernel gone and another with a larger frame."""
    document = json.loads((ROOT / SAVED).read_text())
    first, *_ = (k for unit in document["units"] for k in unit["kernels"] if k["findings"])
    first["stack_frame"] += 32
    document["units"][-1]["kernels"].pop()
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, snapshot: SnapshotAssertion) -> None:
    assert words(invoke(*command.split(), "--help")) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        "scan",
        "scan --all -v",
        "scan --kernel model_*",
        "scan --kernel nothing",
        "scan --top 1",
        "scan --cause const-table",
        "scan --format github",
        "report --format markdown",
        "explain",
        "explain --kernel reverse_rolled",
        "explain --kernel reverse_unrolled",
        "check",
        "check --format markdown",
        "check --forbid callee-save",
        "check --max-frame 16 --allow call-frame",
        "check --baseline tests/fuzz/seeds/scan.baseline.json",
    ],
)
def test_a_saved_report(arguments: str, snapshot: SnapshotAssertion) -> None:
    command, *options = arguments.split()
    assert words(invoke(command, SAVED, *options)) == snapshot


@pytest.mark.parametrize("options", ["", "--format markdown"])
def test_a_difference(
    options: str, changed: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert words(invoke("diff", SAVED, changed, *options.split()), tmp_path) == snapshot


def test_the_rules(snapshot: SnapshotAssertion) -> None:
    assert words(invoke("rules")) == snapshot


def test_a_rule(snapshot: SnapshotAssertion) -> None:
    """One of them: the others are docs/rules."""
    assert words(invoke("rules", "dynamic-index")) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        "scam",
        "k.cu",
        "scan",
        "scan --nonsense k.cu",
        "scan -maxrregcount=32 k.cu",
        "scan missing.cu",
        "scan .",
        "scan broken.json",
        "scan --arch sm_1 k.cu",
        "scan --format nothing k.cu",
        "scan --jobs 0 k.cu",
        "scan k.cu",
        "report k.cu -o no/where.md",
        "check --max-frame x k.cu",
        "diff k.cu",
        "dump k.cu",
        "rules LM999",
        "fix --apply k.cu",
    ],
)
def test_what_goes_wrong(arguments: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    directory = tmp_path / "here"
    (directory / "empty").mkdir(parents=True)
    if "k.cu" in arguments:
        (directory / "k.cu").write_text("__global__ void k() {}\n")
    (directory / "broken.json").write_text('{"schema": "lmemscope.report/1", "units": 3}')
    assert words(invoke(*arguments.split(), cwd=directory), directory) == snapshot

"""The examples for real projects: their configurations, workflows and baselines are accepted."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from lmemscope.commands.group import cli
from lmemscope.config import file
from lmemscope.gate import baseline
from tests.support.program import ROOT

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/lmemscope.toml"))
CONFIGURE = re.compile(r"\b(?:cmake|setup\.py|tar)\b")


def steps(example: Path) -> list[dict[str, Any]]:
    document = yaml.safe_load((example / "workflow.yml").read_text())
    # YAML 1.1 reads the key `on` as true.
    assert {"pull_request", "push"} <= set(document[True])
    (job,) = document["jobs"].values()
    return list(job["steps"])


def test_there_are_examples_of_six_projects() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_its_configuration_and_baseline_are_read(example: Path, tmp_path: Path) -> None:
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    read = file.read(str(tmp_path))
    assert read.path == str(tmp_path / "lmemscope.toml")
    assert read.values
    known = baseline.load(str(example / "baseline.json"))
    assert known.toolchain
    assert (example / "baseline.json").stat().st_size < 60_000


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_its_workflow_gives_the_action_inputs_that_it_has(example: Path) -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    *before, last = steps(example)
    assert last["uses"] == "./lmemscope"
    given = last["with"]
    assert set(given) <= set(inputs)
    command = cli.get_command(click.Context(cli), "check")
    assert command is not None
    options = {option for one in command.params for option in one.opts}
    words = shlex.split(given.get("arguments", ""))
    assert {word for word in words if word.startswith("--")} <= options
    assert any(CONFIGURE.search(step.get("run", "")) for step in before)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_its_page_is_short(example: Path) -> None:
    assert len((example / "README.md").read_text().split()) < 60

"""A server shows a line of a repository's file, wherever in the repository the program ran."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lmemscope.discover.checkouts import in_repository
from lmemscope.exporters import render
from tests.support.builders import judged
from tests.support.gate_reports import project
from tests.support.program import run_program
from tests.support.repositories import git


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """A directory of a repository with a source and its saved report."""
    directory = tmp_path / "gpu" / "src"
    directory.mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main")
    (directory / "a.cu").write_text("// line 1\n" * 9)
    report = render(project(a=(judged("k", "dynamic-index"),)), "json")
    assert isinstance(report, str)
    (directory / "saved.json").write_text(report)
    return directory


def test_every_format_for_a_server_names_files_from_the_top(below: Path) -> None:
    def shown(name: str) -> str:
        done = run_program("check", "saved.json", "--format", name, cwd=below)
        assert done.code == 1, done.err
        return done.out

    assert "::error file=gpu/src/a.cu,line=7," in shown("github")
    assert "`gpu/src/a.cu:7`" in shown("pr-comment")
    (run,) = json.loads(shown("sarif"))["runs"]
    places = re.findall(r'"uri": "([^"]*)"', json.dumps(run["results"]))
    assert set(places) == {"gpu/src/a.cu"}
    # A reader at the terminal is in the directory.
    assert "where:    a.cu:7" in shown("text")


def test_what_no_repository_has_keeps_its_name(
    below: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(below)
    assert in_repository("./a.cu") == "gpu/src/a.cu"
    assert in_repository(str(below / "a.cu[1]")) == "gpu/src/a.cu[1]"
    for name in ("-", "gone.cu", "__nv_nvrtc_builtin_header.h"):
        assert in_repository(name) == name
    outside = tmp_path_factory.mktemp("outside")
    (outside / "b.cu").write_text("")
    monkeypatch.chdir(outside)
    assert in_repository("b.cu") == "b.cu"

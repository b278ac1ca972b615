"""The hook that `.pre-commit-hooks.yaml` offers, called as pre-commit calls it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.program import ROOT, Finished, run_program

KERNEL = "__global__ void k{}(int *p) {{ int a[99]; for (int &x : a) x = *p; *p = a[p[1]]; }}\n"
DOCS = (ROOT / "docs" / "ci.md").read_text()


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    (found,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return dict(found)


def run(hook: dict[str, Any], directory: Path, *own: str) -> Finished:
    """The hook on all files of a directory that it asks for, with its own arguments or others."""
    names = sorted(path.name for path in directory.iterdir())
    wanted = [name for name in names if re.search(hook["files"], name)]
    program, *words = hook["entry"].split()
    assert program == "lmemscope"
    return run_program(*words, *(own or hook["args"]), *wanted, cwd=directory)


def test_the_documented_hook_is_the_one_that_is_offered(hook: dict[str, Any]) -> None:
    section = DOCS.partition("## pre-commit\n")[2].partition("\n## ")[0]
    first, _ = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    (documented,) = yaml.safe_load(first)["repos"][0]["hooks"]
    assert documented.pop("language") == "system"
    assert documented == {name: hook[name] for name in documented}
    assert hook["language"] == "python", "a rev of a clone is installed by pre-commit"


@pytest.mark.toolchain
def test_names_of_files_are_no_options(hook: dict[str, Any], tmp_path: Path) -> None:
    names = ("--nvcc-arg=-ccbin=evil.cu", "a b.cu")
    for number, name in enumerate(names):
        (tmp_path / name).write_text(KERNEL.format(number))
    (tmp_path / "notes.txt").touch()
    done = run(hook, tmp_path)
    assert done.code == 1, done.err
    for number, name in enumerate(names):
        assert f"new: k{number} ({name}, sm_" in done.out
    assert run(hook, tmp_path, "--max-frame", "512", "--").code == 0


@pytest.mark.toolchain
def test_a_changed_header_of_templates_alone(hook: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "t.cuh").write_text("template <int N> __global__ void t(int *p) { p[0] = N; }\n")
    assert run(hook, tmp_path).code == 3
    (narrower,) = re.findall(r"`files: (\S+)`", DOCS)
    assert not re.search(narrower, "t.cuh")
    assert re.search(narrower, "src/k.cu")

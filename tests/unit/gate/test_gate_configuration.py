"""What a configuration takes from the gate is said, and a change may not weaken it unseen."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lmemscope.config import file
from lmemscope.gate.configuration import taken_away, weaker
from tests.support.program import run_program

DIRTY = (
    "__global__ void k(float *o, int *p) { float a[64]; for (int j = 0; j < 64; j++) "
    "a[j] = o[j] * j; for (int j = 0; j < 64; j++) o[j + 64] = a[p[j] & 63]; }\n"
)
CLEAN = "__global__ void c(float *o) { o[threadIdx.x] = 1; }\n"
FORMATS = ("text", "github", "markdown", "json", "sarif", "junit")


def values(text: str) -> dict[str, Any]:
    """What a file of that text says."""
    own = Path("/project/lmemscope.toml")
    return dict(file.read("/project", lambda path: text.encode() if path == own else None).values)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("", 'exclude = ["a.cu"]'),
        ('exclude = ["a.cu"]', 'exclude = ["a.cu", "b.cu"]'),
        ("", 'include = ["b.cu"]'),
        ('include = ["a.cu", "b.cu"]', 'include = ["b.cu"]'),
        ("", 'kernels = ["c"]'),
        ("", 'defines = ["HIDE"]'),
        ("", 'arch = ["sm_80"]'),
        ('arch = ["sm_80", "sm_90"]', 'arch = ["sm_80"]'),
        ("", "maxrregcount = 255"),
        ("", 'std = "c++20"'),
        ("", 'nvcc-args = ["-Xptxas=-O1"]'),
        ("", 'ptxas-args = ["-O1"]'),
        ("", "use-fast-math = true"),
        ("", "build-database = false"),
        ("", "max-file-size = 1"),
        ("", 'uninstantiated = "note"'),
        ("", 'external = "note"'),
        ("", "tolerance = 4096"),
        ("", "toolchain-tolerance = 900"),
        ("", 'baseline = "other.json"'),
        ("", '[[limits]]\nforbid = ["register-spill"]'),
        ("", '[[limits]]\nallow = ["dynamic-index"]'),
        ("", "[[limits]]\nmax-frame = 100000"),
        ("[[limits]]\nmax-frame = 0", "[[limits]]\nmax-frame = 256"),
        ("[[limits]]\nmax-registers = 64", ""),
        ("[[limits]]\nmax-registers = 64", '[[limits]]\nkernel = "z"\nmax-registers = 64'),
        ('[[limits]]\nforbid = ["volatile", "alloca"]', '[[limits]]\nforbid = ["alloca"]'),
        ("", '[[allowances]]\ncause = "volatile"\nreason = "r"'),
        (
            '[[allowances]]\ncause = "volatile"\nbytes = 8\nreason = "r"',
            '[[allowances]]\ncause = "volatile"\nbytes = 16\nreason = "r"',
        ),
        (
            '[[allowances]]\ncause = "volatile"\nreason = "r"\nexpires = 2026-01-01',
            '[[allowances]]\ncause = "volatile"\nreason = "r"',
        ),
    ],
)
def test_what_accepts_more_is_weaker_and_said(before: str, now: str) -> None:
    assert weaker(values(before), values(now))
    key = re.split(r"[ =\]]", now.replace("[[", ""))[0] if now else ""
    if key:
        assert any(key in said for said in taken_away(values(now)))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ('exclude = ["a.cu"]', ""),
        ('include = ["b.cu"]', ""),
        ('include = ["b.cu"]', 'include = ["a.cu", "b.cu"]'),
        ('arch = ["sm_80"]', 'arch = ["sm_80", "sm_90"]'),
        ("tolerance = 16", "tolerance = 0"),
        ('external = "note"', 'external = "error"'),
        ("jobs = 2", "jobs = 1\ncache = false"),
        ("", "[[limits]]\nmax-registers = 64"),
        ("[[limits]]\nmax-frame = 64", "[[limits]]\nmax-frame = 0\nmax-stack = 128"),
        ('[[limits]]\nallow = ["volatile", "alloca"]', '[[limits]]\nallow = ["alloca"]'),
        ('[[allowances]]\ncause = "volatile"\nreason = "r"', ""),
        (
            '[[allowances]]\ncause = "volatile"\nreason = "r"',
            '[[allowances]]\ncause = "volatile"\nbytes = 8\nreason = "other"',
        ),
    ],
)
def test_what_accepts_no_more_is_not_weaker(before: str, now: str) -> None:
    assert weaker(values(before), values(now)) == ()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of two files, one of which fails the gate."""
    (tmp_path / "a.cu").write_text(DIRTY)
    (tmp_path / "b.cu").write_text(CLEAN)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(directory: Path, *arguments: str) -> None:
    named = ("-c", "user.name=n", "-c", "user.email=e@e")
    subprocess.run(["git", *named, *arguments], cwd=directory, check=True, capture_output=True)


def commit(directory: Path) -> None:
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "state")


@pytest.mark.toolchain
class TestPrograms:
    CHECK = ("check", ".", "--arch", "sm_90")

    def test_every_format_says_what_was_taken_away(self, project: Path) -> None:
        (project / "lmemscope.toml").write_text(
            'exclude = ["a.cu"]\ndefines = ["HIDE"]\n[[limits]]\nforbid = ["register-spill"]\n'
        )
        for name in FORMATS:
            done = run_program(*self.CHECK, "--format", name, cwd=project)
            assert done.code == 0, done.out
            text = done.out
            if name == "junit":
                text = " ".join(
                    case.get("message", "") for case in ElementTree.fromstring(text).iter("skipped")
                )
            for said in ("lmemscope.toml: ", "left out 1 file: a.cu", "HIDE", "register-spill"):
                assert said in text, (name, said)

    def test_a_change_does_not_pass_by_its_own_configuration(self, project: Path) -> None:
        (project / "pyproject.toml").write_text('[tool.lmemscope]\nexclude = ["a.cu"]\n')
        for more in ((), ("--allow-incomplete",)):
            done = run_program(*self.CHECK, "--changed", "HEAD", *more, cwd=project)
            assert done.code == 3, done.out
            assert "pyproject.toml is weaker than at HEAD: exclude" in done.out
        trusted = run_program(
            *self.CHECK, "--changed", "HEAD", "--trust-configuration", cwd=project
        )
        assert trusted.code == 0
        assert "pyproject.toml is weaker than at HEAD: exclude" in trusted.out
        commit(project)
        assert run_program(*self.CHECK, "--changed", "HEAD", cwd=project).code == 0

    def test_a_new_file_in_front_of_the_revisions_is_compared_with_that(
        self, project: Path
    ) -> None:
        (project / "pyproject.toml").write_text("[tool.lmemscope]\ntolerance = 0\n")
        commit(project)
        (project / "lmemscope.toml").write_text("tolerance = 4096\n")
        done = run_program(*self.CHECK, "--changed", "HEAD", cwd=project)
        assert "lmemscope.toml is weaker than at HEAD: tolerance = 4096, before 0" in done.out
        assert done.code == 1  # The finding fails it, whatever else is missing.

    def test_allowances_of_the_change_are_listed(self, project: Path) -> None:
        allow = '// lmemscope: allow dynamic-index 256 "measured"\n'
        (project / "a.cu").write_text(allow + DIRTY)
        done = run_program(*self.CHECK, "--changed", "HEAD", cwd=project)
        assert done.code == 0
        assert "a.cu:1: this allowance is new since HEAD" in done.out
        commit(project)
        (project / "a.cu").write_text("\n\n" + allow + DIRTY)
        again = run_program(*self.CHECK, "--changed", "HEAD", cwd=project)
        assert "is new since" not in again.out

    def test_what_a_build_defines_is_said(self, project: Path) -> None:
        (project / "a.cu").write_text("#ifndef HIDE\n" + DIRTY + "#endif\n" + CLEAN)
        commit(project)
        (project / "build").mkdir()
        database = project / "build" / "compile_commands.json"
        command = f"nvcc -DHIDE -arch=sm_90 -c {project}/a.cu -o a.o"
        entry = {"directory": str(project), "file": f"{project}/a.cu", "command": command}
        database.write_text(json.dumps([entry]))
        git(project, "add", "-A")
        for name in FORMATS:
            done = run_program("check", "build", "--changed", "HEAD", "--format", name, cwd=project)
            assert done.code == 0, done.out
            assert "the build defines HIDE" in done.out
            assert "is new since HEAD" in done.out

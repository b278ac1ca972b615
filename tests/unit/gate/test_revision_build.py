"""How another revision is compiled: its files in the places that today's build names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lmemscope.app.checkout import BuildCopy, Checkout, NewOptions, written_out
from lmemscope.discover.build_change import build_change
from lmemscope.discover.build_database import commands_of
from lmemscope.discover.nvcc_words import told_to_all
from lmemscope.discover.revision import read_revision
from lmemscope.model import CompileOptions
from tests.support.repositories import git, kernel


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two kernels and a script, all committed."""
    root = tmp_path / "project"
    (root / "ci").mkdir(parents=True)
    for name in ("a", "b"):
        (root / f"{name}.cu").write_text(kernel(name))
    (root / "ci" / "env.sh").write_text("export LANG=C\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "base")
    monkeypatch.chdir(root)
    return root


def database(directory: Path, *sources: Path) -> Path:
    """A build database in a directory, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "compile_commands.json"
    records = [
        {"directory": str(directory), "file": str(source), "command": f"nvcc -DX -c {source}"}
        for source in sources
    ]
    path.write_text(json.dumps(records))
    return path


def compiled(checkout: Checkout, build: str, *gone: Path) -> dict[str, list[str]]:
    """The words for each source of the revision, by name, as the checkout's copy has them."""
    (copy,) = BuildCopy(checkout, None, map(str, gone)).write([build])
    inside = copy if os.path.isabs(copy) else os.path.join(checkout.directory, copy)
    path = inside if inside.endswith(".json") else os.path.join(inside, "compile_commands.json")
    found = {}
    for record in commands_of(path):
        assert record["file"].startswith(checkout.tree)
        found[os.path.relpath(record["file"], checkout.tree)] = record["arguments"]
    return found


def test_a_source_that_has_moved_is_compiled_where_it_was(project: Path) -> None:
    (project / "src").mkdir()
    (project / "a.cu").rename(project / "src" / "moved.cu")
    with (project / "src" / "moved.cu").open("a") as stream:
        stream.write("// edited\n")
    (project / "new.cu").write_text("__global__ void unlike(float4 *f) { f->x = 0; }\n")
    git(project, "add", "-A")
    names = ("new.cu", "src/moved.cu", "b.cu")
    database(project / "build", *(project / name for name in names))
    with written_out("main") as checkout:
        found = compiled(checkout, "build", project / "a.cu")
        assert sorted(found) == ["a.cu", "b.cu"]
        assert found["a.cu"] == ["nvcc", "-DX", "-c", os.path.join(checkout.tree, "a.cu")]


@pytest.mark.parametrize("named", ["{}", "{}/compile_commands.json"])
def test_a_build_outside_of_the_repository_compiles_the_revision(project: Path, named: str) -> None:
    outside = project.parent / "build"
    database(outside, project / "a.cu", project / "b.cu")
    with written_out("main") as checkout:
        assert sorted(compiled(checkout, named.format(outside))) == ["a.cu", "b.cu"]


@pytest.mark.parametrize("target", ["b.cu", "../elsewhere.cu"])
def test_what_has_become_a_link_was_a_file(project: Path, target: str) -> None:
    (project.parent / "elsewhere.cu").write_text(kernel("elsewhere"))
    (project / "a.cu").unlink()
    (project / "a.cu").symlink_to(target)
    with written_out("main") as checkout:
        assert checkout.path(str(project / "a.cu")) == os.path.join(checkout.tree, "a.cu")


def test_a_directory_that_is_a_link_leads_where_it_led(project: Path) -> None:
    for name in ("old", "new"):
        (project / name).mkdir()
        (project / name / "k.cu").write_text(kernel(name))
    (project / "current").symlink_to("old")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "link")
    (project / "current").unlink()
    (project / "current").symlink_to("new")
    source = project / "current" / "k.cu"
    database(project / "build", source)
    with written_out("main") as checkout:
        assert Path(checkout.path(str(source))).read_text() == kernel("old")
        assert sorted(compiled(checkout, "build")) == ["current/k.cu"]


def test_new_words_of_the_environment_are_not_the_revisions(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "ci" / "env.sh").write_text(
        "export NVCC_APPEND_FLAGS='-lineinfo -maxrregcount=40'\n"
    )
    change = build_change(read_revision("main", ["."]))
    assert change is not None
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-O3 -maxrregcount=40 -maxrregcount 40")
    monkeypatch.delenv("NVCC_PREPEND_FLAGS", raising=False)
    new = NewOptions(change)
    with new.environment():
        assert os.environ["NVCC_APPEND_FLAGS"] == "-O3"
        assert "NVCC_PREPEND_FLAGS" not in os.environ
    assert os.environ["NVCC_APPEND_FLAGS"] == "-O3 -maxrregcount=40 -maxrregcount 40"
    assert new.words == {"NVCC_APPEND_FLAGS": ("-maxrregcount=40", "-maxrregcount", "40")}


@pytest.mark.parametrize(
    ("variable", "value", "cap", "words"),
    [
        ("NVCC_APPEND_FLAGS", "-maxrregcount=40", 40, ()),
        ("NVCC_PREPEND_FLAGS", "-Xptxas=-O1 -maxrregcount 24", 24, ("-O1",)),
        ("NVCC_APPEND_FLAGS", "", None, ()),
    ],
)
def test_ptxas_is_told_what_the_environment_gives_to_nvcc(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, cap: int | None, words: tuple[str]
) -> None:
    monkeypatch.setenv(variable, value)
    told = told_to_all(CompileOptions())
    assert told.maxrregcount == cap
    assert told.ptxas_args == words
    assert told.nvcc_args == ()


def test_a_header_that_the_build_makes_among_the_projects_own_is_there(project: Path) -> None:
    (project / ".gitignore").write_text("config.h\n/include/gen/\n/build/\n*.o\n")
    (project / "include").mkdir()
    (project / "include" / "own.h").write_text("#pragma once\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "a header")
    (project / "include" / "gen").mkdir()
    for name in ("config.h", "gen/made.h", "left.o", "new.h"):
        (project / "include" / name).write_text("#define N 200\n")
    (project / "build").mkdir()
    (project / "build" / "big.h").write_text("")
    with written_out("main") as checkout:
        found = {
            os.path.relpath(os.path.join(at, name), checkout.tree)
            for at, _, names in os.walk(checkout.tree)
            for name in names
            if name.endswith((".h", ".o"))
        }
    # What git does not ignore is new in the working tree, and no build makes it.
    assert found == {"include/own.h", "include/config.h", "include/gen/made.h"}


def test_nothing_is_written_where_a_link_of_the_revision_leads(
    project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".gitignore").write_text("config.h\n")
    (project / "include").symlink_to(outside)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "a link")
    (project / "include").unlink()
    (project / "include").mkdir()
    for name in ("own.h", "config.h"):
        (project / "include" / name).write_text("#define N 200\n")
    with written_out("main") as checkout:
        assert os.path.islink(os.path.join(checkout.tree, "include"))
    assert list(outside.iterdir()) == []

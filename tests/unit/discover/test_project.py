"""The sources around a file: the nearest of them, as far as they are looked through."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.discover import project


def test_of_a_large_project_the_nearest_sources_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("near/a.cu", "near/b.cu", "far/away/c.cu", "far/d.cu"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 100)
    own = str(tmp_path / "near" / "a.cu")
    known = [str(tmp_path / name) for name in ("near/a.cu", "near/b.cu", "far/d.cu")]
    assert project.project_sources(own) == (*known, str(tmp_path / "far/away/c.cu"))
    monkeypatch.setattr(project, "MOST_BYTES", 399)
    assert project.project_sources(own) == tuple(known)


def test_a_large_folder_that_is_no_checkout_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own/a.cu", "other/b.cu"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    own, other = str(tmp_path / "own" / "a.cu"), str(tmp_path / "other" / "b.cu")
    assert project.project_sources(own) == (own, other)
    monkeypatch.setattr(project, "LOOSE_FILES", 1)
    assert project.project_sources(own) == (own,)

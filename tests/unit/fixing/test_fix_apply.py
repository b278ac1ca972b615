"""What ``fix --apply`` writes, and what it leaves alone."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from lmemscope.errors import OutputError
from lmemscope.fixing.apply import write
from lmemscope.fixing.patch import diff
from lmemscope.model import Chosen, Edit, FileContent

TEXT = b"int a;\nint b;\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, beside another one."""
    for name in ("tree", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.cu").write_bytes(TEXT)
    monkeypatch.chdir(tmp_path / "tree")
    return tmp_path / "tree"


def chosen(*files: Path) -> Chosen:
    edits = tuple(Edit(os.path.abspath(one), 4, 5, b"x") for one in files)
    return Chosen((), edits, diff(edits, os.getcwd()))


def test_a_file_of_the_tree_is_written(tree: Path) -> None:
    assert write(chosen(tree / "a.cu"), ()) == ["a.cu"]
    assert (tree / "a.cu").read_bytes() == b"int x;\nint b;\n"


@pytest.mark.parametrize("in_checkout", [False, True])
@pytest.mark.parametrize("how", ["file", "directory", "chain"])
def test_a_link_that_leads_out_is_refused(tree: Path, how: str, in_checkout: bool) -> None:
    if in_checkout:
        (tree / ".git").mkdir()
    outside = tree.parent / "elsewhere"
    if how == "file":
        (tree / "link.cu").symlink_to(outside / "a.cu")
        path = tree / "link.cu"
    elif how == "directory":
        (tree / "sub").symlink_to(outside)
        path = tree / "sub" / "a.cu"
    else:
        (tree / "deep").mkdir()
        (tree / "deep" / "on").symlink_to("../../elsewhere")
        (tree / "deep" / "link.cu").symlink_to("on/a.cu")
        path = tree / "deep" / "link.cu"
    with pytest.raises(OutputError, match="out of the project"):
        write(chosen(tree / "a.cu", path), ())
    assert (outside / "a.cu").read_bytes() == TEXT
    assert (tree / "a.cu").read_bytes() == TEXT, "all or nothing"


def test_an_absolute_path_through_a_link_elsewhere_is_refused(
    tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tree / "sub").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "third").mkdir()
    monkeypatch.chdir(tmp_path / "third")
    with pytest.raises(OutputError, match="out of the project"):
        write(chosen(tree / "sub" / "a.cu"), ())


def test_a_link_within_the_tree_is_followed_and_stays(tree: Path) -> None:
    (tree / "real").mkdir()
    (tree / "real" / "b.cu").write_bytes(TEXT)
    (tree / "link.cu").symlink_to("real/b.cu")
    write(chosen(tree / "link.cu"), ())
    assert (tree / "link.cu").is_symlink()
    assert (tree / "real" / "b.cu").read_bytes() == b"int x;\nint b;\n"


@pytest.mark.parametrize("is_known", [False, True])
def test_what_has_changed_since_is_refused(tree: Path, is_known: bool) -> None:
    patch = chosen(tree / "a.cu")
    known = (FileContent("a.cu", hashlib.sha256(TEXT).hexdigest()),) if is_known else ()
    (tree / "a.cu").write_bytes(b"int c;\nint b;\n")
    with pytest.raises(OutputError, match="has changed"):
        write(patch, known)
    assert (tree / "a.cu").read_bytes() == b"int c;\nint b;\n"


def test_a_change_far_from_the_patch_is_refused_too(tree: Path) -> None:
    text = TEXT + b"// 1\n" * 40
    (tree / "a.cu").write_bytes(text)
    patch, known = chosen(tree / "a.cu"), FileContent("a.cu", hashlib.sha256(text).hexdigest())
    (tree / "a.cu").write_bytes(text[:-2] + b"2\n")
    with pytest.raises(OutputError, match="has changed"):
        write(patch, (known,))


def test_a_read_only_file_is_refused(tree: Path) -> None:
    (tree / "a.cu").chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        write(chosen(tree / "a.cu"), ())
    assert (tree / "a.cu").read_bytes() == TEXT

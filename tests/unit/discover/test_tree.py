"""Directory trees as deep as names allow."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lmemscope.discover.tree import walk
from lmemscope.discover.walk import Globs, discover

KERNEL = "__global__ void k(float *o) { o[0] = 1; }\n"


@pytest.fixture
def deep(tmp_path):
    """A tree of 1,100 levels with a source at each end; deeper than Python may call itself."""
    here = os.open(".", os.O_RDONLY)
    (tmp_path / "near.cu").write_text(KERNEL)
    try:
        os.chdir(tmp_path)
        for _ in range(1100):
            os.mkdir("d")
            os.chdir("d")
        Path("far.cu").write_text(KERNEL)
    finally:
        os.fchdir(here)
        os.close(here)
    yield tmp_path
    # Python's own removal calls itself for each level, too.
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


def test_a_deep_tree_is_walked_to_its_end(deep):
    found = discover([str(deep)], Globs(str(deep)))
    assert [os.path.basename(one.path) for one in found.inputs] == ["near.cu", "far.cu"]
    assert not found.errors


def test_a_directory_whose_name_is_too_long_to_open_is_said(deep):
    there = os.path.join(deep, *["d"] * 1100)
    name = "x" * 200
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(there)
        for _ in range(12):
            os.mkdir(name)
            os.chdir(name)
    finally:
        os.fchdir(here)
        os.close(here)
    failed = []
    assert sum(1 for _ in walk(str(deep), failed.append)) > 1100
    assert len(failed) == 1
    gaps = discover([str(deep)], Globs(str(deep))).gaps
    assert [gap.stage for gap in gaps] == ["walk"]


def test_names_that_are_taken_out_are_not_entered_and_links_are_not_followed(tmp_path):
    for name in ("a/b", "c/d"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "c" / "up").symlink_to(tmp_path, target_is_directory=True)
    seen = []
    for root, names, _ in walk(str(tmp_path)):
        seen.append(os.path.relpath(root, tmp_path))
        if "a" in names:
            names.remove("a")
    assert seen == [".", "c", "c/d"]

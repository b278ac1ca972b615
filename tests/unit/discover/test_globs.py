"""Globs over files: stars stay within a directory, two of them do not."""

from __future__ import annotations

import pytest

from lmemscope.discover.globs import matches


@pytest.mark.parametrize(
    ("glob", "path", "matched"),
    [
        ("src/*.cu", "src/a.cu", True),
        ("src/*.cu", "src/deep/a.cu", False),
        ("src/**", "src/deep/a.cu", True),
        ("src/**/*.cu", "src/a.cu", True),
        ("src/**/*.cu", "src/very/deep/a.cu", True),
        ("src/**/*.cu", "lib/src/a.cu", False),
        ("**/test/*", "a/b/test/x.cu", True),
        ("**/test/*", "test/x.cu", True),
        ("third_party/*", "third_party/lib/x.cu", False),
        # Without a slash it is a file's name, wherever it is.
        ("*.cuh", "include/deep/a.cuh", True),
        ("*.cuh", "a.cu", False),
        ("a?.cu", "src/ab.cu", True),
        ("src/a?b.cu", "src/a/b.cu", False),
        ("[ab].cu", "b.cu", True),
        ("[!ab].cu", "b.cu", False),
        ("[!ab].cu", "c.cu", True),
        ("src/[!a]x.cu", "src//x.cu", False),
        ("a[1].cu", "a1.cu", True),
        ("a[.cu", "a[.cu", True),
        ("(a|b)+.cu", "(a|b)+.cu", True),
        ("../other/*.cu", "../other/a.cu", True),
    ],
)
def test_stars_stay_within_a_directory(glob: str, path: str, matched: bool) -> None:
    assert matches(path, glob) is matched

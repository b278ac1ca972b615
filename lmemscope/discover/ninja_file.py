"""Read a build directory's ``build.ninja``, including the files that it names."""

from __future__ import annotations

import os

from lmemscope.discover.locate import NINJA
from lmemscope.files import read_beside
from lmemscope.formats.ninja_commands import NinjaFile


def read_ninja(build: str) -> NinjaFile:
    """Read ``build.ninja``.

    Raises:
        OSError, ValueError: a file cannot be read, or files or variables exceed any real build's.
    """
    file = NinjaFile(lambda name: _text(os.path.join(build, name)))
    file.add(_text(os.path.join(build, NINJA)))
    return file


def _text(path: str) -> str:
    return read_beside(path).decode("utf-8", "surrogateescape")

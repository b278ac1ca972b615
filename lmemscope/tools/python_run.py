"""Loaded by the processes that run a user's file on request: how it is run."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import sys
from typing import Any

RUN_NAME = "__lmemscope__"
"""What a script sees as ``__name__``: neither its main block nor an import of its package."""
_RELATIVE = re.compile(rb"^[ \t]*from[ \t]+\.", re.MULTILINE)


def run(path: str) -> dict[str, Any]:
    """The namespace of a file that was run; a package's module is imported as that module.

    Its own directory, or that of its outermost package, is put on the path only now: what it may
    import must not be found in front of what the caller imports.
    """
    packages = _packages(path)
    directory = os.path.dirname(path)
    if not packages:
        sys.path[:0] = [directory, os.getcwd()]
        return runpy.run_path(path, run_name=RUN_NAME)
    for _ in packages:
        directory = os.path.dirname(directory)
    sys.path[:0] = [directory, os.getcwd()]
    name = os.path.splitext(os.path.basename(path))[0]
    module = ".".join(packages if name == "__init__" else [*packages, name])
    return vars(importlib.import_module(module))


def _packages(path: str) -> list[str]:
    """Names of the packages around a file, the outermost first."""
    packages: list[str] = []
    directory = os.path.dirname(path)
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        packages.insert(0, os.path.basename(directory))
        directory = os.path.dirname(directory)
    if not packages:
        with open(path, "rb") as file:
            is_relative = _RELATIVE.search(file.read()) is not None
        packages = [os.path.basename(directory)] if is_relative else []
    return packages

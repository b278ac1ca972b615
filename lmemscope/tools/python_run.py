"""Run a user's file in a child process, on request."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import sys
import types
from typing import Any

RUN_NAME = "__lmemscope__"
"""The script's ``__name__``: runs neither its main block nor an import of its package."""
_RELATIVE = re.compile(rb"^[ \t]*from[ \t]+\.", re.MULTILINE)


def run(path: str) -> dict[str, Any]:
    """Run a file and return its namespace; with relative imports, import it in its package.

    The directories of the file and of its outermost package are added to the path only now, so that
    they cannot shadow modules that the caller imports.
    """
    directory = os.path.dirname(path)
    packages, top = _packages(directory)
    with open(path, "rb") as file:
        is_relative = _RELATIVE.search(file.read()) is not None
    if not is_relative:
        sys.path[:0] = [directory, *([top] if packages else []), os.getcwd()]
        return runpy.run_path(path, run_name=RUN_NAME)
    if not packages:
        packages, top = [os.path.basename(directory)], os.path.dirname(directory)
    sys.path[:0] = [top, os.getcwd()]
    name = os.path.splitext(os.path.basename(path))[0]
    module = ".".join(packages if name == "__init__" else [*packages, name])
    try:
        return vars(importlib.import_module(module))
    except ImportError:
        # The package may import more than this module needs, and more than is installed.
        _make_bare(packages, top)
        return vars(importlib.import_module(module))


def _make_bare(packages: list[str], top: str) -> None:
    """Create empty packages, in which modules are found without running package code."""
    for name in [name for name in sys.modules if name.partition(".")[0] == packages[0]]:
        del sys.modules[name]
    for count in range(1, len(packages) + 1):
        bare = types.ModuleType(".".join(packages[:count]))
        bare.__path__ = [os.path.join(top, *packages[:count])]
        sys.modules[bare.__name__] = bare


def _packages(directory: str) -> tuple[list[str], str]:
    """Names of the packages around a directory, outermost first, and the directory above them."""
    packages: list[str] = []
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        packages.insert(0, os.path.basename(directory))
        directory = os.path.dirname(directory)
    return packages, directory

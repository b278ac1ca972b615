"""Load CuPy's NVRTC binding without importing the rest of CuPy.

The binding loads NVRTC in its first call. For that it imports one submodule of the package
``cupy``, the private ``_environment``, for logging. The package itself imports NumPy and all of
CuPy's arrays, which takes nine tenths of the time of loading NVRTC, and longer than a small
compilation.

Therefore the first call is made while ``cupy`` is a package with only that submodule. This happens
inside an import of ``cupy`` that then fails on purpose, so that later imports get the real package,
and other threads that import it meanwhile wait for the import system's lock. If a version of CuPy
needs more than that submodule, the first call fails, and the next one imports the real package.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_PACKAGE = "cupy"
_SUBMODULE = "cupy._environment"


def binding() -> Any:
    """The module ``cupy_backends.cuda.libs.nvrtc``, with its library loaded if that is cheap.

    Raises:
        ImportError: no CuPy for this interpreter is installed.
    """
    from cupy_backends.cuda.libs import nvrtc

    if _PACKAGE not in sys.modules and _SUBMODULE not in sys.modules:
        finder = _SubmoduleAlone(nvrtc)
        sys.meta_path.insert(0, finder)
        try:
            # Any failure other than our deliberate one recurs in the caller's first call.
            with contextlib.suppress(_Done, ImportError, AttributeError, OSError, RuntimeError):
                importlib.import_module(_PACKAGE)
        finally:
            sys.meta_path.remove(finder)
    return nvrtc


class _Done(Exception):  # noqa: N818 - no error: it ends the import that served its purpose
    """The library is loaded; ``cupy`` has not been imported."""


class _SubmoduleAlone(MetaPathFinder, Loader):
    """Finds ``cupy`` for the thread that created it: the package's location without its code."""

    def __init__(self, nvrtc: Any) -> None:
        self._nvrtc = nvrtc
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _PACKAGE or threading.get_ident() != self._thread:
            return None
        real = PathFinder.find_spec(fullname, path, target)
        if real is None or real.submodule_search_locations is None:
            return None
        alone = ModuleSpec(fullname, self, is_package=True)
        alone.submodule_search_locations = real.submodule_search_locations
        return alone

    def exec_module(self, module: ModuleType) -> None:
        # CPython's fast path gives a waiting thread the module that it saw before it waited: this
        # one.
        module.__dict__["__getattr__"] = self._attribute
        importlib.import_module(_SUBMODULE)
        self._nvrtc.getVersion()
        raise _Done

    def _attribute(self, name: str) -> Any:
        if threading.get_ident() == self._thread:
            raise AttributeError(f"{_PACKAGE}.{name} is not loaded to load NVRTC")
        return getattr(importlib.import_module(_PACKAGE), name)

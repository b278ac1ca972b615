"""CuPy's NVRTC binding without CuPy's arrays.

The binding loads NVRTC in its first call, and on the way asks the package ``cupy`` for one
submodule, its private ``_environment``, to log through. The package itself imports NumPy and all
of CuPy's arrays: nine tenths of what loading NVRTC takes, and more than a small compilation.

So the first call is made while ``cupy`` is a package of that submodule alone. This happens inside
an import of ``cupy`` that then fails, so that whoever imports it later gets the real package, and
another thread that imports it meanwhile waits for the import system's own lock. A CuPy that wants
more than that submodule refuses the first call, and the next one imports the package as CuPy means
it.
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
    """The module ``cupy_backends.cuda.libs.nvrtc``, its library loaded where that is cheap.

    Raises:
        ImportError: there is no CuPy that fits this interpreter.
    """
    from cupy_backends.cuda.libs import nvrtc

    if _PACKAGE not in sys.modules and _SUBMODULE not in sys.modules:
        finder = _SubmoduleAlone(nvrtc)
        sys.meta_path.insert(0, finder)
        try:
            # What fails but for our own end of the import fails again in the caller's first call.
            with contextlib.suppress(_Done, ImportError, AttributeError, OSError, RuntimeError):
                importlib.import_module(_PACKAGE)
        finally:
            sys.meta_path.remove(finder)
    return nvrtc


class _Done(Exception):  # noqa: N818 - no error: it ends the import that served its purpose
    """The library is loaded; ``cupy`` has not been imported."""


class _SubmoduleAlone(MetaPathFinder, Loader):
    """Finds ``cupy`` for the thread that made it: the package's place, and none of its code."""

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
        # CPython's fast path gives a thread that waited what it saw before it waited: this module.
        module.__dict__["__getattr__"] = self._attribute
        importlib.import_module(_SUBMODULE)
        self._nvrtc.getVersion()
        raise _Done

    def _attribute(self, name: str) -> Any:
        if threading.get_ident() == self._thread:
            raise AttributeError(f"{_PACKAGE}.{name} is not loaded to load NVRTC")
        return getattr(importlib.import_module(_PACKAGE), name)

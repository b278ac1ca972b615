"""Locate a build log's source files on this machine, and find which one defines a kernel.

The log of a parallel build names files and kernels, but not which belongs to which. If the files
exist here, the one that defines the kernel is suggested for `explain`; no figure depends on this.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from lmemscope.files import read_beside
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import base_name
from lmemscope.sources.cuda import read_cuda_source

_LARGEST = 4 << 20
_MOST = 1000


class LogSources:
    """The files that a log names, each looked up once.

    Args:
        named: as the log names them.
        log: path of the log; relative names may start from its directory or from the parent of
            that.
    """

    def __init__(self, named: Sequence[str], log: str) -> None:
        beside = os.path.dirname(os.path.abspath(log))
        self._bases = tuple(dict.fromkeys((os.getcwd(), beside, os.path.dirname(beside))))
        self._named = named
        self._paths: dict[str, str | None] = {}
        self._defining: Mapping[str, set[str]] | None = None

    def here(self, source: str) -> str:
        """The local path of a file that the log names; the log's own spelling if it is not here."""
        found = self._found(source)
        if found is None:
            return source
        relative = os.path.relpath(found)
        return found if relative.startswith("..") else relative

    def defining(self, kernel: str) -> str | None:
        """Path of the only file that defines a kernel, or None.

        Args:
            kernel: mangled name.
        """
        if self._defining is None:
            self._defining = self._definitions()
        files = self._defining.get(base_name(short_name(demangle(kernel))), set())
        return self.here(next(iter(files))) if len(files) == 1 else None

    def _definitions(self) -> Mapping[str, set[str]]:
        defining: dict[str, set[str]] = defaultdict(set)
        for source in self._named[:_MOST]:
            found = self._found(source)
            text = "" if found is None else _text(found)
            for kernel in read_cuda_source(text).kernels if "__global__" in text else ():
                defining[base_name(kernel.name)].add(source)
        return defining

    def _found(self, source: str) -> str | None:
        if source not in self._paths:
            places = (os.path.join(base, source) for base in self._bases)
            self._paths[source] = next((p for p in places if os.path.isfile(p)), None)
        return self._paths[source]


def _text(path: str) -> str:
    try:
        if os.path.getsize(path) > _LARGEST:
            return ""
        return read_beside(path).decode("utf-8", "replace")
    except OSError:
        return ""

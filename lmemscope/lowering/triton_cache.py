"""What lies beside a cubin in a Triton cache: PTX, and metadata that says how it was compiled.

Layout, as measured with Triton 3.9: a directory for each compilation with ``NAME.cubin``,
``NAME.ptx``, ``NAME.json`` (the metadata) and intermediate forms.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from lmemscope.files import read_beside, read_input

_SHOWN = ("num_warps", "num_stages", "num_ctas", "maxnreg", "triton_version")


@dataclass(frozen=True, slots=True)
class TritonFiles:
    """Attributes: ``options`` as ``name=value`` of the metadata; ``ptx`` as it was assembled."""

    options: tuple[str, ...]
    ptx: bytes | None


def beside(cubin: str) -> TritonFiles | None:
    """The files of a Triton cache beside a cubin, or None where it lies in none."""
    stem = os.path.splitext(cubin)[0]
    try:
        metadata = json.loads(read_beside(f"{stem}.json"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(metadata, dict) or "num_warps" not in metadata:
        return None
    options = tuple(f"{name}={metadata[name]}" for name in _SHOWN if metadata.get(name) is not None)
    try:
        return TritonFiles(options, read_input(f"{stem}.ptx"))
    except OSError:
        return TritonFiles(options, None)

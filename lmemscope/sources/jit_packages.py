"""Recognise Python packages that compile kernels (Triton, Warp), and suggest what to scan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

PACKAGES = {
    "triton": "Triton",
    "warp": "Warp",
    "taichi": "Taichi",
    "tilelang": "TileLang",
    "cutlass": "CuTe DSL",
    "helion": "Helion",
    "tvm": "TVM",
}
"""Packages that compile kernels themselves, by import name."""
_CACHES = {
    "Triton": "scan its cache (~/.triton/cache, or TRITON_CACHE_DIR) after a run, or after "
    "triton.compile with a GPUTarget, which needs no GPU",
    "Helion": "scan Triton's cache after a run (~/.triton/cache, or TRITON_CACHE_DIR)",
    "Warp": "scan its cache after a run (~/.cache/warp, or wp.config.kernel_cache_dir), or what "
    "wp.compile_aot_module writes without a GPU",
    "CuTe DSL": "scan the directory CUTE_DSL_DUMP_DIR after a run with CUTE_DSL_KEEP=ptx,cubin",
    "cuTile": "scan a cubin that cuda.tile.compilation.export_kernel writes",
    "Pallas": "scan the directory of a run with XLA_FLAGS=--xla_dump_to=DIR",
    "TileLang": "scan its cache after a run (~/.tilelang/cache, or TILELANG_CACHE_DIR)",
}
"""What to scan instead of the source, by package."""
_IMPORT = re.compile(
    rf"(?:^|[;\"])[ \t]*(?:from[ \t]+|import[ \t]+(?:[\w. \t,]*,[ \t]*)?)({'|'.join(PACKAGES)})\b"
    r"|\b(pallas)_call\b|\b(cuda)(?:\.|[ \t]+import[ \t]+)tile\b".encode(),
)
_STEMS = tuple(one.encode() for one in (*PACKAGES, "pallas_call", "tile"))
"""Every import contains one of these: searching bytes for them takes a tenth of the time."""
_OF_WORDS = {"pallas": "Pallas", "cuda": "cuTile"}
_MAKING = {
    "triton": re.compile(rb"(?<!torch\.)\bjit\b"),
    "warp": re.compile(rb"\bkernel\b"),
}
"""What a file that makes kernels contains besides the import, for packages that are also imported
to launch kernels or for host functions."""


def compiler_of(text: bytes) -> str | None:
    """The package that compiles a Python file's kernels, by its imports; None for most files."""
    for imported in chain.from_iterable(map(_IMPORT.finditer, _lines_with_stems(text))):
        word = next(filter(None, imported.groups())).decode()
        if word not in _MAKING or _MAKING[word].search(text) is not None:
            return PACKAGES.get(word) or _OF_WORDS[word]
    return None


def _lines_with_stems(text: bytes) -> list[bytes]:
    lines: dict[int, bytes] = {}
    for stem in _STEMS:
        at = text.find(stem)
        while at >= 0:
            start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            end = end if end >= 0 else len(text)
            lines[start] = text[start:end]
            at = text.find(stem, end)
    return [lines[start] for start in sorted(lines)]


def instead(languages: Iterable[str]) -> str:
    """What to scan instead of sources, to follow a sentence that says they are not read."""
    found = dict.fromkeys(one for one in languages if one in _CACHES)
    return "".join(f"; for {language}, {_CACHES[language]}" for language in found)

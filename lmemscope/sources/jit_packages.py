"""Recognise Python packages that compile kernels (Triton, Warp), and suggest what to scan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from lmemscope.sources.python_words import words_in

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
SIGNS = frozenset(one.encode() for one in (*PACKAGES, "pallas_call", "tile"))
"""Words of which each import has one."""
_OF_WORDS = {"pallas": "Pallas", "cuda": "cuTile"}
_MAKING = {
    "triton": re.compile(rb"(?<!torch\.)\bjit\b"),
    "warp": re.compile(rb"\bkernel\b"),
}
"""What a file that makes kernels contains besides the import, for packages that are also imported
to launch kernels or for host functions."""


def compiler_of(text: bytes, words: frozenset[bytes] | None = None) -> str | None:
    """The package that compiles a Python file's kernels, by its imports; None for most files.

    Args:
        text: of the file.
        words: those of `SIGNS` that it has, among others, if they are known.
    """
    named = SIGNS & words if words is not None else words_in(text, SIGNS)
    for imported in chain.from_iterable(map(_IMPORT.finditer, _lines_with(named, text))):
        word = next(filter(None, imported.groups())).decode()
        if word not in _MAKING or _MAKING[word].search(text) is not None:
            return PACKAGES.get(word) or _OF_WORDS[word]
    return None


def _lines_with(words: Iterable[bytes], text: bytes) -> list[bytes]:
    lines: dict[int, bytes] = {}
    for word in words:
        at = text.find(word)
        while at >= 0:
            start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            end = end if end >= 0 else len(text)
            lines[start] = text[start:end]
            at = text.find(word, end)
    return [lines[start] for start in sorted(lines)]


def instead(languages: Iterable[str]) -> str:
    """What to scan instead of sources, to follow a sentence that says they are not read."""
    found = dict.fromkeys(one for one in languages if one in _CACHES)
    return "".join(f"; for {language}, {_CACHES[language]}" for language in found)

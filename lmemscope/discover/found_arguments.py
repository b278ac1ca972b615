"""Filter the tool arguments in a configuration file found in the scanned tree.

Like a build database, it comes with the tree and is untrusted: only arguments that cannot run a
program, load a library or write a file are passed on (`lmemscope.discover.option_tables`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from lmemscope.discover.build_flags import read_flags
from lmemscope.errors import InputError
from lmemscope.sources.tool_words import nvrtc_words, ptxas_words

Admitted = tuple[tuple[str, ...], tuple[str, ...]]
"""The arguments that are passed on, and the others, as shown to the user."""


def admitted(name: str, words: Sequence[str]) -> Admitted:
    """Split arguments into those that are harmless and the others.

    Args:
        name: of the option: ``nvcc_args``, ``nvrtc_args`` or ``ptxas_args``.
        words: as in the file.
    """
    return _READERS[name](words)


def _for_nvcc(words: Sequence[str]) -> Admitted:
    try:
        read = read_flags(words, os.getcwd())
    except InputError as error:
        return (), (error.message,)
    meant = read.options
    kept = (
        *meant.words("-"),
        *([f"-maxrregcount={meant.maxrregcount}"] if meant.maxrregcount is not None else []),
        *meant.nvcc_args,
        *(f"-Xptxas={word}" for word in meant.ptxas_args),
    )
    # Other keys determine which files are compiled, and for which architectures.
    others = (*(f"-arch={arch}" for arch in read.archs), *read.linked, *read.inputs)
    return kept, (*read.refused, *read.unknown, *others)


def _for_ptxas(words: Sequence[str]) -> Admitted:
    read = ptxas_words(words)
    return read.kept, (*read.refused, *read.unknown)


_READERS: dict[str, Callable[[Sequence[str]], Admitted]] = {
    "nvcc_args": _for_nvcc,
    "nvrtc_args": nvrtc_words,
    "ptxas_args": _for_ptxas,
}

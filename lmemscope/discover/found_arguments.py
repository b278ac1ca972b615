"""Arguments to tools in a configuration file that is found beside the sources.

They come with the tree, like a build database, and are held to the same lists: what is passed on
can run no program, load no library and write no file (`lmemscope.discover.option_tables`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from lmemscope.discover.build_flags import read_flags
from lmemscope.errors import InputError
from lmemscope.sources.tool_words import nvrtc_words, ptxas_words

Admitted = tuple[tuple[str, ...], tuple[str, ...]]
"""Arguments that are passed on, and those that are not, as they are named to the user."""


def admitted(name: str, words: Sequence[str]) -> Admitted:
    """The arguments that can do no harm, and the others.

    Args:
        name: of the option that holds them: ``nvcc_args``, ``nvrtc_args`` or ``ptxas_args``.
        words: as the file has them.
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
    # Which files are compiled, and for what, other keys say.
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

"""Translate the user's nvcc arguments for the tools that run in nvcc's place.

nvcc is a driver: it passes ``-Xptxas`` and ``-maxrregcount`` to ptxas, and with ``-rdc=true`` ptxas
keeps functions that it would otherwise drop. Here nvcc stops at PTX, ptxas runs separately, and
NVRTC replaces both when it can, so each needs these arguments. nvcc gets its arguments unchanged,
and reads its environment variables itself.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from lmemscope.discover.build_flags import read_flags
from lmemscope.model import CompileOptions
from lmemscope.sources.arguments import ENVIRONMENT_ARGUMENTS, words_of

_FOR_PTXAS = "-Xptxas "


def told_to_all(options: CompileOptions) -> CompileOptions:
    """The options, with what nvcc's arguments and environment variables mean for ptxas and NVRTC.

    Options that the user gives to these tools directly come last, and so take precedence.

    Raises:
        InputError: an argument names an option file that cannot be read.
    """
    before, after = map(words_of, map(os.environ.get, ENVIRONMENT_ARGUMENTS))
    given = (*before, *options.nvcc_args, *after)
    if not given:
        return options
    said = read_flags(given, os.getcwd(), trust=True)
    meant = said.options
    # An unlisted ptxas option is up to the user, and for ptxas to reject.
    unknown = (
        word.removeprefix(_FOR_PTXAS) for word in said.unknown if word.startswith(_FOR_PTXAS)
    )
    return replace(
        options,
        maxrregcount=options.maxrregcount or meant.maxrregcount,
        nvrtc_args=(
            *meant.words(),
            *meant.nvrtc_args,
            *options.nvrtc_args,
        ),
        ptxas_args=(*meant.ptxas_args, *unknown, *options.ptxas_args),
    )

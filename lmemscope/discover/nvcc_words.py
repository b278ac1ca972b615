"""What the user's own arguments for nvcc mean for the other tools.

nvcc is a driver: it hands ``-Xptxas`` and ``-maxrregcount`` to ptxas, and with ``-rdc=true`` ptxas
keeps functions that it would drop. Here nvcc stops at PTX, ptxas is run for itself, and NVRTC takes
the place of both where it can, so each has to be told. nvcc gets the arguments as they are, and
reads its variables of the environment itself.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from lmemscope.discover.build_flags import read_flags
from lmemscope.model import CompileOptions
from lmemscope.sources.arguments import ENVIRONMENT_ARGUMENTS, words_of

_FOR_PTXAS = "-Xptxas "


def told_to_all(options: CompileOptions) -> CompileOptions:
    """The options, with what those for nvcc, and its variables, say to ptxas and to NVRTC.

    What the user gives to these tools by their own options comes last, which is what they heed.

    Raises:
        InputError: an argument names a file of arguments that cannot be read.
    """
    before, after = map(words_of, map(os.environ.get, ENVIRONMENT_ARGUMENTS))
    given = (*before, *options.nvcc_args, *after)
    if not given:
        return options
    said = read_flags(given, os.getcwd(), trust=True)
    meant = said.options
    # An option of ptxas that is in no table is the user's business, and ptxas's to refuse.
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

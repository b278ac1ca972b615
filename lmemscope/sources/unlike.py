"""Decide whether NVRTC reads a compilation's texts differently from nvcc.

If so, nvcc must compile it. This is checked when a unit is compiled; for a stored result it was
decided then.
"""

from __future__ import annotations

import re

from lmemscope.files import cached_while_unchanged, read_input
from lmemscope.model import CompileOptions
from lmemscope.sources.arguments import environment_arguments, named
from lmemscope.sources.directives import SPLICE, readings
from lmemscope.sources.host_options import unshared
from lmemscope.sources.includes import ARCH_LIST, Closure, codes_of, names_arch_list
from lmemscope.sources.macro_use import code
from lmemscope.sources.unlike_macros import differing
from lmemscope.sources.unlike_names import NameUse, name_use, named_otherwise
from lmemscope.sources.unlike_nvcc import READ_TWICE, read_otherwise

_ONCE = re.compile(rb"\b(?:once|import)\b")


def asked_of_nvcc(read: Closure, options: CompileOptions) -> str | None:
    """What in a compilation nvcc may treat differently from NVRTC, or None.

    That is a macro in a text that may differ, or anything else in the texts or options that NVRTC
    reads differently.

    Args:
        read: what the compilation reads.
        options: with which `read` was found.
    """
    arguments = named(options)
    defines = arguments.definitions()
    given = b"\n".join(b"#define " + one.replace(b"=", b" ", 1) for one in defines)
    is_repeated = len(set(read.digests)) < len(read.digests)
    other_host = any("ccbin" in word or "compiler-bindir" in word for word in options.nvcc_args)
    virtual = next((word for word in options.nvcc_args if word.startswith("-arch=")), None)
    # NVRTC compiles for one architecture, and its list contains only that.
    has_list = any(one.startswith(ARCH_LIST.encode()) for one in defines)
    # One reason is enough.
    return (
        read_otherwise(given)
        or next(filter(None, map(_otherwise, read.texts)), None)
        or (READ_TWICE if is_repeated and any(map(_is_read_once, read.texts)) else None)
        or differing(read.uses, lambda: codes_of(read.texts), other_host=other_host)
        or named_otherwise((name_use(code(given)), *map(_name_use, read.texts)), read.uses)
        or virtual
        or environment_arguments()
        or unshared(arguments.host, options.std)
        or (ARCH_LIST if has_list and names_arch_list(read.texts) else None)
    )


@cached_while_unchanged(16384)
def _name_use(path: str) -> NameUse:
    return name_use(code(read_input(path)))


@cached_while_unchanged(16384)
def _is_read_once(path: str) -> bool:
    """Whether a file may restrict a header to be read once: ``#pragma once`` or ``#import``."""
    return _ONCE.search(SPLICE.sub(b"", read_input(path))) is not None


@cached_while_unchanged(16384)
def _otherwise(path: str) -> str | None:
    """Other parts of a file that NVRTC reads differently from nvcc; slow."""
    answers = map(read_otherwise, readings(read_input(path)))
    return next((answer for answer in answers if answer is not None), None)

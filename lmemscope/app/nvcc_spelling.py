"""Suggest lmemscope's spelling for an nvcc option, which click would read as separate letters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_ARCH = re.compile(r"\b(?:sm|compute)_(\d+[af]?)\b")
_PASSED_ON = {"Xptxas": "--ptxas-arg", "ptxas-options": "--ptxas-arg"}
_UNNEEDED = {
    "lineinfo": "line information is always compiled in",
    "generate-line-info": "line information is always compiled in",
    "c": "nothing is linked",
    "compile": "nothing is linked",
    "x": "the ending of a file name determines its kind",
}
_OPTIMISED = re.compile(r"O\d?")
"""nvcc options that request what lmemscope always does."""


def suggestion(unknown: str, arguments: Sequence[str]) -> str | None:
    """What to type instead of an nvcc option that no command has; None if nvcc has no such option.

    Args:
        unknown: the option as click names it: ``-a`` for ``-arch=sm_86``.
        arguments: the command line.
    """
    for number, word in enumerate(arguments):
        if word.startswith(unknown):
            following = arguments[number + 1 : number + 2]
            return _instead(word, following[0] if following else "")
    return None


def _instead(word: str, following: str) -> str | None:
    spelled, separator, given = word.partition("=")
    name = spelled.lstrip("-").replace("_", "-")
    value = given if separator else following
    if name in ("arch", "gpu-architecture", "gencode", "generate-code", "code", "gpu-code"):
        if value in ("native", "all-major"):
            return f"use --arch {value}"
        archs = dict.fromkeys(f"sm_{number}" for number in _ARCH.findall(value))
        chosen = " ".join(f"--arch {arch}" for arch in archs)
        return f"use {chosen}" if chosen else "use --arch sm_90, or another architecture"
    if name in ("std", "maxrregcount"):
        return f"use --{name} {shlex.quote(value)}" if value else f"use --{name}"
    if name == "use-fast-math":
        return "use --use-fast-math"
    if name in _UNNEEDED:
        return f"leave {spelled} out: {_UNNEEDED[name]}"
    if _OPTIMISED.fullmatch(name):
        return f"leave {word} out: it is for host code, and device code is always optimised"
    if name in _PASSED_ON:
        return f"use {_PASSED_ON[name]}={shlex.quote(value)}"
    if word.startswith("--") or (len(name) == 1 and name not in "Gg"):
        return None
    return f"pass an option on to nvcc with --nvcc-arg={shlex.quote(word)}"

"""Suggest follow-up commands with the same inputs and options: `explain` and `baseline`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lmemscope.config.options import OPTIONS
from lmemscope.config.settings import Settings
from lmemscope.discover.locate import is_build, is_saved
from lmemscope.exporters.formats import Explaining

_TOLD = frozenset({"include", "exclude", "kernels"})
"""Options that select kernels; the suggested command names its kernel and file instead."""


def explaining(paths: Sequence[str], settings: Settings, typed: Mapping[str, Any]) -> Explaining:
    """How to call ``explain`` for a kernel of the current command.

    Args:
        paths: the command's paths.
        settings: its settings.
        typed: the options given on its command line, by name.
    """
    options = _repeated(typed)

    def command(path: str, pattern: str) -> str | None:
        if "-" in paths:
            return None
        saved = [one for one in paths if is_saved(one)]
        builds = [one for one in paths if is_build(one)]
        if path in paths or not (saved or builds):
            words = [f"{path}::{pattern}", *options]
        elif len(paths) > 1:
            # Which of the paths a kernel comes from is not recorded.
            return None
        elif saved:
            words = [f"{saved[0]}::{pattern}"]
        else:
            # The build determines how the file is compiled; the file alone may not lead to its
            # build.
            name = os.path.relpath(os.path.abspath(path), settings.root).replace(os.sep, "/")
            words = [f"{builds[0]}::{pattern}", "--include", name.replace("[", "[[]"), *options]
        return f"lmemscope explain {' '.join(map(shlex.quote, words))}"

    return command


def writing_baseline(
    paths: Sequence[str], archs: Sequence[str], target: str | None, typed: Mapping[str, Any]
) -> str:
    """How to call ``baseline`` for the inputs of the current command.

    Args:
        paths: the inputs.
        archs: the architectures to write it for.
        target: the file, unless it is the default.
        typed: the options given on its command line, by name.
    """
    given = {name: value for name, value in typed.items() if name != "arch"}
    words = [
        "lmemscope",
        "baseline",
        *paths,
        *(word for arch in archs for word in ("--arch", arch)),
    ]
    words += [*_repeated(given, leaving=()), *(("-o", target) if target is not None else ())]
    return " ".join(map(shlex.quote, words))


def _repeated(given: Mapping[str, Any], leaving: Collection[str] = _TOLD) -> list[str]:
    """The command line's compile options, as words, but those that are left out."""
    words: list[str] = []
    for row in OPTIONS:
        value = given.get(row.name)
        if value is None or row.group != "compile" or row.name in leaving:
            continue
        flag, _, negative = row.flags[0].partition("/")
        if isinstance(value, bool):
            words.append(flag if value else negative)
            continue
        for one in value if isinstance(value, tuple) else (value,):
            words += [flag, str(one)]
    return words

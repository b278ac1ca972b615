"""How an option is declared: in the annotation of the field that holds its value.

``Annotated[int | None, Option("Limit kernels to N registers.", "--maxrregcount", "N")]`` is all
there is to say. The flag, the key of the configuration file, the parameter of `lmemscope.scan`,
their checks, the help and docs/configuration.md follow in `lmemscope.config.options`.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

from msgspec import Struct

Merge = Literal["replace", "before", "after"]
"""What a flag does to the file's value: replace it, or stand before or after it in one list."""

Check = Literal[
    "path",
    "directory",
    "toolkit",
    "versions",
    "cluster",
    "depth",
    "argument",
    "switch",
    "architecture",
]
"""Kinds of value that no type tells; `lmemscope.config.kinds` has them."""

Group = Literal["compile", "facts", "gate", "view"]
"""The commands that have a flag: all that compile, `scan`, `check`, or `scan` and `report`."""


class Option(Struct, frozen=True):
    """What is said of an option beside the name, type and default of its field.

    Attributes:
        help: one sentence, for ``--help`` and the documentation.
        spelled: its flags, separated by blanks; None for an option without one.
        metavar: stands for the value in the help.
        accepts: what a value is, in words; for text.
        least, most, unit: bounds of a number, and what it counts.
        check: how a value is checked, where its type does not tell.
        merge: how a flag combines with the file.
        group: the commands that have its flag.
        file, api: whether the file and `lmemscope.scan` take it.
        guarded: what a file says may run a program, load a library or write a file, so that it
            takes ``--trust-build``.
        key: in the file; by default the field's name.
        default: where nothing is said, if that is not the field's default.
    """

    help: str
    spelled: str | None = None
    metavar: str | None = None
    accepts: str = "text"
    least: int = 0
    most: int | None = None
    unit: str = ""
    check: Check | None = None
    merge: Merge = "replace"
    group: Group = "compile"
    file: bool = True
    api: bool = True
    guarded: bool = False
    key: str = ""
    default: Any = ...


GateOption = functools.partial(Option, group="gate", api=False)
"""An option of ``check``, which `lmemscope.scan` does not take."""

"""Declares an option once, in the annotation of the field that holds its value.

``Annotated[int | None, Option("Limit kernels to N registers.", "--maxrregcount", "N")]`` is the
whole declaration. `lmemscope.config.options` derives from it the flag, the key of the configuration
file, the parameter of `lmemscope.scan`, their checks, the help and docs/configuration.md.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

from msgspec import Struct

Merge = Literal["replace", "before", "after"]
"""How a flag combines with the file's value: it replaces it, or is put before or after it in a
list."""

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
"""Checks that a type cannot express; `lmemscope.config.kinds` implements them."""

Group = Literal["compile", "facts", "gate", "view"]
"""The commands that have a flag: all that compile, `scan`, `check`, or `scan` and `report`."""


class Option(Struct, frozen=True):
    """The declaration of an option, besides the name, type and default of its field.

    Attributes:
        help: one sentence, for ``--help`` and the documentation.
        spelled: its flags, separated by blanks; None if it has none.
        metavar: placeholder for the value in the help.
        accepts: a description of accepted values, for text.
        least, most, unit: range of a number, and its unit.
        check: how to check a value beyond its type.
        merge: how a flag combines with the file.
        group: the commands that have its flag.
        file, api: whether the file and `lmemscope.scan` accept it.
        guarded: whether a value from the file could run a program, load a library or write a file,
            and so requires ``--trust-build``.
        key: its name in the file; by default the field's name.
        default: the value if none is given, if that is not the field's default.
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

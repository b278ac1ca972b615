"""What a row of the table of options says; the rows are in `lmemscope.config.options`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lmemscope.config.kinds import Kind

Merge = Literal["replace", "before", "after"]
"""What a flag does to the file's value: take its place, or stand before or after it in one list."""

Group = Literal["compile", "facts", "gate", "view"]
"""The commands that have an option: all that compile, `scan` alone, `check` alone, those that show
a whole report."""


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        key: its name in the file; with underscores, its name in the API.
        kind: what it takes.
        help: one sentence, for ``--help``.
        meaning: the same for the documentation of a key, where that takes other words.
        flags: its spellings on the command line; empty where it has none.
        metavar: stands for the value in the help.
        merge: how a flag combines with the file.
        default: where nothing says otherwise; None means "not set".
        group: the commands that have its flag.
        file, api: whether the file and `lmemscope.scan` take it.
        guarded: what a file says may run a program, load a library or write a file, so that it
            takes ``--trust-build``.
        required: of a key in a table: it must be there.
        rows: the keys of its tables, where its value is a list of tables.
    """

    key: str
    kind: Kind
    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    merge: Merge = "replace"
    default: Any = None
    group: Group = "compile"
    file: bool = True
    api: bool = True
    guarded: bool = False
    required: bool = False
    rows: tuple[Option, ...] = ()
    meaning: str = ""

    @property
    def name(self) -> str:
        """The key as a Python name."""
        return self.key.replace("-", "_")

    @property
    def flag(self) -> str:
        """The flag by which messages call it."""
        return self.flags[-1].partition("/")[0]

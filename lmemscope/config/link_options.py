"""Rows on linking, and those of a ``[[link]]`` table: inputs that are one program."""

from __future__ import annotations

from lmemscope.config import kinds
from lmemscope.config.option import Option

LINK = (
    Option("name", kinds.text("a name"), "Of the program in reports.", required=True),
    Option(
        "inputs",
        kinds.listed(kinds.text("a path or glob"), "a list of paths and globs"),
        "Its inputs, relative to the file: sources, relocatable cubins, .o and .a files.",
        required=True,
    ),
    Option(
        "depth",
        kinds.listed(kinds.depth(), "a list of depths such as f=12"),
        "How often a recursive function is on the stack at a time, at most: f=12.",
        default=(),
    ),
)
"""The keys of a ``[[link]]`` table."""

LINKING = (
    Option(
        "linked",
        kinds.switch(),
        "Link the inputs too, as one program, or as the links that their build names.",
        flags=("--link",),
        default=False,
        # A group of the file says more: which inputs.
        file=False,
    ),
    Option(
        "lto",
        kinds.switch(),
        "With --link or [[link]]: also link with link-time optimisation, and compare.",
        flags=("--lto",),
        default=False,
    ),
    Option(
        "link",
        kinds.tables(),
        "Inputs that are one program: linked whenever one of them is among the inputs.",
        default=(),
        api=False,
        rows=LINK,
    ),
)
"""What is linked, and how."""

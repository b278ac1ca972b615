"""Rows of what the gate is told in tables of the configuration file: limits and allowances."""

from __future__ import annotations

from lmemscope.config import kinds
from lmemscope.config.option import Option

LIMIT = (
    Option(
        "kernel",
        kinds.text("a glob over kernel names"),
        "Kernels that the limit is for, as --kernel names them.",
        default="*",
    ),
    Option(
        "arch",
        kinds.text("a glob over architectures, such as sm_9*"),
        "Architectures that the limit is for.",
        default="*",
    ),
    Option(
        "max-frame",
        kinds.whole(0, "bytes per thread"),
        "Limit for all kernels.",
        flags=("--max-frame",),
        metavar="BYTES",
        meaning="Stack frame, at most; takes the place of the ban on local memory.",
    ),
    Option(
        "max-spill",
        kinds.whole(0, "bytes"),
        "Stores and loads.",
        flags=("--max-spill",),
        metavar="BYTES",
        meaning="Spill stores and loads together, at most; takes the place of the ban for these.",
    ),
    Option(
        "max-sites",
        kinds.whole(0, "instructions"),
        "LDL and STL instructions.",
        flags=("--max-sites",),
        metavar="N",
        meaning="LDL and STL instructions, at most; takes the place of the ban on local memory.",
    ),
    Option(
        "max-registers",
        kinds.whole(0, "registers"),
        "Per thread.",
        flags=("--max-registers",),
        metavar="N",
        meaning="Per thread, at most; local memory stays forbidden.",
    ),
    Option(
        "max-stack",
        kinds.whole(0, "bytes per thread"),
        "Deepest path of calls.",
        flags=("--max-stack",),
        metavar="BYTES",
        meaning="Stack of the deepest path of calls, at most, as linked where the kernel is; local "
        "memory stays forbidden.",
    ),
    Option(
        "forbid",
        kinds.listed(kinds.cause(), "a list of causes"),
        "Only this cause; repeatable.",
        flags=("--forbid",),
        metavar="CAUSE",
        meaning="Causes that must not appear; the others may. None at all is noted.",
    ),
    Option(
        "allow",
        kinds.listed(kinds.cause(), "a list of causes"),
        "Not this cause; repeatable.",
        flags=("--allow",),
        metavar="CAUSE",
        meaning="Causes that may appear.",
        default=(),
    ),
)
"""The keys of a ``[[limits]]`` table; their flags make one more limit, for all kernels."""

ALLOWANCE = (
    Option(
        "kernel",
        kinds.text("a glob over kernel names"),
        "Kernels that it is for, as --kernel names them.",
        default="*",
    ),
    Option("cause", kinds.cause(), "What is accepted.", required=True),
    Option("bytes", kinds.whole(0, "bytes"), "At most; without it, any amount."),
    Option("reason", kinds.text("text that says why it is accepted"), "Why.", required=True),
    Option("expires", kinds.day(), "The last day on which it holds; without it, always."),
)
"""The keys of an ``[[allowances]]`` table."""

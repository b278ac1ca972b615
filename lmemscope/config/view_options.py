"""The options of a reader: which kernels of a report are shown, and in which order."""

from __future__ import annotations

from typing import Any, get_args

from lmemscope.config import kinds
from lmemscope.config.kinds import Kind
from lmemscope.config.option import Option
from lmemscope.model import Order


def _shown(
    key: str, kind: Kind, help_: str, flag: str, metavar: str | None = None, default: Any = None
) -> Option:
    """An option that chooses what is shown: a reader's, so neither a file's nor the API's."""
    return Option(
        key,
        kind,
        help_,
        flags=(flag,),
        metavar=metavar,
        default=default,
        group="view",
        file=False,
        api=False,
    )


VIEW = (
    _shown("top", kinds.whole(1, "rows"), "Show the first N rows.", "--top", "N"),
    _shown(
        "cause",
        kinds.listed(kinds.cause(), "a list of causes"),
        "Only kernels with this cause; repeatable.",
        "--cause",
        "CAUSE",
        (),
    ),
    _shown(
        "local-only",
        kinds.switch(),
        "Only kernels that use local memory.",
        "--local-only",
        default=False,
    ),
    _shown(
        "sort",
        kinds.choice(*get_args(Order)),
        "What comes first; worst is modelled cost. [default: worst]",
        "--sort",
    ),
    _shown(
        "group",
        kinds.switch(),
        "Instances of one template with the same causes as one row. [default: beyond 40 kernels]",
        "--group/--no-group",
    ),
    _shown("all", kinds.switch(), "Every kernel, however many there are.", "--all", default=False),
)
"""Rows of the table of options."""

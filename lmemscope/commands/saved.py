"""Saved reports in place of inputs, and what they must not be used for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmemscope.commands.running import analyse
from lmemscope.errors import UsageError

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.model import Report

_DATABASE = "compile_commands.json"


def is_saved(path: str) -> bool:
    """Whether a path is that of a saved report, by its ending."""
    return path.endswith(".json") and os.path.basename(path) != _DATABASE


def gathered(paths: Sequence[str], settings: Settings) -> Report:
    """The report of inputs, or the one saved report that stands in their place.

    Raises:
        InputError: the report does not exist or is damaged.
        UsageError: as `analyse`; or kernels are asked for of a saved report.
    """
    if len(paths) != 1 or not is_saved(paths[0]):
        return analyse(paths, settings)
    from lmemscope.exporters.json import load_report

    report = load_report(paths[0])
    asked = {f"--kernel {glob}" for glob in settings.kernels}
    if asked and not asked <= set(report.filters):
        raise UsageError(
            "filter",
            f"{paths[0]} is a saved report, from which --kernel chooses nothing",
            hint="name the inputs instead",
        )
    return report


def filtered(name: str, filters: Sequence[str], others: Sequence[str], other: str) -> UsageError:
    """The error for what was written through a filter that its counterpart has not."""
    here = f"{other} has {' '.join(others)}" if others else f"{other} has no filter"
    return UsageError(
        "filter",
        f"{name} was written with {' '.join(filters)}, which leaves findings out; {here}",
        hint="write it again without the filter, or give both sides the same one",
    )

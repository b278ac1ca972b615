"""A percentage as a command-line type."""

from __future__ import annotations

import math

import click


class Percentage(click.ParamType[float]):
    """``5%`` or ``5``, from 0 to 100; it arrives as 0.05."""

    name = "percent"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert text to a fraction."""
        if isinstance(value, float):
            return value
        try:
            found = float(str(value).strip().removesuffix("%"))
        except ValueError:
            found = math.nan
        if not 0 <= found <= 100:
            self.fail(f"{value!r} is no percentage from 0 to 100, such as 5%.", param, ctx)
        return found / 100

r"""A mathematical function takes a slow path through local memory.

What it is. ``sin``, ``cos``, ``tan`` and others reduce large arguments with a table of 2/pi that is
read at a run-time position; its scratch array is in local memory.

How to recognise it. PTX: loads from ``__cudart_i2opi_f`` or ``__cudart_i2opi_d``, or the function
``__internal_trig_reduction_slowpathd``.

What it costs. Nothing for small arguments: the path is taken only above about 105615 (float) or
2^31 (double). Its registers and its code are there always.

How to remove it. ``sinpi``, ``cospi``, ``sincospi`` when the argument is a multiple of pi; reduce
the range yourself; ``__sinf`` or ``--use_fast_math`` where their accuracy is enough (float only).

When to leave it. When arguments are small: the path is never taken.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain


def severity(case: Case) -> Severity:
    """A note always: the path is taken for large arguments only."""
    return "note"


def message(case: Case) -> str:
    """How many bytes the slow path keeps, whether or not it is ever taken."""
    return (
        f"{case.share.frame_bytes or (case.object.size if case.object else 0)} bytes serve the "
        "slow path of a trigonometric function (arguments too large for the fast reduction)"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """Functions without the slow path: exact ones first, then the less accurate."""
    return (
        Advice(
            "If the argument is a multiple of pi, use sinpi, cospi or sincospi: exact and without "
            "the slow path.",
            "sinpi(2.0 * turns)",
        ),
        Advice(
            "For float where reduced accuracy is enough: __sinf and __cosf, or --use_fast_math. "
            "Or reduce the range of the argument before the call."
        ),
    )


RULE = Rule("LM402", "math-slow-path", severity, certain, message, advice, __name__)

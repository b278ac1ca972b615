r"""A mathematical function takes a slow path through local memory.

What it is. ``sin``, ``cos``, ``tan`` and others reduce large arguments with a table of 2/pi that is
read at a run-time position; its scratch array is in local memory.

How to recognise it. PTX: integer products with the bits of 2/pi are stored in an array of 28 bytes
(float) or 40 bytes (double). The bits are immediates (1011060801, -614296167, ...) or come from the
tables ``__cudart_i2opi_f`` and ``__cudart_i2opi_d``; of double arguments this is the function
``__internal_trig_reduction_slowpathd``.

What it costs. Nothing for small arguments: the path is taken only above about 105615 (float) or
2^31 (double). Its registers and its code are there always.

How to remove it. ``sinpi``, ``cospi``, ``sincospi`` where the argument is computed as a multiple of
pi: exact, and without the slow path. For float, ``__sinf``, ``__cosf``, ``__tanf`` or
``--use_fast_math`` where their accuracy is enough; double has no such functions. For both, a
promise that arguments are small, ``__builtin_assume(fabs(x) < 1e5)`` before the call: outside of
that range the result is then wrong.

When to leave it. When arguments are small: the path is never taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain

_CALL = re.compile(r"(?<![\w.])(?P<name>sincos|sin|cos|tan)f?\s*\(")
_PI = re.compile(r"(?i)\b\w*(?<![a-z])pi(?![a-z])\w*\b|\b(?:3\.14|6\.28|1\.57)\d*")
_LINES_LOOKED_AT = 10
_FLOAT_SCRATCH, _DOUBLE_SCRATCH = 28, 40
"""Bytes that the reduction of a float and of a double argument keeps."""


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
    """To leave it first; then functions without the slow path, by type and argument."""
    is_float = _is_float(case)
    found = [
        Advice(
            "Leave it where arguments are small: the path is then never taken, and costs registers "
            "and code alone."
        )
    ]
    call = _call(case)
    if _may_be_a_multiple_of_pi(case):
        suffix = "f" if is_float else ""
        found.append(
            Advice(
                f"If the argument is a multiple of pi, use sinpi{suffix}, cospi{suffix} or "
                f"sincospi{suffix} on the factor: exact, and without the slow path."
            )
        )
    if is_float:
        # One slow path serves the sine and the cosine of an argument.
        found.append(
            Advice(
                "Where reduced accuracy is enough: __sinf and its like in all such calls, or "
                "--use_fast_math for the whole file."
            )
        )
    elif is_float is False:
        found.append(
            Advice(
                "There is no less accurate version for double: where it is enough, convert to "
                "float and use __sinf and its like."
            )
        )
    promise = "If arguments always stay below 1e5, promise it before each such call"
    if call is not None and call.argument is not None:
        absolute, limit = ("fabsf", "1e5f") if is_float else ("fabs", "1e5")
        code = f"__builtin_assume({absolute}({call.argument}) < {limit});"
        found.append(Advice(f"{promise}: beyond, the result is then wrong.", code))
    else:
        found.append(Advice(f"{promise} (`__builtin_assume`): beyond, the result is then wrong."))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call on the finding's line: the function without its ``f``, and its first argument."""

    name: str
    argument: str | None


def _call(case: Case) -> _Call | None:
    """The only such function that is called on the finding's line."""
    place = case.location
    text = case.sources.line(place.file, place.line) if place is not None else ""
    calls = list(_CALL.finditer(text))
    if len({call["name"] for call in calls}) != 1:
        return None
    arguments = {_first_argument(text, call.end() - 1) for call in calls}
    only = arguments.pop() if len(arguments) == 1 else None
    # What changes a variable, or is itself a call, must not be written twice.
    simple = only is not None and re.fullmatch(r"[\w.\[\]\s+\-*/()>]+", only) is not None
    changes = only is not None and re.search(r"\+\+|--|\w\s*\(", only) is not None
    return _Call(calls[0]["name"], only if simple and not changes else None)


def _first_argument(text: str, opened: int) -> str | None:
    """The first argument of a call whose parenthesis opens at a place, if it ends on the line."""
    closed = closed_at(text, opened)
    arguments = list(parts_of(text[opened + 1 : None if closed is None else closed - 1]))
    if closed is None and len(arguments) == 1:
        return None
    return arguments[0].strip() or None


def _is_float(case: Case) -> bool | None:
    """Whether it is the path of floats: by the table, the function, or the scratch size."""
    found = case.object
    for evidence in found.evidence if found is not None else ():
        subject = evidence.subject or ""
        if subject.endswith(("_f", "slowpathf")):
            return True
        if subject.endswith(("_d", "slowpathd")):
            return False
    size = found.size if found is not None else 0
    return {_FLOAT_SCRATCH: True, _DOUBLE_SCRATCH: False}.get(size)


def _may_be_a_multiple_of_pi(case: Case) -> bool:
    """Whether pi stands on the finding's line, or a little above it."""
    place = case.location
    if place is None:
        return False
    lines = range(max(1, place.line - _LINES_LOOKED_AT), place.line + 1)
    return any(_PI.search(case.sources.line(place.file, line)) for line in lines)


RULE = Rule("LM402", "math-slow-path", severity, certain, message, advice, __name__)

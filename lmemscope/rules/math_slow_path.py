r"""A mathematical function takes a slow path through local memory.

What it is. ``sin``, ``cos``, ``tan`` and others reduce large arguments with a table of 2/pi that is
read at a run-time position; its scratch array is in local memory.

How to recognise it. PTX: integer products with the bits of 2/pi are stored in an array of 28 bytes
(float) or 40 bytes (double). The bits are immediates (1011060801, -614296167, ...) or come from the
tables ``__cudart_i2opi_f`` and ``__cudart_i2opi_d``; of double arguments this is the function
``__internal_trig_reduction_slowpathd``.

What it costs. Nothing for small arguments: the path is taken only above about 105615 (float) or
2^31 (double). Its registers and its code are there always.

How to remove it. ``sinpi``, ``cospi``, ``sincospi`` where the argument is written as pi times
something: at least as accurate, and without the slow path (``tan`` has no such version). For float,
``__sinf``, ``__cosf``, ``__tanf`` or ``--use_fast_math`` where their accuracy is enough; double has
no such functions. For both, a promise that arguments are small, ``__builtin_assume(fabs(x) < 1e5)``
before the call: outside of that range the result is then wrong. In functions that are compiled for
the host too, it and ``__sinf`` stand inside ``#ifdef __CUDA_ARCH__``.

When to leave it. When arguments are small: the path is never taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.enclosing import is_for_host
from lmemscope.rules.multiples_of_pi import without_pi

_CALL = re.compile(r"(?<![\w.])(?P<name>sincos|sin|cos|tan)f?\s*\(")
_GOES_ON = 4
"""Lines on which a call may go on."""
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
    on_host = case.location is not None and is_for_host(case.sources, case.location)
    only = ", in device code alone (`#ifdef __CUDA_ARCH__`)" if on_host else ""
    found += _half_turns(case, call, is_float)
    if is_float:
        # One slow path serves the sine and the cosine of an argument.
        found.append(
            Advice(
                f"Where reduced accuracy is enough: __sinf and its like in all such calls{only}, "
                "or --use_fast_math for the whole file."
            )
        )
    elif is_float is False:
        found.append(
            Advice(
                "There is no less accurate version for double: where it is enough, convert to "
                "float and use __sinf and its like."
            )
        )
    promise = (
        "If arguments always stay below 1e5, promise it before the statement of each such call"
    )
    warned = ": beyond, the result is then wrong."
    if on_host:
        warned += (
            " The function is compiled for the host too, whose compiler may not know the word: "
            "keep it inside `#ifdef __CUDA_ARCH__`."
        )
    if call is not None and call.is_repeatable:
        absolute, limit = ("fabsf", "1e5f") if is_float else ("fabs", "1e5")
        code = f"__builtin_assume({absolute}({call.argument}) < {limit});"
        if on_host:
            code = f"#ifdef __CUDA_ARCH__\n{code}\n#endif"
        found.append(Advice(f"{promise}{warned}", code))
    else:
        found.append(Advice(f"{promise} (`__builtin_assume`){warned}"))
    return tuple(found)


def _half_turns(case: Case, call: _Call | None, is_float: bool | None) -> tuple[Advice, ...]:
    """The functions of multiples of pi, where the argument visibly is pi times something."""
    if call is None or call.argument is None or call.name == "tan" or case.location is None:
        return ()
    factor = without_pi(call.argument, case.sources, case.location)
    if factor is None:
        return ()
    suffix = "f" if is_float else ""
    text = (
        f"The argument is pi times something: use {call.name}pi{suffix} of that factor, which is "
        "at least as accurate and has no slow path; the path goes when every call that shares it "
        "is replaced."
    )
    if factor.code is None or call.name == "sincos":
        return (Advice(text),)
    return (Advice(text, f"{call.name}pi{suffix}({factor.code})"),)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call on the finding's line: the function without its ``f``, and its first argument.

    Attributes:
        name: of the function.
        argument: the one that all such calls of the line have; None where they differ.
        is_repeatable: whether the argument may be evaluated once more.
    """

    name: str
    argument: str | None
    is_repeatable: bool


def _call(case: Case) -> _Call | None:
    """The only such function that is called on the finding's line."""
    place = case.location
    text = _text(case) if place is not None else ""
    calls = list(_CALL.finditer(text))
    if len({call["name"] for call in calls}) != 1:
        return None
    arguments = {_first_argument(text, call.end() - 1) for call in calls}
    only = arguments.pop() if len(arguments) == 1 else None
    # What changes a variable, or is itself a call, must not be written twice.
    simple = only is not None and re.fullmatch(r"[\w.\[\]\s+\-*/()>]+", only) is not None
    changes = only is not None and re.search(r"\+\+|--|\w\s*\(", only) is not None
    return _Call(calls[0]["name"], only, simple and not changes)


def _text(case: Case) -> str:
    """The finding's line, with those that follow where a call of it goes on there."""
    place = case.location
    assert place is not None
    text = case.sources.line(place.file, place.line)
    for number in range(place.line + 1, place.line + _GOES_ON):
        last = next(reversed(list(_CALL.finditer(text))), None)
        if last is None or closed_at(text, last.end() - 1) is not None:
            break
        text += f" {case.sources.line(place.file, number).strip()}"
    return text


def _first_argument(text: str, opened: int) -> str | None:
    """The first argument of a call whose parenthesis opens at a place, if it is all there."""
    closed = closed_at(text, opened)
    arguments = list(parts_of(text[opened + 1 : None if closed is None else closed - 1]))
    if closed is None and len(arguments) == 1:
        return None
    return " ".join(arguments[0].split()) or None


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


RULE = Rule("LM402", "math-slow-path", severity, certain, message, advice, __name__)

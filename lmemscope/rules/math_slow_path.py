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
(2e9 for double) before the call: outside of that range the result is then wrong. It has no effect
in a loop that is unrolled by a part (``#pragma unroll 1`` prevents that), nor for an argument that
is the same in all turns of a loop and is promised inside. In functions that are compiled for the
host too, it and ``__sinf`` stand inside ``#ifdef __CUDA_ARCH__``. Of an argument that is made of a
power nothing is promised.

When to leave it. When arguments are small: the path is never taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import (
    Advice,
    LocalAccess,
    Severity,
    SourceLocation,
    calling_line,
    is_library,
)
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.constants import meaning
from lmemscope.rules.declared import is_governed
from lmemscope.rules.enclosing import function_head, is_for_host
from lmemscope.rules.indexing import listed
from lmemscope.rules.multiples_of_pi import without_pi

_CALL = re.compile(r"(?<![\w.])(?P<name>sincos|sin|cos|tan)f?\s*\(")
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_GROWS = re.compile(r"\b(?:pow|exp|exp2|exp10|ldexp|scalbl?n|tgamma|cosh|sinh)[fl]?\s*\(")
"""A function whose values grow beyond any bound that somebody would promise."""
_WORD = re.compile(r"(?<![\w.>])[A-Za-z_]\w*(?![\w(])")
_GOES_ON = 4
"""Lines on which a call may go on."""
_SHOWN = 3
"""Lines that are named in a sentence."""
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
    is_float = is_float_path(case)
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
    kept = _kept(case)
    if is_float:
        # One slow path serves the sine and the cosine of an argument.
        found.append(
            Advice(
                f"Where reduced accuracy is enough: __sinf and its like in all such calls{only}, "
                f"or --use_fast_math for the whole file.{kept}"
            )
        )
    elif is_float is False:
        found.append(
            Advice(
                "There is no less accurate version for double: where it is enough, convert to "
                f"float and use __sinf and its like.{kept}"
            )
        )
    return (*found, *_promise(case, call, is_float, on_host))


def small(is_float: bool | None) -> tuple[str, str]:
    """The function and the number that a promise of small arguments is made with.

    The slow path of floats begins at 105615, that of doubles at 2^31; the lower one where the type
    is not known.
    """
    if is_float:
        return "fabsf", "1e5f"
    return "fabs", "2e9" if is_float is False else "1e5"


def _promise(
    case: Case, call: _Call | None, is_float: bool | None, on_host: bool
) -> tuple[Advice, ...]:
    """That arguments are small, where the compiler makes use of it.

    It forgets the promise where it unrolls a loop by a part, and where it moves the call of an
    argument that stays the same out of a loop. Loops of libraries, which call a user's function,
    are nobody's to keep rolled.
    """
    if any(_is_called_by_library(access) for access in case.accesses) or _grows(case):
        return ()
    absolute, limit = small(is_float)
    word = "" if call is not None and call.is_repeatable else " (`__builtin_assume`)"
    text = (
        f"If arguments always stay below {limit.removesuffix('f')}, promise it before the "
        f"statement of each such call{word}: beyond, the result is then wrong."
    )
    if _may_loop(case):
        text += (
            " In a loop that is unrolled by a part it has no effect: put `#pragma unroll 1` before "
            "that. Where the argument is the same in all iterations, the compiler may call before "
            "the loop, and the promise may have to stand there."
        )
    if _may_loop(case) or len({calling_line(one.chain) for one in case.accesses}) > 1:
        text += (
            " A call whose argument comes from an earlier iteration, or was promised or computed "
            "before, may keep its path all the same; an argument that calls functions has to be a "
            "variable first, which the promise and the call use."
        )
    if on_host:
        text += (
            " The function is compiled for the host too, whose compiler may not know the word: "
            "keep it inside `#ifdef __CUDA_ARCH__`."
        )
    if call is None or not call.is_repeatable:
        if is_float:
            text += (
                " It has to speak of the float that the function gets: of a double, "
                "`__builtin_assume(fabsf((float)x) < 1e5f)`."
            )
        return (Advice(text),)
    code = f"__builtin_assume({absolute}({call.argument}) < {limit});"
    return (Advice(text, f"#ifdef __CUDA_ARCH__\n{code}\n#endif" if on_host else code),)


def _kept(case: Case) -> str:
    """Which lines reach the path by no name that could be replaced, such as in ``j0f(x)``."""
    lines = sorted(place for place in {calling_line(one.chain) for one in case.accesses} if place)
    hidden = [place for place in lines if not _CALL.search(_text(case, place))]
    if not hidden:
        return ""
    shown = [case.line(place) for place in hidden[:_SHOWN]]
    more = [f"{len(hidden) - _SHOWN} more"] if len(hidden) > _SHOWN else []
    return (
        " Another function of the library's, or a macro, that makes such a call keeps its path: "
        f"{listed([*shown, *more])} {'names' if len(hidden) == 1 else 'name'} none."
    )


def _grows(case: Case) -> bool:
    """Whether an argument is made of a power or the like, or of a variable that is."""
    for place in {calling_line(one.chain) for one in case.accesses} - {None}:
        assert place is not None
        text = _text(case, place)
        for call in _CALL.finditer(text):
            argument = _first_argument(text, call.end() - 1) or ""
            made = (meaning(name, case.sources, place) for name in set(_WORD.findall(argument)))
            values = (one.value for one in made if one is not None)
            if any(_GROWS.search(one) is not None for one in (argument, *values)):
                return True
    return False


def _is_called_by_library(access: LocalAccess) -> bool:
    """Whether the user's line is in a function that is inlined into a library's code."""
    files = [frame.location.file for frame in access.chain if frame.location.line > 0]
    users = [number for number, file in enumerate(files) if not is_library(file)]
    return bool(users) and any(is_library(file) for file in files[users[0] :])


def _may_loop(case: Case) -> bool:
    """Whether a loop may be around a call: one begins above it in a function that it is in."""
    places = {
        frame.location
        for access in case.accesses
        for frame in access.chain
        if frame.location.line > 0 and not is_library(frame.location.file)
    }
    return not places or any(_loop_above(case, place) for place in places)


def _loop_above(case: Case, place: SourceLocation) -> bool:
    head = function_head(case.sources, place)
    if head is None:
        return True
    lines = range(head.line, place.line + 1)
    return any(_LOOP.search(case.sources.line(place.file, number)) for number in lines)


def _half_turns(case: Case, call: _Call | None, is_float: bool | None) -> tuple[Advice, ...]:
    """The functions of multiples of pi, where the argument visibly is pi times something."""
    if call is None or call.argument is None or call.name == "tan" or case.location is None:
        return ()
    factor = without_pi(call.argument, case.sources, case.location)
    if factor is None:
        return ()
    suffix = "f" if call.is_suffixed else ""
    text = (
        f"The argument is pi times something: use {call.name}pi{suffix} of that factor, which has "
        "no slow path and is at least as accurate (where pi is written with few digits, results "
        "change by what these lack); the path goes when every call that shares it is replaced."
    )
    if factor.code is None or call.name == "sincos":
        return (Advice(text),)
    code = factor.code if suffix or not is_float else factor.code_of_float
    return (Advice(text, f"{call.name}pi{suffix}({code})"),)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call on the finding's line: the function without its ``f``, and its first argument.

    Attributes:
        name: of the function.
        argument: the one that all such calls of the line have; None where they differ.
        is_repeatable: whether the argument may be evaluated once more, before the statement.
        is_suffixed: whether it is written with its ``f``, which is no overload.
    """

    name: str
    argument: str | None
    is_repeatable: bool
    is_suffixed: bool


def _call(case: Case) -> _Call | None:
    """The only such function that is called on the finding's line."""
    place = case.location
    text = _text(case, place) if place is not None else ""
    calls = list(_CALL.finditer(text))
    if len({call["name"] for call in calls}) != 1:
        return None
    arguments = {_first_argument(text, call.end() - 1) for call in calls}
    only = arguments.pop() if len(arguments) == 1 else None
    # What changes a variable, or is itself a call, must not be written twice.
    simple = only is not None and re.fullmatch(r"[\w.\[\]\s+\-*/()>]+", only) is not None
    changes = only is not None and re.search(r"\+\+|--|\w\s*\(", only) is not None
    before = text[: calls[0].start()]
    known = not any(
        re.search(rf"(?<![\w.>]){word}\s*=(?!=)", before)
        for word in re.findall(r"(?<![\w.>])[A-Za-z_]\w*", only or "")
    )
    alone = (
        _LOOP.search(before) is None and place is not None and not is_governed(case.sources, place)
    )
    is_suffixed = calls[0][0].rstrip("( \t").endswith("f")
    return _Call(calls[0]["name"], only, simple and not changes and known and alone, is_suffixed)


def _text(case: Case, place: SourceLocation) -> str:
    """A line, with those that follow where a call of it goes on there."""
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


def is_float_path(case: Case) -> bool | None:
    """Whether it is the path of floats: by the table, the function, or the scratch's size; None
    where none of them tells."""
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

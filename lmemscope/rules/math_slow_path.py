r"""A mathematical function takes a slow path through local memory.

What it is. ``sin``, ``cos``, ``tan`` and others reduce large arguments with a table of 2/pi that is
read at a run-time position; its scratch array is in local memory.

How to recognise it. PTX: integer products with the bits of 2/pi are stored in an array of 28 bytes
(float) or 40 bytes (double). The bits are immediates (1011060801, -614296167, ...) or come from
``__cudart_i2opi_f`` or, for double, ``__internal_trig_reduction_slowpathd`` and
``__cudart_i2opi_d``.

What it costs. Nothing for small arguments: the path is taken only above about 105615 (float) or
2^31 (double). Its registers and code are always there.

How to remove it. For pi times something, use ``sinpi``, ``cospi`` or ``sincospi``, which are as
accurate and have no slow path (``tan`` has no such version). For float, use ``__sinf``, ``__cosf``,
``__tanf`` or ``--use_fast_math`` if their accuracy suffices. Or promise small arguments with
``__builtin_assume(fabs(x) < 1e5)`` (2e9 for double) before the call: outside that range the result
is wrong. In a partially unrolled loop the promise has no effect (add ``#pragma unroll 1``), nor for
a loop-invariant argument inside a loop. In ``__host__ __device__`` functions, put it and ``__sinf``
inside ``#ifdef __CUDA_ARCH__``. Use neither for an argument that contains a power or, for float,
more integers than it is divided by (``2 * pi * i * j / n``): reduce the integers exactly first,
``(i * j) % n``.

When to leave it. When arguments are small: the path is never taken.
"""

from __future__ import annotations

import re

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import (
    Advice,
    LocalAccess,
    Severity,
    SourceLocation,
    calling_line,
    is_library,
)
from lmemscope.rules.angles import is_growing
from lmemscope.rules.base import Case, Offer, Rule, certain
from lmemscope.rules.declared import is_governed
from lmemscope.rules.enclosing import function_head, is_for_host
from lmemscope.rules.indexing import listed
from lmemscope.rules.multiples_of_pi import without_pi

_CALL = re.compile(r"(?<![\w.])(?P<name>sincos|sin|cos|tan)f?\s*\(")
_LOOP = re.compile(r"\b(?:for|while|do)\b")
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
        f"{case.share.frame_bytes or (case.object.size if case.object else 0)} bytes are for the "
        "slow path of a trigonometric function (arguments too large for the fast range reduction)"
    )


def advice(case: Case, offer: Offer) -> tuple[Advice, ...]:
    """To leave it first; then functions without the slow path, by type and argument."""
    is_float = is_float_path(case)
    found = [
        Advice(
            "Leave it if arguments are small: the slow path is then never taken, and costs only "
            "registers and code size."
        )
    ]
    on_host = case.location is not None and is_for_host(case.sources, case.location)
    only = ", in device code only (`#ifdef __CUDA_ARCH__`)" if on_host else ""
    found += _half_turns(case, is_float, only)
    if _grows(case, is_float=is_float is not False):
        return (*found, _reduce(is_float))
    kept = _kept(case)
    if is_float:
        # One slow path serves the sine and the cosine of an argument.
        found.append(
            Advice(
                "Where reduced accuracy is enough, use __sinf and similar intrinsics in all such "
                f"calls{only}, or --use_fast_math for the whole file. Their absolute error is "
                f"1e-6 within pi of zero, {_of_tangents(case)}and grows with larger "
                f"arguments.{kept}",
                rewrite="fast-math",
            )
        )
    elif is_float is False and not _grows(case, is_float=True):
        found.append(
            Advice(
                "There is no fast intrinsic for double: if float accuracy is enough, convert to "
                f"float and use __sinf or a similar intrinsic{only}.{kept}"
            )
        )
    return (*found, *_promise(case, is_float, on_host))


def _reduce(is_float: bool | None) -> Advice:
    """What is left of an angle that may be large: to reduce it where that is still exact."""
    fast = ", __sinf and similar intrinsics, and --use_fast_math are" if is_float else " is"
    return Advice(
        "The argument may be large, judging by how it is computed: an assumption that it is "
        f"small{fast} wrong for large ones. If it is a product of integers times 2 pi over "
        "another integer, reduce the product exactly first: `(i * j) % n` for `i * j / n`; use "
        "`2 * n` if the factor is pi.",
        is_none=True,
    )


def small(is_float: bool | None) -> tuple[str, str]:
    """The function and the number that a promise of small arguments is made with.

    The slow path of floats begins at 105615, that of doubles at 2^31; the lower one where the type
    is not known.
    """
    if is_float:
        return "fabsf", "1e5f"
    return "fabs", "2e9" if is_float is False else "1e5"


def _promise(case: Case, is_float: bool | None, on_host: bool) -> tuple[Advice, ...]:
    """That arguments are small, where the compiler makes use of it.

    It forgets the promise where it unrolls a loop by a part, and where it moves the call of an
    argument that stays the same out of a loop. Loops of libraries, which call a user's function,
    are nobody's to keep rolled.
    """
    if any(_is_called_by_library(access) for access in case.accesses):
        return ()
    absolute, limit = small(is_float)
    argument = _argument(case)
    word = "" if argument is not None else " (`__builtin_assume`)"
    text = (
        f"If arguments are always below {limit.removesuffix('f')}, tell the compiler before "
        f"each statement with such a call{word}. Results for larger arguments are then wrong."
    )
    if _may_loop(case):
        text += (
            " It has no effect in a partly unrolled loop: put `#pragma unroll 1` before that "
            "loop. If the argument is loop-invariant, the compiler may hoist the call, and the "
            "assumption may have to precede the loop."
        )
    if _may_loop(case) or len({calling_line(one.chain) for one in case.accesses}) > 1:
        text += (
            " A call may keep its slow path if its argument comes from an earlier iteration, or "
            "was assumed or computed before."
        )
    if argument is None:
        text += (
            " If the argument calls functions, assign it to a variable first, and use that in "
            "the assumption and the call."
        )
    if on_host:
        text += (
            " The function is also compiled for the host, whose compiler may not support it: "
            "keep it inside `#ifdef __CUDA_ARCH__`."
        )
    if argument is None:
        if is_float:
            text += (
                " It must constrain the float that the function receives: for a double, "
                "`__builtin_assume(fabsf((float)x) < 1e5f)`."
            )
        return (Advice(text),)
    code = f"__builtin_assume({absolute}({argument}) < {limit});"
    return (Advice(text, f"#ifdef __CUDA_ARCH__\n{code}\n#endif" if on_host else code),)


def _of_tangents(case: Case) -> str:
    """What the error of a fast tangent, a quotient, is besides; empty where none is called."""
    calls = (one for place in _places(case) for one in _CALL.finditer(_text(case, place)))
    if all(one["name"] != "tan" for one in calls):
        return ""
    return "that of __tanf divided by the square of the cosine, "


def _kept(case: Case) -> str:
    """Which lines reach the path by no name that could be replaced, such as in ``j0f(x)``."""
    lines = sorted(place for place in {calling_line(one.chain) for one in case.accesses} if place)
    hidden = [
        place
        for place in lines
        if not is_library(place.file) and not _CALL.search(_text(case, place))
    ]
    if not hidden:
        return ""
    shown = [case.line(place) for place in hidden[:_SHOWN]]
    more = [f"{len(hidden) - _SHOWN} more"] if len(hidden) > _SHOWN else []
    return (
        " Other library functions and macros that make such calls keep the slow path if only "
        f"names are replaced: {listed([*shown, *more])} {'names' if len(hidden) == 1 else 'name'} "
        "none."
    )


def _grows(case: Case, *, is_float: bool) -> bool:
    """Whether an argument of a call is an angle that grows with what the program computes."""
    for place in {calling_line(one.chain) for one in case.accesses} - {None}:
        assert place is not None
        text = _text(case, place)
        for call in _CALL.finditer(text):
            argument = _first_argument(text, call.end() - 1) or ""
            if is_growing(argument, case.sources, place, is_float=is_float):
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


def _half_turns(case: Case, is_float: bool | None, only: str) -> tuple[Advice, ...]:
    """The functions of multiples of pi, where arguments visibly are pi times something.

    Of one call its replacement is shown; of several, the functions and their lines are named.
    """
    turns: dict[tuple[str, SourceLocation], str | None] = {}
    for place in _places(case):
        text = _text(case, place)
        for call in _CALL.finditer(text):
            argument = _first_argument(text, call.end() - 1)
            factor = without_pi(argument, case.sources, place) if argument is not None else None
            if factor is None or call["name"] == "tan":
                continue
            suffix = "f" if call[0].rstrip("( \t").endswith("f") else ""
            name = f"{call['name']}pi{suffix}"
            code = factor.code if suffix or not is_float else factor.code_of_float
            is_shown = code is not None and call["name"] != "sincos" and (name, place) not in turns
            turns[name, place] = f"{name}({code})" if is_shown else None
    if not turns:
        return ()
    names = listed(list(dict.fromkeys(name for name, _ in turns)))
    lines = list(dict.fromkeys(case.line(place) for _, place in turns))
    shown = [*lines[:_SHOWN], *([f"{len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]
    where = f" of {listed(shown)}" if {place for _, place in turns} != {case.location} else ""
    text = (
        f"The argument{where} is a multiple of pi: pass the factor to {names}{only}, which has no "
        "slow path and is at least as accurate (if pi is written with few digits, results change "
        "by the digits it lacks). The slow path is removed once every call that shares it is "
        "replaced."
    )
    code = next(iter(turns.values())) if len(turns) == 1 else None
    return (Advice(text, code, rewrite="half-turns"),)


def _places(case: Case) -> list[SourceLocation]:
    """The lines of calls that reach the path: the finding's first."""
    called = {calling_line(one.chain) for one in case.accesses}
    # A function of the library's may serve several calls.
    called |= set(case.object.called_from if case.object is not None else ())
    every = (case.location, *sorted(one for one in called if one is not None))
    return [one for one in dict.fromkeys(every) if one is not None]


def _argument(case: Case) -> str | None:
    """The argument of the calls on the finding's line, where it may be evaluated before, too.

    None where they have several, or where what changes a variable, or is itself a call, would be
    done twice.
    """
    place = case.location
    text = _text(case, place) if place is not None else ""
    calls = list(_CALL.finditer(text))
    arguments = {_first_argument(text, call.end() - 1) for call in calls}
    only = arguments.pop() if len(arguments) == 1 else None
    if place is None or only is None or re.fullmatch(r"[\w.\[\]\s+\-*/()>]+", only) is None:
        return None
    before = text[: calls[0].start()]
    is_changed = re.search(r"\+\+|--|\w\s*\(", only) is not None or any(
        re.search(rf"(?<![\w.>]){word}\s*=(?!=)", before)
        for word in re.findall(r"(?<![\w.>])[A-Za-z_]\w*", only)
    )
    alone = _LOOP.search(before) is None and not is_governed(case.sources, place)
    return only if alone and not is_changed else None


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
    for evidence in found.evidence_facts if found is not None else ():
        subject = evidence.subject or ""
        if subject.endswith(("_f", "slowpathf")):
            return True
        if subject.endswith(("_d", "slowpathd")):
            return False
    size = found.size if found is not None else 0
    return {_FLOAT_SCRATCH: True, _DOUBLE_SCRATCH: False}.get(size)


RULE = Rule("LM402", "math-slow-path", severity, certain, message, advice, __name__)

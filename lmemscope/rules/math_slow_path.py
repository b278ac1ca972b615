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

from lmemscope.model import Advice, LocalAccess, Severity, is_library
from lmemscope.rules.base import Case, Rule, certain

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


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it first; then functions without the slow path, and the promise."""
    is_float = is_float_path(case)
    return (
        Advice(
            "Leave it if arguments are small: the slow path is then never taken, and costs only "
            "registers and code size."
        ),
        Advice(
            "For the sine or cosine of pi times something, `sinpi`, `cospi` or `sincospi` of that "
            "factor have no slow path."
        ),
        *_faster(is_float),
        *_promise(case, is_float),
    )


def _faster(is_float: bool | None) -> tuple[Advice, ...]:
    """Functions of less accuracy."""
    if is_float:
        return (
            Advice(
                "Where reduced accuracy is enough, use __sinf and similar intrinsics in all such "
                "calls of device code, or --use_fast_math for the whole file. Their absolute "
                "error is 1e-6 within pi of zero, and grows with larger arguments."
            ),
        )
    if is_float is False:
        return (
            Advice(
                "There is no fast intrinsic for double: if float accuracy is enough and arguments "
                "are small, convert to float and use __sinf or a similar intrinsic."
            ),
        )
    return ()


def _promise(case: Case, is_float: bool | None) -> tuple[Advice, ...]:
    """That arguments are small, where the compiler makes use of it.

    The slow path of floats begins at 105615, that of doubles at 2^31; the lower one where the type
    is not known. The compiler forgets the promise where it unrolls a loop by a part, and where it
    moves the call of an argument that stays the same out of a loop. Loops of libraries, which call
    a user's function, are nobody's to keep rolled.
    """
    if any(_is_called_by_library(access) for access in case.accesses):
        return ()
    absolute, limit = ("fabsf", "1e5f") if is_float else ("fabs", "1e5")
    if is_float is False:
        limit = "2e9"
    return (
        Advice(
            f"If arguments are always below {limit.removesuffix('f')}, tell the compiler before "
            f"each statement with such a call: `__builtin_assume({absolute}(x) < {limit})`, in "
            "device code only. Results for larger arguments are then wrong, as of angles that grow "
            "with the problem: reduce integers exactly first, `(i * j) % n` for `i * j / n` turns. "
            "It has no effect in a partly unrolled loop (put `#pragma unroll 1` before it), nor "
            "inside a loop for an argument that the loop does not change."
        ),
    )


def _is_called_by_library(access: LocalAccess) -> bool:
    """Whether the user's line is in a function that is inlined into a library's code."""
    files = [frame.location.file for frame in access.chain if frame.location.line > 0]
    users = [number for number, file in enumerate(files) if not is_library(file)]
    return bool(users) and any(is_library(file) for file in files[users[0] :])


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

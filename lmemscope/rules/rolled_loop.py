r"""A loop over an array was not unrolled, so its index is not a constant.

What it is. The array is indexed only by counters of loops whose trip count is constant. Fully
unrolled, every index would be a constant and the array could live in registers.

How to recognise it. PTX: the address advances by a constant step inside a loop that compares its
counter with a constant.

What it costs. As for any index at run time; the index is the same in all lanes, so 4 sectors per
request.

How to remove it. ``#pragma unroll`` before the loop (remove ``#pragma unroll 1``), trip counts
that are compile-time constants, no early ``break`` that stops the compiler from unrolling.

When to leave it. When unrolling makes the code too large, or the array too many registers.
"""

from __future__ import annotations

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain


def severity(case: Case) -> Severity:
    """A warning always: it is in a loop by nature, with one address for all lanes."""
    return "warning"


def message(case: Case) -> str:
    """Which array, and the loop whose counter indexes it."""
    loop = case.index.loop if case.index is not None else None
    where = f" ({case.line(loop)})" if loop is not None else ""
    return f"{case.described} is indexed by the counter of a loop that was not unrolled{where}"


def advice(case: Case) -> tuple[Advice, ...]:
    """To unroll that loop, with its own source line as the code to write."""
    loop = case.index.loop if case.index is not None else None
    code = None
    if loop is not None:
        text = case.sources.raw(loop.file, loop.line).strip()
        code = f"#pragma unroll\n{text}" if text.startswith("for") else "#pragma unroll"
    where = f" at line {loop.line}" if loop is not None else ""
    return (
        Advice(
            f"Unroll the loop{where} fully; then every index of {case.name} is a constant.", code
        ),
    )


RULE = Rule("LM202", "rolled-loop", severity, certain, message, advice, __name__)

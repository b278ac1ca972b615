"""Sentences and advice that the rules about indices share."""

from __future__ import annotations

from lmemscope.model import Advice, IndexSource
from lmemscope.rules.base import Case

_SMALL = 8


def index_clause(case: Case) -> str:
    """``: [data[i] & 63], made of memory at `data```, as far as it is known."""
    index = case.index
    if index is None:
        return ""
    expression = f" by `{index.expression}`" if index.expression is not None else ""
    made = [_source(source) for source in index.sources if source.kind != "other" or source.name]
    sources = f", which depends on {_list(list(dict.fromkeys(made)))}" if made else ""
    return f"{expression}{sources}"


def constant_index(case: Case) -> tuple[Advice, ...]:
    """Make the index constant: only where a loop counter is part of it."""
    index = case.index
    if index is None:
        return ()
    if {source.kind for source in index.sources} <= {"loop-counter"}:
        return (
            Advice(
                f"Make the index constant: shift the elements of {case.name} by one in a fully "
                "unrolled loop instead of advancing an index, or give the loop a constant trip "
                "count and unroll it.",
                "#pragma unroll\nfor (int j = 0; j < N - 1; ++j) a[j] = a[j + 1];",
            ),
        )
    kinds = {source.kind for source in index.sources}
    if "loop-counter" in kinds and not kinds & {"memory", "call"}:
        return (
            Advice(
                "If the loop's trip count can be a compile-time constant, unroll it and move the "
                "run-time part out of the index."
            ),
        )
    return ()


def selection(case: Case) -> tuple[Advice, ...]:
    """A chain of selects, for small arrays."""
    found = case.object
    if found is None or found.type is None or "[" not in found.type:
        return ()
    elements = 1
    for part in found.type.split("[")[1:]:
        digits = part.partition("]")[0]
        elements *= int(digits) if digits.isdigit() else 1
    if elements > 4 * _SMALL:
        return ()
    name = found.name or "a"
    return (
        Advice(
            f"With {elements} elements, select instead of indexing: compare with every constant "
            "in an unrolled loop; the array stays in registers.",
            f"#pragma unroll\nfor (int i = 0; i < {elements}; ++i) if (i == index) x = {name}[i];",
        ),
    )


def shared_memory(case: Case) -> Advice:
    """Shared memory laid out by thread."""
    found = case.object
    code = None
    if found is not None and found.type is not None and "[" in found.type:
        element, _, rest = found.type.partition("[")
        name = (found.name or "a").rpartition(".")[2]
        code = f"__shared__ {element} {name}[{rest}[BLOCK_SIZE];  // {name}[i][threadIdx.x]"
    return Advice(
        "Keep it in shared memory with the thread as the last dimension: each thread then has "
        "its own bank, whatever the index. It takes its size times the threads of a block.",
        code,
    )


def _source(source: IndexSource) -> str:
    if source.kind == "parameter":
        return f"the parameter {source.name}" if source.name else "a parameter"
    if source.kind in ("thread-id", "block-id"):
        return source.name or source.kind
    if source.kind == "memory":
        return f"values loaded from {source.name}" if source.name else "values loaded from memory"
    if source.kind == "call":
        return f"the result of {source.name}" if source.name else "the result of a call"
    if source.kind == "loop-counter":
        return "a loop counter" if source.constant_trip else "the counter of a run-time loop"
    return source.name or "a computed value"


def _list(items: list[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"

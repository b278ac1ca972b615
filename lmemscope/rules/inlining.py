"""Whether a called function can be inlined, and the line to change."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Advice, CallFacts
from lmemscope.rules.base import Case
from lmemscope.rules.indexing import listed

_FORBIDS = re.compile(r"__attribute__\s*\(\(noinline\)\)|\b\w*no_?inline\w*\b", re.IGNORECASE)
"""What keeps a function from being inlined: the word itself, or a macro that is called like it."""
_DEFINES = re.compile(
    r"^\s*#\s*define\s+(\w+)\s+(?:__noinline__|__attribute__\s*\(\(noinline\)\))\s*$"
)
_OWN = re.compile(r"__internal_|__nv_|__cuda_?|__cudart_|\$")
"""How NVIDIA's own functions begin: nobody else can declare them anew."""


def inlining(case: Case, symbols: Sequence[str]) -> tuple[Advice, ...]:
    """How to have functions inlined, each by what stands against it.

    Args:
        case: whose kernel calls them.
        symbols: their mangled names.
    """
    calls = case.facts.calls or CallFacts((), (), False)
    names = {symbol: short_name(demangle(symbol)) for symbol in symbols}
    recursive = [symbol for symbol in symbols if symbol in calls.recursive]
    external = [symbol for symbol in symbols if symbol in calls.external]
    library = [symbol for symbol in symbols if _OWN.match(names[symbol])]
    free = [s for s in symbols if s not in (*recursive, *external, *library)]
    found = []
    if free:
        found.append(_inline(case, list(dict.fromkeys(names[symbol] for symbol in free))))
    if external:
        one = listed(sorted({names[symbol] for symbol in external}))
        found.append(
            Advice(
                f"{one} is defined in another source: move the definition to a header, or "
                "compile and link with `-dlto`, so that it can be inlined."
            )
        )
    if recursive:
        one = listed(sorted({names[symbol] for symbol in recursive}))
        found.append(
            Advice(f"{one} calls itself, so it cannot be inlined: write it as a loop instead.")
        )
    if library:
        one = listed(sorted({names[symbol] for symbol in library}))
        found.append(
            Advice(
                f"{one} is CUDA's own and is not inlined: call it less often, or leave it as it is."
            )
        )
    return tuple(found)


def _inline(case: Case, names: list[str]) -> Advice:
    """To inline functions that nothing stands against, with the line of the first to be found."""
    text = f"Inline {listed(names)} (`__forceinline__`)"
    for name in names:
        written = _definition(case, name)
        if written is None:
            continue
        if "__forceinline__" in written:
            break
        forbids = _FORBIDS.search(written)
        if forbids is not None:
            text += f"; remove `{forbids[0]}`"
            code = _FORBIDS.sub("__forceinline__", written)
        else:
            code = re.sub(r"\binline\s+", "", written)
            code = code.replace("__device__", "__device__ __forceinline__", 1)
        return Advice(f"{text}.", code)
    return Advice(f"{text}.")


def _spelled_out(case: Case, file: str, text: str) -> str:
    """A declaration with the macros of its file that forbid inlining as what they stand for."""
    for line in case.sources.matching(file, _DEFINES):
        found = _DEFINES.search(line)
        if found is not None:
            text = re.sub(rf"\b{re.escape(found[1])}\b", "__noinline__", text)
    return text


def _definition(case: Case, name: str) -> str | None:
    """The line that declares a function with ``__device__``, up to its body; None where unclear."""
    plain = re.escape(name.partition("<")[0].rpartition("::")[2])
    pattern = re.compile(rf"\b__device__\b.*\b{plain}\s*\(")
    files = dict.fromkeys(
        frame.location.file for access in (*case.accesses, *case.generic) for frame in access.chain
    )
    if case.facts.location is not None:
        files[case.facts.location.file] = None
    for file in files:
        found = {text for text in case.sources.matching(file, pattern) if ";" not in text}
        if len(found) == 1:
            (text,) = found
            return _spelled_out(case, file, text.partition("{")[0].strip())
    return None

"""Which kernels of a source run a function, as far as its text shows: by names, whatever scopes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.constants import number_of

_DEFINED = re.compile(r"\b__(?:global|device|host)__\b[^;{}]*\)[^;{}()]*\{")
"""A function of the device, from its first word that says so to its body."""
_ATTRIBUTES = re.compile(
    r"\b(?P<name>__launch_bounds__|__maxnreg__|__cluster_dims__|__declspec|__attribute__|alignas)"
    r"\s*\((?P<given>(?:[^()]|\([^()]*\))*)\)"
)
_NAME = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^;{}()]{0,500}>\s*)?\(")


_Function: TypeAlias = "tuple[str, frozenset[str], Running | None]"
"""Its name, the names that it calls, and itself if it is a kernel."""
_KNOWN: WeakKeyDictionary[SourceText, dict[str, tuple[_Function, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Running:
    """A kernel whose text reaches a function.

    Attributes:
        name: without namespace.
        bound: threads of ``__launch_bounds__``; None where it has none that is a constant.
        file: that defines it.
    """

    name: str
    bound: int | None
    file: str


def function_name(head: str) -> str | None:
    """The plain name of a function, of the text before its body."""
    found = _NAME.search(_ATTRIBUTES.sub(" ", head))
    return found[1] if found is not None else None


def kernels_running(function: str, file: str, sources: SourceText) -> tuple[Running, ...]:
    """The kernels of a file, of what it quotes and of the compiled source that may run a function.

    Args:
        function: its plain name.
        file: that defines it.
        sources: the text.
    """
    main = sources.main or file
    files = dict.fromkeys(
        (file, *sources.quoted(file, searched=True), main, *sources.quoted(main, searched=True))
    )
    calls: dict[str, set[str]] = {}
    kernels: dict[str, Running] = {}
    for one in files:
        for name, called, kernel in _functions(one, sources):
            calls.setdefault(name, set()).update(called)
            if kernel is not None:
                kernels.setdefault(name, kernel)
    reached, pending = {function}, [function]
    while pending:
        wanted = pending.pop()
        above = [name for name, called in calls.items() if wanted in called and name not in reached]
        reached.update(above)
        pending += above
    return tuple(kernel for name, kernel in kernels.items() if name in reached)


def _functions(file: str, sources: SourceText) -> tuple[_Function, ...]:
    """Each function of the device in a file, looked up once for all findings."""
    known = _KNOWN.setdefault(sources, {})
    if file not in known:
        known[file] = tuple(_read(file, sources))
    return known[file]


def _read(file: str, sources: SourceText) -> Iterator[_Function]:
    code = sources.code(file)
    for found in _DEFINED.finditer(code):
        head = found[0]
        name, closed = function_name(head), closed_at(code, found.end() - 1)
        if name is None or closed is None:
            continue
        called = frozenset(_CALLED.findall(code[found.end() : closed]))
        if "__global__" not in head:
            yield name, called, None
            continue
        place = SourceLocation(file, 1 + code.count("\n", 0, found.end()))
        given = {one["name"]: one["given"] for one in _ATTRIBUTES.finditer(head)}
        first = next(iter(parts_of(given.get("__launch_bounds__", ""))), "")
        bound = number_of(first, sources, place) if first else None
        yield name, called, Running(name, bound, file)

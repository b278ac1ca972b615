"""Sentences and advice that the rules about indices share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from lmemscope.model import (
    Advice,
    Cause,
    IndexSource,
    LocalAccess,
    is_foreign,
    traits_of,
)
from lmemscope.rules.base import Case, by_cost
from lmemscope.rules.chosen_pointers import chosen_advice
from lmemscope.rules.register_cap import register_limit
from lmemscope.rules.scopes import declarations_of

_FEW_SITES = 8
_NAMED = 5
NO_REASONS: Mapping[str, str] = {}
"""No rewrite was asked."""
REGISTER_FILE = 1020
"""Bytes: 255 registers."""


def index_clause(case: Case) -> str:
    """What follows "is indexed at run time": by which index, made of what, if that is known.

    What other indices of the object are made of beside stands apart.
    """
    index = case.index
    if index is None:
        return ""
    written = (index.expression,) if index.expression is not None else index.alternatives
    expression = f" by {listed([f'`{one}`' for one in written], 'or')}" if written else ""
    made, others = _listed_sources(index.made_of), _listed_sources(index.other_sources)
    apart = f"; other indices depend on {others}" if others else ""
    if index.chosen_by:
        apart += f"; the pointer depends on {_listed_sources(index.chosen_by)}"
    if not made:
        return f"{expression}{apart}"
    if {source.kind for source in index.made_of} == {"copy"}:
        return f" by {made}{apart}"
    ends = _listed_sources(index.trip_sources)
    trips = f"; the loop's trip count depends on {ends}" if ends else ""
    is_loaded = {source.kind for source in index.made_of} == {"memory"}
    origin = made.replace("values loaded", "loaded") if is_loaded else f"depends on {made}"
    if expression:
        return f"{expression} ({origin}{trips}){apart}"
    return f" (the index {'is ' if is_loaded else ''}{origin}{trips}){apart}"


def _listed_sources(sources: Sequence[IndexSource]) -> str:
    named = [one for one in sources if one.kind != "other" or one.name]
    memory = [one.name for one in named if one.kind == "memory"]
    # What is loaded through a pointer depends on the pointer.
    named = [one for one in named if one.kind != "parameter" or one.name not in memory]
    loaded = list(dict.fromkeys(_quoted(name) for name in memory if name))
    loaded += ["other memory"] if None in memory else []
    if len(loaded) < 2:
        return listed(list(dict.fromkeys(map(_source, named))))
    # Last, where a list within the list is read as one.
    made = list(dict.fromkeys(_source(one) for one in named if one.kind != "memory"))
    return listed([*_few(made), f"values loaded from {listed(_few(loaded))}"])


def _few(names: list[str]) -> list[str]:
    """Names as a sentence takes them; the last of many as their number."""
    if len(names) <= _NAMED:
        return names
    return [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]


def left_alone(case: Case) -> tuple[Advice, ...]:
    """To leave what costs little; nothing where it does not."""
    sites = case.share.sites
    if by_cost(case) != "note" or sites.load_sites + sites.store_sites > _FEW_SITES:
        return ()
    if any(one.uniformity != "uniform" for one in (*case.accesses, *case.generic)):
        return ()  # Whether lanes have one address is not known.
    return (
        Advice(
            f"Leave {case.name} in local memory: a few uniform accesses outside loops cost little."
        ),
    )


def _fits(case: Case) -> bool:
    """Whether registers may hold an object, each element in its own."""
    size = case.object.type_size or case.object.size if case.object is not None else 0
    return -(-size // 4) <= register_limit(case.facts) - _OTHER_VALUES


def without_rewrite(case: Case, declined: Mapping[str, str]) -> tuple[Advice, ...]:
    """What is left to say where no rewrite applies.

    Args:
        case: of an index.
        declined: why rewrites do not, by their names, the nearest first; empty if none was asked.
    """
    found = case.object
    if found is None:
        return (
            Advice(
                "The access may be to any of several objects, so no rewrite is offered: see each "
                "of them."
            ),
        )
    if case.alternatives and (chosen := chosen_advice(case)):
        return chosen
    # Elements in an order that data gives are needed at any time.
    has_pieces = is_counted(case) and found.size > _PIECE
    pieces = ", or process it in pieces that fit in registers" if has_pieces else ""
    way = f" Let the threads of a warp cooperate on one array{pieces}.{conditions(case)}"
    near = "".join(
        f" `fix` does not offer {name} here: {reason}."
        for reason, name in islice(_by_reason(declined), 2)
    )
    constant = _made_constant(case) if found.size <= REGISTER_FILE else ""
    text = f"No small change is known to remove it.{near}{constant}{way}"
    return (Advice(text, is_none=True),)


def _by_reason(declined: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Each reason with the rewrites that have it, in a sentence."""
    names: dict[str, list[str]] = {}
    for name, reason in declined.items():
        names.setdefault(reason, []).append(f"`{name}`")
    return ((reason, listed(own, "or")) for reason, own in names.items())


def _made_constant(case: Case) -> str:
    """What makes every index a constant if launches do not differ in it, as a sentence."""
    if _has_run_time_ends(case):
        return (
            " If all launches use the same loop bound, make it a constant in the kernel and "
            "unroll every loop that indexes it: every index is then a constant, if there are "
            "enough registers."
        )
    index = case.index
    if index is None or index.least_uniform != "uniform" or not index.all_sources:
        return ""
    names = [one.name for one in index.all_sources if one.kind == "memory" and one.name]
    if len(names) < len(index.all_sources) or not all(_is_constant(one, case) for one in names):
        return ""
    tables = listed([f"`{one}`" for one in sorted(names)])
    return (
        f" If all launches find the same in {tables}, write these values as a `const` table in "
        "the kernel and unroll every loop that indexes it: every index is then a constant, if "
        "there are enough registers."
    )


def _is_constant(name: str, case: Case) -> bool:
    """Whether what a finding's line calls by a name is in constant memory."""
    place = case.location
    found = declarations_of(name, case.sources, place) if place is not None else ()
    return bool(found) and all("__constant__" in one.statement for one in found)


def conditions(case: Case) -> str:
    """What would do if it held, as a sentence, where no access shows that it does not.

    What is stored where data decides is no copy. What differs between lanes is not the same.
    """
    accesses = (*case.accesses, *case.generic)
    stores = [one for one in accesses if one.is_store]
    loaded = {one.chain for one in accesses if not one.is_store and one.chain}
    ways = []
    is_changed = any(one.chain in loaded for one in stores)
    is_placed = all(one.uniformity in ("uniform", "unknown") for one in stores)
    if is_placed and not is_changed and stores and all(_copies(case, one) for one in stores):
        ways.append("if it only copies memory that does not change meanwhile, read that instead")
    if is_placed and case.object is not None and case.object.is_alike:
        ways.append("if it is the same in all threads, keep one copy per block")
    text = "; ".join(ways)
    return f" {text[:1].upper()}{text[1:]}." if ways else ""


def _copies(case: Case, store: LocalAccess) -> bool:
    """Whether a store's line assigns to an element what it reads from memory, and no more."""
    place = store.line(case.facts.home)
    name = (case.object.name or "").rpartition(".")[2] if case.object is not None else ""
    if place is None or not name:
        return False
    text = case.sources.line(place.file, place.line)[:_LINE]
    assigned = re.search(rf"(?<!\w){re.escape(name)}\s*\[[^;=]*\]\s*=(?!=)(?P<value>[^;]*);", text)
    return assigned is not None and _READ.fullmatch(assigned["value"].strip()) is not None


_READ = re.compile(
    r"(?:\(\w[\w\s]*\)\s*)?(?:\*\s*\w+|__ldg\s*\(&?\s*[^()]*\)"
    r"|[\w.:]+(?:->\w+)*(?:\s*\[(?:[^\[\]]|\[[^\[\]]*\])*\])+(?:\.\w+)?)"
)
"""An element of an array, what a pointer points to, or what ``__ldg`` reads, perhaps in a cast."""
_PIECE = 64
"""Bytes of an array that is as small as a piece of a larger one would be."""
_LINE = 500
"""Characters of a line that are looked at."""
_MOST_WRITTEN_OUT = 131072
"""Instructions up to which nvcc writes a loop out, whatever a pragma asks for.

Measured with nvcc 13.5 on loops of 16 to 1024 iterations: 124,868 are written out, 153,600 are not.
"""
_OTHER_VALUES = 32
"""Registers that a kernel needs beside an array; an array that leaves fewer does not fit."""


def can_be_unrolled(case: Case) -> bool:
    """Whether every index counts a loop that can be unrolled, and registers may hold the object.

    Of what is larger than registers can be, and a rolled loop's all the same, little is used.
    """
    found, index = case.object, case.index
    if found is None or index is None or not index.all_sources:
        return False
    if index.loop is not None and is_foreign(index.loop.file):
        return False  # The loop is nobody's to change here.
    counted = all(
        one.kind == "loop-counter" and one.constant_trip is not False for one in index.all_sources
    )
    if not counted or (index.written_out or 0) > _MOST_WRITTEN_OUT:
        return False
    return (found.type_size or found.size) > REGISTER_FILE or _fits(case)


def is_counted(case: Case) -> bool:
    """Whether every index is made of loop counters alone."""
    sources = case.index.all_sources if case.index is not None else ()
    return bool(sources) and all(one.kind == "loop-counter" for one in sources)


def _has_run_time_ends(case: Case) -> bool:
    """Whether all indices are counters' of loops, of which the ends are known at run time alone."""
    if case.index is not None and case.index.least_uniform != "uniform":
        return False  # Threads differ in how far they count.
    sources = case.index.all_sources if case.index is not None else ()
    return is_counted(case) and any(not one.constant_trip for one in sources)


def unnamed(case: Case) -> tuple[Advice, ...]:
    """What removes an indexed object whose name is not known for sure, whatever it is called."""
    found = case.object
    if found is None or (found.name is not None and found.confidence != "possible"):
        return ()
    place = case.location
    where = f" at {case.line(place)}" if place is not None else ""
    sources = case.index.all_sources if case.index is not None else ()
    why = f"The variable's name is {'unknown' if found.name is None else 'uncertain'}"
    if sources and all(source.kind == "loop-counter" for source in sources):
        less = ", and not all of it is live at once" if found.size > REGISTER_FILE else ""
        way = (
            "It can stay in registers only if every index is a constant: unroll loops with a "
            f"constant trip count, or select elements by comparing with the index{less}."
        )
    elif found.size > REGISTER_FILE:
        way = (
            "It is too large for registers: process it in pieces that fit, or let the threads of "
            "a warp cooperate on one array."
        )
    else:
        way = "It can stay in registers only if every index is a constant."
    return (Advice(f"{why}: check the array that is indexed{where}. {way}"),)


def with_members(case: Case, found: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """Advice on a member of a structure, with the others that have to follow it.

    A structure goes to registers as a whole: one member with a run-time index keeps the others.
    """
    own = case.object
    root, _, rest = (own.name or "").partition(".") if own is not None else ("", "", "")
    if own is None or not rest or not found:
        return found
    others = [
        f"`{one.name}`"
        for one in case.facts.objects
        if one is not own
        and one.function == own.function
        and one.declared == own.declared
        and traits_of(one.cause).indexed
        and (one.name or "").startswith(f"{root}.")
    ]
    if not others:
        return found
    more = f" Do the same for {listed(others)}: a structure leaves local memory only as a whole."
    return tuple(replace(one, text=f"{one.text}{more}") for one in found)


_BY_INDEX = frozenset({"dynamic-index", "rolled-loop", "const-table"})
"""Causes that small arrays may do without: ptxas keeps some that are indexed in registers."""


def still_kept(also: Sequence[Cause]) -> str:
    """What else keeps an object in memory, as a sentence behind another; empty of nothing."""
    sure = [one for one in also if one not in _BY_INDEX]
    if sure:
        verb = "is" if len(also) == 1 else "are"
        return f" It stays in memory until {listed([*also])} {verb} also removed."
    return f" It may stay in memory for another cause: {listed([*also])}." if also else ""


def listed(items: list[str], word: str = "and") -> str:
    """``a, b and c``, or with another word before the last."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


_NUMBERED = re.compile(r"parameter \d+")
"""The name of a parameter that nothing calls otherwise."""


def _quoted(name: str) -> str:
    return name if _NUMBERED.fullmatch(name) else f"`{name}`"


def _source(source: IndexSource) -> str:
    if source.kind == "parameter":
        if source.name is None:
            return "a parameter"
        numbered = _NUMBERED.fullmatch(source.name)
        return source.name if numbered else f"the parameter `{source.name}`"
    if source.kind in ("thread-id", "block-id"):
        return source.name or source.kind
    if source.kind == "memory":
        return f"values loaded from {_quoted(source.name) if source.name else 'memory'}"
    if source.kind == "call":
        return f"the result of `{source.name}`" if source.name else "the result of a call"
    if source.kind == "copy":
        return "a `memcpy` or `memset` of run-time length"
    if source.kind == "loop-counter":
        return (
            "a loop counter"
            if source.constant_trip
            else "the counter of a loop with a run-time trip count"
        )
    return source.name or "a computed value"

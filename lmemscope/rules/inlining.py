"""Whether a called function can be inlined, and the line to change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from lmemscope.formats.demangle import demangle, original_name, short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import Advice, CallFacts, KernelFacts, LocalAccess
from lmemscope.rules.base import Case
from lmemscope.rules.indexing import listed

_NAMED = 4
_OWN = re.compile(r"__internal_|__nv_|__cuda_?|__cudart_|__assert|\$")
"""How NVIDIA's own functions begin: nobody else can declare them anew."""
_RUNTIME = re.compile(r"cuda[A-Z]\w*|vprintf|malloc|free|mem(?:cpy|set)|\w+_slowpath\w*")
"""Functions of the device runtime, by their plain names."""
_PARTS = re.compile(r"\$__internal_\d+_\$(?:__cuda_)?")
"""What ptxas puts before the name of a function of its own."""
_PRECISE = (
    (re.compile(r"\b\w*_(?:div|rcp)_\w*f32_slowpath"), "divisions", "-prec-div=false"),
    (re.compile(r"\b\w*_sqrt_\w*f32_slowpath"), "square roots", "-prec-sqrt=false"),
)
"""ptxas's own functions that options do without, by name."""


def not_called(facts: KernelFacts) -> Advice:
    """What to do about functions that are linked with a kernel and that it does not call."""
    why = "it stores the addresses of these functions but calls none"
    if facts.calls is not None and facts.calls.indirect:
        why = (
            "these functions are linked because their addresses are taken, but their "
            "signatures do not match its indirect calls"
        )
    return Advice(
        f"Nothing to do in this kernel: {why}. Any cost is in the kernels that call them.",
        is_none=True,
    )


def is_librarys(facts: KernelFacts, symbol: str) -> bool:
    """Whether a function is CUDA's own, or a library's: its users neither change nor inline it.

    Args:
        facts: of the kernel that calls it.
        symbol: its mangled name.
    """
    calls = facts.calls or CallFacts((), (), False)
    plain = symbol not in calls.reached and _RUNTIME.fullmatch(symbol) is not None
    return symbol in calls.library or plain or _OWN.match(symbol) is not None


def only_linked(facts: KernelFacts) -> frozenset[str]:
    """Functions that lie beside a kernel's code for their addresses, and that it does not call.

    Virtual functions of what a kernel creates are such, but for those that fit a call through a
    pointer in anything that it reaches.
    """
    calls = facts.calls
    if calls is None:
        return frozenset()
    # What ptxas adds itself is called by whoever divides, or takes a root.
    own = {callee.name for callee in facts.callees if not callee.name.startswith("$")}
    run = {*calls.reached, *calls.pointed}
    return frozenset(name for name in own if original_name(name) not in run)


def by_pointer(accesses: Iterable[LocalAccess]) -> frozenset[str]:
    """The functions whose code keeps something because they are called through a pointer."""
    return frozenset(
        access.function
        for access in accesses
        if any(evidence.kind == "called-by-pointer" for evidence in access.evidence_facts)
    )


def names_of(symbols: Iterable[str]) -> str:
    """Functions as an author knows them: ``a, b and c``; more than a few are counted."""
    names = sorted({_PARTS.sub("", short_name(demangle(symbol))) for symbol in symbols})
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return listed(names)


def inlining(case: Case, symbols: Sequence[str], *, hands_on: bool = False) -> tuple[Advice, ...]:
    """How to have functions inlined, each by what stands against it.

    Args:
        case: whose kernel calls them.
        symbols: their mangled names.
        hands_on: whether it is about an address, which they may hand on to others.
    """
    calls = case.facts.calls or CallFacts((), (), False)
    names = {symbol: short_name(demangle(symbol)) for symbol in symbols}
    recursive = [symbol for symbol in symbols if symbol in calls.recursive]
    external = [symbol for symbol in symbols if symbol in calls.external]
    library = [symbol for symbol in symbols if is_librarys(case.facts, symbol)]
    external = [symbol for symbol in external if symbol not in library]
    recursive = [symbol for symbol in recursive if symbol not in library]
    free = [s for s in symbols if s not in (*recursive, *external, *library)]
    found = []
    free_names = list(dict.fromkeys(names[symbol] for symbol in free))
    if free_names:
        inline = _inline(free_names)
        if hands_on:
            more = f"{inline.text} Do the same for every other function that receives the address."
            inline = replace(inline, text=more)
        found.append(inline)
    if external:
        those, they = names_of(external), "it" if len(external) == 1 else "they"
        are = "it is" if len(external) == 1 else "they are"
        definition = "definition" if len(external) == 1 else "definitions"
        more = f" {_of_unseen(case, they)}" if hands_on else ""
        found.append(
            Advice(
                f"{those}: defined in another source; move the {definition} to a header, or "
                f"compile and link with `-dlto`, so that {they} can be inlined unless {are} "
                f"`__noinline__`.{more}"
            )
        )
    if recursive:
        are = "is recursive, so it" if len(recursive) == 1 else "are recursive, so they"
        found.append(Advice(f"{names_of(recursive)} {are} cannot be inlined: use a loop instead."))
    return (*found, *of_library(library))


def _of_unseen(case: Case, they: str) -> str:
    """What functions of other sources may do with an address, which nothing here shows."""
    what = case.name if case.object is not None else "the object"
    do = "does" if they == "it" else "do"
    return (
        f"The outcome then depends on what {they} {do} with the address, which this source "
        f"does not show: {what} stays in local memory if the address is stored or passed to a "
        "non-inlined function, or if it is copied with a run-time length or dynamically "
        "indexed."
    )


def of_its_own(case: Case) -> tuple[Advice, ...]:
    """What to do about a function that is compiled by itself, which no kernel is known to call."""
    calls = case.facts.calls
    if is_of_this_file(case) or (calls is not None and case.facts.name in calls.recursive):
        return inlining(case, (case.facts.name,))
    how = "define it `inline`"
    if _is_instance(case):
        how = "remove its explicit instantiation"
    return (
        Advice(
            f"If no other file calls it, {how}: it disappears once its calls are inlined. "
            "Otherwise, move it to a header, or compile and link with `-dlto`, so that it "
            "can be inlined there too."
        ),
    )


def _is_instance(case: Case) -> bool:
    """Whether it is an instance of a template, which others can only call if it is explicit."""
    name = short_name(case.facts.demangled)
    return name.endswith(">") and "operator" not in name


def is_of_this_file(case: Case) -> bool:
    """Whether no other file can call it: it is static, of an unnamed namespace, or ptxas's copy."""
    name = case.facts.name
    return name != stable_name(name) or name != original_name(name)


def of_library(symbols: Sequence[str]) -> tuple[Advice, ...]:
    """What to do about functions that are CUDA's own, or a library's."""
    plain = {symbol: _PARTS.sub("", symbol) for symbol in symbols}
    found = []
    for pattern, what, option in _PRECISE:
        own = [symbol for symbol in symbols if pattern.fullmatch(plain[symbol])]
        if own:
            found.append(
                Advice(
                    f"{names_of(own)} {'serves' if len(own) == 1 else 'serve'} {what} of "
                    f"float: if less accurate versions are enough, `{option}` avoids "
                    f"{'it' if len(own) == 1 else 'them'}."
                )
            )
    others = [s for s in symbols if not any(one.fullmatch(plain[s]) for one, _, _ in _PRECISE)]
    if others:
        call, leave = ("it", "it is") if len(others) == 1 else ("them", "they are")
        found.append(
            Advice(
                f"Not yours to inline: {names_of(others)} (from CUDA or another library). "
                f"Call {call} less often, or leave {call} as {leave}."
            )
        )
    return tuple(found)


def _inline(names: Sequence[str]) -> Advice:
    """To inline functions that nothing stands against."""
    return Advice(f"Inline {listed(list(names))} (`__forceinline__`).", rewrite="force-inline")

r"""Calls need a stack: recursion, function pointers, virtual functions, results in memory.

What it is. A function that recurses or is called through a pointer keeps values on the stack across
the call; large structures are passed and returned there.

How to recognise it. The kernel's own frame may be 0. ptxas warns "cannot be statically determined";
the LDL/STL are in the called function; the minimum stack is unknown. ``lmemscope scan --link FILE``
shows cycles, candidates of pointers, and the smallest cudaLimitStackSize.

What it costs. A store and a load per value and call; cudaLimitStackSize bytes for every resident
thread. An overflow is an error.

How to remove it. Recursion: iterate, with an explicit stack if necessary; ``__forceinline__`` does
not help. Function pointers and virtual functions: a template parameter or a switch. A function of
another source: define it in a header, or link with ``-dlto``. Other functions: ``__forceinline__``.
For recursion that stays, set ``cudaDeviceSetLimit(cudaLimitStackSize, …)`` to the depth that
occurs.

When to leave it. When the depth is small and the code is not hot.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import Advice, CallFacts, LocalAccess, Severity, count
from lmemscope.rules.base import Case, Rule, certain, traffic
from lmemscope.rules.indexing import listed
from lmemscope.rules.inlining import (
    inlining,
    is_librarys,
    is_of_this_file,
    names_of,
    not_called,
    of_its_own,
    only_linked,
)

_SETS_LIMIT = re.compile(r"\bcudaDeviceSetLimit\s*\(\s*cudaLimitStackSize\b")


def severity(case: Case) -> Severity:
    """A warning always: how often the call is made is not known here."""
    return "warning"


def message(case: Case) -> str:
    """Why values are kept across calls: recursion first, for it alone has no known depth."""
    calls = case.facts.calls
    if calls is not None and calls.recursive:
        who = _recursions(calls)
        hidden = ""
        if case.facts.stack_frame == 0:
            hidden = "; the kernel's own frame of 0 bytes does not show it"
        if calls.endless:
            hidden += "; the recursion never ends"
        others = [name for name in _taking(case) if name not in calls.recursive]
        if others:
            who += f", beside arguments and results of {names_of(others)},"
        pointed = [one for one in case.accesses if _is_by_pointer(one)]
        own = [one for one in case.accesses if one not in pointed]
        # What several functions keep no one call of them does.
        often = "in all" if len({access.function for access in own}) > 1 else "per call"
        if not pointed or not own:
            return f"{who} on the stack: {traffic(case)} {often}{hidden}"
        return (
            f"{who} on the stack: {_counted(own)} {often}{hidden}; functions called through "
            f"pointers also save registers there: {_counted(pointed)} in all"
        )
    seen = f": {traffic(case)} in all" if case.accesses else ""
    if _is_given(case):
        return f"callers pass values to the function through the stack{seen}"
    if calls is not None and calls.indirect and not case.accesses and not case.share.frame_bytes:
        return (
            "the stack depth is unknown: the kernel calls through pointers, and the callees may "
            "keep values on the stack"
        )
    if calls is not None and calls.indirect:
        return f"calls through pointers keep values on the stack{seen}"
    if not case.accesses and only_linked(case.facts):
        return (
            "the stack depth is unknown: functions linked because their addresses are taken call "
            "through pointers, but the kernel calls none of them"
        )
    return f"calls pass values through the stack{seen}"


def _recursions(calls: CallFacts) -> str:
    """Which functions call which, until the first is called again, and keep their values."""
    names = {name: short_name(demangle(name)) for name in calls.recursive}
    if len(names) == 1:
        return f"the function {names[calls.recursive[0]]} calls itself and keeps its values"
    ways = []
    for first, *rest in calls.cycles:
        way = " calls ".join([names[first], *(f"{names[one]}, which" for one in rest)])
        ways.append(f"the function {way} calls {names[first] if rest else 'itself'}")
    who = f"{'; '.join(ways)}; they" if ways else f"the functions {', '.join(names.values())}"
    return f"{who} keep their values"


def _is_by_pointer(access: LocalAccess) -> bool:
    """Whether it is of a function that calls through pointers lead to, recursion aside."""
    return any(one.kind == "called-by-pointer" for one in access.evidence_facts)


def _counted(accesses: Sequence[LocalAccess]) -> str:
    stores = sum(one.is_store for one in accesses)
    return f"{count(len(accesses) - stores, 'load')} and {count(stores, 'store')}"


def advice(case: Case) -> tuple[Advice, ...]:
    """By what makes the calls: recursion into a loop, pointers into a switch, the rest inlined."""
    calls = case.facts.calls
    if calls is not None and calls.recursive:
        if all(is_librarys(case.facts, name) for name in calls.recursive):
            return inlining(case, calls.recursive)
        if calls.endless:
            names = listed([short_name(demangle(name)) for name in calls.endless])
            again, them = ("it", "it") if len(calls.endless) == 1 else ("one of them", "them")
            return (
                Advice(
                    f"Every path through {names} calls {again} again, so that no call of {them} "
                    "ever returns: call the intended function, which may not be declared for these "
                    "types here, or end the recursion."
                ),
            )
        names = listed([short_name(demangle(name)) for name in calls.recursive])
        loop = (
            f"Rewrite {names} as a loop. If it needs a stack, use a per-thread array: it is also "
            "in local memory, but its size is known, and it holds only the values that it needs."
        )
        if case.facts.kind == "function" and not is_of_this_file(case):
            loop += (
                " A copy compiled for other files still saves its callers' registers, unless it "
                "is also `inline`."
            )
        others = tuple(name for name in _taking(case) if name not in calls.recursive)
        return (
            Advice(loop),
            *(inlining(case, others) if others else ()),
            *_room(case),
        )
    if calls is not None and calls.indirect and not _is_given(case):
        return (
            Advice(
                "Replace function pointers and virtual functions with a template parameter, or a "
                "switch over functions defined in this source or its headers, so that the callee "
                "can be inlined."
            ),
        )
    if not case.accesses and only_linked(case.facts):
        return (not_called(case.facts),)
    called = _taking(case) or dict.fromkeys(
        access.function for access in case.accesses if access.function != case.facts.name
    )
    if not called and calls is not None:
        called = dict.fromkeys(calls.external or calls.reached)
    if called:
        own = of_its_own(case) if case.facts.name in called else ()
        others = tuple(name for name in called if name != case.facts.name)
        return (*inlining(case, others), *own)
    return (
        Advice("Inline the called functions (`__forceinline__`) where you own their definitions."),
    )


def _room(case: Case) -> tuple[Advice, ...]:
    """To make room on the stack, where no text in sight does."""
    files = {case.facts.home, case.sources.main} - {None}
    if any(case.sources.matching(file, _SETS_LIMIT) for file in files if file is not None):
        return (
            Advice(
                "If the recursion stays, check that the cudaLimitStackSize that the program sets "
                "is enough for its maximum depth."
            ),
        )
    return (
        Advice(
            "If the recursion stays, set cudaLimitStackSize for its maximum depth with "
            "cudaDeviceSetLimit before the launch."
        ),
    )


def _taking(case: Case) -> dict[str, None]:
    """The functions whose arguments or results are on the stack."""
    return dict.fromkeys(
        evidence.subject
        for access in case.accesses
        for evidence in access.evidence_facts
        if evidence.kind == "ptx-instruction" and evidence.subject is not None
    )


def _is_given(case: Case) -> bool:
    """Whether all of it is what a function that is compiled by itself gets from its callers."""
    return bool(case.accesses) and all(
        not access.is_store
        and any(
            evidence.kind == "ptx-instruction" and evidence.subject == case.facts.name
            for evidence in access.evidence_facts
        )
        for access in case.accesses
    )


RULE = Rule("LM403", "call-frame", severity, certain, message, advice, __name__)

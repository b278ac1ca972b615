"""What a rule is, and what it is asked about."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.formats.kernel_names import lasting_name
from lmemscope.model import (
    LANGUAGES,
    Advice,
    Cause,
    CauseShare,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    IndexFacts,
    KernelFacts,
    Language,
    LocalAccess,
    LocalObject,
    Severity,
    SourceLocation,
    SourceText,
    calling_line,
    count,
    is_library,
    traits_of,
)

FINGERPRINTS = 4
"""How fingerprints are made, counted up with each change: 2 leaves out what
compilers number, 3 has the line of the access that decides, 4 has what computes the size of an
``alloca``."""

_EVIDENCE_SHOWN = 4

_HANDED_ON = ("address-taken", "device-launch", "printf-args")
_BY_INDEX: frozenset[Cause] = frozenset(
    {
        "dynamic-index",
        "rolled-loop",
        "large-array",
        "const-table",
        "param-copy",
        "volatile",
    }
)
"""Causes whose objects would not be in memory, or not cost as much, without that index."""


class Case(Struct, frozen=True):
    """One line of a kernel's ledgers, with everything a rule needs to judge it.

    Attributes:
        facts: the kernel.
        share: cause, object and bytes.
        object: the stack object, or None.
        accesses: the sites of this share.
        generic: ``LD``/``ST`` of its object.
        sources: text of the user's files.
    """

    facts: KernelFacts
    share: CauseShare
    object: LocalObject | None
    accesses: Sequence[LocalAccess]
    sources: SourceText
    generic: Sequence[LocalAccess] = ()

    @property
    def language(self) -> Language:
        """What the kernel is written in."""
        return LANGUAGES[self.facts.language]

    @property
    def index(self) -> IndexFacts | None:
        """How the object is indexed."""
        return self.object.index if self.object is not None else None

    @property
    def loop_depth(self) -> int:
        """The deepest loop that is known around any of the sites, a library's included."""
        accesses = (*self.accesses, *self.generic)
        return max(((a.loop_depth or 0) + a.library_loops for a in accesses), default=0)

    @property
    def is_divergent(self) -> bool:
        """Whether lanes of a warp use different addresses at some site."""
        varying = ("lane-varying", "data-dependent")
        return any(a.uniformity in varying for a in (*self.accesses, *self.generic))

    @property
    def alternatives(self) -> tuple[LocalObject, ...]:
        """The kernel's other objects that a pointer which leads to this one may lead to."""
        own = self.share.object_index
        reached = {
            number
            for access in (*self.accesses, *self.generic)
            if own is not None and own in access.touched and not access.joined
            for number in access.touched
        }
        return tuple(self.facts.objects[number] for number in sorted(reached - {own}))

    @property
    def shown(self) -> frozenset[EvidenceKind]:
        """The kinds of the object's evidence."""
        evidence = self.object.evidence_facts if self.object is not None else ()
        return frozenset(one.kind for one in evidence)

    @property
    def is_temporary(self) -> bool:
        """Whether a variable fits its place that it cannot be: it is copied to or from that."""
        return "plain-declaration" in self.shown

    @property
    def is_in_choice(self) -> bool:
        """Whether ``?:`` chooses between it and another variable, which may be volatile."""
        return "volatile-choice" in self.shown

    @property
    def name(self) -> str:
        """What to call the object in a sentence."""
        if self.object is None:
            return "one of several local objects"
        if self.object.name is None:
            return "the object"
        doubt = " (probably)" if self.object.confidence == "possible" else ""
        return f"`{self.object.name}`{self._which}{doubt}"

    @property
    def _which(self) -> str:
        """The line that declares it, where another variable of the kernel has its name."""
        own = self.object
        if own is None or own.declared is None:
            return ""
        others = {
            one.declared
            for one in self.facts.objects
            if one.name == own.name and one.declared is not None
        }
        return f" of {self.line(own.declared)}" if others - {own.declared} else ""

    @property
    def described(self) -> str:
        """The object with its type and size."""
        if self.object is None:
            return self.name
        if self.object.name is None:
            # Padding behind it may count: only a type tells how large it is.
            return f"an object of up to {count(self.object.size, 'byte')}"
        size = count(self.object.size, "byte")
        if self.object.extent == "part" and self.object.type_size:
            size = f"{self.object.size} of {count(self.object.type_size, 'byte')}"
        return f"{self.name} ({self.object.type}, {size})"

    def line(self, place: SourceLocation) -> str:
        """``line 7``, or ``line 7 of ring.cuh`` in another file than the kernel's."""
        home = self.facts.home
        inside = home in (None, place.file)
        return f"line {place.line}{'' if inside else f' of {os.path.basename(place.file)}'}"

    @property
    def location(self) -> SourceLocation | None:
        """The line to look at first.

        What shows in no byte, or in functions that are called through a pointer alone, has the line
        of the call that makes it, as ``alloca`` has. Code of the library's has the user's line that
        calls it, wherever that is inlined, an address that is taken the line where it is handed on,
        a loop that was not unrolled its own, an object that is in memory for its index that of the
        access that decides, what is volatile a line that has its name; anything else the most
        expensive line by site bytes, deepest loop first.
        """
        if self.share.location is not None:
            return self.share.location
        if self.object is not None and self.object.called_from:
            # The call that the accesses are shown at, the one in the deepest loop.
            calls, shown = self.object.called_from, self._costly(_anywhere, calls=True)
            return shown if shown in calls else calls[0]
        if self.share.cause in ("callee-save", "call-frame"):
            # On entry: what ptxas restores has the line of a loop, or of a function, before it.
            saves = [one for one in self.accesses if one.is_store]
            if self.share.cause == "call-frame":
                # The call, not what the functions that it may lead to save themselves, nor where
                # they store what they return.
                own = [one for one in self.accesses if one.function == self.facts.name]
                saves = [one for one in own if one.is_store] or own or saves
            return replace(self, accesses=saves).costly if saves else self.costly
        if self.share.cause == "printf-args":
            # Wherever the function is inlined that holds the call.
            return self._costly(_anywhere, calls=True)
        if self.share.cause in _HANDED_ON and self.object is not None and self.object.escape:
            return self.object.escape
        if self.share.cause == "rolled-loop" and self.index is not None and self.index.loop:
            loop = self.index.loop
            # Of a library's loop, the user's line that calls for it.
            return (self._costly(_anywhere, calls=True) or loop) if is_library(loop.file) else loop
        if self.share.cause == "param-copy" and self.index is None and self.object is not None:
            # The copy itself has the line of the kernel's name.
            return self.object.escape or self.costly
        decides = self.index.location if self.index is not None else None
        if decides is not None and self.share.cause in _BY_INDEX:
            return decides
        if self.share.cause == "volatile" and self.is_in_choice:
            return self._costly(self._chooses) or self._used
        if self.share.cause == "volatile":
            return self._costly(_anywhere, calls=True) if self.is_temporary else self._used
        return self.costly

    @property
    def costly(self) -> SourceLocation | None:
        """The most expensive line by site bytes, deepest loop first."""
        return self._costly(_anywhere, calls=self.share.cause == "math-slow-path")

    def _chooses(self, place: SourceLocation) -> bool:
        return "?" in self.sources.line(place.file, place.line)

    @property
    def _used(self) -> SourceLocation | None:
        """The most expensive line that has the object's name, else that of its declaration.

        A parameter is stored on the line of its function's name, which says nothing of it.
        """
        found, name = self.costly, self.object.name if self.object is not None else None
        if self.object is None or name is None or found is None:
            return found
        own = name.rpartition(".")[2].rpartition(">")[2]

        def named(place: SourceLocation) -> bool:
            return self.sources.mentions(place.file, place.line, own)

        if named(found) or not self.sources.line(found.file, found.line):
            return found
        return self._costly(named) or found

    def _costly(
        self, wanted: Callable[[SourceLocation], bool], *, calls: bool = False
    ) -> SourceLocation | None:
        """Of the lines that are wanted; calls: wherever the user's own line is inlined."""
        home = self.facts.home
        weights: dict[SourceLocation, tuple[int, int]] = {}
        for access in (*self.accesses, *self.generic):
            place = calling_line(access.chain) if calls else access.line(home)
            if place is not None and wanted(place):
                depth, size = weights.get(place, (0, 0))
                weights[place] = (max(depth, access.loop_depth or 0), size + access.width)
        if weights:
            return min(weights, key=lambda place: (*(-w for w in weights[place]), place))
        return self.object.declared if self.object is not None else self.facts.location


def _anywhere(place: SourceLocation) -> bool:
    return True


def by_cost(case: Case) -> Severity:
    """In a loop or across lanes costs; both is worst; neither is a note."""
    if case.loop_depth and case.is_divergent:
        return "error"
    return "warning" if case.loop_depth or case.is_divergent else "note"


def certain(case: Case) -> Confidence:
    """The confidence of rules whose cause is only ever stated with proof."""
    return "certain"


class Rule(Struct, frozen=True):
    """A rule: one cause, judged.

    Attributes:
        id: ``LM201``.
        cause: what it is about, and the rule's name.
        severity, confidence, message: functions of a case.
        advice: what to do about a case, in words.
        module: whose docstring is the rule's page.
    """

    id: str
    cause: Cause
    severity: Callable[[Case], Severity]
    confidence: Callable[[Case], Confidence]
    message: Callable[[Case], str]
    advice: Callable[[Case], tuple[Advice, ...]]
    module: str

    @property
    def page(self) -> str:
        """What it is, how to recognise it, what it costs, how to remove it, when to leave it."""
        return inspect.cleandoc(sys.modules[self.module].__doc__ or "")

    @property
    def title(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0].rstrip(".")

    def judge(self, case: Case) -> Finding:
        """The finding of one case, without advice."""
        found = case.object
        sites = case.share.sites
        location = case.location
        # Of variables that share a place of the frame, one has the bytes there.
        own = found.size if found is not None else 0
        related = (found.declared, *found.called_from) if found is not None else ()
        if case.share.location is not None and case.accesses:
            related = (*related, case.costly)
        if case.index is not None and case.index.location == location:
            related = (*related, case.index.called_from)
        if self.cause == "math-slow-path":
            calls = {calling_line(access.chain) for access in case.accesses}
            related = (*related, *sorted(place for place in calls if place is not None))
        return Finding(
            rule=self.id,
            name=self.cause,
            severity=self.severity(case),
            confidence=self._confidence(case),
            cause=self.cause,
            object=found.name if found is not None else None,
            type=found.type if found is not None else None,
            bytes=case.share.frame_bytes or own or sites.load_bytes + sites.store_bytes,
            location=location,
            related=tuple(dict.fromkeys(p for p in related if p is not None and p != location)),
            index=case.index if _is_indexed(self.cause, found) else None,
            message=f"{self.message(case)}{_choice(case)}",
            advice=(),
            evidence=(),
            evidence_facts=_evidence(case),
            fingerprint=fingerprint(
                self.id,
                case.facts,
                found.name if found is not None else None,
                case.sources,
                location,
                case.facts.run_time_sizes if self.cause == "alloca" else (),
            ),
            also=found.also if found is not None else (),
            type_bytes=found.type_size if found is not None else None,
            extent=found.extent if found is not None else None,
        )

    def _confidence(self, case: Case) -> Confidence:
        """At most likely where the PTX that shows the cause may not be what was assembled."""
        found = self.confidence(case)
        return "likely" if found == "certain" and case.facts.is_made_otherwise else found


def traffic(case: Case) -> str:
    """Loads and stores in words."""
    sites = case.share.sites
    text = f"{count(sites.load_sites, 'load')} and {count(sites.store_sites, 'store')}"
    return f"{text}, {len(case.generic)} through generic addresses" if case.generic else text


def _is_indexed(cause: Cause, found: LocalObject | None) -> bool:
    """Whether an index is what keeps an object in memory, or would if nothing else did."""
    also = found.also if found is not None else ()
    return any(traits_of(one).indexed for one in (cause, *also))


def _choice(case: Case) -> str:
    """What else a pointer that leads to the object may lead to."""
    if not case.alternatives:
        return ""
    names = dict.fromkeys(
        f"`{one.name}`" if one.name else "another object" for one in case.alternatives
    )
    return f"; a pointer leads to it or to {' or '.join(names)}"


def _evidence(case: Case) -> tuple[Evidence, ...]:
    """The object's, then that of sites: those whose lanes differ first, for they cost most."""
    found = list(case.object.evidence_facts) if case.object is not None else []
    telling = (access for access in case.accesses if access.evidence_facts)
    for access in sorted(telling, key=lambda access: access.uniformity == "uniform"):
        found += [replace(e, pc=access.pc, sass=access.opcode) for e in access.evidence_facts]
        if len(found) >= _EVIDENCE_SHOWN:
            break
    return tuple(dict.fromkeys(found))[:_EVIDENCE_SHOWN]


def fingerprint(
    rule: str,
    facts: KernelFacts,
    name: str | None,
    sources: SourceText,
    location: SourceLocation | None,
    sizes: Sequence[str] = (),
) -> str:
    """Rule, kernel, object and normalised source text: neither line numbers nor code offsets.

    Where sizes are computed at run time, what computes them stands for the text: it grows unseen.
    """
    text = "\0".join(sizes)
    if location is not None and not sizes:
        text = " ".join(sources.line(location.file, location.line).split())
    parts = (rule, lasting_name(facts.name), name or "", text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

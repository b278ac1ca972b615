"""One line per kernel: what a reader should know first."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import (
    CauseShare,
    KernelFacts,
    LocalObject,
    SiteClass,
    SourceLocation,
    Verdict,
    VerdictName,
    traits_of,
    verdict_kind,
)
from lmemscope.rules.reported import said_by_report, weight

_LINES_SHOWN = 3


def judge(facts: KernelFacts) -> Verdict:
    """The verdict on a kernel; several things that hold are all said, the worst one first."""
    said: list[tuple[VerdictName, str]] = [
        ("clean", _launching(facts))
        if _is_launch_alone(share)
        else (traits_of(share.cause).verdict, _share(facts, share))
        for share in facts.shares
    ]
    said += [("local-object", text) for text in _handed(facts, "local")]
    said += [("clean", text) for text in _handed(facts, "shared")]
    said += [("call-stack", text) for text in _callees_elsewhere(facts)]
    if not said:
        said = _without_causes(facts)
    said.sort(key=lambda item: -verdict_kind(item[0]).rank)
    kind = said[0][0]
    sass = facts.sass
    site_bytes = sass.bytes if sass is not None else weight(facts)
    texts = dict.fromkeys(text for _, text in said)
    return Verdict(kind, "; ".join(texts), (verdict_kind(kind).rank, site_bytes))


def _is_launch_alone(share: CauseShare) -> bool:
    """Whether it says that a kernel launches kernels, which takes none of its local memory."""
    return share.cause == "device-launch" and not share.frame_bytes and share.sites == SiteClass()


def _launching(facts: KernelFacts) -> str:
    """Whom it launches; the cause's name where that is not known."""
    names = dict.fromkeys(
        short_name(one.demangled) for one in facts.launches if one.demangled is not None
    )
    listed = list(names)[:_LINES_SHOWN]
    more = ", …" if len(names) > _LINES_SHOWN else ""
    return f"launches {', '.join(listed)}{more}" if listed else "device-launch"


def _handed(facts: KernelFacts, space: str) -> list[str]:
    """Pointers to memory of its own that it hands to children."""
    found = []
    for launch in facts.launches:
        child = short_name(launch.demangled) if launch.demangled is not None else "a child"
        for one in launch.handed:
            if one.space == space:
                what = (
                    f"{one.object} in its {space} memory" if one.object else f"its {space} memory"
                )
                found.append(f"hands {what} to {child}")
    return list(dict.fromkeys(found))


def _share(facts: KernelFacts, share: CauseShare) -> str:
    """One cause in words."""
    sites, traits = share.sites, traits_of(share.cause)
    if traits.verdict == "promoted":
        local = facts.ptx.local_bytes if facts.ptx is not None else 0
        return f"promoted: PTX shows {local} B, none in the end"
    if traits.verdict == "spill":
        shared = facts.cubin.shared_spills if facts.cubin is not None else 0
        text = f"spill {sites.store_bytes}/{sites.load_bytes} B"
        return f"{text}, {shared} more to shared memory" if shared else text
    if traits.owner == "saved registers":
        return _calls(facts, share)
    if traits.verdict == "unknown":
        count = sites.load_sites + sites.store_sites
        what = f"{count} LDL/STL" if count else f"{share.frame_bytes} B of the frame"
        return f"{share.cause}: {what}"
    found = facts.objects[share.object_index] if share.object_index is not None else None
    size = f" {found.size} B" if found is not None else ""
    if found is None:
        return f"{share.cause}{_lines(facts, share)}"
    return f"{share.cause}: {_name(found)}{size}{_lines(facts, share)}"


def _name(found: LocalObject) -> str:
    if found.name is None:
        return "object"
    return f"{found.name}{'?' if found.confidence == 'possible' else ''}"


def _calls(facts: KernelFacts, share: CauseShare) -> str:
    names = {
        short_name(callee.demangled)
        for callee in facts.callees
        for access in facts.counted
        if access.cause == share.cause and access.function == callee.name
    }
    sites = share.sites
    bytes_ = f" {sites.store_bytes}/{sites.load_bytes} B" if sites != SiteClass() else ""
    depth = "" if facts.stack_known else ", stack depth unknown"
    called = f" in {', '.join(sorted(names))}" if names else ""
    return f"{share.cause}{called}{bytes_}{depth}"


def _lines(facts: KernelFacts, share: CauseShare) -> str:
    """Lines of a share's sites, the one to look at first; else that of the object's declaration."""
    places = set()
    for access in facts.counted:
        if share.concerns(access):
            places.add(access.line(facts.home))
    places.discard(None)
    if not places and share.object_index is not None:
        places.add(facts.objects[share.object_index].declared)
    number = share.object_index
    first = _culprit(facts.objects[number]) if number is not None else None
    return _line_list((place for place in places if place is not None), facts, first=first)


def _culprit(found: LocalObject) -> SourceLocation | None:
    """The line that keeps an object in memory."""
    if found.index is not None and found.index.location is not None:
        return found.index.location
    return found.escape


def _callees_elsewhere(facts: KernelFacts) -> list[str]:
    """Functions compiled separately that the kernel calls and that use local memory."""
    if facts.calls is None or not facts.calls.with_local_memory:
        return []
    names = ", ".join(short_name(demangle(name)) for name in facts.calls.with_local_memory)
    return [f"calls {names}, with local memory"]


def _without_causes(facts: KernelFacts) -> list[tuple[VerdictName, str]]:
    """The verdict from facts alone: nothing was attributed, or nothing is there."""
    if facts.sass is None:
        return said_by_report(facts) or [("clean", "clean")]
    sites = facts.sites
    said: list[tuple[VerdictName, str]] = []
    if sites is not None and sites.spill != SiteClass():
        said.append(("spill", f"spill {sites.spill.store_bytes}/{sites.spill.load_bytes} B"))
    if sites is not None and sites.local_object != SiteClass():
        places = [use.location for use in facts.lines if use.kind == "local-object"]
        size = f" {facts.stack_frame} B" if facts.stack_frame else ""
        said.append(("local-object", f"local object{size}{_line_list(places, facts, ':')}"))
    if sites is not None and sites.unknown != SiteClass():
        count = sites.unknown.load_sites + sites.unknown.store_sites
        said.append(("unknown", f"{count} LDL/STL of unknown origin (no line information)"))
    if not facts.stack_known:
        said.append(("call-stack", "stack depth unknown (recursion or indirect call)"))
    if said:
        return said
    if facts.stack_frame:
        return [("local-object", f"stack frame of {facts.stack_frame} B, without LDL or STL")]
    if facts.ptx is not None and facts.ptx.local_bytes:
        text = f"promoted: PTX shows {facts.ptx.local_bytes} B, none in the end"
        return [("promoted", text)]
    return [("clean", "clean")]


def _line_list(
    places: Iterable[SourceLocation],
    facts: KernelFacts,
    lead: str = ",",
    first: SourceLocation | None = None,
) -> str:
    """Numbers of lines, those in another file than the kernel's after its name."""
    home = facts.home
    found = {*places, *((first,) if first is not None else ())}
    listed = sorted(found, key=lambda place: (place != first, place.file != home, place))
    if not listed:
        return ""
    outside = home is not None and listed[0].file != home
    shown = ", ".join(
        str(place.line)
        if home is None or (home == place.file and not outside)
        else f"{os.path.basename(place.file)}:{place.line}"
        for place in listed[:_LINES_SHOWN]
    )
    more = ", …" if len(listed) > _LINES_SHOWN else ""
    noun = "" if outside else f" line{'s' if len(listed) > 1 else ''}"
    return f"{lead}{noun} {shown}{more}"

"""One line per kernel: what a reader should know first."""

from __future__ import annotations

from lmemscope.model import (
    FunctionFacts,
    KernelFacts,
    SiteClass,
    SiteSplit,
    SourceLocation,
    Verdict,
)

_SEVERITY = {
    "clean": 0,
    "promoted": 1,
    "call-stack": 2,
    "local-object": 3,
    "unknown": 3,
    "spill": 4,
}
_LINES_SHOWN = 3


def judge(facts: KernelFacts) -> Verdict:
    """The verdict on a kernel; several things that hold are all said, the worst one first."""
    said: list[tuple[str, str]] = []
    spill = _spill(facts)
    if spill is not None:
        said.append(("spill", spill))
    local = _local_object(facts)
    if local is not None:
        said.append(("local-object", local))
    if facts.sites is not None and facts.sites.unknown != SiteClass():
        unknown = facts.sites.unknown
        count = unknown.load_sites + unknown.store_sites
        said.append(("unknown", f"{count} LDL/STL of unknown origin (no line information)"))
    if not facts.stack_known:
        said.append(("call-stack", "stack depth unknown (recursion or indirect call)"))
    if not said:
        frame = facts.stack_frame
        if frame:
            said.append(("local-object", f"stack frame of {frame} B, without LDL or STL"))
        elif facts.ptx is not None and facts.ptx.local_bytes:
            said.append(
                ("promoted", f"promoted: PTX shows {facts.ptx.local_bytes} B, none in the end")
            )
        else:
            said.append(("clean", "clean"))
    kind = max((kind for kind, _ in said), key=lambda kind: _SEVERITY[kind])
    sass = facts.sass
    site_bytes = sass.ldl_bytes + sass.stl_bytes if sass is not None else 0
    return Verdict(kind, "; ".join(text for _, text in said), (_SEVERITY[kind], site_bytes))


def _spill(facts: KernelFacts) -> str | None:
    parts = []
    own = _spilled_bytes(facts.spill_stores, facts.spill_loads, facts.own_sites)
    if own is not None:
        parts.append(f"spill {own}")
    for callee in facts.callees:
        theirs = _callee_spill(callee)
        if theirs is not None:
            parts.append(f"callee {_short(callee)} saves registers {theirs}")
    return "; ".join(parts) or None


def _callee_spill(callee: FunctionFacts) -> str | None:
    reported = callee.ptxas
    if reported is None:
        return _spilled_bytes(None, None, callee.sites)
    return _spilled_bytes(reported.spill_stores, reported.spill_loads, callee.sites)


def _spilled_bytes(stores: int | None, loads: int | None, split: SiteSplit | None) -> str | None:
    if stores is None or loads is None:
        if split is None or split.spill == SiteClass():
            return None
        stores, loads = split.spill.store_bytes, split.spill.load_bytes
    return f"{stores}/{loads} B" if stores or loads else None


def _local_object(facts: KernelFacts) -> str | None:
    if facts.sites is None or facts.sites.local_object == SiteClass():
        return None
    size = _object_bytes(facts)
    lines = [use.location for use in facts.lines if use.kind == "local-object"]
    return f"local object{f' {size} B' if size else ''}{_lines(lines, facts.location)}"


def _object_bytes(facts: KernelFacts) -> int | None:
    """Frame bytes that objects can own: all of it without spills, else what PTX declares."""
    frame = facts.stack_frame
    if not frame:
        return None
    spills = facts.own_sites is not None and facts.own_sites.spill != SiteClass()
    if not spills or facts.ptx is None:
        return frame
    return min(frame, facts.ptx.local_bytes) or None


def _lines(places: list[SourceLocation], home: SourceLocation | None) -> str:
    numbers = sorted({place.line for place in places if home is None or place.file == home.file})
    if not numbers:
        other = sorted({f"{place.file}:{place.line}" for place in places})
        return f": {other[0]}" if other else ""
    shown = ", ".join(str(number) for number in numbers[:_LINES_SHOWN])
    more = ", …" if len(numbers) > _LINES_SHOWN else ""
    return f": line{'s' if len(numbers) > 1 else ''} {shown}{more}"


def _short(callee: FunctionFacts) -> str:
    return callee.demangled.partition("(")[0]

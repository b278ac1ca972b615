"""Inline the function

Called device functions get `__forceinline__` in place of `inline` and of what prevents inlining
(`__noinline__`, `__attribute__((noinline))`, a macro of the file for one).

Safe: inlining does not change the meaning. Recursive and virtual functions are left alone. Unsafe
in relocatable code, and for a function that is also compiled for the host and is not `inline`:
other sources could not find it. It costs code at each call, and registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import demangle, plain_name
from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.base import DeclinedError, Hit, Rewrite, Target
from lmemscope.rewrites.written import body_start, homes, said_of
from lmemscope.rules.indexing import listed
from lmemscope.rules.inlining import by_pointer, is_librarys
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_FORBIDS = (
    rb"__noinline__|__attribute__\s*\(\s*\(\s*(?:__)?noinline(?:__)?\s*\)\s*\)"
    rb"|\[\[\s*(?:gnu::noinline|clang::noinline)\s*\]\]"
)
_DEFINED = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(?:" + _FORBIDS + rb")[ \t]*(?://[^\n]*)?\r?$",
    re.MULTILINE,
)
_INLINE = re.compile(rb"(?<!\w)(?:inline|__inline__|__inline|__inline_hint__)(?!\w)")
_FORCED = re.compile(rb"(?<!\w)(?:__forceinline__|__forceinline)(?!\w)")
_DEVICE = re.compile(rb"(?<!\w)__device__(?!\w)")
_OWN = re.compile(rb"(?<!\w)(?:static|constexpr|consteval|(?:__)?(?:force)?inline(?:__)?)(?!\w)")
_VIRTUAL = re.compile(rb"(?<!\w)(?:virtual|override|final)(?!\w)")
_MOST = 8
"""Functions that are changed at a time."""
_SHOWN = 3
"""Functions that are named in a reason."""
_OF_CALLS = frozenset(("address-taken", "callee-save", "call-frame"))
"""Causes that calls bring about, so that it is said why none is inlined."""
_CAVEAT = "no other source calls it"


def propose(target: Target) -> Iterator[Rewriting]:
    """What gets the object's address; then also what has the object; then all that is called.

    Raises:
        DeclinedError: nothing can be inlined for a cause that calls bring about.
    """
    seen: set[frozenset[Edit]] = set()
    for symbols in (_receivers(target), _nearest(target), _called(target)):
        names = dict.fromkeys(plain_name(demangle(one)) for one in symbols)
        if not names or len(names) > _MOST:
            continue
        made = [_edits(target, name) for name in names]
        edits = tuple(dict.fromkeys(edit for one in made for edit in one))
        if not edits or frozenset(edits) in seen:
            continue
        seen.add(frozenset(edits))
        inlined = [name for name, own in zip(names, made, strict=True) if own]
        is_alone = all(hit.facts.kind == "entry" for hit in target.hits) and not any(
            _is_for_others(target, name) for name in inlined
        )
        what = f"`{inlined[0]}`" if len(inlined) == 1 else count(len(inlined), "function")
        yield Rewriting(
            "force-inline",
            "safe" if is_alone else "unsafe",
            edits,
            f"inline {what}",
            None if is_alone else _CAVEAT,
        )

    if not seen and target.cause in _OF_CALLS:
        raise DeclinedError(_why_none(target))


def _why_none(target: Target) -> str:
    """Why no function is inlined for what calls cause."""
    calls = [hit.facts.calls for hit in target.hits if hit.facts.calls is not None]
    if any(by_pointer(hit.case.accesses) for hit in target.hits):
        return "a function that is called through a pointer cannot be inlined"
    external = {one for call in calls for one in call.external}
    if external:
        verb = "is" if len(external) == 1 else "are"
        return f"{_named(external)} {verb} defined in another source"
    if any(call.recursive for call in calls):
        return "a function that is called is recursive"
    called = {*_nearest(target), *_called(target)}
    if len(called) > _MOST:
        return f"{len(called)} functions may be called, too many to inline at a time"
    if called:
        return f"what is seen of {_named(called)} cannot be inlined, or is so already"
    if any(hit.facts.kind != "entry" for hit in target.hits):
        return "no call of the function is seen"
    return "no call is left in the compiled kernel"


def _named(symbols: Iterable[str]) -> str:
    """The first of some functions, as a list in a sentence."""
    names = sorted({f"`{plain_name(demangle(one))}`" for one in symbols})
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return listed([*names[:_SHOWN], *more])


def _is_for_others(target: Target, name: str) -> bool:
    """Whether host code of other sources may call a function, which is not inline today."""
    for node in target.syntax.functions(name):
        _, head = _head(target, node)
        is_own = _OWN.search(head) is not None or any(
            True for _ in around(node, "template_declaration", "field_declaration_list")
        )
        if b"__host__" in head and not is_own:
            return True
    return False


def _receivers(target: Target) -> tuple[str, ...]:
    """Functions that get the object's address."""
    objects = (hit.case.object for hit in target.hits if hit.case.object is not None)
    shown = (one for own in objects for one in own.evidence_facts if one.kind == "address-passed")
    return _free(target.hits, dict.fromkeys(one.subject for one in shown if one.subject))


def _nearest(target: Target) -> tuple[str, ...]:
    """Functions that get the object's address, or that it is in."""
    found: dict[str, None] = {}
    for hit in target.hits:
        own = hit.case.object
        if own is None:
            # What a function that is compiled by itself keeps for its caller goes with it.
            if hit.facts.kind == "function" and target.cause in ("callee-save", "call-frame"):
                found[hit.facts.name] = None
            continue
        if own.function != hit.facts.name:
            found[own.function] = None
    return (*_free(target.hits, found), *_receivers(target))


def _called(target: Target) -> tuple[str, ...]:
    """All functions that are not inlined, those that ptxas adds aside."""
    found: dict[str, None] = {}
    for hit in target.hits:
        found.update(dict.fromkeys(callee.name for callee in hit.facts.callees))
        if hit.facts.calls is not None:
            found.update(dict.fromkeys(hit.facts.calls.reached))
    return _free(target.hits, found)


def _free(hits: Sequence[Hit], symbols: Iterable[str]) -> tuple[str, ...]:
    """Those that are the user's, and that nothing keeps from being inlined."""
    calls = [hit.facts.calls for hit in hits if hit.facts.calls is not None]
    bound = {one for call in calls for one in (*call.recursive, *call.external)}
    bound.update(*(by_pointer(hit.case.accesses) for hit in hits))
    return tuple(
        one
        for one in symbols
        if one not in bound and not any(is_librarys(hit.facts, one) for hit in hits)
    )


def _edits(target: Target, name: str) -> tuple[Edit, ...]:
    """What a function's definition and its declarations say of inlining; empty where one cannot.

    Overloads are changed together: which of them is called, only a compiler knows.
    """
    found: dict[Edit, None] = {}
    places = [*homes(target, name.encode())]
    defined = [node for one in places for node in one.syntax.functions(name)]
    if not defined:
        return ()
    for place in places:
        for node in said_of(name.encode(), place):
            edits = None if _is_virtual(place, node) else _edited(place, node)
            if edits is None:
                return ()
            found.update(dict.fromkeys(edits))
    return tuple(found)


def _edited(target: Target, node: Node) -> list[Edit] | None:
    start, head = _head(target, node)
    if re.search(rb"//|/\*", head) is not None or (b"#" in head):
        return None
    if _DEVICE.search(head) is None and node.type != "template_instantiation":
        # A member is a device function where its class says so, or not at all.
        return [] if node.type != "function_definition" else None
    forbids = _forbids(target)
    edits = [
        target.edit(start + found.start(), start + found.end(), b"")
        for found in re.finditer(forbids + rb"[ \t]*", head)
    ]
    is_definition = node.child_by_field_name("body") is not None
    if not is_definition or _FORCED.search(head) is not None:
        return edits
    inline = list(_INLINE.finditer(head))
    if inline:
        first = inline[0]
        edits.append(target.edit(start + first.start(), start + first.end(), b"__forceinline__"))
        return edits
    device = _DEVICE.search(head)
    if device is None:
        return None
    edits.append(target.edit(start + device.end(), start + device.end(), b" __forceinline__"))
    return edits


def _head(target: Target, node: Node) -> tuple[int, bytes]:
    """Where a declaration begins, and what of it stands before its parameters' end."""
    return node.start_byte, target.syntax.data[node.start_byte : body_start(node)]


def _forbids(target: Target) -> bytes:
    """A pattern of what keeps a function from being inlined, macros of the file included."""
    named = [re.escape(found[1]) for found in _DEFINED.finditer(target.syntax.code)]
    words = b"".join(rb"|(?<!\w)" + name + rb"(?!\w)" for name in named)
    return rb"(?:" + _FORBIDS + words + rb")"


def _is_virtual(target: Target, node: Node) -> bool:
    """Whether a function is virtual, or may be: another class of the file may say it is."""
    _, head = _head(target, node)
    if _VIRTUAL.search(head) is not None:
        return True
    is_member = any(True for _ in around(node, "field_declaration_list")) or any(
        one.type == "qualified_identifier" for one in walk(node) if one.end_byte <= body_start(node)
    )
    return is_member and b"virtual" in target.syntax.words()


REWRITE = Rewrite(
    "force-inline",
    frozenset(
        {
            "address-taken",
            "param-copy",
            "callee-save",
            "dynamic-index",
            "rolled-loop",
            "call-frame",
            "large-array",
        }
    ),
    propose,
    __name__,
    nothing="no function that gets it, or that is called, is left to be inlined",
    suits=lambda case: case.share.cause in _OF_CALLS,
)

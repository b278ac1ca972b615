"""One table for all threads

A constant table becomes `static const`: one copy, written by no thread. `static __constant__ const`
if all lanes of a warp read one element, `static __device__ const` (device memory behind L1) if they
read different ones.

Safe: a table that changes, or whose initialiser is not constant, does not compile; what could
remove the const (a C-style cast, inline assembly) or detect it (references to elements, members,
operators) is declined, and so is code that asks which memory a pointer leads to. A table that may
be read through a pointer to larger elements is aligned to 16 bytes. It costs loads through L1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.address_space import check_address_space
from lmemscope.rewrites.arrays import Use, element_type, is_for_host, is_reference_to_element
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.binding import is_taken
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.reaching import same_object
from lmemscope.rewrites.steady import place_of
from lmemscope.rewrites.unevaluated import asks_type, is_sized
from lmemscope.rewrites.wider import aligned
from lmemscope.rewrites.written import casts_const_away
from lmemscope.sources.syntax import PLAIN_TYPES, Declared, Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_STORED = (
    b"static",
    b"extern",
    b"thread_local",
    b"register",
    b"__shared__",
    b"__constant__",
    b"__device__",
    b"__managed__",
    b"volatile",
)
_REACHING = ("subscript_expression", "field_expression", "parenthesized_expression")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration with `static` and `const`, by how lanes read it."""
    declared = target.declared
    if declared is None or declared.array is None or declared.value is None:
        return
    if not declared.is_alone or declared.value.type not in ("initializer_list", "string_literal"):
        return
    if not can_be_const(target, declared):
        return
    const = _const(target, declared)
    if const is None:
        return
    check_address_space(target)
    start, align = declared.statement.start_byte, aligned(target, declared)
    kinds = [b"static "]
    if not is_for_host(target, declared):
        uniform = all(
            hit.finding.index is not None and hit.finding.index.least_uniform == "uniform"
            for hit in target.hits
        )
        # Lanes that differ read the constant cache one after the other.
        kinds.insert(0, b"static __constant__ " if uniform else b"static __device__ ")
    for kind in kinds:
        yield Rewriting(
            "static-table",
            "safe",
            (target.edit(start, start, kind + align + const[0]), *const[1]),
            f"`{target.name}` once for all threads ({kind.decode()}const)",
        )
    if const[0] == b"const ":
        yield Rewriting(
            "static-table",
            "safe",
            (target.edit(start, start, b"static " + align + b"constexpr "),),
            f"`{target.name}` once for all threads (static constexpr)",
        )


def _const(target: Target, declared: Declared) -> tuple[bytes, tuple[Edit, ...]] | None:
    """What makes the elements const: a word before the declaration, or behind the last star."""
    syntax = target.syntax
    begin = declared.declarator.start_byte
    head = syntax.code[declared.statement.start_byte : begin]
    words = head.replace(b"*", b" ").split()
    if any(word in words for word in _STORED) or any(mark in head for mark in (b"//", b"/*")):
        return None
    if b"constexpr" in words:
        return b"", ()
    stars = syntax.code[begin : declared.name.start_byte]
    if stars.replace(b"*", b"").strip():
        return (b"", ()) if re.fullmatch(rb"\s*\*\s*const\s*", stars) else None
    if b"*" in stars:
        at = declared.name.start_byte
        return b"", (target.edit(at, at, b"const "),)
    return (b"", ()) if b"const" in words else (b"const ", ())


def can_be_const(target: Target, declared: Declared) -> bool:
    """Whether nothing could change the table but what does not compile once it is const.

    Nor may anything tell that it is const.
    """
    syntax = target.syntax
    name = syntax.text(declared.name)
    if name in syntax.macros or any(
        one.type == "lambda_expression" for one in walk(declared.value or declared.statement)
    ):
        return False
    kind = declared.statement.child_by_field_name("type")
    is_plain = kind is not None and kind.type in PLAIN_TYPES
    if not is_plain and b"mutable" in target.meanings.words:
        return False
    head = syntax.code[declared.statement.start_byte : declared.declarator.start_byte]
    is_const = bool({b"const", b"constexpr"} & set(head.split()))
    if not is_const and not is_plain and target.meanings.tells_const():
        return False
    uses = syntax.uses(declared.name, declared.scope)
    is_read = not asks_type(name, declared.scope, syntax) and all(
        _is_read(use, target) and not _tells(use, syntax, target.meanings) for use in uses
    )
    # Whoever gets a pointer may cast the const away, and what is const may be another thing to an
    # overload, or to a template. A const table can only be asked where it is.
    if not is_read and not is_const:
        return False
    for use in uses:
        if _is_changed(use):
            return False  # It would not compile.
        if casts_const_away(use, syntax) or any(True for _ in around(use, "gnu_asm_expression")):
            return False
    return True


def _is_read(use: Node, target: Target) -> bool:
    """Whether it is subscripted, and the address of what that is is not taken; or its size."""
    syntax, meanings, declared = target.syntax, target.meanings, target.declared
    if is_sized(use, syntax):
        return True
    place = None if declared is None else place_of(use, declared, target)
    if place is None:
        return False
    if any(_may_tell(call, syntax, meanings) for call in around(use, "call_expression")):
        return False
    if is_taken(place, syntax, meanings, element_type(target), by_address=False):
        return False
    above = same_object(place).parent
    if above is not None and above.type == "argument_list" and above.parent is not None:
        called = above.parent.child_by_field_name("function")
        text = b"" if called is None else syntax.text(called).partition(b"<")[0]
        words = re.findall(rb"[A-Za-z_]\w*", text)
        if not words or {"mutable", "anything"} & meanings.taking(words[-1]):
            return False
    taken = above is not None and above.type == "pointer_expression"
    return not (taken and above is not None and syntax.text(above)[:1] == b"&")


def _may_tell(call: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether what looks like a call is a macro that does more than compute with its arguments."""
    called = call.child_by_field_name("function")
    name = b"" if called is None else syntax.text(called)
    return bool(meanings.definitions((name,))) and (
        meanings.has_effects((name,))
        or meanings.is_several((name,))
        or meanings.takes_addresses(name)
    )


def _tells(use: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether something binds a reference to an element, or calls it."""
    node = use
    while node.parent is not None and node.parent.type in _REACHING:
        node = node.parent
    called = node.parent
    if called is not None and called.type == "call_expression":
        return True
    if any(True for _ in around(use, "lambda_capture_specifier")):
        return True
    element = Use(use, node, (), "read", node)
    return node != use and is_reference_to_element(element, syntax, meanings)


def _is_changed(use: Node) -> bool:
    """Whether what is subscripted is assigned to, or counted up or down."""
    node = use
    while node.parent is not None and node.parent.type in _REACHING:
        if node.parent.child_by_field_name("argument") not in (node, None):
            return False  # It is an index itself.
        node = node.parent
    above = node.parent
    if above is None or above.type not in ("assignment_expression", "update_expression"):
        return False
    return node != use and node != above.child_by_field_name("right")


REWRITE = Rewrite(
    "static-table",
    frozenset({"const-table", "dynamic-index", "rolled-loop", "large-array"}),
    propose,
    __name__,
    nothing="it is not read as one array that begins with a list and is never written to or "
    "handed over",
)

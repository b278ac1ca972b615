"""One table for all threads

A constant table becomes `static const`: one copy in device memory behind L1, written by no thread.
`static __constant__ const` is also tried if all lanes of a warp read one element.

Safe: a table that changes does not compile. Declined if its initialiser is not constant by the
declarations in sight, or if something could remove the const (a C-style cast, inline assembly) or
detect it (references to elements, members, operators, code that asks which memory a pointer leads
to). It costs loads through L1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.address_space import check_address_space
from lmemscope.rewrites.arrays import element_type, is_for_host
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.constant_values import varying
from lmemscope.rewrites.declarations import declared_with
from lmemscope.rewrites.unevaluated import asks_type, is_sized
from lmemscope.rewrites.value_uses import is_changed, place_of, takes_value
from lmemscope.rewrites.wider import aligned
from lmemscope.rewrites.written import casts_const_away
from lmemscope.sources.syntax import PLAIN_TYPES, Declared, around, walk

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


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration with `static` and `const`, by how lanes read it."""
    declared = target.declared
    if declared is None or declared.array is None:
        return
    if declared.value is None and target.cause == "const-table":
        raise DeclinedError("statements fill it")
    if declared.value is None:
        return
    if declared.value.type not in ("initializer_list", "string_literal"):
        return
    if not can_be_const(target, declared):
        return
    const = _const(target, declared)
    if const is None:
        return
    if (what := varying(declared.value, target)) is not None:
        raise DeclinedError(f"its initializer has {what}, which is not constant")
    align = aligned(target, declared)
    kinds = [b"static "]
    uniform = (
        hit.finding.index is not None and hit.finding.index.least_uniform == "uniform"
        for hit in target.hits
    )
    # Lanes that differ read the constant cache one after the other.
    if not is_for_host(target, declared) and all(uniform):
        kinds.insert(0, b"static __constant__ ")
    for kind in kinds:
        yield Rewriting(
            "static-table",
            "safe",
            (*declared_with(kind + align + const[0], declared, target), *const[1]),
            f"make `{target.name}` one table for all threads ({kind.decode()}const)",
        )


def _const(target: Target, declared: Declared) -> tuple[bytes, tuple[Edit, ...]] | None:
    """What makes the elements const: a word before the declaration, or behind the last star."""
    syntax = target.syntax
    begin = declared.declarator.start_byte
    head = syntax.code[declared.statement.start_byte : declared.first.start_byte]
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

    Raises:
        DeclinedError: something may tell in which memory it lies.
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
    head = syntax.code[declared.statement.start_byte : declared.first.start_byte]
    is_const = bool({b"const", b"constexpr"} & set(head.split()))
    if not is_const and not is_plain and target.meanings.tells_const():
        return False
    uses = syntax.uses(declared.name, declared.scope)
    is_read = not asks_type(name, declared.scope, syntax) and all(
        _is_read(use, declared, target) for use in uses
    )
    # Whoever gets a pointer may cast the const away, and what is const may be another thing to an
    # overload, or to a template. A const table can only be asked where it is.
    if not is_read:
        if not is_const:
            return False
        check_address_space(target)
    for use in uses:
        if is_changed(use):
            return False  # It would not compile.
        if casts_const_away(use, syntax) or any(True for _ in around(use, "gnu_asm_expression")):
            return False
    return True


def _is_read(use: Node, declared: Declared, target: Target) -> bool:
    """Whether its size, or the value of an element, is all that a use asks for."""
    if is_sized(use, target.syntax):
        return True
    place = place_of(use, declared, target)
    return place is not None and takes_value(place, element_type(target), target)


REWRITE = Rewrite(
    "static-table",
    frozenset({"const-table", "dynamic-index", "rolled-loop", "large-array"}),
    propose,
    __name__,
    nothing="it is not read as one array that begins with a list and is never written to or "
    "handed over",
)

"""Drop `volatile`

Removes the qualifier from a local variable, which can then be in a register.

Safe for integers, `bool` and pointers: only the thread itself can access a local variable. Unsafe
for floating-point numbers, whose products and sums may then be fused and differ in the last bits,
and for types that may contain some. Declined if inline assembly or a pointer to volatile uses the
variable, if a function or class may detect the qualifier, and if a loop only waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.arrays import is_plain
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.loops import LOOPS, counters
from lmemscope.sources.syntax import Declared, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WHOLE = re.compile(
    r"(?:(?:un)?signed|char|short|int|long|bool|_Bool|__int128|wchar_t|char8_t|char16_t|char32_t"
    r"|u?int(?:_fast|_least)?\d+_t|u?intptr_t|u?intmax_t|size_t|ptrdiff_t|ssize_t|\s)+"
)
"""Types of whole numbers, as C++ and its headers call them."""
_CAVEAT = "results may differ in the last bits, as products and sums may be fused"
_MEMBERS = re.compile(rb"\)\s*(?:const\s+)?volatile\b")
_TOLD = re.compile(rb"(?<!_cast)<[^<>;{}()]*\bvolatile\b[^<>;{}()]*>|\bis_volatile")
"""A template that does something else for what is volatile."""
_STORED = ("static", "extern", "thread_local")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration without the word."""
    declared = target.declared
    if declared is None or not _is_own(target, declared):
        return
    edit = _edit(target, declared)
    if edit is None:
        return
    if not is_plain(target) and target.meanings.has(_MEMBERS):
        return  # A class may do something else for what is volatile.
    is_whole = _is_whole(target, declared)
    yield Rewriting(
        "drop-volatile",
        "safe" if is_whole else "unsafe",
        (edit,),
        f"`{target.name}` without `volatile`",
        None if is_whole else _CAVEAT,
    )


def _edit(target: Target, declared: Declared) -> Edit | None:
    """The word that makes the variable volatile, with the blank behind it."""
    syntax = target.syntax
    inside = [one for one in walk(declared.declarator) if one.end_byte <= declared.name.start_byte]
    stars = [one for one in inside if one.type == "*"]
    if any(one.type in ("&", "&&", "(") for one in inside):
        return None  # A reference, or a pointer to an array.
    first = declared.statement.children_by_field_name("declarator")[0]
    head = [one for one in walk(declared.statement) if one.end_byte <= first.start_byte]
    own = inside if stars else head
    words = [one for one in own if one.type == "type_qualifier" and _says(target, one)]
    if stars:
        words = [one for one in words if one.start_byte > stars[-1].start_byte]
        if any(_says(target, one) for one in head):
            return None  # What it points to is volatile: others may see that.
    if len(words) != 1:
        return None
    start, end = words[0].start_byte, words[0].end_byte
    behind = re.compile(rb"[ \t]*").match(syntax.data, end)
    return target.edit(start, behind.end() if behind is not None else end, b"")


def _says(target: Target, node: Node) -> bool:
    return target.syntax.text(node) in (b"volatile", b"__volatile__")


def _is_own(target: Target, declared: Declared) -> bool:
    """Whether every variable of the declaration is the thread's, and used by plain code alone."""
    syntax = target.syntax
    head = syntax.text(declared.statement).split()
    if target.meanings.has(_TOLD):
        return False
    stored = any(word.encode() in head for word in _STORED)
    if stored or any(word.startswith(b"__") and word.endswith(b"__") for word in head):
        return False
    given = declared.statement.children_by_field_name("declarator")
    names = {_name(one, target) for one in given}
    if None in names or names & syntax.macros:
        return False
    if len(given) > 1 and any(one.type in ("*", "&") for each in given for one in _head(each)):
        return False
    for node in walk(declared.scope):
        if node.type != "identifier" or syntax.text(node) not in names:
            continue
        for above in around(node, "cast_expression", "gnu_asm_expression", "call_expression"):
            if above.type == "gnu_asm_expression":
                return False
            part = above.child_by_field_name("type") or above.child_by_field_name("function")
            text = b"" if part is None else syntax.text(part)
            if b"volatile" in text or text.startswith((b"decltype", b"const_cast")):
                return False
            words = re.findall(rb"[A-Za-z_]\w*", text)
            if words and target.meanings.is_volatile_to(words[-1]):
                return False  # There may be another overload for what is not.
        if _is_waited_for(node, target):
            return False
        if any(True for _ in around(node, "decltype")):
            return False
    return True


def _is_waited_for(use: Node, target: Target) -> bool:
    """Whether a loop goes on for as long as a debugger, or time, has it: it does nothing itself."""
    name = target.syntax.text(use)
    for loop in around(use, *LOOPS):
        condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
        if condition is None or body is None:
            continue
        if not condition.start_byte <= use.start_byte < condition.end_byte:
            continue
        is_empty = not any(one.type != "comment" for one in body.named_children)
        if is_empty or name not in counters(loop, target):
            return True
    return False


def _head(declarator: Node) -> Iterator[Node]:
    return (one for one in walk(declarator) if one.type in ("*", "&"))


def _name(declarator: Node, target: Target) -> bytes | None:
    node: Node | None = declarator
    while node is not None and node.type != "identifier":
        node = node.child_by_field_name("declarator")
    return target.syntax.text(node) if node is not None else None


def _is_whole(target: Target, declared: Declared) -> bool:
    """Whether its elements are whole numbers or pointers, in every kernel that has it."""
    kind = declared.statement.child_by_field_name("type")
    if any(
        one.type == "*"
        for one in _head(declared.declarator)
        if one.end_byte <= declared.name.start_byte
    ):
        return True
    types = [hit.finding.type for hit in target.hits]
    in_template = any(True for _ in around(declared.statement, "template_declaration"))
    if not in_template and all(one is not None and _is_number(one) for one in types):
        return True
    return kind is not None and _is_number(target.syntax.text(kind).decode(errors="replace"))


def _is_number(written: str) -> bool:
    plain = re.sub(r"\[\d*\]|\b(?:const|volatile|std::)\b|std::", " ", written).strip()
    return bool(plain) and (plain.endswith("*") or _WHOLE.fullmatch(plain) is not None)


REWRITE = Rewrite(
    "drop-volatile",
    frozenset({"volatile"}),
    propose,
    __name__,
    nothing="its declaration is not read as one that is volatile by itself, or a class has "
    "members for what is volatile",
)

"""Drop `volatile`

Safe for integers and `bool` if no kernel that runs it computes with floating-point numbers: only
the thread itself can access a local variable. Else unsafe, as products and sums may be fused and
differ in the last bits. Unsafe for other types. Declined for pointers; if more than its value is
used, since a reference, a pointer, an object made of it, or inline assembly may detect the
qualifier; and if a loop only waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.arrays import is_plain, is_whole, why_not_declared
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.loops import LOOPS, counters
from lmemscope.rewrites.reached import running
from lmemscope.rewrites.unevaluated import asks_type, is_sized
from lmemscope.rewrites.value_uses import place_of, takes_value
from lmemscope.sources.syntax import Declared, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CAVEAT = "results may differ in the last bits, as products and sums may be fused"
_MEMBERS = re.compile(rb"\)\s*(?:const\s+)?volatile\b")
_TOLD = re.compile(rb"(?<!_cast)<[^<>;{}()]*\bvolatile\b[^<>;{}()]*>|\bis_volatile")
"""A template that does something else for what is volatile."""
_OPERATOR = re.compile(rb"\boperator\b[^;{}()]{0,40}\([^;{}()]*\bvolatile\b")
"""An operator that takes what is volatile: another may take what is not."""
_STORED = ("static", "extern", "thread_local")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration without the word."""
    declared = target.declared
    if declared is None:
        raise DeclinedError(why_not_declared(target))
    if not any(_says(target, one) for one in walk(declared.statement)):
        line = declared.statement.start_point.row + 1
        raise DeclinedError(f"`{target.name}` is declared on line {line} without `volatile`")
    if not _is_own(target, declared):
        return
    edit = _edit(target, declared)
    if edit is None:
        return
    if not is_plain(target) and target.meanings.has(_MEMBERS):
        return  # A class may do something else for what is volatile.
    is_safe = _is_whole(target, declared) and not _may_have_floats(target, declared)
    yield Rewriting(
        "drop-volatile",
        "safe" if is_safe else "unsafe",
        (edit,),
        f"declare `{target.name}` without `volatile`",
        None if is_safe else _CAVEAT,
    )


def _edit(target: Target, declared: Declared) -> Edit | None:
    """The word that makes the variable volatile, with the blank behind it; None of a pointer."""
    syntax = target.syntax
    inside = [one for one in walk(declared.declarator) if one.end_byte <= declared.name.start_byte]
    head = [one for one in walk(declared.statement) if one.end_byte <= declared.first.start_byte]
    words = [one for one in head if one.type == "type_qualifier" and _says(target, one)]
    if any(one.type in ("*", "&", "&&", "(") for one in inside) or len(words) != 1:
        return None
    start, end = words[0].start_byte, words[0].end_byte
    behind = re.compile(rb"[ \t]*").match(syntax.data, end)
    return target.edit(start, behind.end() if behind is not None else end, b"")


def _says(target: Target, node: Node) -> bool:
    return target.syntax.text(node) in (b"volatile", b"__volatile__")


def _is_own(target: Target, declared: Declared) -> bool:
    """Whether every variable of the declaration is the thread's, and its value alone is used.

    Raises:
        DeclinedError: a use of one is no reading, and does not set it.
    """
    syntax = target.syntax
    head = syntax.text(declared.statement).split()
    if target.meanings.has(_TOLD):
        return False
    stored = any(word.encode() in head for word in _STORED)
    if stored or any(word.startswith(b"__") and word.endswith(b"__") for word in head):
        return False
    given = declared.statement.children_by_field_name("declarator")
    named = [_named(one) for one in given]
    names = {None if one is None else syntax.text(one) for one in named}
    if names & syntax.macros or target.meanings.has(_OPERATOR):
        return False
    if len(given) > 1 and any(one.type in ("*", "&") for each in given for one in walk(each)):
        return False
    for name in names:
        if name is None or asks_type(name, declared.scope, syntax):
            return False
        if target.meanings.is_in_macro(name):
            return False
    for made in _variables(declared, target):
        for use in syntax.uses(made.name, made.scope):
            line = use.start_point.row + 1
            if not _is_read(use, made, target):
                raise DeclinedError(f"line {line} may tell that it is volatile")
            if _is_waited_for(use, target):
                raise DeclinedError(f"line {line} waits for it")
    return True


def _variables(declared: Declared, target: Target) -> Iterator[Declared]:
    """All that the declaration declares."""
    for declarator in declared.statement.children_by_field_name("declarator"):
        name = _named(declarator)
        made = None if name is None else target.syntax.declared_by(name)
        if made is not None:
            yield made


def _is_read(use: Node, declared: Declared, target: Target) -> bool:
    """Whether a use takes or sets the value of the variable, of an element or of a member.

    What gets a reference, a pointer, or an object made of it may tell that it is volatile.
    """
    if is_sized(use, target.syntax):
        return True
    if any(True for _ in around(use, "gnu_asm_expression", "lambda_expression")):
        return False
    place = place_of(use, declared, target)
    kind = declared.statement.child_by_field_name("type")
    return (
        place is not None
        and kind is not None
        and takes_value(place, target.syntax.text(kind), target, may_assign=True, apart="volatile")
    )


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


def _named(declarator: Node) -> Node | None:
    """The name that a declarator declares."""
    node: Node | None = declarator
    while node is not None and node.type != "identifier":
        node = node.child_by_field_name("declarator")
    return node


def _is_whole(target: Target, declared: Declared) -> bool:
    """Whether its elements are whole numbers, in every kernel that has it."""
    kind = declared.statement.child_by_field_name("type")
    types = [hit.finding.type for hit in target.hits]
    in_template = any(True for _ in around(declared.statement, "template_declaration"))
    if not in_template and all(one is not None and is_whole(one) for one in types):
        return True
    return kind is not None and is_whole(target.syntax.text(kind).decode(errors="replace"))


def _may_have_floats(target: Target, declared: Declared) -> bool:
    """Whether a kernel that runs the function may compute with floating-point numbers.

    A product whose bits, or whose place in memory, an integer holds is fused with no sum while the
    integer is in memory, and a function of a number that becomes constant is computed otherwise.
    """
    run = running(target, declared.function)
    every = (*(target.kernels if run is None else run), *(hit.facts for hit in target.hits))
    return any(one.has_floats is not False for one in every)


REWRITE = Rewrite(
    "drop-volatile",
    frozenset({"volatile"}),
    propose,
    __name__,
    nothing="its declaration is not read as one that is volatile by itself, or a class has "
    "members for what is volatile",
)

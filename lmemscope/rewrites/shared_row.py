"""Keep the variable as it is in shared memory

Each thread gets a row of a shared array that holds the whole variable, an array or a structure with
arrays. The variable becomes a reference to it, so pointers, functions, macros and members work as
before. Rows are an odd number of words long, so lanes that use the same element use different
banks. Tried if the variable cannot be a column (shared-memory).

Safe and unsafe as shared-memory. A type with a non-trivial constructor or destructor does not
compile in it. Code that asks which memory a pointer leads to, or treats it as local memory, such as
inline assembly, is declined, and so are casts to a larger type, also in functions that get a
pointer to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites import shared_memory
from lmemscope.rewrites.accessors import joined
from lmemscope.rewrites.arrays import LocalArray, is_plain, local_variable
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.classes import declared_as, helper_edits, initialised_on
from lmemscope.rewrites.shared_room import LANE, fill_of, for_threads, room_for
from lmemscope.sources.syntax import Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from lmemscope.rewrites.meanings import Meanings

_NAME = b"lmem_row"
_CLASS = b"""\
// What one thread has, an odd number of words long (of 8 bytes where it is aligned so), so that the
// rows of a warp begin in as many banks as can be.
template <class Own>
union alignas(alignof(Own) > 4 ? alignof(Own) : 4) lmem_row {
    static constexpr int word = alignof(Own) > 4 ? alignof(Own) : 4;
    Own own;
    unsigned char room[((sizeof(Own) + word - 1) / word | 1) * word];
};
"""
_ROOT = re.compile(r"([A-Za-z_]\w*)(?:[.\[].*)?")
_WORDS = re.compile(
    rb"\b(?:void|char|short|float|half|__half|bool|u?int(?:8|16|32)_t|uint|unsigned"
    rb"|(?<!long )int)\s*(?:const\s*)?[*&]"
)
"""Types of at most a word, which rows are aligned by."""
_TO_POINTER = re.compile(
    rb"\(\s*(?:(?:const|volatile)\s+)*([A-Za-z_][\w:]*(?:\s+[A-Za-z_]\w*)*?)(?:\s+const)?\s*\*"
    rb"\s*\)\s*[\w(&]"
    rb"|\breinterpret_cast\s*<\s*(?:(?:const|volatile)\s+)*([A-Za-z_][\w:\s]*?)\s*[*&]"
)
"""A cast to a pointer, with its type."""
_DEFAULT = "default_method_clause"
"""How a tree says that a constructor is the compiler's."""
_NAME_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^<>]*>\s*)?$")


def propose(target: Target) -> Iterator[Rewriting]:
    """The declaration as a reference to a row."""
    root = _ROOT.fullmatch(target.name or "")
    if root is None:
        raise DeclinedError("it is reached through a pointer" if target.name else "it has no name")
    whole = replace(target, name=root[1], type=target.type if root[1] == target.name else None)
    variable = local_variable(whole)
    _check_made(variable.element, target)
    room = room_for(variable, target)
    uses = whole.syntax.uses(variable.declared.name, variable.declared.scope)
    if any(_is_cast(use, whole.syntax, target.meanings) for use in uses):
        raise DeclinedError("a cast may need an alignment that a row does not have")
    for use in uses:
        for callee in _getting(use, whole.syntax):
            if any(_has_cast(body, target.meanings) for body in target.meanings.reached([callee])):
                raise DeclinedError(
                    f"{callee.decode(errors='replace')} gets it, where a cast may need an "
                    "alignment that a row does not have"
                )
    copied = root[1] == target.name and is_plain(target)
    if any(_is_told(use, is_plain=copied) for use in uses):
        raise DeclinedError("its type is asked for, which becomes that of a reference")
    helper = helper_edits(
        target, target.path, target.syntax, variable.declared.function, _NAME, _CLASS
    )
    yield Rewriting(
        "shared-row",
        "unsafe" if room.caveat else "safe",
        joined((*helper, *_declaration(variable, room.threads), *room.edits)),
        f"keep `{root[1]}` in a row of shared memory {for_threads(room.threads)}",
        room.caveat,
        room=room.claimed,
    )


def _check_made(kind: bytes, target: Target) -> None:
    """That nothing runs where an object of a type begins or ends, by the classes in sight.

    Raises:
        DeclinedError: something does, which shared memory does not allow.
    """
    name = b"".join(_NAME_CALLED.findall(kind))
    for _, tree in target.trees(name) if name in target.meanings.classes else ():
        for node in walk(tree.root):
            if node.type not in ("struct_specifier", "class_specifier"):
                continue
            named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
            if named is None or body is None or tree.text(named) != name:
                continue
            members = body.named_children
            own = [one for one in members if _made_by(one, tree) == name]
            if any(one.child_by_field_name("default_value") for one in members) or (
                own and not any(one.named_children[-1].type == _DEFAULT for one in own)
            ):
                said = name.decode(errors="replace")
                raise DeclinedError(f"`{said}` does something where an object of it is made")


def _made_by(member: Node, tree: Syntax) -> bytes:
    """The name of a constructor or, without its tilde, of a destructor; empty of another member."""
    if member.type not in ("function_definition", "declaration"):
        return b""
    declarator = member.child_by_field_name("declarator")
    called = declarator.child_by_field_name("declarator") if declarator is not None else None
    if called is None or called.type not in ("identifier", "destructor_name"):
        return b""
    return tree.text(called).lstrip(b"~ ")


def _declaration(variable: LocalArray, threads: int) -> tuple[Edit, ...]:
    syntax, name = variable.syntax, variable.name
    store = name + b"_lmem"
    if store in variable.target.meanings.words:
        raise DeclinedError(f"the name {store.decode()} is taken")
    extents = b"".join(b"[" + extent + b"]" for extent in variable.extents)
    end = syntax.lines_end() + syntax.indent(variable.declared.statement)
    fill = fill_of(variable, end) if variable.extents else _value(variable, end)
    row = _NAME + b"<" + variable.element + extents + b">"
    space = b"__shared__ " + row + b" " + store + b"[%d];" % threads + end
    made = b"(&" + name + b")" + extents if extents else b"&" + name
    own = b" = " + store + b"[" + LANE + b"].own"
    return declared_as(variable, space + variable.element, own + fill, made)


def _value(variable: LocalArray, end: bytes) -> bytes:
    """What follows a structure's declaration so that it has its value.

    Raises:
        DeclinedError: it is not initialised by what can be assigned.
    """
    value, syntax = variable.declared.value, variable.syntax
    if value is None:
        return b""
    line = initialised_on(variable)
    if value.type == "argument_list":
        raise DeclinedError(f"its initializer on line {line} is in parentheses, and may convert")
    if variable.target.meanings.copies_otherwise():
        raise DeclinedError(f"its initializer on line {line} is not the same as an assignment")
    return b";" + end + variable.name + b" = " + syntax.text(value)


def _is_cast(use: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether a pointer to it becomes one of a type that may be aligned otherwise than by words."""
    for cast in around(use, "cast_expression", "call_expression"):
        to = cast.child_by_field_name("type") or cast.child_by_field_name("function")
        text = b"" if to is None else syntax.text(to)
        if cast.type == "call_expression" and not text.startswith(b"reinterpret_cast"):
            continue
        if (b"*" in text or b"&" in text) and not _WORDS.search(meanings.spelled_out(text)):
            return True
    return False


def _getting(use: Node, syntax: Syntax) -> Iterator[bytes]:
    """Names of the functions that get the variable, or a pointer into it, as an argument."""
    for given in around(use, "argument_list"):
        call = given.parent
        called = call.child_by_field_name("function") if call is not None else None
        if called is not None:
            yield from _NAME_CALLED.findall(syntax.text(called))


def _has_cast(body: bytes, meanings: Meanings) -> bool:
    """Whether a function's text makes a pointer one of a type aligned otherwise than by words."""
    return any(
        not _WORDS.search(meanings.spelled_out(found[1] or found[2]) + b" *")
        for found in _TO_POINTER.finditer(body)
    )


def _is_told(use: Node, *, is_plain: bool) -> bool:
    """Whether something asks whether the variable is a reference, or a move would take it."""
    returned = use.parent is not None and use.parent.type == "return_statement"
    return (returned and not is_plain) or any(True for _ in around(use, "decltype"))


REWRITE = Rewrite(
    "shared-row",
    frozenset({"dynamic-index", "rolled-loop", "large-array", "address-taken"}),
    propose,
    __name__,
    nothing="its declaration is not read as a variable",
    instead_of=shared_memory.REWRITE.name,
)

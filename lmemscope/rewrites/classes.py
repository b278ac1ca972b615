"""Putting a helper class before the function that uses it, and declaring a variable of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import LocalArray, words_of
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.sources.syntax import BRANCHES, Syntax, around

if TYPE_CHECKING:
    from tree_sitter import Node


def helper_edits(
    target: Target, path: str, syntax: Syntax, function: Node, name: bytes, text: bytes
) -> tuple[Edit, ...]:
    """A class before the item of the file that holds a function, guarded as headers are.

    A class that an earlier rewrite put there is not put there again.

    Raises:
        DeclinedError: its name is taken, or the item does not begin a line.
    """
    # It needs nothing of what is declared before, and every namespace sees it there.
    item = syntax.file_item(function)
    guard = name.upper() + b"_DEFINED"
    condition = b"#ifndef " + guard
    if not path.endswith((".cu", ".py")):
        condition = b"#if defined(__CUDACC__) && !defined(%s)" % guard
    text = b"%s\n#define %s\n%s#endif\n" % (condition, guard, text)
    ended = text.replace(b"\n", syntax.lines_end())
    at = syntax.line_start(item.start_byte)
    if syntax.data[at : item.start_byte].strip():
        raise DeclinedError("something stands before its function on the same line")
    if ended in syntax.data[:at]:
        return ()
    if path.endswith(".py"):
        at = item.start_byte  # The line may begin before the string does.
    if name in target.meanings.words:
        raise DeclinedError(f"the name {name.decode()} is taken")
    # Strings of a Python file are programs of their own, and a branch may be left out.
    is_branch = any(not syntax.is_guard(one) for one in around(item, *BRANCHES))
    counts: Literal["file", "place"] = "place" if path.endswith(".py") or is_branch else "file"
    return (Edit(path, at, at, ended + syntax.lines_end(), counts),)


def declared_as(
    array: LocalArray, type_: bytes, rest: bytes, declarator: bytes | None = None
) -> tuple[Edit, ...]:
    """The declaration with another type, in a statement of its own.

    Args:
        array: what is declared.
        type_: its new type.
        rest: what stands behind its name, up to the semicolon.
        declarator: its name with what stands around it; None: the name alone.

    Raises:
        DeclinedError: it cannot be taken out of what else the statement declares.
    """
    declared, syntax = array.declared, array.syntax
    statement, target = declared.statement, array.target
    made = type_ + b" " + (declarator or array.name) + rest + b";"
    line = declared.declarator.start_point.row + 1
    if declared.is_alone:
        return (target.edit(statement.start_byte, statement.end_byte, made),)
    if declared.value is not None:
        # It may need what is declared before it, and what is behind it may need it.
        raise DeclinedError(f"the statement on line {line} declares other variables, too")
    others = statement.children_by_field_name("declarator")
    position = next(n for n, one in enumerate(others) if one == declared.declarator)
    if position + 1 < len(others):
        start, end = declared.declarator.start_byte, others[position + 1].start_byte
    else:
        start, end = others[position - 1].end_byte, declared.declarator.end_byte
    if b"//" in syntax.data[start:end] or b"/*" in syntax.data[start:end]:
        raise DeclinedError(f"line {line} has a comment between the variables it declares")
    if array.is_aligned:
        # In front, it would take the alignment from what stays there.
        at = statement.end_byte
        behind = syntax.lines_end() + syntax.indent(statement) + made
        return (target.edit(start, end, b""), target.edit(at, at, behind))
    before = made + syntax.lines_end() + syntax.indent(statement)
    return (
        target.edit(statement.start_byte, statement.start_byte, before),
        target.edit(start, end, b""),
    )


def listed_values(array: LocalArray) -> tuple[bytes, ...]:
    """The values that an initializer gives the elements, each an expression.

    Raises:
        DeclinedError: it is no such list, or it may need what else its statement declares.
    """
    values, line = array.values, initialised_on(array)
    if not array.declared.is_alone:
        # It may need what is declared before it, and what is behind it may need it.
        raise DeclinedError(f"the statement on line {line} declares other variables, too")
    if values is None:
        raise DeclinedError(f"its initializer on line {line} is no list of values")
    is_macro = array.target.meanings.is_list(words_of(values))
    if is_macro or any(one.startswith((b"{", b".")) for one in values):
        raise DeclinedError(f"its initializer on line {line} has lists or designators in it")
    return values


def initialised_on(array: LocalArray) -> int:
    """The line that an array's initializer begins on; without one, that of its declaration."""
    return (array.declared.value or array.declared.statement).start_point.row + 1

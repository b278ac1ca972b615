"""Putting a helper class before the function that uses it, and declaring a variable of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import LocalArray, is_for_device, words_of
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.both_compilers import host_word
from lmemscope.rewrites.declarations import Part, taken_apart
from lmemscope.sources.syntax import BRANCHES, Syntax, around

if TYPE_CHECKING:
    from tree_sitter import Node

_OF_BOTH = b"__host__ __device__ __forceinline__"
"""How the functions of helper classes are declared."""


def helper_edits(
    target: Target, path: str, syntax: Syntax, function: Node, name: bytes, text: bytes
) -> tuple[Edit, ...]:
    """A class before the item of the file that holds a function, guarded as headers are.

    It goes before the comment that stands right above the item.

    A class that an earlier rewrite put there is not put there again.

    Raises:
        DeclinedError: its name is taken, or the item does not begin a line.
    """
    # It needs nothing of what is declared before, and every namespace sees it there.
    item = syntax.file_item(function)
    guard = name.upper() + b"_DEFINED"
    condition = b"#ifndef " + guard
    if not path.endswith((".cu", ".py")):
        word = host_word(path, function, syntax, target.meanings)
        if is_for_device(function, syntax):
            condition = b"#if defined(__CUDACC__) && !defined(%s)" % guard
        elif word is None:
            raise DeclinedError("host code may include its header, too")
        else:
            # A host's compiler reads the function, and with it the class.
            text = text.replace(_OF_BOTH, word)
    text = b"%s\n#define %s\n%s#endif\n" % (condition, guard, text)
    ended = text.replace(b"\n", syntax.lines_end())
    at = syntax.line_start(item.start_byte)
    if syntax.data[at : item.start_byte].strip():
        raise DeclinedError("something stands before its function on the same line")
    if ended in syntax.data[:at]:
        return ()
    # The line may begin before a string of Python does.
    at = item.start_byte if path.endswith(".py") else syntax.documented_start(item)
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
    declared = array.declared
    made = type_ + b" " + (declarator or array.name) + rest
    part = Part(made, declared.declarator.end_byte)
    return taken_apart(
        array.target.path,
        array.syntax,
        declared.statement,
        {declared.declarator.start_byte: part},
        array.alignment,
    )


def listed_values(array: LocalArray) -> tuple[bytes, ...]:
    """The values that an initializer gives the elements, each an expression.

    Raises:
        DeclinedError: it is no such list.
    """
    values, line = array.values, initialised_on(array)
    if values is None:
        raise DeclinedError(f"its initializer on line {line} is no list of values")
    is_macro = array.target.meanings.is_list(words_of(values))
    if is_macro or any(one.startswith((b"{", b".")) for one in values):
        raise DeclinedError(f"its initializer on line {line} has lists or designators in it")
    return values


def initialised_on(array: LocalArray) -> int:
    """The line that an array's initializer begins on; without one, that of its declaration."""
    return (array.declared.value or array.declared.statement).start_point.row + 1

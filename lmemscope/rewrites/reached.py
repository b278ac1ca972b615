"""Which kernels may run a function, those without a finding included."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.model import KernelFacts
from lmemscope.rewrites.arrays import is_for_device
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.written import in_file, kernels
from lmemscope.sources.syntax import Syntax, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE)


def running(target: Target, function: Node) -> tuple[KernelFacts, ...] | None:
    """The kernels of the input that, by their text, run a function of the target's file.

    Which of them do, and whether others do by a name that is not read here, a trial shows.

    Args:
        target: in whose file it is.
        function: its definition.

    Returns:
        Them; None where other inputs may have more: of a function that other sources include, or
        in code that is linked later.
    """
    syntax = target.syntax
    name = syntax.function_name(function)
    body = function.child_by_field_name("body")
    head = syntax.code[function.start_byte : body.start_byte if body is not None else None]
    if name is None:
        return None
    if b"__global__" in _WORD.findall(head):
        names = {name}
    elif target.hits[0].case.sources.is_elsewhere(target.path) or _is_linked(target, head):
        return None
    else:
        names = callers(target, name)
    return tuple(
        one
        for one in target.kernels
        if one.kind == "entry"
        and plain_name(one.demangled).encode() in names
        and _may_run(one, names, (target, function))
    )


def _may_run(facts: KernelFacts, names: set[bytes], function: tuple[Target, Node]) -> bool:
    """Whether the kernel that has one of some names may run a function: overloads share a name.

    Args:
        facts: the kernel.
        names: of what is, or reaches, the function.
        function: its definition, and the target in whose file it is.
    """
    target, own = function
    home = in_file(target, facts.location.file) if facts.location is not None else None
    found = kernels(home, (facts,)) if home is not None else None
    if home is None or not found or (home.path == target.path and found[0] == own):
        return True
    words = _WORD.findall(home.syntax.code_of(found[0]))
    # Its own name says nothing, unless it has it once more.
    words.remove(plain_name(facts.demangled).encode())
    return not names.isdisjoint(words)


def _is_linked(target: Target, head: bytes) -> bool:
    """Whether a function may be called from what is compiled by itself."""
    return target.hits[0].case.sources.is_relocatable and b"static" not in _WORD.findall(head)


def _words_of(function: Node, syntax: Syntax) -> frozenset[bytes]:
    """Names in a function."""
    return frozenset(_WORD.findall(syntax.code_of(function)))


def _only_launches(function: Node, syntax: Syntax) -> bool:
    """Whether a function is the host's, and launches kernels: what calls it runs none of them."""
    return b"<<<" in syntax.code_of(function) and not is_for_device(function, syntax)


@functools.lru_cache(maxsize=64)
def _bodies(syntax: Syntax) -> tuple[tuple[bytes, frozenset[bytes]], ...]:
    """A file's functions and macros by their names, each with the names in it."""
    functions = (
        (own, _words_of(node, syntax))
        for node in walk(syntax.root)
        if node.type == "function_definition"
        for own in [syntax.function_name(node)]
        if own is not None and not _only_launches(node, syntax)
    )
    macros = ((name, frozenset(_WORD.findall(text))) for name, text in _DEFINE.findall(syntax.code))
    return (*functions, *macros)


def callers(target: Target, name: bytes) -> set[bytes]:
    """Names of functions and macros that a function's or a macro's name is reached from."""
    bodies, found, grown = dict[str, tuple[tuple[bytes, frozenset[bytes]], ...]](), {name}, True
    while grown:
        bodies |= {path: _bodies(tree) for path, tree in target.trees(*found)}
        more = {own for each in bodies.values() for own, words in each if words & found}
        grown = not more <= found
        found |= more
    return found

"""Whether a function may run again before it is done, as the text of a target's files tells.

A compiler may inline recursive calls where it knows how deep they are, and then the compiled kernel
shows none. A function leads to what it mentions. What is called other than by a function's name may
be any function that is mentioned without a call; operators, constructors and destructors, which
nothing calls by a name, may run wherever something is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import Target
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.seen import is_library, pastes
from lmemscope.rewrites.written import declarators
from lmemscope.sources.syntax import FUNCTIONS, Syntax, around, is_cast, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from lmemscope.rewrites.meanings import Meanings

_WORD = re.compile(rb"[A-Za-z_]\w*")
_MENTION = re.compile(rb"\b([A-Za-z_]\w*+)(?!\s*+(?:<[^;{}()]{0,500}>\s*+)?\()")
"""A name that is not called there."""
_ASM_CALL = re.compile(rb"\bcall\b")
_OF_DEVICE = (b"__global__", b"__device__", b"constexpr", b"consteval")
_DEVICE = re.compile(rb"\b__device__\b")
_IMPLICIT = b"operator"
"""Stands for all functions that run without being called by a name."""


def may_call_itself(target: Target, place: Node) -> bool:
    """Whether a function or a lambda around a place may run again before it is done.

    Args:
        target: in whose file it is.
        place: in the function.
    """
    syntax = target.syntax
    functions = [one for one in around(place, *FUNCTIONS) if not _is_kernel(one, syntax)]
    if not functions:
        return False
    calls = _Calls(target)
    return any(calls.may_return_to(one, syntax) for one in functions) or any(
        hit.facts.calls is not None and hit.facts.calls.external for hit in target.hits
    )


def _head(function: Node, syntax: Syntax) -> bytes:
    """A function's text up to its body."""
    body = function.child_by_field_name("body")
    return syntax.code[function.start_byte : body.start_byte if body is not None else None]


def _is_kernel(function: Node, syntax: Syntax) -> bool:
    """Whether a function is a kernel: launches alone run it, and no thread that is in another."""
    is_function = function.type == "function_definition"
    return is_function and b"__global__" in _WORD.findall(_head(function, syntax))


def is_host(function: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether a function is the host's alone: no word says more, and no macro or class may.

    One that holds a lambda of the device's is not.
    """
    words = set(_WORD.findall(_head(function, syntax)))
    return (
        not meanings.is_all_device
        and words.isdisjoint((*_OF_DEVICE, *meanings.macro_names))
        and not any(len(one) > 1 and one.isupper() for one in words)
        and not any(one.type == "qualified_identifier" for one in declarators(function))
        and not holds_device_function(function, syntax, meanings)
    )


def holds_device_function(function: Node, syntax: Syntax, meanings: Meanings) -> bool:
    """Whether one of the device's stands in a function's body: a lambda, or a class's member."""
    body = function.child_by_field_name("body")
    code = syntax.code_of(body) if body is not None else b""
    return _DEVICE.search(code) is not None or meanings.macro_has(_WORD.findall(code), _DEVICE)


class _Calls:
    """What the functions and macros of a target's files lead to."""

    def __init__(self, target: Target) -> None:
        self._meanings = target.meanings
        self._macros = self._meanings.macro_names
        self._leads: dict[bytes, set[bytes]] = {_IMPLICIT: set()}
        self._open: set[bytes] = set()
        read = [tree for _, tree in target.trees()]
        defined = [one for tree in read for one in self._definitions(tree)]
        self._functions = {name for name, _, _ in defined}
        self._variables = {name for tree in read for name in _variables(tree.root, tree)}
        self._add_macros()
        for name, node, tree in defined:
            self._leads.setdefault(name, set()).update(self._leading(node, tree))
            if self._is_open(node, tree):
                self._open.add(name)
        self._pointed = {
            name for text in self._meanings.texts for name in _MENTION.findall(text)
        } & self._functions

    def may_return_to(self, function: Node, syntax: Syntax) -> bool:
        """Whether what a function or a lambda leads to may be itself."""
        own = syntax.function_name(function) if function.type == "function_definition" else None
        start = self._leading(function, syntax)
        if function.type == "lambda_expression":
            # It has no name, so that it comes back through what it is given or, where it captures
            # nothing and may be a pointer, through any.
            captures = next(iter(function.named_children), None)
            is_pointer = captures is not None and syntax.text(captures).strip(b"[] ") == b""
            reached = self._reached(start, is_open=False) if is_pointer else set[bytes]()
            return self._is_open(function, syntax) or not self._open.isdisjoint(reached)
        if own is None or own in self._meanings.classes:
            return True
        return own in self._reached(start, is_open=self._is_open(function, syntax))

    def _definitions(self, tree: Syntax) -> Iterator[tuple[bytes, Node, Syntax]]:
        """Functions, lambdas that a name stands for, and members' initializers, by their names."""
        for node in walk(tree.root):
            if node.type == "function_definition":
                if _is_kernel(node, tree) or is_host(node, tree, self._meanings):
                    continue
                name = tree.function_name(node)
                is_named = name is not None and name not in self._meanings.classes
                yield name if is_named and name is not None else _IMPLICIT, node, tree
            elif node.type == "field_declaration":
                value = node.child_by_field_name("default_value")
                if value is not None:
                    yield _IMPLICIT, value, tree
            elif node.type == "init_declarator":
                value = node.child_by_field_name("value")
                name_of = node.child_by_field_name("declarator")
                if value is not None and name_of is not None and value.type == "lambda_expression":
                    yield tree.text(name_of), value, tree

    def _add_macros(self) -> None:
        for name, given, body in self._meanings.defined:
            parameters = set(_WORD.findall(given))
            words = set(_WORD.findall(body)) - parameters
            if b"##" in body:
                words |= {one for one in self._functions if pastes(body, parameters, one)}
            self._leads.setdefault(name, set()).update(words)

    def _leading(self, node: Node, tree: Syntax) -> set[bytes]:
        """Words that a function says behind its name, and all that runs without being called."""
        text = tree.code_of(node)
        if node.type not in FUNCTIONS:
            return set(_WORD.findall(text))
        text = self._without_members(node, tree)
        words = {*_WORD.findall(text.partition(b"(")[2])} - {*_variables(node, tree)}
        return {_IMPLICIT, *words, *(name for _, name in _called(node, tree))}

    def _without_members(self, node: Node, tree: Syntax) -> bytes:
        """A function's text, without members of objects that are not called."""
        text = bytearray(tree.code_of(node))
        for one in walk(node):
            above = one.parent
            if one.type != "field_identifier" or above is None or above.type != "field_expression":
                continue
            outer = above.parent
            is_called = outer is not None and outer.type == "call_expression"
            if not is_called and tree.text(one) not in self._macros:
                begin, end = one.start_byte - node.start_byte, one.end_byte - node.start_byte
                text[begin:end] = b" " * (end - begin)
        return bytes(text)

    def _is_open(self, node: Node, tree: Syntax) -> bool:
        """Whether a function calls something that is not known by the name of a function."""
        return any(
            one.type == "gnu_asm_expression" and _ASM_CALL.search(tree.text(one)) is not None
            for one in walk(node)
        ) or any(not self._is_known(call, name, tree) for call, name in _called(node, tree))

    def _is_known(self, call: Node, name: bytes, tree: Syntax) -> bool:
        called = call.child_by_field_name("function")
        if called is None or called.type in ("subscript_expression", "parenthesized_expression"):
            return False
        if is_cast(call) or called.type == "primitive_type":
            return True
        if called.type == "call_expression" or name in self._variables:
            return False
        return (
            name in self._leads
            or name in self._functions
            or is_library(tree.text(called))
            or self._meanings.is_type(name)
        )

    def _reached(self, start: Iterable[bytes], *, is_open: bool) -> set[bytes]:
        """All that some names lead to."""
        reached = set[bytes]()
        pending = {*start, *(self._pointed if is_open else ())}
        while pending:
            reached |= pending
            found = {one for name in pending for one in self._leads.get(name, ())}
            if not self._open.isdisjoint(pending):
                found |= self._pointed
            pending = found - reached
        return reached


def _called(node: Node, tree: Syntax) -> Iterator[tuple[Node, bytes]]:
    """The calls in a node, each with the last name of what is called; empty where there is none."""
    for one in walk(node):
        called = one.child_by_field_name("function") if one.type == "call_expression" else None
        if called is not None:
            words = _WORD.findall(tree.text(called).partition(b"<")[0])
            yield one, words[-1] if words else b""


def _variables(node: Node, tree: Syntax) -> Iterator[bytes]:
    """Names of variables, parameters and members that are declared in a node.

    Not those that stand for a lambda, which are known as functions.
    """
    for one in walk(node):
        above = one.parent
        if above is None or above.type == "function_declarator":
            continue
        value = above.child_by_field_name("value")
        is_lambda = value is not None and value.type == "lambda_expression"
        is_member = one.type == "field_identifier" and above.type != "field_expression"
        if is_member or (one.type == "identifier" and not is_lambda and is_declared_name(one)):
            yield tree.text(one)

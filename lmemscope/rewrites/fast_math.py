"""Avoid the slow path of sine and cosine

Calls with float arguments become `__sinf`, `__cosf`, `__tanf` or `__sincosf`; calls of pi times
something become `sinpi` and the like. Or `__builtin_assume(fabs(x) < 1e5)` before the statement
promises a small argument (2e9 for double), if the statement always makes the call and does not
change the argument.

Unsafe. The fast functions have an absolute error of about 1e-6 within pi of zero, and are wrong for
large arguments. With the promise, results are wrong outside its range. Neither is proposed for an
angle that grows with problem sizes: with a power, or with more integers than it is divided by
(`2 * pi * i * j / n`). Declined for functions that are also compiled for the host, and if the
program defines such a name itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.angles import is_growing
from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import DeclinedError, Rewrite, RuledOutError, Target
from lmemscope.rewrites.likelihood import always
from lmemscope.rewrites.purity import is_pure, is_pure_call
from lmemscope.rewrites.trigonometry import (
    CALLED,
    TURNS,
    Call,
    beside,
    calls_of,
    half_turns,
    rewriting,
)
from lmemscope.rewrites.written import BLOCKS, before, is_own, may_be_body, names_in
from lmemscope.rules.enclosing import is_for_host
from lmemscope.rules.math_slow_path import small
from lmemscope.sources.syntax import FUNCTIONS, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_FAST = "the error may be 1e-6 within pi of zero, and grows without bound beyond"
_PROMISE = "arguments stay below %s whenever these statements run"
_ASKING = (b"&&", b"||", b"and", b"or")
_DECLARING = ("parameter_declaration", "declaration", "init_declarator")
"""What declares a value by its name alone: a pointer or a reference has a declarator between."""
_TAKING = (
    *("binary_expression", "unary_expression", "subscript_argument_list", "condition_clause"),
    *("assignment_expression", "update_expression"),
)
"""What takes a value, or changes it by its name."""
_HEADS = ("for_statement", "while_statement", "do_statement", "switch_statement")


def propose(target: Target) -> Iterator[Rewriting]:
    """What the findings' lines call; then all that their functions do, which may share the path.

    Raises:
        DeclinedError: no line shows such a call, or what it shows can take no other.
    """
    own = calls_of(target)
    seen: set[tuple[Edit, ...]] = set()
    for calls in (own, beside(own)):
        for one in _proposals(calls):
            if one.edits not in seen:
                seen.add(one.edits)
                yield one
    if seen or all(half_turns(call) is not None for call in own):
        return
    if any(_grows(call) for call in own):
        raise RuledOutError(
            "angles grow with what the program computes, and for large ones fast functions and "
            "promises are wrong"
        )
    raise DeclinedError(
        "nothing can be promised before a statement that computes or changes the argument or "
        "calls what may, or that a condition or a loop without braces governs"
    )


def _proposals(calls: list[Call]) -> Iterator[Rewriting]:
    """Fast functions; a promise: beside half turns, of what is no multiple of pi.

    Neither is good for angles that grow with what the program computes.
    """
    turned = [half_turns(call) for call in calls]
    turns = [edits for edits in turned if edits is not None]
    left = [call for turn, call in zip(turned, calls, strict=True) if turn is None]
    if not left or any(_grows(call) for call in left):
        return
    also = [TURNS] if turns else []
    for way, summary, caveat in (
        (_fast, "fast functions of less accuracy", _FAST),
        (_promise, "promise that arguments are small", _PROMISE),
    ):
        made = [turn or way(call) for turn, call in zip(turned, calls, strict=True)]
        known = [one for one in made if one is not None]
        if len(known) == len(made):
            limits = sorted({small(call.is_float)[1].removesuffix("f") for call in left})
            text = caveat % " and ".join(limits) if way is _promise else caveat
            yield rewriting("fast-math", known, summary, [text, *also])


def _grows(call: Call) -> bool:
    text = call.target.syntax.text(call.argument).decode(errors="replace")
    sources = call.target.hits[0].case.sources
    is_float = call.is_float is not False
    return is_growing(" ".join(text.split()), sources, call.place, is_float=is_float)


def _fast(call: Call) -> tuple[Edit, ...] | None:
    target = call.target
    if not call.is_float or is_for_host(target.hits[0].case.sources, call.place):
        return None
    called = call.node.child_by_field_name("function")
    assert called is not None
    name = f"__{call.name}f".encode()
    return (target.edit(called.start_byte, called.end_byte, name),)


def _promise(call: Call) -> tuple[Edit, ...] | None:
    """The promise before the statement; None where the argument is not yet known there."""
    target = call.target
    if call.is_float is None or not is_pure(call.argument, target):
        return None
    if any(one.type in ("call_expression", "string_literal") for one in walk(call.argument)):
        return None
    statement = call.node
    while statement.parent is not None and statement.parent.type not in BLOCKS:
        if statement.type in ("lambda_expression", *_HEADS) or statement.type.endswith("_clause"):
            return None
        statement = statement.parent
    if statement.parent is None or statement.type in _HEADS or statement.has_error:
        return None
    if statement.type == "if_statement" or may_be_body(statement, target.syntax):
        return None
    if names_in(call.argument, target) & _set_in(target, statement):
        return None
    if not _is_certain(call.node, statement, target):
        return None
    names = names_in(call.argument, target)
    kept = all(_is_out_of_reach(name, call.argument, target) for name in names)
    if not kept and not _is_alone(statement, target):
        return None
    absolute, limit = (one.encode() for one in small(call.is_float))
    argument = b" ".join(target.syntax.text(call.argument).split())
    if b"//" in argument or b"/*" in argument:
        return None
    line = b"__builtin_assume(" + absolute + b"(" + argument + b") < " + limit + b");"
    on_host = is_for_host(target.hits[0].case.sources, call.place)
    lines = (b"#ifdef __CUDA_ARCH__", line, b"#endif") if on_host else (line,)
    edit = before(target, statement, *lines)
    return None if edit is None else (edit,)


def _is_certain(call: Node, statement: Node, target: Target) -> bool:
    """Whether a statement makes a call whatever happens: its argument may not be there else."""
    node = call
    while node != statement and node.parent is not None:
        above = node.parent
        if above.type == "conditional_expression":
            if node != above.child_by_field_name("condition"):
                return False
        elif above.type == "binary_expression" and node == above.child_by_field_name("right"):
            operator = above.child_by_field_name("operator")
            if operator is None or target.syntax.text(operator) in _ASKING:
                return False
        node = above
    return True


def _is_alone(statement: Node, target: Target) -> bool:
    """Whether nothing that a statement calls can change an argument before it is used."""
    return not target.meanings.has_effects(words_of([target.syntax.text(statement)])) and all(
        _only_computes(one, target) for one in walk(statement) if one.type == "call_expression"
    )


def _is_out_of_reach(name: bytes, argument: Node, target: Target) -> bool:
    """Whether no call can change what a name stands for: a value that nobody gets by reference.

    It is a parameter or a variable of the function, none of whose uses hands it, or a part of it,
    on as it is.
    """
    function = outermost(argument, FUNCTIONS)
    if function is None or function.has_error or name in target.syntax.macros:
        return False
    is_declared = False
    for use in walk(function):
        if use.type in ("lambda_expression", "gnu_asm_expression"):
            return False
        if use.type != "identifier" or target.syntax.text(use) != name:
            continue
        node, above = use, use.parent
        while above is not None and above.type in ("parenthesized_expression", "field_expression"):
            node, above = above, above.parent
        if above is None:
            return False
        if above.type in _DECLARING and node == use and above.child_by_field_name("value") != use:
            is_declared = True
        elif above.type == "argument_list":
            if above.parent is None or not _only_computes(above.parent, target):
                return False
        elif above.type not in _TAKING:
            return False
    return is_declared


def _only_computes(call: Node, target: Target) -> bool:
    """Whether a call is of a function of the language's that has no effect but its value."""
    called = call.child_by_field_name("function")
    return is_pure_call(call, target) or (
        called is not None
        and CALLED.fullmatch(_name(call, target)) is not None
        and not is_own(called, target)
    )


def _name(call: Node, target: Target) -> bytes:
    called = call.child_by_field_name("function")
    return b"" if called is None else target.syntax.text(called)


def _set_in(target: Target, statement: Node) -> frozenset[bytes]:
    """Variables that a statement declares or changes."""
    found: set[bytes] = set()
    for one in walk(statement):
        field = {
            "assignment_expression": "left",
            "update_expression": "argument",
            "init_declarator": "declarator",
        }.get(one.type)
        changed = one.child_by_field_name(field) if field is not None else None
        if changed is None:
            continue
        if one.type == "assignment_expression" and _is_last(one, statement):
            continue  # `x = sin(x);` changes it when the argument has been used.
        found |= names_in(changed, target)
    if statement.type == "declaration":
        for declarator in statement.children_by_field_name("declarator"):
            found |= {target.syntax.text(n) for n in walk(declarator) if n.type == "identifier"} & (
                _declared(target, declarator)
            )
    return frozenset(found)


def _is_last(assignment: Node, statement: Node) -> bool:
    """Whether an assignment is all of a statement, so that it is done when the rest is."""
    return assignment.parent == statement and statement.type == "expression_statement"


def _declared(target: Target, declarator: Node) -> frozenset[bytes]:
    node: Node | None = declarator
    while node is not None and node.type != "identifier":
        node = node.child_by_field_name("declarator")
    return frozenset() if node is None else frozenset({target.syntax.text(node)})


REWRITE = Rewrite(
    "fast-math",
    frozenset({"math-slow-path"}),
    propose,
    __name__,
    nothing="no call on the line has a fast function that could take its place",
    is_likely=always,
    cost="A promise has no effect in a partly unrolled loop, nor in one that does not change its "
    "argument.",
)

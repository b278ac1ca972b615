"""Take no slow path of sine and cosine

Where an argument is written as pi times something, `sinpi`, `cospi` or `sincospi` of that factor
take the place of the call. Other calls of float arguments become `__sinf`, `__cosf`, `__tanf` or
`__sincosf`. And before the statements, `__builtin_assume(fabs(x) < 1e5)` promises that the argument
is small (2e9 of double arguments): where the statement makes the call whatever happens, and nothing
else in it can change the argument.

All of it is unsafe. The functions of half turns differ by what rounding does to the product with
pi, the last bits of a small argument and all of a large one, and by more where pi is
written with few digits, being nearer to what is meant. The fast functions have an absolute error of
about 1e-6 within pi of zero, which grows beyond, and for large arguments the result is wrong. With
the promise results are the same within its range, and wrong beyond. Neither is proposed of an angle
that is made of a power, or of more integers than it is divided by (`2 * pi * i * j / n`): it grows
with the sizes of the program. The fast functions do not exist
for the host: declined where a function is compiled for it too, and where the program has a function
or a variable of its own that is called so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, SourceLocation, calling_line
from lmemscope.rewrites.arrays import is_for_device, words_of
from lmemscope.rewrites.base import DeclinedError, Hit, Rewrite, Target
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.written import (
    BLOCKS,
    before,
    in_file,
    is_pure,
    is_pure_call,
    may_be_body,
    names_in,
)
from lmemscope.rules.angles import is_growing
from lmemscope.rules.enclosing import is_for_host
from lmemscope.rules.math_slow_path import is_float_path, small
from lmemscope.rules.multiples_of_pi import without_pi
from lmemscope.sources.syntax import FUNCTIONS, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CALLED = re.compile(rb"(?<!\w)(?:std::|::)?(?P<name>sincos|sin|cos|tan)(?P<float>f?)(?!\w)")
_REASONS = 2
"""Lines of which is said why nothing is edited there."""
_FAST = "the error may be 1e-6 within pi of zero, and grows without bound beyond"
_TURNS = (
    "results differ by what rounding does to the arguments, more the larger these are, and as the "
    "pi that is written differs from pi"
)
_PROMISE = "arguments stay below %s whenever these statements run"
_ASKING = (b"&&", b"||", b"and", b"or")
_HEADS = ("for_statement", "while_statement", "do_statement", "switch_statement")


@dataclass(frozen=True, slots=True)
class _Call:
    """A call on a finding's line.

    Attributes:
        target: with the file to edit that the call is in.
        node: the call.
        name: of the function, without `f`.
        argument: the first.
        is_float: whether its argument is a float, as far as the findings tell.
        place: its line.
    """

    target: Target
    node: Node
    name: str
    argument: Node
    is_float: bool | None
    place: SourceLocation


def propose(target: Target) -> Iterator[Rewriting]:
    """What the findings' lines call; then all that their functions do, which may share the path.

    Raises:
        DeclinedError: no line shows such a call, or what it shows can take no other.
    """
    own = _calls(target)
    seen: set[tuple[Edit, ...]] = set()
    for calls in (own, _beside(own)):
        for one in _proposals(calls):
            if one.edits not in seen:
                seen.add(one.edits)
                yield one
    if own and not seen:
        raise DeclinedError(
            "angles grow with what the program computes, and for large ones fast functions and "
            "promises are wrong"
            if any(_grows(call) for call in own)
            else "nothing can be promised before a statement that computes or changes the "
            "argument, or that a condition or a loop without braces governs"
        )


def _proposals(calls: list[_Call]) -> Iterator[Rewriting]:
    """Half turns; fast functions; a promise: the last two of what is no multiple of pi.

    Nothing but half turns is good for angles that grow with what the program computes.
    """
    turned = [_half_turns(call) for call in calls]
    turns = [edits for edits in turned if edits is not None]
    if turns:
        yield _rewriting(turns, "half turns where an argument has a factor of pi", [_TURNS])
    if len(turns) == len(calls):
        return
    left = [call for turn, call in zip(turned, calls, strict=True) if turn is None]
    if any(_grows(call) for call in left):
        return
    also = [_TURNS] if turns else []
    for way, summary, caveat in (
        (_fast, "fast functions of less accuracy", _FAST),
        (_promise, "promise that arguments are small", _PROMISE),
    ):
        made = [turn or way(call) for turn, call in zip(turned, calls, strict=True)]
        known = [one for one in made if one is not None]
        if len(known) == len(made):
            limits = sorted({small(call.is_float)[1].removesuffix("f") for call in left})
            text = caveat % " and ".join(limits) if way is _promise else caveat
            yield _rewriting(known, summary, [text, *also])


def _rewriting(edits: list[tuple[Edit, ...]], summary: str, caveats: list[str]) -> Rewriting:
    every = tuple(sorted({edit for one in edits for edit in one}))
    return Rewriting("fast-math", "unsafe", every, summary, "; ".join(caveats))


def _beside(own: list[_Call]) -> list[_Call]:
    """The calls of such functions in the functions that some are in, of the same type as these."""
    kinds = {call.is_float for call in own}
    functions: dict[tuple[str, int], tuple[_Call, Node]] = {}
    for call in own:
        function = outermost(call.node, FUNCTIONS)
        if function is not None:
            functions.setdefault((call.target.path, function.start_byte), (call, function))
    if len(kinds) != 1 or any(function.has_error for _, function in functions.values()):
        return own
    # A call without its letter is of floats only where the findings say so.
    beside: set[bool | None] = {None} if kinds == {True} else kinds
    found: list[_Call] = []
    for call, function in functions.values():
        for node in walk(function):
            place = SourceLocation(call.place.file, node.start_point.row + 1)
            is_own = any(node == one.node for one in own)
            made = _call(call.target, node, kinds if is_own else beside, place)
            if made is not None and {made.is_float} == kinds:
                found.append(made)
    return found


def _calls(target: Target) -> list[_Call]:
    """The calls on the findings' lines, in whichever files of the user's these are.

    A line that shows none, as where another function of the library's makes the call, is left: what
    is gained by the others, compiling them tells.

    Raises:
        DeclinedError: none of the lines shows such a call in a file that may be edited.
    """
    kinds: dict[SourceLocation, set[bool | None]] = {}
    for hit in target.hits:
        for place in _places(hit):
            kinds.setdefault(place, set()).add(is_float_path(hit.case))
    found: list[_Call] = []
    reasons: list[str] = []
    for place, kind in sorted(kinds.items()):
        here = in_file(target, place.file)
        where = f"line {place.line} of {os.path.basename(place.file)}"
        if here is None:
            reasons.append(f"{where} is in a file that is not edited")
            continue
        if here is not target and not _is_for_device(here, place.line):
            reasons.append(f"the host's compiler may read {where}, too")
            continue
        own = [
            call
            for node in here.syntax.on_line(place.line)
            if (call := _call(here, node, kind, place)) is not None
        ]
        if not own:
            reasons.append(
                f"{where} calls no `sin`, `cos`, `tan` or `sincos` that is certainly the library's"
            )
        found += own
    if not found and reasons:
        raise DeclinedError("; ".join(reasons[:_REASONS]))
    return found


def _is_for_device(here: Target, line: int) -> bool:
    """Whether a line is compiled by CUDA alone: in a source, or in functions that say so."""
    return here.path.endswith(".cu") or all(
        is_for_device(one, here.syntax) for one in here.syntax.functions_at(line)
    )


def _places(hit: Hit) -> set[SourceLocation]:
    found = {calling_line(one.chain) for one in (*hit.case.accesses, *hit.case.generic)}
    # One function of the library's may serve calls in many functions of the program.
    called = hit.case.object.called_from if hit.case.object is not None else ()
    return {place for place in (hit.finding.location, *found, *called) if place is not None}


def _call(
    target: Target, node: Node, kinds: set[bool | None], place: SourceLocation
) -> _Call | None:
    if node.type != "call_expression":
        return None
    called = node.child_by_field_name("function")
    given = node.child_by_field_name("arguments")
    said = None if called is None else _CALLED.fullmatch(target.syntax.text(called))
    inside = [] if given is None else [one for one in given.named_children if one.type != "comment"]
    if said is None or not inside or node.has_error:
        return None
    if called is not None and _is_own(called, target):
        return None
    is_float = True if said["float"] else (next(iter(kinds)) if len(kinds) == 1 else None)
    return _Call(target, node, said["name"].decode(), inside[0], is_float, place)


def _is_own(called: Node, target: Target) -> bool:
    """Whether what is called may be the program's own function, variable or macro of the name."""
    name = target.syntax.text(called)
    if b"::" in name:
        return bool(target.meanings.definitions((name.rpartition(b"::")[2],)))
    return bool(target.meanings.reached((name,))) or any(
        one.type == "identifier" and target.syntax.text(one) == name and is_declared_name(one)
        for one in walk(target.syntax.root)
    )


def _grows(call: _Call) -> bool:
    text = call.target.syntax.text(call.argument).decode(errors="replace")
    sources = call.target.hits[0].case.sources
    is_float = call.is_float is not False
    return is_growing(" ".join(text.split()), sources, call.place, is_float=is_float)


def _half_turns(call: _Call) -> tuple[Edit, ...] | None:
    """The function of half turns, where the argument is visibly pi times something."""
    target = call.target
    if call.name == "tan" or call.is_float is None:
        return None
    text = target.syntax.text(call.argument).decode(errors="replace")
    if "\n" in text or "//" in text or "/*" in text or _CALLED.search(text.encode()):
        return None  # A call of its own in it is changed on its own.
    factor = without_pi(text, target.hits[0].case.sources, call.place)
    if factor is None or factor.code is None:
        return None
    called = call.node.child_by_field_name("function")
    assert called is not None
    suffix = "f" if target.syntax.text(called).endswith(b"f") else ""
    code = factor.code if suffix or not call.is_float else factor.code_of_float
    assert code is not None
    return (
        target.edit(called.start_byte, called.end_byte, f"{call.name}pi{suffix}".encode()),
        target.edit(call.argument.start_byte, call.argument.end_byte, code.encode()),
    )


def _fast(call: _Call) -> tuple[Edit, ...] | None:
    target = call.target
    if not call.is_float or is_for_host(target.hits[0].case.sources, call.place):
        return None
    called = call.node.child_by_field_name("function")
    assert called is not None
    name = f"__{call.name}f".encode()
    return (target.edit(called.start_byte, called.end_byte, name),)


def _promise(call: _Call) -> tuple[Edit, ...] | None:
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
    if not _is_certain(call.node, statement, target) or not _is_alone(statement, target):
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
        is_pure_call(one, target) or _CALLED.fullmatch(_name(one, target)) is not None
        for one in walk(statement)
        if one.type == "call_expression"
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


REWRITE = Rewrite("fast-math", frozenset({"math-slow-path"}), propose, __name__)

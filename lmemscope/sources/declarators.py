"""Delimit function declarations, and read what distinguishes overloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.formats.parameters import split, types_of
from lmemscope.model import Form, KernelDefinition, base_name
from lmemscope.sources.code import Code

_LONGEST = 1024
"""Maximum number of tokens in a parameter list that is parsed."""


def declared(kernel: KernelDefinition, code: Code, position: int) -> KernelDefinition:
    """A definition or declaration, completed with its tokens, form and parameters.

    Args:
        kernel: what is known about it.
        code: of the file.
        position: of a token before its name, such as ``__global__``.
    """
    first = code.start(position)
    opened, last = code.body(position)
    at = _name_at(base_name(kernel.name), code, position, opened)
    scope = _scope(code, at) if at is not None else ""
    name = kernel.name
    if scope:
        name = name.removesuffix(base_name(name)) + scope + base_name(name)
    form, is_abbreviated = form_of(code, position), at is not None and _takes_auto(code, at)
    return replace(
        kernel,
        name=name,
        tokens=(first, opened, last),
        is_template=kernel.is_template or is_abbreviated,
        form="template" if is_abbreviated and form == "plain" else form,
        parameters=None if at is None else _parameters(code, at),
        enclosed=code.depths[position] > code.depths[first],
        head=head_of(code, first, opened),
    )


def apart(
    some: Sequence[KernelDefinition], others: Sequence[KernelDefinition]
) -> Iterator[KernelDefinition]:
    """Definitions that begin after others in the same statement, as with macros holding a body."""
    ends: dict[int, list[int]] = {}
    for one in (*some, *others):
        ends.setdefault(one.tokens[0], []).append(one.tokens[2])
    for one in some:
        first, opened, last = one.tokens
        before = [end for end in ends[first] if end < opened]
        yield replace(one, tokens=(max(before, default=first - 1) + 1, opened, last))


def head_of(code: Code, first: int, end: int) -> tuple[str, ...]:
    """The words in a declaration, from its first token to its body."""
    end = min(end, first + _LONGEST)
    return tuple(code[at].text for at in range(first, end) if code[at].kind == "word")


def form_of(code: Code, position: int) -> Form:
    """Whether the declaration at a token is a template or a specialization."""
    first, opened = code.start(position), code.body(position)[0]
    heads = [
        code.next_is(index + 1, ">")
        for index in range(first, min(opened, first + _LONGEST))
        if code[index].text == "template" and code.next_is(index, "<")
    ]
    if not heads:
        return "plain"
    return "specialization" if all(heads) else "template"


def _name_at(name: str, code: Code, position: int, end: int) -> int | None:
    """Index of the name directly before its parameters or template arguments."""
    for index in code.between(name, position, end):
        if code.next_is(index, "("):
            return index
        closing = code.angle_end(index + 1) if code.next_is(index, "<") else None
        if closing is not None and code.next_is(closing, "("):
            return index
    return None


def _scope(code: Code, at: int) -> str:
    """The namespaces before a name, as in ``void n::k()``."""
    parts: list[str] = []
    while at >= 2 and code[at - 1].text == "::" and code[at - 2].kind == "word":
        at -= 2
        parts.append(code[at].text)
    return "".join(f"{part}::" for part in reversed(parts))


def _takes_auto(code: Code, at: int) -> bool:
    """Whether a parameter makes a function a template without saying so (C++20)."""
    opening, closing = _parentheses(code, at)
    end = min(closing, opening + _LONGEST)
    return any(code[index].text == "auto" for index in range(opening, end))


def _parentheses(code: Code, at: int) -> tuple[int, int]:
    """Indices of the parentheses around the parameters of what is named at a token."""
    opening = at + 1
    if code[opening].text == "<":
        opening = (code.angle_end(opening) or opening) + 1
    return opening, code.closing(opening)


def _parameters(code: Code, at: int) -> tuple[str | None, ...] | None:
    opening, closing = _parentheses(code, at)
    if closing - opening > _LONGEST:
        return None
    return types_of(split([token.text for token in code.tokens[opening + 1 : closing]]))

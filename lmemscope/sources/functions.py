"""Function definitions of a source that are not seen to be kernels, but may be."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.model import KernelDefinition
from lmemscope.sources.tokens import (
    ATTRIBUTES_WITH_ARGUMENTS,
    KernelMacro,
    Token,
    angle_end,
    matching,
    next_is,
)

_CLASS_KEYS = frozenset(("class", "struct", "union", "enum"))
_STATEMENTS = frozenset(("if", "for", "while", "switch", "catch"))


def other_functions(
    tokens: list[Token], macros: dict[str, KernelMacro]
) -> Iterator[KernelDefinition]:
    """Definitions of functions, other than members, that are not seen to be kernels.

    A macro that makes one a kernel may be a header's, and what a macro with arguments makes of
    its arguments is not known where the name is pasted.
    """
    start = position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.text in macros and next_is(tokens, position, "("):
            closing = matching(tokens, position + 1, "(", ")")
            if macros[token.text].has_body:
                if macros[token.text].kernel is None:
                    yield KernelDefinition(token.text, token.line, False, tokens[closing].line)
                start = closing + 1
            position = closing
        elif token.text == "(":
            position = matching(tokens, position, "(", ")")
        elif token.text in (";", "}"):
            start = position + 1
        elif token.text == "{":
            head = tokens[start:position]
            words = {one.text for one in head}
            name = _function_name(head)
            closing = matching(tokens, position, "{", "}")
            # Branches of an #if that each open a brace leave one that seems to hold the rest.
            sound = all(one.text != "__global__" for one in tokens[position:closing])
            if name is not None and "__global__" not in words:
                end = tokens[closing].line if sound else token.line
                yield KernelDefinition(name, head[0].line, False, end)
            scope = "namespace" in words or (name is None and "extern" in words)
            if sound and not scope:
                position = closing
            # After an initialiser, as of `int a[] = {1}, b;`, the semicolon comes soon.
            start = position + 1
        position += 1


def _function_name(head: list[Token]) -> str | None:
    """The function that these tokens, up to a brace, declare; None where they declare none."""
    words = {token.text for token in head}
    if "namespace" in words:
        return None
    name, position = None, 0
    while position < len(head):
        token = head[position]
        if token.text in ATTRIBUTES_WITH_ARGUMENTS and next_is(head, position, "("):
            position = matching(head, position + 1, "(", ")")
        elif token.kind == "word" and next_is(head, position, "<"):
            closing = angle_end(head, position + 1)
            if closing is not None:
                if token.text != "template" and next_is(head, closing, "("):
                    name = token.text
                position = closing
        elif token.text == "(":
            if position and head[position - 1].kind == "word":
                name = head[position - 1].text
            position = matching(head, position, "(", ")")
        elif token.text == "=" and (position == 0 or head[position - 1].text != "operator"):
            return None
        elif token.text in (":", "->") and name is not None:
            break
        position += 1
    a_class = words & _CLASS_KEYS and head[-1].text != ")" and position >= len(head)
    return None if a_class or name in _STATEMENTS else name

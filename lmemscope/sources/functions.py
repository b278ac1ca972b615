"""Find function definitions that are not known to be kernels, but may be."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from lmemscope.model import KernelDefinition
from lmemscope.sources.code import ATTRIBUTES_WITH_ARGUMENTS, Code
from lmemscope.sources.declarators import declared
from lmemscope.sources.tokens import KernelMacro

_CLASS_KEYS = frozenset(("class", "struct", "union", "enum"))
_DEEPEST = 200
"""Maximum nesting of namespaces; compilers accept fewer."""
_STATEMENTS = frozenset(("if", "for", "while", "switch", "catch"))


def other_functions(code: Code, macros: dict[str, KernelMacro]) -> Iterator[KernelDefinition]:
    """Definitions of functions, except members, that are not known to be kernels.

    A header's macro may turn one into a kernel, and a macro that pastes names may do anything with
    its arguments.
    """
    tokens = code.tokens
    start = position = 0
    namespaces: list[tuple[int, str]] = []
    while position < len(tokens):
        token = tokens[position]
        while namespaces and namespaces[-1][0] < position:
            namespaces.pop()
        if token.text in macros and code.next_is(position, "("):
            closing = code.closing(position + 1)
            if macros[token.text].has_body:
                if macros[token.text].kernel is None:
                    made = KernelDefinition(token.text, token.line, False, tokens[closing].line)
                    yield replace(made, tokens=(code.start(position), closing, closing))
                start = closing + 1
            position = closing
        elif token.text == "(":
            position = code.closing(position)
        elif token.text in (";", "}"):
            start = position + 1
        elif token.text == "{":
            words = {one.text for one in tokens[start:position]}
            name = _function_name(code, start, position, words)
            closing = code.closing(position)
            # If branches of an #if each open a brace, one seems to contain the rest of the file.
            sound = not code.holds_kernel(position, closing)
            if name is not None and "__global__" not in words:
                end = tokens[closing].line if sound else token.line
                qualified = "::".join([*(own for _, own in namespaces[-_DEEPEST:] if own), name])
                made = KernelDefinition(qualified, tokens[start].line, False, end)
                made = declared(made, code, start)
                yield made if sound else replace(made, tokens=(start, position, position))
            scope = "namespace" in words or (name is None and "extern" in words)
            if "namespace" in words:
                namespaces.append((closing, _namespace_name(code, start, position)))
            if sound and not scope:
                position = closing
            # After an initialiser, as in `int a[] = {1}, b;`, the semicolon follows soon.
            start = position + 1
        position += 1


def _namespace_name(code: Code, start: int, end: int) -> str:
    """The text between ``namespace`` and its opening brace."""
    words = [code[index].text for index in range(start, end)]
    return "".join(words[words.index("namespace") + 1 :])


def _function_name(code: Code, start: int, end: int, words: set[str]) -> str | None:
    """The function declared by the tokens before a brace; None if they declare none."""
    if "namespace" in words:
        return None
    name, position = None, start
    while position < end:
        token = code[position]
        if token.text in ATTRIBUTES_WITH_ARGUMENTS and code.next_is(position, "("):
            position = code.closing(position + 1)
        elif token.kind == "word" and code.next_is(position, "<"):
            closing = code.angle_end(position + 1)
            if closing is not None:
                if token.text != "template" and code.next_is(closing, "("):
                    name = token.text
                position = closing
        elif token.text == "(":
            if position > start and code[position - 1].kind == "word":
                name = code[position - 1].text
            position = code.closing(position)
        elif token.text == "=" and (position == start or code[position - 1].text != "operator"):
            return None
        elif token.text in (":", "->") and name is not None:
            break
        position += 1
    a_class = words & _CLASS_KEYS and code[end - 1].text != ")" and position >= end
    return None if a_class or name in _STATEMENTS else name

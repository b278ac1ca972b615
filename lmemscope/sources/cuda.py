"""A light reading of CUDA C++ source: what it defines, launches and asks of us.

No C++ front end, and none is needed: the compiler decides what is right. This pass only answers
four questions that the compiler does not: which kernels are templates, with which literal
arguments the file itself launches them, whether the file holds host code, and which
``// lmemscope:`` directives it carries. Macros are not expanded.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lmemscope.model import CudaSource, Directive, KernelDefinition, base_name

_TOKEN = re.compile(
    r"""(?P<skip>//(?:[^\\\n]|\\.|\\\n)*|/\*.*?\*/|\s+)"""
    r"""|(?P<raw>(?:u8|[uUL])?R"(?P<delim>[^()\\\s]{0,16})\(.*?\)(?P=delim)")"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<directive>\#(?:[^\\\n]|\\.|\\\n)*)"""
    r"""|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d(?:[eEpP][+-]|['\w.])*)"""
    r"""|(?P<punct><<<|::|->|&&|\|\||[<>=!]=|.)""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"//[ \t]*lmemscope:[ \t]*([^\s]*)[ \t]*(.*)")
_WITHOUT_COLON = re.compile(r"//[ \t]*lmemscope[ \t]+((?:allow|expect|instantiate)\b)[ \t]*(.*)")
_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b\s*(\w*)\s*(.?)")
_INCLUDE = re.compile(r'#\s*include\s*[<"]([^>"]+)[>"]')
_BUILTIN_TYPES = frozenset(
    "bool char short int long float double unsigned signed const true false size_t "
    "half __half __half2 __nv_bfloat16 __nv_bfloat162 nullptr "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t".split()
) | {
    f"{kind}{width}"
    for kind in (
        "char uchar short ushort int uint long ulong longlong ulonglong float double".split()
    )
    for width in (1, 2, 3, 4)
}
_ATTRIBUTES_WITH_ARGUMENTS = frozenset(
    "__launch_bounds__ __cluster_dims__ __maxnreg__ __attribute__ __declspec alignas "
    "__block_size__ decltype".split()
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def read_cuda_source(text: str) -> CudaSource:
    """Read CUDA C++ source text (already decoded)."""
    tokens, includes, directives = _tokenise(text)
    kernels: list[KernelDefinition] = []
    launches: dict[str, None] = {}
    scopes: list[str | None] = []
    has_main = has_launch = False
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.text == "namespace":
            position, name = _namespace(tokens, position)
            if name is not None:
                scopes.append(name)
            continue
        if token.text == "{":
            scopes.append(None)
        elif token.text == "}":
            if scopes:
                scopes.pop()
        elif token.text == "__global__":
            found = _kernel_name(tokens, position)
            if found is not None:
                qualified = "::".join([*(scope for scope in scopes if scope), found])
                kernels.append(
                    KernelDefinition(
                        qualified,
                        token.line,
                        _is_template(tokens, position),
                        *_end(tokens, position),
                    )
                )
        elif token.text == "main" and _next_is(tokens, position, "("):
            has_main = True
        elif token.text == "<<<":
            has_launch = True
            expression = _launched_template(tokens, position)
            if expression is not None:
                launches[expression] = None
        position += 1
    return CudaSource(
        kernels=tuple(kernels),
        launches=tuple(_qualify(expression, kernels) for expression in launches),
        directives=tuple(directives),
        includes=tuple(includes),
        has_host_code=has_main or has_launch,
    )


def _tokenise(text: str) -> tuple[list[_Token], list[str], list[Directive]]:
    """Tokens, included names and our own comments, without what ``#if 0`` takes out."""
    tokens: list[_Token] = []
    includes: list[str] = []
    directives: list[Directive] = []
    conditions = _Conditions()
    line = 1
    for match in _TOKEN.finditer(text):
        kind, lexeme = match.lastgroup or "punct", match.group()
        if kind == "delim":
            kind = "raw"
        if kind == "directive":
            conditions.see(lexeme)
            include = _INCLUDE.match(lexeme)
            if include and conditions.live:
                includes.append(include.group(1))
        elif conditions.live:
            if kind not in ("skip", "raw"):
                tokens.append(_Token(kind, lexeme, line))
            elif (said := _DIRECTIVE.match(lexeme)) is not None:
                directives.append(Directive(said.group(1), said.group(2).strip(), line))
            elif (said := _WITHOUT_COLON.match(lexeme)) is not None:
                # Not one of ours as it stands; kept as what it says, it is refused by name.
                word = f"lmemscope {said.group(1)} (without a colon)"
                directives.append(Directive(word, said.group(2).strip(), line))
        line += lexeme.count("\n")
    return tokens, includes, directives


class _Conditions:
    """Which text is never compiled: ``#if 0`` and its like; other conditions may hold."""

    def __init__(self) -> None:
        self._open: list[bool | None] = []
        """Of each condition: whether its text now lives, or None where nobody can tell."""

    @property
    def live(self) -> bool:
        """Whether text here may be compiled."""
        return False not in self._open

    def see(self, lexeme: str) -> None:
        """Take note of a line of the preprocessor."""
        match = _CONDITION.match(lexeme)
        if match is None:
            return
        word, first, more = match.groups()
        if word in ("if", "ifdef", "ifndef"):
            # Only a constant that stands alone, or before a comment, is known.
            known = word == "if" and more in ("", "/")
            self._open.append({"0": False, "false": False, "1": True}.get(first) if known else None)
        elif not self._open:
            return
        elif word == "endif":
            self._open.pop()
        elif self._open[-1] is not None:
            # After a branch that lives no other does; after a dead one the next may.
            dead = self._open[-1] is False
            self._open[-1] = (True if word == "else" else None) if dead else False


def _next_is(tokens: list[_Token], position: int, text: str) -> bool:
    return position + 1 < len(tokens) and tokens[position + 1].text == text


def _namespace(tokens: list[_Token], position: int) -> tuple[int, str | None]:
    """Skip ``namespace a::b {``; returns (next position, name), None where it opens no scope."""
    name = ""
    position += 1
    while position < len(tokens) and tokens[position].text not in ("{", ";", "="):
        name += tokens[position].text
        position += 1
    opened = position < len(tokens) and tokens[position].text == "{"
    return position + 1, name if opened else None


def _kernel_name(tokens: list[_Token], position: int) -> str | None:
    """Name of the function declared after ``__global__``: the word before its parameter list."""
    position += 1
    while position < len(tokens):
        token = tokens[position]
        if token.text in _ATTRIBUTES_WITH_ARGUMENTS and _next_is(tokens, position, "("):
            position = _matching(tokens, position + 1, "(", ")") + 1
            continue
        if token.text in (";", "{", "}", ")"):
            return None
        if token.kind == "word" and _next_is(tokens, position, "("):
            return token.text
        position += 1
    return None


def _end(tokens: list[_Token], position: int) -> tuple[int, bool]:
    """Line of the brace that closes the body, or of a declaration's semicolon; and which it is."""
    while position < len(tokens):
        if tokens[position].text == ";":
            return tokens[position].line, True
        if tokens[position].text == "{":
            return tokens[_matching(tokens, position, "{", "}")].line, False
        position += 1
    return (tokens[-1].line if tokens else 0), False


def _is_template(tokens: list[_Token], position: int) -> bool:
    """Whether the declaration that holds ``__global__`` begins with ``template <…>``."""
    start = position
    while start > 0 and tokens[start - 1].text not in (";", "{", "}"):
        start -= 1
    for index in range(start, position):
        if tokens[index].text == "template" and _next_is(tokens, index, "<"):
            return not _next_is(tokens, index + 1, ">")
    return False


def _launched_template(tokens: list[_Token], position: int) -> str | None:
    """The name expression before ``<<<`` if its template arguments are literal."""
    if position == 0 or tokens[position - 1].text != ">":
        return None
    depth, index = 0, position - 1
    while index >= 0:
        if tokens[index].text == ">":
            depth += 1
        elif tokens[index].text == "<":
            depth -= 1
            if depth == 0:
                break
        elif tokens[index].text in (";", "{", "}"):
            return None
        index -= 1
    arguments = tokens[index + 1 : position - 1]
    if index <= 0 or not arguments or not all(_is_literal(token) for token in arguments):
        return None
    name = tokens[index - 1].text
    start = index - 1
    while start >= 2 and tokens[start - 1].text == "::" and tokens[start - 2].kind == "word":
        name = f"{tokens[start - 2].text}::{name}"
        start -= 2
    return f"{name}<{_spell(arguments)}>" if tokens[index - 1].kind == "word" else None


def _is_literal(token: _Token) -> bool:
    if token.kind == "word":
        return token.text in _BUILTIN_TYPES
    if token.kind == "string":
        return token.text.startswith("'")
    return token.kind == "number" or token.text in (",", "-", "*", "+")


def _spell(arguments: list[_Token]) -> str:
    text = ""
    for token in arguments:
        glue = " " if text and text[-1].isalnum() and token.text[0].isalnum() else ""
        text += glue + (", " if token.text == "," else token.text)
    return text


def _qualify(expression: str, kernels: list[KernelDefinition]) -> str:
    """Add the namespace of the one template kernel that an unqualified launch can mean."""
    name, bracket, arguments = expression.partition("<")
    if "::" in name:
        return expression
    candidates = {kernel.name for kernel in kernels if base_name(kernel.name) == name}
    return f"{candidates.pop()}{bracket}{arguments}" if len(candidates) == 1 else expression


def _matching(tokens: list[_Token], position: int, opening: str, closing: str) -> int:
    """Index of the bracket that closes the one at ``position`` (or the last token)."""
    depth = 0
    while position < len(tokens):
        if tokens[position].text == opening:
            depth += 1
        elif tokens[position].text == closing:
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return len(tokens) - 1

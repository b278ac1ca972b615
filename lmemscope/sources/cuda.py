"""A light reading of CUDA C++ source: what it defines, launches and asks of us.

No C++ front end, and none is needed: the compiler decides what is right. This pass only answers
four questions that the compiler does not: which kernels are templates, with which literal
arguments the file itself launches them, whether the file holds host code, and which
``// lmemscope:`` directives it carries. Macros are not expanded; but one of the file whose
replacement holds ``__global__`` declares kernels, and since macros of headers may do so too, every
other function definition is noted as what may be a kernel.
"""

from __future__ import annotations

from lmemscope.model import CudaSource, KernelDefinition, base_name
from lmemscope.sources.functions import other_functions
from lmemscope.sources.tokens import KernelMacro, Token, kernel_name, matching, next_is, tokenise

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


def read_cuda_source(text: str) -> CudaSource:
    """Read CUDA C++ source text (already decoded)."""
    tokens, includes, directives, macros = tokenise(text)
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
            found = kernel_name(tokens, position)
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
        elif token.text in macros and next_is(tokens, position, "("):
            kernels.extend(_kernel_of_macro(tokens, position, macros[token.text], scopes))
        elif token.text == "main" and next_is(tokens, position, "("):
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
        functions=tuple(other_functions(tokens, macros)),
    )


def _namespace(tokens: list[Token], position: int) -> tuple[int, str | None]:
    """Skip ``namespace a::b {``; returns (next position, name), None where it opens no scope."""
    name = ""
    position += 1
    while position < len(tokens) and tokens[position].text not in ("{", ";", "="):
        name += tokens[position].text
        position += 1
    opened = position < len(tokens) and tokens[position].text == "{"
    return position + 1, name if opened else None


def _kernel_of_macro(
    tokens: list[Token], position: int, macro: KernelMacro, scopes: list[str | None]
) -> list[KernelDefinition]:
    """The kernel that ``MACRO(arguments)`` declares, where its name can be told."""
    closing = matching(tokens, position + 1, "(", ")")
    arguments: list[list[str]] = [[]]
    depth = 0
    for token in tokens[position + 2 : closing]:
        depth += (token.text in ("(", "<")) - (token.text in (")", ">"))
        if token.text == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(token.text)
    given = dict(zip(macro.parameters, arguments, strict=False))
    name = "".join(given.get(macro.kernel, [macro.kernel])) if macro.kernel is not None else ""
    if not name.isidentifier():
        return []
    line = tokens[position].line
    end = (tokens[closing].line, False) if macro.has_body else _end(tokens, closing)
    qualified = "::".join([*(scope for scope in scopes if scope), name])
    return [KernelDefinition(qualified, line, _is_template(tokens, position), *end)]


def _end(tokens: list[Token], position: int) -> tuple[int, bool]:
    """Line of the brace that closes the body, or of a declaration's semicolon; and which it is."""
    while position < len(tokens):
        if tokens[position].text == ";":
            return tokens[position].line, True
        if tokens[position].text == "{":
            return tokens[matching(tokens, position, "{", "}")].line, False
        position += 1
    return (tokens[-1].line if tokens else 0), False


def _is_template(tokens: list[Token], position: int) -> bool:
    """Whether the declaration that holds ``__global__`` begins with ``template <…>``."""
    start = position
    while start > 0 and tokens[start - 1].text not in (";", "{", "}"):
        start -= 1
    for index in range(start, position):
        if tokens[index].text == "template" and next_is(tokens, index, "<"):
            return not next_is(tokens, index + 1, ">")
    return False


def _launched_template(tokens: list[Token], position: int) -> str | None:
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


def _is_literal(token: Token) -> bool:
    if token.kind == "word":
        return token.text in _BUILTIN_TYPES
    if token.kind == "string":
        return token.text.startswith("'")
    return token.kind == "number" or token.text in (",", "-", "*", "+")


def _spell(arguments: list[Token]) -> str:
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

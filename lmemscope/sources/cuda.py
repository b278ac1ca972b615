"""A lightweight reader of CUDA C++: kernels, launches, host code and lmemscope comments.

It is not a C++ front end and does not need to be: the compiler decides what is valid. It answers
only four questions that the compiler does not: which kernels are templates, with which literal
arguments the file launches them, whether it contains host code, and which ``// lmemscope:``
directives it has. Macros are not expanded. But a macro in the file whose replacement contains
``__global__`` declares kernels; and since macros in headers may do so too, every other function
definition is recorded as a possible kernel.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.model import CudaSource, KernelDefinition, base_name
from lmemscope.sources.code import Code, Token
from lmemscope.sources.declarators import apart, declared, form_of, head_of
from lmemscope.sources.functions import other_functions
from lmemscope.sources.launches import device_launches
from lmemscope.sources.tokens import KernelMacro, literals, tokenise

_LONGEST = 4096
"""Maximum number of tokens in a macro's arguments that are searched for a kernel's name."""
_DEEPEST = 200
"""Maximum nesting of namespaces; compilers accept fewer."""
_RUN_TIME = re.compile(r"\b(?:nvrtc|jitify)", re.IGNORECASE)
_PTX = re.compile(r"(?m:^)[ \t]*\.version[ \t]+\d")
_BEFORE = re.compile(r"(?:^|[;{}>)\"/]|\b(?:static|inline|extern|void|constexpr))\s*\Z")
_HEAD = 4000
DEVICE_CODE_IN_STRING = (
    "holds device code in a string, which is not compiled here; write it to a .cu file to check it"
)
"""Text that follows the location of such a string."""
SPLIT_WORD = r'__?(?:g|gl|glo|glob|globa|global_?)?"(?=\s*(?:"|/[/*]))'
"""End of a string literal after which the next one may complete ``__global__``."""
_SPLIT = re.compile(SPLIT_WORD)
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
    """Read (decoded) CUDA C++ source text."""
    tokens, includes, directives, macros = tokenise(text)
    code = Code(tokens)
    kernels: list[KernelDefinition] = []
    launches: dict[str, None] = {}
    scopes: list[str | None] = []
    namespaces: list[str] = []
    has_main = has_launch = False
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.text == "namespace":
            position, name = _namespace(tokens, position)
            if name is not None:
                scopes.append(name)
                namespaces += [name] if name else []
            continue
        if token.text == "{":
            scopes.append(None)
        elif token.text == "}":
            if scopes and scopes.pop():
                namespaces.pop()
        elif token.text == "__global__":
            found = code.kernel_name(position)
            if found is not None:
                kernels.append(
                    declared(
                        KernelDefinition(
                            _qualified(namespaces, found),
                            token.line,
                            code.is_template(position),
                            *code.end(position),
                            name_line=_line_of(found, code, position),
                        ),
                        code,
                        position,
                    )
                )
        elif token.text in macros and code.next_is(position, "("):
            kernels.extend(_kernel_of_macro(code, position, macros[token.text], namespaces))
        elif token.text == "main" and code.next_is(position, "("):
            has_main = True
        elif token.text == "<<<":
            has_launch = True
            expression = _launched_template(tokens, position)
            if expression is not None:
                launches[expression] = None
        position += 1
    named: dict[str, set[str]] = {}
    for kernel in kernels:
        named.setdefault(base_name(kernel.name), set()).add(kernel.name)
    functions = list(other_functions(code, macros))
    return CudaSource(
        kernels=tuple(apart(kernels, functions)),
        launches=tuple(_qualify(expression, named) for expression in launches),
        directives=tuple(directives),
        includes=tuple(includes),
        always_included=tuple(name for name, always in includes.items() if always),
        has_host_code=has_main or has_launch,
        functions=tuple(apart(functions, kernels)),
        device_launches=tuple(device_launches(text, code)),
        strings=tuple(_device_code_in_strings(text)),
    )


def _device_code_in_strings(text: str) -> Iterator[int]:
    """Lines of string literals that define a kernel, or contain a kernel's PTX.

    In a text that mentions NVRTC a fragment of a kernel counts too, since the assembled string is
    compiled.
    """
    is_raw = 'R"' in text and "__global__" in text
    is_joined = any("__global__" in line and '"' in line for line in text.splitlines())
    if not (is_raw or is_joined or ".entry" in text or _SPLIT.search(text)):
        return
    is_compiled = _RUN_TIME.search(text) is not None
    for line, value in literals(text):
        is_ptx = ".entry" in value and _PTX.search(value) is not None
        if is_ptx or _begins_kernel(value, is_whole=not is_compiled):
            yield line


def _begins_kernel(text: str, *, is_whole: bool) -> bool:
    """Whether ``__global__ void`` is where a declaration may be; messages only mention it.

    Args:
        text: of a string.
        is_whole: whether parameters and a body must follow.
    """
    at = text.find("__global__")
    while at >= 0:
        before = text[max(text.rfind("\n", 0, at) + 1, at - _HEAD) : at]
        head, brace, _ = text[at : at + _HEAD].partition("{")
        is_definition = bool(brace) and ";" not in head and "(" in head
        if "void" in head and _BEFORE.search(before) and (is_definition or not is_whole):
            return True
        at = text.find("__global__", at + 1)
    return False


def _namespace(tokens: list[Token], position: int) -> tuple[int, str | None]:
    """Skip ``namespace a::b {``; returns (next position, name), None if it opens no scope."""
    name = ""
    position += 1
    while position < len(tokens) and tokens[position].text not in ("{", ";", "="):
        name += tokens[position].text
        position += 1
    opened = position < len(tokens) and tokens[position].text == "{"
    return position + 1, name if opened else None


def _kernel_of_macro(
    code: Code, position: int, macro: KernelMacro, namespaces: list[str]
) -> list[KernelDefinition]:
    """The kernel declared by ``MACRO(arguments)``, if its name can be determined."""
    tokens, closing = code.tokens, code.closing(position + 1)
    if closing - position > _LONGEST:
        return []
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
    end = (tokens[closing].line, False) if macro.has_body else code.end(closing)
    is_template = macro.is_template or code.is_template(position)
    kernel = KernelDefinition(_qualified(namespaces, name), line, is_template, *end)
    last = (closing, closing) if macro.has_body else code.body(closing)
    tokens_of = (code.start(position), *last)
    head = head_of(code, *tokens_of[:2])
    return [replace(kernel, tokens=tokens_of, form=form_of(code, position), head=head)]


def _line_of(name: str, code: Code, position: int) -> int:
    """The line of a kernel's name after its ``__global__``."""
    places = code.between(base_name(name), position, position + _LONGEST)
    return code[places[0]].line if places else 0


def _launched_template(tokens: Sequence[Token], position: int) -> str | None:
    """The name expression before ``<<<`` if its template arguments are literals."""
    if position == 0 or tokens[position - 1].text != ">":
        return None
    index = position - 2
    while index > 0 and _is_literal(tokens[index]):
        index -= 1
    arguments = tokens[index + 1 : position - 1]
    if index <= 0 or not arguments or tokens[index].text != "<":
        return None
    if tokens[index - 1].kind != "word":
        return None
    start = index - 1
    while start >= 2 and tokens[start - 1].text == "::" and tokens[start - 2].kind == "word":
        start -= 2
    name = "".join(token.text for token in tokens[start:index])
    return f"{name}<{_spell(arguments)}>"


def _is_literal(token: Token) -> bool:
    if token.kind == "word":
        return token.text in _BUILTIN_TYPES
    if token.kind == "string":
        return token.text.startswith("'")
    return token.kind == "number" or token.text in (",", "-", "*", "+")


def _spell(arguments: Sequence[Token]) -> str:
    text = ""
    for token in arguments:
        glue = " " if text and text[-1].isalnum() and token.text[0].isalnum() else ""
        text += glue + (", " if token.text == "," else token.text)
    return text


def _qualified(namespaces: list[str], name: str) -> str:
    return "::".join([*namespaces[-_DEEPEST:], name])


def _qualify(expression: str, kernels: Mapping[str, Collection[str]]) -> str:
    """Add the namespace of the only template kernel that an unqualified launch can refer to."""
    name, bracket, arguments = expression.partition("<")
    if "::" in name:
        return expression
    candidates = kernels.get(name, ())
    return f"{next(iter(candidates))}{bracket}{arguments}" if len(candidates) == 1 else expression

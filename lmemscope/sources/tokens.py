"""Tokenise CUDA C++ source, and read its preprocessor lines and lmemscope comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from lmemscope.model import Directive
from lmemscope.sources.code import Code, Token

_TOKEN = re.compile(
    r"""(?P<skip>//(?>(?>(?:[^\\\n]++|\\\r?\n|\\.){1,999})*)|/\*.*?(?:\*/|\Z)|\s+|\\\r?\n)"""
    r"""|(?P<raw>(?:u8|[uUL])?R"(?P<delim>[^()\\\s]{0,16})\(.*?(?:\)(?P=delim)"|\Z))"""
    r"""|(?P<string>"(?>(?>(?:[^"\\\n]++|\\\r?\n|\\.){1,999})*)"?|'(?>(?>(?:[^'\\\n]++|\\\r?\n|\\.){1,999})*)'?)"""
    r"""|(?P<directive>\#(?>(?>(?:[^\\\n]++|\\\r?\n|\\.){1,999})*))"""
    r"""|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d(?:[eEpP][+-]|['\w.])*)"""
    r"""|(?P<punct><<<|::|->|&&|\|\||[<>=!]=|<%|%>|.)""",
    re.DOTALL,
)
_LONGEST = 1000
"""Characters of a macro's replacement that is put in its place."""
_DIGRAPHS = {"<%": "{", "%>": "}"}
_ATTRIBUTE = re.compile(r"\b__attribute(?:__)?\s*+\(\s*+\(\s*+(?:__)?global(?:__)?\s*+\)\s*+\)")
"""What `__global__` stands for where CUDA's own headers define it."""
_DIRECTIVE = re.compile(r"//[/!]?<?[ \t]*lmemscope:[ \t]*([^\s]*)[ \t]*(.*)", re.IGNORECASE)
_WITHOUT_COLON = re.compile(
    r"//[/!]?<?[ \t]*lmemscope[ \t]+((?:allow|expect|instantiate)\b)[ \t]*(.*)", re.IGNORECASE
)
_IN_BLOCK = re.compile(r"(?:/\*|\n)[ \t*!<]*lmemscope:[ \t]*([\w-]*)", re.IGNORECASE)
_DEFINE = re.compile(r"#\s*define\s+(\w+)(\([^)]*\))?(.*)", re.DOTALL)
_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b\s*(\w*)\s*(.?)")
_INCLUDE = re.compile(r'#\s*include\s*[<"]([^>"]+)[>"]')

_INCLUDE_LINE = re.compile(r"#\s*(?:include|include_next|import|embed)\b")
_PREFIX = re.compile(r"u8|[uUL]")
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": " ", "r": "\n", "\n": "", "\r\n": ""}
_LINE_WORD = re.compile(r"#\s*(\w*)")


_SPLICED = re.compile(r"(?<=\w)\\(\r?\n)(\w+)")


def _as_keyword(attribute: re.Match[str]) -> str:
    return "__global__" + "\n" * attribute[0].count("\n")


def _in_one_piece(text: str) -> str:
    """The text with the ends of lines within words behind these, and attributes as keywords."""
    return _ATTRIBUTE.sub(_as_keyword, _SPLICED.sub(r"\2\\\1", text))


def _take_wrapped(tokens: list[Token]) -> bool:
    """Replace a macro's name and arguments by the keyword that they spell, if they do.

    As in ``HOST(__global__)`` and ``CAT(__glo, bal__)``.
    """
    words = [token.text for token in tokens[-5:]]
    opening = len(words) - 1 - words[::-1].index("(") if "(" in words else 0
    given = words[opening + 1 :]
    if not opening or "".join(given[::2]) != "__global__" or any(w != "," for w in given[1::2]):
        return False
    kept = len(tokens) - len(words) + opening - 1
    is_macro = tokens[kept].kind == "word"
    if is_macro:
        tokens[kept:] = [Token("word", "__global__", tokens[kept].line)]
    return is_macro


class KernelMacro(NamedTuple):
    """A macro with arguments whose replacement declares a kernel.

    Attributes:
        parameters: in order.
        kernel: name after ``__global__``, possibly a parameter; None if it is pasted.
        has_body: whether the replacement includes the body.
        is_template: whether the replacement begins a template.
    """

    parameters: tuple[str, ...]
    kernel: str | None
    has_body: bool
    is_template: bool


def tokenise(
    text: str,
) -> tuple[list[Token], dict[str, bool], list[Directive], dict[str, KernelMacro]]:
    """Tokens, included names, our own comments, and macros with arguments that declare kernels.

    Each included name has a flag for whether no condition can exclude it.

    Text removed by ``#if 0`` is skipped.
    """
    tokens: list[Token] = []
    includes: dict[str, bool] = {}
    directives: list[Directive] = []
    branches: list[_Branch | None] = []
    # Comments not yet followed by a token, and the preprocessor lines since.
    waiting: list[int] = []
    barriers: dict[int, str] = {}
    conditions = _Conditions()
    plain = {"__global__"}
    macros: dict[str, KernelMacro] = {}
    heads: dict[str, list[str]] = {}
    line = 1
    for match in _TOKEN.finditer(_in_one_piece(text)):
        kind, lexeme = match.lastgroup or "punct", match.group()
        if kind == "delim":
            kind = "raw"
        if kind == "directive":
            before = conditions.branch
            conditions.see(lexeme, line)
            include = _INCLUDE_LINE.match(lexeme) if conditions.live else None
            if conditions.branch is not before or include is not None:
                barriers |= {one: _named(lexeme) for one in waiting if one not in barriers}
            if conditions.live:
                if include := _INCLUDE.match(lexeme):
                    name = include.group(1)
                    includes[name] = includes.get(name, False) or conditions.branch is None
                elif define := _DEFINE.match(lexeme):
                    _note_macro(define, plain, macros)
                    _note_head(define, heads)
        elif conditions.live:
            if kind not in ("skip", "raw"):
                if lexeme in heads:
                    tokens += [_token(one, line) for one in heads[lexeme]]
                else:
                    text = "__global__" if lexeme in plain else _DIGRAPHS.get(lexeme, lexeme)
                    is_end = text == ")" and bool(tokens) and tokens[-1].text.endswith("_")
                    if not (is_end and _take_wrapped(tokens)):
                        tokens.append(Token(kind, text, line))
                waiting.clear()
            elif (said := _said(lexeme, line)) is not None:
                waiting.append(len(directives))
                directives.append(replace(said, position=len(tokens)))
                branches.append(conditions.branch)
        line += lexeme.count("\n")
    placed = [
        replace(
            directive,
            branch_end=branch.end if branch is not None else 0,
            barrier=barriers.get(number, ""),
        )
        for number, (directive, branch) in enumerate(zip(directives, branches, strict=True))
    ]
    return tokens, includes, placed, macros


def lexemes(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token and preprocessor line, skipping ``#if 0``."""
    conditions = _Conditions()
    for match in _TOKEN.finditer(text):
        kind, lexeme = match.lastgroup or "punct", match.group()
        if kind == "directive":
            conditions.see(lexeme, 0)
        if conditions.live and kind not in ("skip", "raw", "delim"):
            yield kind, lexeme


def literals(text: str, *, in_macro: bool = False) -> Iterator[tuple[int, str]]:
    """The value of each string literal, with its line; adjacent literals are joined.

    A macro without parameters that is a string counts as that literal. Text removed by ``#if 0`` is
    skipped.

    Args:
        text: of a source.
        in_macro: whether it is a macro's replacement.
    """
    conditions = _Conditions()
    line, begun, parts = 1, 0, list[str]()
    named: dict[str, str] = {}
    for match in _TOKEN.finditer(text):
        kind, lexeme = match.lastgroup or "punct", match.group()
        if kind == "directive":
            conditions.see(lexeme, line)
            is_live = conditions.live and not in_macro and '"' in lexeme
            define = _DEFINE.match(lexeme) if is_live else None
            if define is not None:
                replacement = list(literals(_joined(define[3]), in_macro=True))
                yield from ((line, value) for _, value in replacement)
                if define[2] is None and define[3].strip().startswith('"') and replacement:
                    named[define[1]] = replacement[0][1]
        is_literal = kind in ("raw", "delim") or (kind == "string" and lexeme[0] == '"')
        if is_literal or lexeme in named:
            begun = begun if parts else line
            parts += [named.get(lexeme) or _spelled(lexeme)] if conditions.live else []
        elif kind != "skip" and parts and not _PREFIX.fullmatch(lexeme):
            yield begun, "".join(parts)
            parts.clear()
        line += lexeme.count("\n")
    if parts:
        yield begun, "".join(parts)


def _joined(replacement: str) -> str:
    """A macro's replacement with continued lines joined."""
    return replacement.replace("\\\n", "\n").replace("\\\r\n", "\n")


def _spelled(literal: str) -> str:
    """The value of a literal, as far as needed to search for code in it."""
    if not literal.startswith('"'):
        body = literal.partition("(")[2]
        return body.rpartition(")")[0] if body.endswith('"') else body
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), literal.strip('"'))


def _said(comment: str, line: int) -> Directive | None:
    """An lmemscope comment; a malformed one is kept, to be rejected with a message."""
    if (said := _DIRECTIVE.match(comment)) is not None:
        return Directive(said.group(1), said.group(2).strip(), line)
    if (said := _WITHOUT_COLON.match(comment)) is not None:
        word = f"lmemscope {said.group(1)} (without a colon)"
        return Directive(word, said.group(2).strip(), line)
    if comment.startswith("/*") and (said := _IN_BLOCK.search(comment)) is not None:
        word = f"lmemscope: {said.group(1)} (in /* */; write // lmemscope: {said.group(1)} ...)"
        return Directive(word, "", line + comment.count("\n", 0, said.start(1)))
    return None


def _named(lexeme: str) -> str:
    """A preprocessor line by its keyword."""
    word = _LINE_WORD.match(lexeme)
    return f"#{word[1] if word is not None else ''}"


def _note_macro(define: re.Match[str], plain: set[str], macros: dict[str, KernelMacro]) -> None:
    """Record a macro whose replacement declares a kernel."""
    name, parameters, replacement = define.groups()
    held = [
        "__global__" if found.group() in plain else found.group()
        for found in _TOKEN.finditer(replacement.replace("#", " "))
        if found.lastgroup not in ("skip", "raw", "delim", "string")
        and not found.group().startswith("\\")
    ]
    if "__global__" not in held:
        return
    if parameters is None:
        if "{" not in held:
            plain.add(name)
        return
    body = [_token(text, 0) for text in held]
    kernel = Code(body).kernel_name(held.index("__global__"))
    if kernel is None and held[-1].isidentifier():
        kernel = held[-1]  # the parameter list follows the macro
    pasted = "##" in replacement.replace(" ", "")
    order = tuple(part.strip() for part in parameters.strip("()").split(","))
    is_template = "template" in held[: held.index("__global__")]
    macros[name] = KernelMacro(order, None if pasted else kernel, "{" in held, is_template)


def _note_head(define: re.Match[str], heads: dict[str, list[str]]) -> None:
    """Record the words of a macro that begins a template: ``template <int N>``."""
    name, parameters, replacement = define.groups()
    if parameters is not None or "template" not in replacement or len(replacement) > _LONGEST:
        heads.pop(name, None)
        return
    held = [
        found.group()
        for found in _TOKEN.finditer(replacement)
        if found.lastgroup not in ("skip", "raw", "delim", "string")
        and not found.group().startswith("\\")
    ]
    if "template" in held and not {"{", "#", "__global__"}.intersection(held):
        heads[name] = held


def _token(text: str, line: int) -> Token:
    return Token("word" if re.match(r"[A-Za-z_]", text) else "punct", text, line)


class _Branch:
    """Text between two preprocessor lines that may or may not be compiled."""

    end = 0
    """Line that ends it; 0 if none does."""


class _Conditions:
    """Tracks text that is never compiled (``#if 0`` and the like); other conditions may hold."""

    def __init__(self) -> None:
        self._open: list[bool | _Branch] = []
        """For each condition, whether its text is compiled, if known."""
        self._branches: list[_Branch] = []
        """Those of them that are branches."""
        self._dead = 0
        """How many of them are known not to be compiled."""

    @property
    def live(self) -> bool:
        """Whether text at this point may be compiled."""
        return not self._dead

    @property
    def branch(self) -> _Branch | None:
        """The innermost branch that may or may not be compiled."""
        return self._branches[-1] if self._branches else None

    def see(self, lexeme: str, line: int) -> None:
        """Process a preprocessor line."""
        match = _CONDITION.match(lexeme)
        if match is None:
            return
        word, first, more = match.groups()
        if word in ("if", "ifdef", "ifndef"):
            # Only a constant that stands alone, or before a comment, is known.
            known = word == "if" and more in ("", "/")
            values = {"0": False, "false": False, "1": True} if known else {}
            self._push(values[first] if first in values else _Branch())
            return
        if not self._open:
            return
        now = self._pop()
        if isinstance(now, _Branch):
            now.end = line
        if word == "endif":
            return
        if isinstance(now, _Branch):
            self._push(_Branch())
        elif now:
            # After a compiled branch, no other is compiled; after a dead one, the next may be.
            self._push(False)
        else:
            self._push(True if word == "else" else _Branch())

    def _push(self, state: bool | _Branch) -> None:
        self._open.append(state)
        self._dead += state is False
        if isinstance(state, _Branch):
            self._branches.append(state)

    def _pop(self) -> bool | _Branch:
        state = self._open.pop()
        self._dead -= state is False
        if isinstance(state, _Branch):
            self._branches.pop()
        return state

"""Blank out everything in C++ text that is not code, keeping its length, so that braces match.

Comments, literals and branches that are never compiled (``#if 0``) may contain meaningless braces,
names and directives. All code that matches brackets or searches for names works on this text.
"""

from __future__ import annotations

import functools
import re

from msgspec import Struct

_PIECE = re.compile(
    r"(?:/(?:/(?P<line>(?:\\\r?\n|[^\n])*)|\*(?P<block>.*?(?:\*/|\Z)))"
    r"|\"(?P<string>(?>(?>(?:[^\"\\\n]++|\\\r?\n|\\.){1,999})*)\")"
    r"|'(?:(?<!\w')|(?<=\bu8')|(?<=\b[uUL]'))(?P<char>(?>(?>(?:[^'\\\n]++|\\\r?\n|\\.){1,999})*)')"
    r"|\"(?P<open>)|'(?P<single>(?<!\w'))"
    r"|\#(?P<directive>[ \t]*(?P<word>\w*)[ \t]*)"
    r"|\\(?P<splice>[ \t]*\r?\n)|\\(?P<escape>[uU][0-9a-fA-F{]))",
    re.DOTALL,
)
_KEPT = 64
"""Number of texts whose results are cached."""
_RAW = re.compile(r"\"([^()\\\s\"]{0,16})\(.*?(?:\)\1\"|\Z)", re.DOTALL)
_RAW_PREFIX = re.compile(r"(?<!\w)(?:u8|[uUL])?R")
_SPELLED = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "xor": "^",
    "bitand": "&",
    "bitor": "|",
    "compl": "~",
    "and_eq": "&=",
    "or_eq": "|=",
    "xor_eq": "^=",
    "not_eq": "!=",
    "<%": "{",
    "%>": "}",
    "<:": "[",
    ":>": "]",
}
"""Alternative spellings of tokens, which a preprocessor treats as the same."""
_OTHER = re.compile(
    # A pattern that starts with a literal character is found faster than one that starts with a
    # boundary.
    "|".join(rf"{word}(?<!\w{word})(?!\w)" for word in _SPELLED if word.isidentifier())
    + r"|<%|%>|<:(?!:[^:>])|:>|%:|\?\?[=/'()!<>-]"
)
_LOOSE_SPLICE = re.compile(r"\\[ \t]+\r?\n|\?\?/[ \t]*\r?\n")
_CONSTANT = re.compile(
    r"(0|1|false|true)[ \t]*(?=//[^\n\\]*(?:\n|\Z)|/\*[^\n]*?\*/[ \t]*\r?\n|\r?\n|\Z)"
)
_FREE_TEXT = ("error", "warning")
_OPENING = ("if", "ifdef", "ifndef")
_NEXT = ("elif", "elifdef", "elifndef", "else")
_APART = frozenset((*" \t\r\n(){}[],;", ""))
"""Characters that can adjoin two tokens without merging them."""
_VISIBLE = re.compile(r"[^\r\n]")
_BRACKET = re.compile(
    rb"[][(){}]|^[ \t]*#[ \t]*(?P<word>\w*)(?>(?>(?:[^\n\\]++|\\\r?\n|\\.){1,999})*)", re.MULTILINE
)
_BEFORE_END = ("\\", "\r")
"""Endings that have another meaning inside a text than at its end."""
_PAIRS = {b")": b"(", b"]": b"[", b"}": b"{"}


class Blanked(Struct, frozen=True):
    """A text with everything blanked that is not code.

    Attributes:
        code: the text with blanks for comments, the contents of literals, and branches never
            compiled. Lines and columns are unchanged; alternative tokens have their usual spelling.
        uncommented: the same, with literals kept.
        odd_line: the first line (1-based) with tokens that are not supported, such as a name split
            by a backslash; None if there is none.
    """

    code: str
    uncommented: str
    odd_line: int | None


@functools.lru_cache(maxsize=_KEPT)
def blanked(text: str) -> Blanked:
    """A C++ text with comments, literals and dead branches blanked, of unchanged length.

    Cached: the units of a project, and the analyses of each, read the same headers.
    """
    return _Reader(text).read()


def blanked_bytes(data: bytes) -> tuple[bytes, bytes, int | None]:
    """The fields of `Blanked` for a file's bytes."""
    text = data.decode("latin-1")
    # Callers that read lines pass text without the final newline.
    end = "\n" if text.endswith("\n") and not text[:-1].rstrip(" \t").endswith(_BEFORE_END) else ""
    made = blanked(text.removesuffix(end))
    code, uncommented = (f"{one}{end}".encode("latin-1") for one in (made.code, made.uncommented))
    return code, uncommented, made.odd_line


def closed(text: bytes, start: int, marks: bytes, last: int | None = None) -> int:
    """Position of the bracket that closes an open one; the end of the text if that is uncertain.

    Brackets inside directives do not count. The position is uncertain if branches of a condition
    contain unbalanced brackets, since not all of the branches are compiled.

    Args:
        text: blanked.
        start: position after the open bracket.
        marks: the opening and the closing bracket.
        last: where the search ends.
    """
    depth, branches = 1, list[int]()
    opening, closing = marks[:1], marks[1:]
    end = min(len(text), last or len(text))
    for found in _BRACKET.finditer(text, start, end):
        word = found["word"]
        if word is None:
            depth += (found[0] == opening) - (found[0] == closing)
            if not depth:
                return len(text) if branches else found.end()
        elif word.decode() in _OPENING:
            branches.append(depth)
        elif word.decode() in (*_NEXT, "endif"):
            if not branches or branches[-1] != depth:
                return len(text)
            if word == b"endif":
                branches.pop()
    return end


def is_balanced(text: bytes) -> bool:
    """Whether all brackets of a blanked text match, also within each branch of its conditions."""
    opened: list[bytes] = []
    branches: list[int] = []
    for found in _BRACKET.finditer(text):
        word = found["word"]
        if word is None and found[0] in _PAIRS:
            floor = branches[-1] if branches else 0
            if len(opened) <= floor or opened.pop() != _PAIRS[found[0]]:
                return False
        elif word is None:
            opened.append(found[0])
        elif word.decode() in _OPENING:
            branches.append(len(opened))
        elif word.decode() in (*_NEXT, "endif"):
            if not branches or branches[-1] != len(opened):
                return False
            if word == b"endif":
                branches.pop()
    return not opened and not branches


class _Chain(Struct):
    """An open conditional: the branches from ``#if`` to ``#endif``.

    Attributes:
        lives: whether the current branch is compiled; None if unknown.
        is_taken: whether an earlier branch is certainly compiled.
        is_known: whether all conditions so far are constants.
        lines: positions of its directives.
    """

    lives: bool | None
    is_taken: bool
    is_known: bool
    lines: list[tuple[int, int]]


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._code: list[str] = []
        self._uncommented: list[str] = []
        self._chains: list[_Chain] = []
        self._constant: list[tuple[int, int]] = []
        """Directives with constant conditions, to be blanked at the end."""
        self._odd: int | None = None
        """Position of the first unsupported token."""
        self._dead = 0
        """Open branches that are never compiled."""
        self._at = 0
        self._is_line_start, self._is_directive = True, False

    def read(self) -> Blanked:
        text, at = self._text, 0
        while (found := _PIECE.search(text, at)) is not None:
            start = found.start()
            is_plain = found.lastgroup in ("string", "char") and text[start - 1 : start] != "R"
            if is_plain and not self._dead:
                at = self._plain(start, found.end())
            else:
                self._keep(start)
                at = self._one(found)
        self._keep(len(text))
        code = "".join(self._code)
        instead = [(start, end, _hidden(text[start:end])) for start, end in self._constant]
        for found in _OTHER.finditer(code):
            spelled = _SPELLED.get(found[0])
            if spelled is not None:
                instead.append((*found.span(), spelled.ljust(len(found[0]))))
            elif self._odd is None or found.start() < self._odd:
                self._odd = found.start()
        instead.sort()
        uncommented = _replaced("".join(self._uncommented), instead)
        line = None if self._odd is None else 1 + text.count("\n", 0, self._odd)
        return Blanked(_replaced(code, instead), uncommented, line)

    def _keep(self, end: int) -> None:
        """Append the text up to a position, without comments and literals."""
        piece = self._text[self._at : end]
        last = piece.rfind("\n")
        self._is_line_start = (self._is_line_start or last >= 0) and not piece[last + 1 :].strip()
        self._is_directive = self._is_directive and last < 0
        self._write(piece, piece)

    def _plain(self, start: int, end: int) -> int:
        """Append compiled code up to and including the next ordinary literal: the common case."""
        begin, text = self._at, self._text
        self._is_directive = self._is_directive and text.find("\n", begin, start) < 0
        self._is_line_start = False
        self._code += (text[begin : start + 1], _hidden(text[start + 1 : end - 1]), text[start])
        self._uncommented.append(text[begin:end])
        self._at = end
        return end

    def _write(self, code: str, uncommented: str) -> None:
        self._at += len(code)
        if self._dead:
            code = uncommented = _hidden(code)
        self._code.append(code)
        self._uncommented.append(uncommented)

    def _note_odd(self, at: int) -> None:
        if self._odd is None and not self._dead:
            self._odd = at

    def _one(self, found: re.Match[str]) -> int:
        """Append one piece, and return where the next may begin."""
        piece, kind = found[0], found.lastgroup
        if kind in ("line", "block"):
            if kind == "line" and _LOOSE_SPLICE.search(piece + "\n") is not None:
                self._note_odd(self._at)
            hidden = _hidden(piece)
            self._write(hidden, hidden)
            return found.end()
        if found["directive"] is not None and self._is_line_start:
            return self._directive(found)
        self._is_line_start = False
        if kind == "splice":
            self._splice(found)
        elif kind in ("string", "open") and (raw := self._raw(found.start())) is not None:
            self._quoted(raw)
            return found.start() + len(raw)
        elif kind in ("string", "char"):
            self._quoted(piece)
        else:
            if found["directive"] is None:
                self._note_odd(self._at)
            self._write(piece, piece)
        return found.end()

    def _raw(self, at: int) -> str | None:
        """The raw string whose quote is at a position; None if there is none."""
        prefix = self._text[max(0, at - 4) : at]
        is_raw = prefix.endswith("R") and any(
            one.end() == len(prefix) for one in _RAW_PREFIX.finditer(prefix)
        )
        found = _RAW.match(self._text, at) if is_raw else None
        return None if found is None else found[0]

    def _quoted(self, piece: str) -> None:
        end = len(piece) - (piece[-1] == piece[0])  # may be unterminated
        self._write(piece[0] + _hidden(piece[1:end]) + piece[end:], piece)

    def _splice(self, found: re.Match[str]) -> None:
        """Join lines at a backslash; in a directive it stays, since it continues the line."""
        is_loose = found[0][1] in " \t"
        if self._is_directive:
            if is_loose:
                self._note_odd(self._at)
            self._write(found[0], found[0])
            return
        before, behind = self._text[max(self._at - 1, 0) : self._at], self._text[found.end() :][:1]
        if is_loose or (before not in _APART and behind not in _APART):
            self._note_odd(self._at)
        hidden = found[0].replace("\\", " ")
        self._write(hidden, hidden)

    def _directive(self, found: re.Match[str]) -> int:
        word = found["word"]
        self._is_line_start, self._is_directive = False, True
        if word in (*_OPENING, *_NEXT, "endif"):
            return self._condition(found)
        self._write(found[0], found[0])
        if word not in _FREE_TEXT:
            return found.end()
        end = self._text.find("\n", found.end()) % (len(self._text) + 1)
        said = self._text[found.end() : end]
        if "/*" in said or said.rstrip().endswith("\\"):
            self._note_odd(self._at)
        self._write(_hidden(said), _hidden(said))
        return end

    def _condition(self, found: re.Match[str]) -> int:
        """Process a conditional directive: it belongs to the enclosing branch and opens another."""
        word = found["word"]
        constant = _CONSTANT.match(self._text, found.end()) if word == "if" else None
        chain = None
        if word not in _OPENING and self._chains:
            chain = self._chains.pop()
            self._dead -= chain.lives is False
        end = found.end() if constant is None else constant.end(1)
        line = self._text[found.start() : end]
        at = found.start()
        self._write(line, line)
        if word in _OPENING:
            value = None if constant is None else constant[1] in ("1", "true")
            self._chains.append(_Chain(value, value is True, value is not None, [(at, end)]))
            self._dead += value is False
        elif chain is not None:
            chain.lines.append((at, end))
            if word == "endif":
                self._constant += chain.lines if chain.is_known else []
            else:
                self._next(word, chain)
        return end

    def _next(self, word: str, chain: _Chain) -> None:
        """Start the next branch of a conditional."""
        chain.is_known = chain.is_known and word == "else"
        is_last = word == "else" and chain.is_known
        chain.lives = False if chain.is_taken else True if is_last else None
        self._chains.append(chain)
        self._dead += chain.lives is False


def _replaced(text: str, instead: list[tuple[int, int, str]]) -> str:
    """The text with spans replaced by others of the same length; spans are in order."""
    parts, at = [], 0
    for start, end, other in instead:
        if start >= at:
            parts += [text[at:start], other]
            at = end
    return "".join((*parts, text[at:]))


def _hidden(text: str) -> str:
    """The text as blanks, with its line breaks kept."""
    if "\r" in text:
        return _VISIBLE.sub(" ", text)
    return "\n".join([" " * len(line) for line in text.split("\n")])

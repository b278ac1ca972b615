"""Which declaration a name means at a line, by the scopes of its file.

Whatever may declare the name counts: variables, parameters of functions, lambdas and templates,
structured bindings, members, enumerators, and using-declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from lmemscope.formats.statements import closed_at
from lmemscope.formats.words import last_character, last_word
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.declared import NO_TYPES, bytes_of
from lmemscope.rules.remembered import Remembered

Kind = Literal["body", "class", "enum", "namespace", "list"]

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
_BRACE = re.compile(r"[{}]")
_CLASS = re.compile(r"\b(?:class|struct|union)\b(?:[^;{}()=]|\([^()]*\))*$")
_ENUM = re.compile(r"\benum\b(?P<scoped>\s+(?:class|struct)\b)?[^;{}()=]*$")
_NAMESPACE = re.compile(r"\b(?:namespace|extern)\b[^()=]*$")
_BODY = re.compile(r"(?:^|:|\)[\w\s]*|\b(?:else|do|try))$")
"""What stands before the brace of a function's body or of a compound statement."""
_MEMBER = re.compile(r"\w(?:\s*<[^<>;{}()]*>)?\s*::\s*(?:~?\w+|operator[^\w(]*)\s*\(")
"""The head of a member function that is defined outside its class."""
_NO_TYPE = NO_TYPES | frozenset(
    "do co_return co_yield and or not bitand bitor xor sizeof alignof operator".split()
)
_GENERIC = re.compile(r"\b[A-Za-z_]\w*\s*<[^;{}()&|=<>]*(?:<[^;{}()&|=<>]*>[^;{}()&|=<>]*)*>$")
_LIST = re.compile(
    r"\s*(?:[A-Za-z_][\w:]*(?:\s*<[^<>;{}()]*>)?[\s*&]+)+[A-Za-z_]\w*\s*[=,({\[]", re.ASCII
)
"""The beginning of a declaration, up to its first name."""
_TEMPLATE = re.compile(r"\btemplate\s*<(?P<given>[^;{}]*)$")
_BINDING = re.compile(r"\bauto[&\s]*$")
_MARK = re.compile(r"[;{}()]")
_CONTROL = frozenset({"for", "if", "while", "switch", "catch"})
_LONGEST = 2000
_PUNCTUATION = re.compile(r"[()\[\]{};]")
"""Characters of a statement that are looked at."""
_NEAR = 40
_STARS = "*& \t\n"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a declaration holds.

    Attributes:
        begin, end: offsets; None of what is outside of functions and classes.
        opening: of the block, or of the list that declares a parameter; the innermost counts.
        is_member: whether a class has it.
        is_enumerator: whether an enumeration has it.
        is_plain: whether it is no parameter, no range's element and no capture.
    """

    begin: int | None
    end: int | None
    opening: int
    is_member: bool = False
    is_enumerator: bool = False
    is_plain: bool = True

    @property
    def is_local(self) -> bool:
        """Whether it is a function's."""
        return self.begin is not None and not self.is_member

    def holds(self, at: int) -> bool:
        """Whether an offset is in it."""
        return self.begin is not None and self.end is not None and self.begin <= at < self.end


@dataclass(frozen=True, slots=True)
class Declaration:
    """What may declare a name.

    Attributes:
        file: that it is in.
        at, end: where the name stands.
        statement: what stands before it, from the beginning of its statement.
        scope: where it can be meant without a qualifier.
        is_plain: whether it may have a value there: no parameter, no binding.
    """

    file: str
    at: int
    end: int
    statement: str
    scope: Scope
    is_plain: bool

    @property
    def is_template_parameter(self) -> bool:
        """Whether the head of a template declares it."""
        return self.scope.opening == self.at

    def place(self, sources: SourceText) -> SourceLocation:
        """The line that the name stands on."""
        return SourceLocation(self.file, 1 + sources.code(self.file).count("\n", 0, self.at))


@dataclass(frozen=True, slots=True)
class _Block:
    begin: int
    end: int
    kind: Kind
    head: str


_CODES: Remembered[str, tuple[str, tuple[_Block, ...] | None]] = Remembered()
_DECLARED: Remembered[tuple[str, str], tuple[Declaration, ...]] = Remembered()


def declarations_of(
    name: str, sources: SourceText, place: SourceLocation, headers: Iterable[str] = ()
) -> tuple[Declaration, ...]:
    """The declarations that a name at a line may mean: one, where that is certain.

    The innermost around it, else all outside of functions, in the headers too.
    """
    own = _declared(name, sources, place.file)
    meant = {_meant(at, own, sources, place.file) for at in _uses(name, own, sources, place)}
    found = tuple(dict.fromkeys(one for each in meant for one in each))
    if found and all(one.scope.is_local for one in found):
        return found
    others = (one for header in headers for one in _declared(name, sources, header))
    is_member = any(one.scope.is_member for one in found) or _in_class(sources, place)
    outer = (
        one for one in others if not one.scope.is_local and (is_member or not one.scope.is_member)
    )
    return (*found, *outer)


def is_local(name: str, before: str, sources: SourceText, place: SourceLocation) -> bool:
    """Whether a name, with the text before it on its line, is that of a local variable."""
    declared = declarations_of(name, sources, place)
    is_qualified = before.rstrip().endswith("::")
    return not is_qualified and bool(declared) and all(one.scope.is_local for one in declared)


def is_declared_at(name: str, sources: SourceText, place: SourceLocation, line: int) -> bool:
    """Whether a line of the same file has the one declaration that a name can mean at a place."""
    found = declarations_of(name, sources, place)
    return len(found) == 1 and found[0].place(sources).line == line


def rest_of_scope(declaration: Declaration, sources: SourceText) -> str:
    """What stands behind a declaration, up to where its scope ends."""
    return sources.code(declaration.file)[declaration.end : declaration.scope.end]


def heads_between(
    declaration: Declaration, sources: SourceText, place: SourceLocation
) -> tuple[str, ...] | None:
    """The heads of blocks around a line that are opened behind a declaration; None of unread."""
    _, blocks = _read(sources, declaration.file)
    begin, end = _line(sources, place)
    if blocks is None:
        return None
    around = (one for one in blocks if declaration.at < one.begin < end and one.end >= begin)
    return tuple(one.head for one in around)


def _line(sources: SourceText, place: SourceLocation) -> tuple[int, int]:
    """Where a line of a file begins and ends."""
    code = sources.code(place.file)
    begin = sum(map(len, sources.code_lines(place.file)[: place.line - 1])) + place.line - 1
    end = code.find("\n", begin)
    return begin, end if end >= 0 else len(code)


def _uses(
    name: str, own: Iterable[Declaration], sources: SourceText, place: SourceLocation
) -> Iterator[int]:
    """Where a name is used on a line, or on the rest of the statement that begins there."""
    code, declared = sources.code(place.file), {one.at for one in own}
    begin, line_end = _line(sources, place)
    statement_end = code.find(";", line_end)
    word = re.compile(rf"\b{re.escape(name)}\b")
    for end in (line_end, statement_end if statement_end >= 0 else len(code)):
        found = [one.start() for one in word.finditer(code, begin, end)]
        used = [at for at in found if at not in declared]
        if used:
            yield from used
            return
    yield from (begin, line_end)


def _meant(
    at: int, own: tuple[Declaration, ...], sources: SourceText, file: str
) -> tuple[Declaration, ...]:
    """The declarations of a file that a name at an offset may mean."""
    code, blocks = _read(sources, file)
    if blocks is None or code[at : at + 1] != sources.code(file)[at : at + 1]:
        return own  # In a macro's body, or with braces that do not match: any of them.
    around = [one for one in own if one.scope.holds(at) and (one.scope.is_member or one.at < at)]
    if around:
        inner = max(one.scope.opening for one in around)
        inherits = any(
            one.kind == "class" and inner < one.begin <= at < one.end and ":" in one.head
            for one in blocks
        )
        return own if inherits else tuple(one for one in around if one.scope.opening == inner)
    is_member = _is_in_class(at, blocks)
    return tuple(
        one for one in own if not one.scope.is_local and (is_member or not one.scope.is_member)
    )


def _in_class(sources: SourceText, place: SourceLocation) -> bool:
    _, blocks = _read(sources, place.file)
    return blocks is None or any(_is_in_class(at, blocks) for at in _line(sources, place))


def _is_in_class(at: int, blocks: tuple[_Block, ...]) -> bool:
    """Whether an offset is in a class, or in a member function that is defined outside."""
    return any(
        one.begin < at < one.end and (one.kind == "class" or _MEMBER.search(one.head) is not None)
        for one in blocks
    )


def _read(sources: SourceText, file: str) -> tuple[str, tuple[_Block, ...] | None]:
    """A file's code without directives, and its blocks; None where braces do not match."""

    def find() -> tuple[str, tuple[_Block, ...] | None]:
        code = _DIRECTIVE.sub(lambda one: re.sub(r"[^\n]", " ", one[0]), sources.code(file))
        return code, _blocks(code)

    return _CODES.of(sources, file, find)


def _blocks(code: str) -> tuple[_Block, ...] | None:
    found: list[_Block] = []
    opened: list[tuple[int, Kind, str]] = []
    for brace in _BRACE.finditer(code):
        if brace[0] == "{":
            head = code[_statement(code, brace.start()) : brace.start()].strip()
            opened.append((brace.start(), _kind(code, brace.start(), head, opened), head))
        elif not opened:
            return None
        else:
            begin, kind, head = opened.pop()
            found.append(_Block(begin, brace.start(), kind, head))
    return None if opened else tuple(found)


def _kind(code: str, at: int, head: str, opened: list[tuple[int, Kind, str]]) -> Kind:
    if _ENUM.search(head) is not None:
        return "enum"
    if _CLASS.search(head) is not None and not head.endswith(")"):
        return "class"
    if _NAMESPACE.search(head) is not None:
        return "namespace"
    if not head and opened and opened[-1][1] == "list":
        return "list"
    is_body = "->" in head or "requires" in head or _BODY.search(head) is not None
    return "body" if is_body else "list"


def _marks_before(code: str, at: int) -> Iterator[tuple[int, str]]:
    """The brackets, braces and semicolons in front of an offset, the nearest first."""
    found = [*_PUNCTUATION.finditer(code, max(0, at - _LONGEST + 1), at)]
    return ((one.start(), one[0]) for one in reversed(found))


def _statement(code: str, at: int) -> int:
    """Where the statement around an offset begins; brackets in front of it are passed."""
    depth = 0
    for index, char in _marks_before(code, at):
        if char in ")]":
            depth += 1
        elif char in "([":
            depth -= 1
        elif depth <= 0:
            return index + 1
    return max(0, at - _LONGEST)


def _opening(code: str, at: int) -> int | None:
    """The bracket or brace that is open around an offset within its statement; None without."""
    depth = 0
    for index, char in _marks_before(code, at):
        if char in ")]":
            depth += 1
        elif char in "([{" and not depth:
            return index
        elif char in "([":
            depth -= 1
        elif char in ";}" and not depth:
            return None
    return None


def _declared(name: str, sources: SourceText, file: str) -> tuple[Declaration, ...]:
    """All that may declare a name in a file, macros aside."""

    def find() -> tuple[Declaration, ...]:
        if name not in sources.code(file):
            return ()
        code, blocks = _read(sources, file)
        own = re.escape(name)
        # What begins with the name, and not with a boundary, is found fast.
        words = re.finditer(rf"{own}(?<!\w{own})(?!\w)", code)
        found = (_Reader(code, blocks or (), file).declaration(*one.span()) for one in words)
        return tuple(one for one in found if one is not None)

    return _DECLARED.of(sources, (name, file), find)


class _Reader:
    """What names of a file's code declare.

    Args:
        code: of the file, without directives.
        blocks: of it.
        file: its path.
    """

    def __init__(self, code: str, blocks: tuple[_Block, ...], file: str) -> None:
        self._code, self._blocks, self._file = code, blocks, file

    def declaration(self, at: int, end: int) -> Declaration | None:
        """The declaration that a name at an offset is; None of a use."""
        code, begin = self._code, _statement(self._code, at)
        opening = _opening(code, at)
        is_using = re.match(r"\s*using\b", code[begin:at]) is not None
        if not (is_using or self._is_declared(begin, at, end, opening)):
            return None
        bracket = code[opening] if opening is not None else ""
        place = self._scope(at, opening if bracket in ("(", "[") else None)
        if place is None:
            return None
        statement, is_plain = code[begin:at], place.is_plain and not is_using and bracket != "["
        return Declaration(self._file, at, end, statement, place, is_plain)

    def _is_declared(self, begin: int, at: int, end: int, opening: int | None) -> bool:
        """Whether what stands before a name makes it a declaration."""
        code = self._code
        word, char = last_word(code, at), last_character(code, at)
        if word:
            return word not in _NO_TYPE and not word[0].isdigit()
        if char == ">":
            before = code[begin:at].rstrip()
            return not before.endswith("->") and _GENERIC.search(before) is not None
        if char in ("*", "&"):
            return self._is_type(begin, at)
        return char in (",", "[", "{") and self._is_listed(begin, at, end, opening)

    def _is_type(self, begin: int, at: int) -> bool:
        """Whether a type stands before the ``*`` or ``&`` in front of a name, or may."""
        before = self._code[begin:at].rstrip(_STARS)
        while last_word(before) == "const":
            before = before.removesuffix("const").rstrip(_STARS)
        word = last_word(before)
        if not word or word[0].isdigit():
            return _GENERIC.search(before) is not None
        if bytes_of(word) is not None or word == "auto":
            return True
        value = rf"{word}(?<=[\s*&]{word})\s*[=,;)(\[{{:]"
        return word not in _NO_TYPE and not any(
            self._is_typed(one.start()) for one in re.finditer(value, self._code)
        )

    def _is_typed(self, at: int) -> bool:
        """Whether a name follows a word that may be a type, and is no member."""
        while at and (self._code[at - 1] in "*&" or self._code[at - 1].isspace()):
            at -= 1
        kind = last_word(self._code, at)
        before = self._code[max(at - len(kind) - 1, 0) : at - len(kind)] if kind else "."
        return before != "." and kind not in _NO_TYPE

    def _is_listed(self, begin: int, at: int, end: int, opening: int | None) -> bool:
        """Whether a name behind a comma or an opening bracket is declared there."""
        code = self._code
        if opening is not None and code[opening] == "[":
            is_binding = _BINDING.search(code[begin:opening][-_NEAR:]) is not None
            return is_binding or re.match(r"\s*(?:=(?!=)|\{)", code[end:]) is not None
        if opening is not None and code[opening] == "{":
            block = next((one for one in self._blocks if one.begin == opening), None)
            if block is not None and block.kind in ("enum", "list"):
                return block.kind == "enum"
        start = begin
        if opening is not None and code[opening] == "(":
            if last_word(code, opening) not in _CONTROL:
                return False
            start = opening + 1
        written = code[start:at]
        first = re.match(r"\s*(\w*)", written)
        is_statement = first is not None and first[1] not in _NO_TYPE
        return is_statement and _LIST.match(written) is not None

    def _scope(self, at: int, opening: int | None) -> Scope | None:
        """The scope of a declaration; None of a name that needs its class in front."""
        code = self._code
        if opening is not None:
            is_control = last_word(code, opening) in _CONTROL
            end = closed_at(code, opening) or len(code)
            is_range = re.match(r"\w+\s*:(?!:)", code[at:end]) is not None
            if code[opening] == "(" or _BINDING.search(code[:opening][-_NEAR:]) is None:
                return Scope(at, self._body(end), opening, is_plain=is_control and not is_range)
        template = _TEMPLATE.search(code[max(0, at - _LONGEST) : at])
        if template is not None and template["given"].count("<") >= template["given"].count(">"):
            return Scope(at, self._body(at), at, is_plain=False)
        around = [one for one in self._blocks if one.begin < at < one.end and one.kind != "list"]
        around.sort(key=lambda one: one.begin)
        is_enumerator = bool(around) and around[-1].kind == "enum"
        if is_enumerator:
            named = _ENUM.search(around.pop().head)
            if named is not None and named["scoped"]:
                return None
        if not around or around[-1].kind == "namespace":
            return Scope(None, None, -1, is_enumerator=is_enumerator)
        inner = around[-1]
        is_member = inner.kind == "class"
        begin = inner.begin if is_member else at
        return Scope(
            begin, inner.end, inner.begin, is_member=is_member, is_enumerator=is_enumerator
        )

    def _body(self, at: int) -> int:
        """Where the body or the statement ends that follows a list."""
        code, depth, position = self._code, 0, at
        while (found := _MARK.search(code, position)) is not None:
            position = found.end()
            if found[0] == "{":
                block = next((one for one in self._blocks if one.begin == found.start()), None)
                if block is None or block.kind in ("body", "class"):
                    return block.end if block is not None else len(code)
                position = block.end + 1
                continue
            depth += (found[0] == "(") - (found[0] == ")")
            if depth < 0 or found[0] in ";}":
                return found.start()
        return len(code)

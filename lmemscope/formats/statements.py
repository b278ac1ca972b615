"""Find subscripts and calls in the text of one C++ statement.

This is not a C++ front end: a statement is the text between semicolons and braces around a line,
and a subscript is a chain of names, members and brackets. Anything else is ignored.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from lmemscope.formats.literals import with_literals, without_literals
from lmemscope.formats.words import last_character, last_word

Path = tuple[str, ...]
"""A variable with members: ``("s", "a", "b")`` is ``s.a.b``, and also ``s->a[2].b``."""

_REACH = 32
"""Maximum number of lines of a statement before and after the given one."""

_CONTROL = re.compile(r"(?:\}?\s*else\s+)?(?:for|if|while|switch)\b")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_CONSTANT = re.compile(r"-?\s*(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_ASSIGNS = re.compile(r"(<<|>>|[-+*/%&|^])?=(?!=)")
_MACRO_USE = re.compile(r"(?!(?:return|throw|case|sizeof)\b)[A-Za-z_]\w*\s*\(")
_WORD_FIRST = re.compile(r"\s*[A-Za-z_]")
_MADE = re.compile(r"\s*(?:[A-Za-z_][\w:]*\s*[({<]|\{)")
_CLOSING = {"(": ")", "[": "]", "<": ">", "{": "}"}
_NO_TYPES = frozenset(
    "return else do case goto throw new delete co_return co_yield and or not".split()
)
_CALLED = "()"


@dataclass(frozen=True, slots=True)
class Subscript:
    """An array index, as written.

    Attributes:
        path: what is indexed.
        text: the index; several as written, ``[i][j]`` or ``[i].x[j]``.
        line: of the name.
        reads, writes: what the statement does with the element, judging by its text.
        is_constant: whether all of its indices are numbers.
    """

    path: Path
    text: str
    line: int
    reads: bool
    writes: bool
    is_constant: bool


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call in a statement.

    Attributes:
        name: the text before the parentheses; ``if`` and casts look the same.
        receiver: the object of a member function, or None.
        arguments: as written.
        line: of the name.
    """

    name: str
    receiver: Path | None
    arguments: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A name as used in an expression.

    Attributes:
        path: without the result of a member call: ``v`` for ``v.data()``.
        operator: ``&`` or ``*`` before it, or empty.
        subscripts: how many.
    """

    path: Path
    operator: str
    subscripts: int


@dataclass(frozen=True, slots=True)
class _Chain:
    """A sequence of names, members, brackets and calls.

    Attributes:
        start, end: offsets in the text.
        path: with ``()`` for each call.
        brackets: offsets of each subscript, and the length of the path before it.
    """

    start: int
    end: int
    path: Path
    brackets: tuple[tuple[int, int, int], ...]


class Statement:
    """A statement's text, on one or several lines.

    Args:
        text: without comments.
        starts: offset in the text of each of its lines.
        first: number of its first line.
    """

    def __init__(self, text: str, starts: list[int], first: int) -> None:
        self.text = without_literals(text)
        self._starts, self._first = starts, first

    def rewritten(self, rewrite: Callable[[str, int], Iterable[str]]) -> Iterator[Statement]:
        """The same lines with other texts, made by a function from the text and its line."""
        for text in rewrite(self.text, self._first):
            starts = [0, *(found.end() for found in re.finditer("\n", text))]
            yield Statement(text, starts, self._first)

    def behind(self, line: int) -> str:
        """The text from one of its lines on."""
        return self.text[self._starts[line - self._first] :]

    @cached_property
    def subscripts(self) -> tuple[Subscript, ...]:
        """Subscripts of all arrays, in text order, without array declarations."""
        found = [self._subscript(chain) for chain in self._chains if chain.brackets]
        kept = [one for one in found if one is not None]
        return (*kept, *self._of_expressions(), *self._of_dereferences())

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Everything that is named, except calls."""
        return tuple(chain.path for chain in self._chains if _CALLED not in chain.path)

    @cached_property
    def whole(self) -> tuple[Path, ...]:
        """Everything that is named without a subscript or a call."""
        return tuple(
            chain.path for chain in self._chains if _CALLED not in chain.path and not chain.brackets
        )

    def operands(self) -> Iterator[Operand]:
        """Everything that is named outside subscripts."""
        inside = [bracket for chain in self._chains for bracket in chain.brackets]
        for chain in self._chains:
            if any(first < chain.start < last for first, last, _ in inside):
                continue
            path = chain.path
            if _CALLED in path:
                path = path[: max(path.index(_CALLED) - 1, 0)]
            if path:
                counted = sum(length <= len(path) for *_, length in chain.brackets)
                yield Operand(path, self._operator(chain.start), counted)

    def _operator(self, at: int) -> str:
        """``&`` or ``*`` before an offset if it is a unary operator; casts are excluded."""
        before = self.text[:at].rstrip()
        sign, before = before[-1:], before[:-1].rstrip()
        if sign not in ("&", "*") or before.endswith(("&", "]")):
            return ""
        word = last_word(before)
        is_binary = (word and word not in _NO_TYPES) or (sign == "*" and before.endswith(")"))
        return "" if is_binary else sign

    def sums(self) -> Iterator[tuple[Path, str]]:
        """For ``p + i``: each name that may be a pointer, with what is added to it."""
        parts = [part.strip() for part in parts_of(self.text, "+")]
        for number, part in enumerate(parts if len(parts) > 1 else ()):
            paths = Statement(part, [0], 0).whole
            others = parts[:number] + parts[number + 1 :]
            if len(paths) == 1 and part.replace("->", ".") == ".".join(paths[0]) and all(others):
                yield paths[0], _joined(" + ".join(others))

    def elements(self, *, of_pointer: bool) -> Iterator[Subscript]:
        """The element that initialises a variable: ``a[i]``; for a pointer ``&a[i]``, ``a + i``."""
        for chain in self._chains:
            before = self.text[: chain.start].strip()
            found = self._subscript(chain) if chain.brackets else None
            if found is not None and before == ("&" if of_pointer else ""):
                yield found
        for path, index in self.sums() if of_pointer else ():
            constant = _CONSTANT.fullmatch(index) is not None
            yield Subscript(path, index, self._first, True, False, constant)

    def calls(self, name: str) -> Iterator[WrittenCall]:
        """Calls of a function or member function, by its plain name."""
        for found in re.finditer(rf"(?<!\w){re.escape(name)}\s*", self.text):
            at = found.end()
            if self.text[at : at + 1] == "<":
                closed = closed_at(self.text, at)
                at = _skip(self.text, at if closed is None else closed)
            if self.text[at : at + 1] == "(":
                yield from self._call(name, found.start(), at)

    def calls_with(self, count: int) -> Iterator[WrittenCall]:
        """Everything with the given number of arguments in parentheses, outermost first."""
        for found in re.finditer(r"\(", self.text) if count else ():
            name = last_word(self.text, found.start())
            for call in self._call(name, found.start() - len(name), found.start()):
                if len(call.arguments) == count:
                    yield call

    def _call(self, name: str, start: int, opened: int) -> Iterator[WrittenCall]:
        """The call that starts at an offset, unless its parentheses are not closed."""
        closed = closed_at(self.text, opened)
        if closed is not None:
            arguments = tuple(parts_of(self.text[opened + 1 : closed - 1]))
            yield WrittenCall(name, self._receiver(start), arguments, self.line_of(start))

    def _receiver(self, at: int) -> Path | None:
        """The expression before ``.name`` or ``->name``."""
        before = self.text[:at].rstrip()
        if not before.endswith((".", "->")):
            return None
        # In nested chains, as in ``nodes[stack.pop()]``, the last one to begin is meant.
        around = [chain.start for chain in self._chains if chain.start < at <= chain.end]
        if not around:
            return ()
        own = Statement(before[around[-1] :].removesuffix("->").removesuffix("."), [0], 0)
        return tuple(part for part in own._chains[0].path if part != _CALLED)

    def line_of(self, offset: int) -> int:
        """Number of the line that contains an offset of the text."""
        return self._first + bisect_right(self._starts, offset) - 1

    @cached_property
    def _chains(self) -> tuple[_Chain, ...]:
        found = []
        for match in _IDENTIFIER.finditer(self.text):
            before = self.text[: match.start()].rstrip()
            if (
                before.endswith((".", "->"))
                or self.text[match.start() - 1 : match.start()].isdigit()
            ):
                continue
            found.append(self._chain(match.start()))
        return tuple(found)

    def _chain(self, start: int) -> _Chain:
        text = self.text
        path: list[str] = []
        brackets: list[tuple[int, int, int]] = []
        at = end = start
        while True:
            match = _IDENTIFIER.match(text, at)
            if match is None:
                break
            path.append(match.group())
            at = end = match.end()
            while True:
                at = _skip(text, at)
                closed = closed_at(text, at) if text[at : at + 1] in ("[", "(") else None
                if closed is None:
                    break
                if text[at] == "[":
                    brackets.append((at, closed, len(path)))
                else:
                    path.append(_CALLED)
                at = end = closed
            if text[at : at + 2] == "->":
                at = _skip(text, at + 2)
            elif text[at : at + 1] == "." and not text[at + 1 : at + 2].isdigit():
                at = _skip(text, at + 1)
            else:
                break
        return _Chain(start, end, tuple(path), tuple(brackets))

    def _subscript(self, chain: _Chain) -> Subscript | None:
        if self._declares(chain):
            return None
        depth = max(length for *_, length in chain.brackets)
        return self._made(chain.path[:depth], chain.start, chain.end, chain.brackets)

    def _made(
        self, path: Path, start: int, end: int, brackets: tuple[tuple[int, int, int], ...]
    ) -> Subscript:
        text = self.text
        inner = [_joined(with_literals(text[first + 1 : last - 1])) for first, last, _ in brackets]
        shown = inner[0]
        if len(inner) > 1:
            whole = with_literals(text[brackets[0][0] : brackets[-1][1]])
            shown = _joined(whole).replace("] [", "][")
        assigned = _ASSIGNS.match(text, _skip(text, end))
        after = text[_skip(text, end) :][:2]
        steps = after in ("++", "--") or text[:start].rstrip().endswith(("++", "--"))
        return Subscript(
            path=path,
            text=shown,
            line=self.line_of(start),
            reads=assigned is None or assigned.group(1) is not None,
            writes=assigned is not None or steps,
            is_constant=all(_CONSTANT.fullmatch(part) for part in inner),
        )

    def _declares(self, chain: _Chain) -> bool:
        """Whether a chain is an array declaration: a type precedes it."""
        word = last_word(self.text, chain.start)
        return bool(word) and not (word in _NO_TYPES or word.isdigit())

    def _of_expressions(self) -> Iterator[Subscript]:
        """``(expression)[i]``: a subscript of every name in the expression."""
        text = self.text
        for match in re.finditer(r"\)\s*\[", text):
            opened = _opened(text, match.start())
            closed = closed_at(text, match.end() - 1)
            if opened is None or closed is None or last_word(text, opened):
                continue
            brackets = ((match.end() - 1, closed, 1),)
            for path in Statement(text[opened + 1 : match.start()], [0], 0).paths:
                yield self._made(path, opened, closed, brackets)

    def _of_dereferences(self) -> Iterator[Subscript]:
        """``*(p + i)``."""
        text = self.text
        for match in re.finditer(r"\*\s*\(", text):
            closed = closed_at(text, match.end() - 1)
            word = last_word(text, match.start())
            is_operand = word or last_character(text, match.start()) in (")", "]")
            if closed is None or (is_operand and word not in _NO_TYPES):
                continue  # a product, or a pointer declaration
            for path, index in Statement(text[match.end() : closed - 1], [0], 0).sums():
                made = self._made(path, match.start(), closed, ((match.end() - 1, closed, 1),))
                constant = _CONSTANT.fullmatch(index) is not None
                yield replace(made, text=with_literals(index), is_constant=constant)


def statement_at(line_of: Callable[[int], str], number: int) -> Statement:
    """The statement around a line.

    Args:
        line_of: returns a line's text by number, without comments; empty if there is none.
        number: of the line.
    """
    lines = [line_of(number)]
    first = number
    while number - first < _REACH and first > 1:
        before = line_of(first - 1)
        if _ends(before) or before.lstrip().startswith("#") or _is_apart(before, lines[0]):
            break
        lines.insert(0, before)
        first -= 1
    last = number
    while last - number < _REACH and not _ends(text := "\n".join(lines[number - first :])):
        last += 1
        following = line_of(last)
        if _is_apart(text, following):
            break
        lines.append(following)
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return Statement("\n".join(lines), starts, first)


def _is_apart(text: str, following: str) -> bool:
    """Whether a text is a macro use that needs no semicolon before the following text."""
    text = text.strip()
    use = _MACRO_USE.match(text)
    ends = closed_at(text, use.end() - 1) if use is not None else None
    return ends == len(text) and _WORD_FIRST.match(following) is not None


def _ends(text: str) -> bool:
    """Whether a text ends a statement, or the condition of one."""
    text = text.strip()
    if text.endswith((";", "{", "}", ":")) or text in ("else", "do"):
        return True
    whole = text.count("(") == text.count(")")
    return whole and text.endswith(")") and _CONTROL.match(text) is not None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def closed_at(text: str, at: int) -> int | None:
    """Offset after the bracket that closes the one at ``at``; None if it is not closed."""
    opening, closing = text[at], _CLOSING[text[at]]
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index + 1
    return None


def _opened(text: str, at: int) -> int | None:
    """Offset of the parenthesis that the one at ``at`` closes; None if there is none."""
    depth = 0
    for index in range(at, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            return index
    return None


def parts_of(
    text: str, separator: str = ",", whole: tuple[int, int] = (0, 0), *, angles: bool = False
) -> Iterator[str]:
    """The parts between commas, or other separators, outside brackets.

    Args:
        text: to split.
        separator: a character.
        whole: offsets between which it does not separate, as in a template's arguments.
        angles: whether ``<`` is a bracket: in declarations, which contain no comparison.
    """
    opening, closing = ("<([{", ">)]}") if angles else ("([{", ")]}")
    depth = start = 0
    for index, char in enumerate(text):
        depth += (char in opening) - (char in closing)
        if char == separator and depth == 0 and not whole[0] <= index < whole[1]:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def is_made(argument: str) -> bool:
    """Whether an argument is a constructor call or a braced list."""
    head = _MADE.match(argument)
    if head is None:
        return False
    at = head.end() - 1
    if argument[at] == "<":
        closed = closed_at(argument, at)
        at = len(argument) if closed is None else closed
    if argument[at : at + 1] == "{":
        return argument.rstrip().endswith("}")
    closed = closed_at(argument, at) if argument[at : at + 1] == "(" else None
    return closed is not None and not argument[closed:].strip()


def _joined(text: str) -> str:
    return " ".join(text.split())


def bracketed(text: str) -> list[str]:
    """The contents of the brackets that a text consists of: ``i`` and ``j`` for ``[i][j]``.

    Empty if it contains anything else.
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        closed = closed_at(text, at) if text[at] == "[" else None
        if closed is None:
            return []
        found.append(text[at + 1 : closed - 1])
        at = closed
    return found


def leading(text: str, dimensions: int) -> str:
    """The first subscripts of an index: for ``[i][j]`` of an array of pointers, ``i``.

    Args:
        text: one subscript without brackets, or several in brackets.
        dimensions: of the array; further subscripts index the memory its elements point to.
    """
    found = bracketed(text)
    if not dimensions or len(found) <= dimensions:
        return text
    return found[0] if dimensions == 1 else "".join(f"[{one}]" for one in found[:dimensions])

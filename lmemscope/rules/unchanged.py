"""Whether a text leaves a variable its value, by what each of its mentions does.

What is not known to read the variable, or to take a copy of it, may change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from lmemscope.formats.statements import closed_at, parts_of
from lmemscope.model import SourceText
from lmemscope.rules.launch_syntax import called_with

_DEPTH = 3
"""Macros that one is followed through."""
_DEFINITIONS = 200
"""Macros, and functions of one name, that are looked at."""
_BEFORE = 200
"""Characters before a mention that say what it is in."""
_MEMBER = re.compile(r"\s*(?:\.\s*\w+\s*)*\.\s*\w+(?!\w)")
_OPERATES = re.compile(r"[-+*/%<>=!?:|^&]")
"""A sign of an operator: what it makes of a variable is another object."""
_READING = frozenset({"if", "while", "for", "switch", "return", "sizeof", "catch", "alignof"})
_COPYING = re.compile(
    r"cu(?:da)?[A-Z]\w*|cu(?:blas|fft|rand|sparse|solver|dnn)\w+|__\w+|v?s?n?f?printf|assert|exit|malloc|calloc|free|memset|puts|atoi"
    r"|min|max|abs|to_string|make_\w+|a?(?:sin|cos|tan)h?(?:pi)?f?|exp(?:2|10|m1)?f?"
    r"|log(?:2|10|1p)?f?|r?sqrtf?|r?cbrtf?|fabsf?|fm(?:a|in|ax|od)f?|powf?|r?hypotf?"
    r"|ceilf?|floorf?|roundf?|truncf?|rintf?|erfc?f?|[lt]gammaf?"
    r"|static_cast|const_cast|dim3|bool|char|short|int|long|signed|unsigned|float|double"
    r"|auto|uint|ushort|uchar|u?int\d+_t|size_t|ssize_t|ptrdiff_t|vector|string"
)
"""Functions and types that take a number's value: those of CUDA, of C, of C++."""
_MENTIONS = 1000
"""Mentions that are looked at; of a variable with more nothing is known."""
_NEAR = 40
_TYPED = re.compile(r"(?<!\bnew)(?<!\breturn)(?<!\belse)[\w>&*]\s+[&*]*\Z|\w\s*[&*]+\Z")
"""What stands before a function's name where it is declared."""
_BEHIND = re.compile(r"\s*(?:const\b|noexcept\b|mutable\b|->|[;{])")
"""What stands behind the parameters of one."""
_ASSEMBLY = re.compile(r"\b(?:asm|__asm__|__asm)\b[^;{}]*\Z")
_COPIER = re.compile(rf"(?:std\s*::\s*)?(?:{_COPYING.pattern})")
_DECLARED = re.compile(r"[\w>][\s&*]+\w|[&*]")
_BLOCKS = ("else", "do", "try")
_KIND = re.compile(r"(?<![\w.>])((?:std\s*::\s*)?\w+)\s*(?:<[^;{}()<>]*>\s*)?\Z")
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?:\((?P<given>[^()]*)\))?"
    r"(?P<body>(?:\\\n|[^\n])*)",
    re.MULTILINE,
)


def changes(name: str, text: str) -> list[str]:
    """Each place at which a text may give a variable or a member of it another value."""
    return [
        found[0]
        for found in re.finditer(
            rf"(?<![\w.>]){name}\s*(?:\.\s*\w+\s*)?(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)"
            rf"|(?:\+\+|--|(?<!&)&|>>\s*){name}\b",
            text,
        )
    ]


def may_change(name: str, text: str, sources: SourceText, files: tuple[str, ...]) -> bool:
    """Whether a text may give a variable another value, itself or in what it calls.

    Args:
        name: of a variable, or of a macro's parameter.
        text: code, without comments and what stands in quotes.
        sources: the text of the files.
        files: that declare what is called, and define macros.
    """
    return _Mentions(sources, files).may_change(name, text, _DEPTH)


class _Mentions:
    def __init__(self, sources: SourceText, files: tuple[str, ...]) -> None:
        self._sources, self._files = sources, files

    def may_change(self, name: str, text: str, depth: int) -> bool:
        if changes(name, text) or depth < 0:
            return True
        if re.search(rf"&\s*\w+\s*[=({{]\s*{name}\b|\(\s*{name}\s*\)\s*[-+*/%&|^]?=(?!=)", text):
            return True  # A reference to it.
        mention = re.compile(rf"(?<![\w.])(?<!->){name}(?!\w)")
        for number, one in enumerate(mention.finditer(text)):
            if number == _MENTIONS or self._changes_at(one, text, depth):
                return True
        # What expands to a mention stands elsewhere.
        return any(
            mention.search(body) is not None
            and name not in given
            and re.search(rf"\b{macro}\b", text) is not None
            and self.may_change(name, body, depth - 1)
            for macro, given, body in self._macros(name)
        )

    def _changes_at(self, mention: re.Match[str], text: str, depth: int) -> bool:
        begin, end = mention.span()
        member = _MEMBER.match(text, end)
        if member is not None:
            end = member.end()
        before = text[max(0, begin - _BEFORE) : begin].rstrip()
        after = text[end : end + _BEFORE].lstrip()
        if _ASSEMBLY.search(before) is not None:
            return True
        while (
            before.endswith("(")
            and after.startswith(")")
            and not before[:-1].rstrip()[-1:].isalnum()
        ):
            begin, before, after = begin - 1, before[:-1].rstrip(), after[1:].lstrip()
        if after[:1] in ("(", "{", "[") or after.startswith("->"):
            return True  # A call, or something else of its name.
        if _OPERATES.match(after) or _OPERATES.match(before[-1:]):
            return False
        if before[-1:] not in ("(", ",", "{"):
            return False
        return self._is_handed(mention, text, depth)

    def _is_handed(self, mention: re.Match[str], text: str, depth: int) -> bool:
        """Whether what a variable is an argument of may take a reference to it."""
        call = called_with(text, mention.start())
        if call is None:
            return _is_in_object(mention.start(), text)
        before = text[max(0, call.begin - _BEFORE) : call.begin].rstrip()
        head = before.removesuffix(call.name).rstrip() if before.endswith(call.name) else before
        if before.endswith(">") and not before.endswith(">>>"):
            head = before[: before.rfind(call.name)].rstrip()
        is_member = head.endswith((".", "->"))
        if call.name in _READING and not is_member:
            return False
        kind = _KIND.search(head)
        if kind is not None and _COPIER.fullmatch(kind[1]) is not None:
            return False  # An object of that type is made of it.
        bodies = [one for one in self._macros(call.name) if one[0] == call.name]
        if bodies:
            return any(
                call.position >= len(given)
                or self.may_change(given[call.position], body, depth - 1)
                for _, given, body in bodies
            )
        taking = [
            one
            for one in islice(self._parameters(call.name, call.position), _DEFINITIONS)
            if _declares(one.strip())  # Else it is another call.
        ]
        if taking:
            return any(map(_is_reference, taking))
        return is_member or _COPYING.fullmatch(call.name) is None

    def _parameters(self, function: str, position: int) -> Iterator[str]:
        """What functions and lambdas of a name declare at a position."""
        named = re.compile(rf"{function}(?<!\w{function})\s*(?P<lambda>=\s*\[[^\[\]]*\]\s*)?\(")
        for file in self._files:
            code = self._sources.code(file)
            for one in islice(named.finditer(code), _DEFINITIONS):
                end = closed_at(code, one.end() - 1)
                before = code[max(0, one.start() - _NEAR) : one.start()]
                is_typed = one["lambda"] is not None or _TYPED.search(before) is not None
                if end is None or not is_typed or not _BEHIND.match(code, end):
                    continue
                given = [*parts_of(code[one.end() : end - 1])]
                if given:
                    yield given[min(position, len(given) - 1)]

    def _macros(self, word: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
        """Macros whose definition has a word: name, parameters, body."""
        return (one[:3] for one in self._defined if word in one[3])

    @cached_property
    def _defined(self) -> list[tuple[str, tuple[str, ...], str, str]]:
        """All macros of the files: name, parameters, body, and the whole text."""
        codes = [self._sources.code(file) for file in self._files]
        found = [one for code in codes if "#" in code for one in _MACRO.finditer(code)]
        return [
            (
                one["name"],
                tuple(part.strip() for part in (one["given"] or "").split(",")),
                one["body"],
                one[0],
            )
            for one in found
        ]


def _declares(parameter: str) -> bool:
    """Whether a text declares a parameter: a type alone, or one with a name."""
    return _COPYING.fullmatch(parameter) is not None or _DECLARED.search(parameter) is not None


def _is_reference(parameter: str) -> bool:
    """Whether a parameter as written may change what it is given."""
    if "&&" in parameter:
        return True
    return "&" in parameter and re.search(r"\bconst\b", parameter) is None


def _is_in_object(at: int, text: str) -> bool:
    """Whether braces around an offset make an object of a type that may keep a reference."""
    depth = 0
    for index in range(at - 1, max(-1, at - _BEFORE), -1):
        char = text[index]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            depth -= 1
        elif char == ";" and not depth:
            return False
        if depth >= 0:
            continue
        before = text[max(0, index - _BEFORE) : index].rstrip()
        if char != "{" or not before[-1:].isalnum():
            return False
        words = re.findall(r"\w+", re.split(r"[;{}]", before)[-1])
        # A type, or the first word of a declaration of several objects.
        known = (*words[-2:], words[0])
        return words[-1] not in _BLOCKS and not any(map(_COPYING.fullmatch, known))
    return False

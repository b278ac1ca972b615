"""Decide whether code may depend on where it stands: on a file's name, or on a line's number.

``__FILE__`` is the name by which a build passes a file to the compiler, or starts with the name of
an include directory. lmemscope uses absolute paths and a build may use others, so code that depends
on the name cannot be determined here. An edit moves the lines behind it. What is only reported has
no effect: a whole operand of ``<<``, or a whole argument of a function that cannot run in device
code or in a constant expression, or that only prints it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmemscope.sources.macro_use import FRAGMENT, is_made_of

_NAMES = rb"__FILE__|__BASE_FILE__|__INCLUDE_LEVEL__|__builtin_FILE\s*\(\s*\)"
_OF_LOCATION = rb"|file_name\s*\(\s*\)"
_SIGN = re.compile(rb"__(?:FILE|BASE_FILE|INCLUDE_LEVEL)__|__builtin_FILE\b|\bsource_location\b")
_BEHIND = re.compile(rb'(?:\s|"")*(?:<<|[,)};]|\Z|\n)')
_BACK = 2000
"""Bytes before a mention that are searched for what it is passed to."""
_STREAM = re.compile(rb"\bstd\s*+::\s*+(?:cerr|cout|clog)\s*+<<")
"""Host streams: neither device code nor a constant expression can write to them."""
_MOST = 400
_CALLED = re.compile(rb"\b([A-Za-z_]\w*+)\s*+(?>(?:<[^<>(){};]{0,200}>)?)\s*+\Z")
_ASKING = re.compile(
    rb"\b(?:sizeof|decltype|noexcept|requires|typeid|alignof|static_assert|constexpr|consteval)\b"
)
_DEFINE = re.compile(rb"(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+([A-Za-z_]\w*)")
_QUALIFIER = re.compile(
    rb"(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)\b"
    rb"([^\n]*\b(?:__device__|constexpr|consteval)\b[^\n]*)"
)
_CONSTANT = re.compile(rb"\bconst(?:expr|eval)\b")
_REPORTING = re.compile(
    rb"\w*(?:printf|puts|perror|print|log|error|exception|fail|abort|assert|check|throw|die|string)"
    rb"\w*",
    re.IGNORECASE,
)
"""Host library functions that take a name in order to print it."""
_STRING = re.compile(rb"\bchar\s*(?:const\s*)?\*\s*(?:const\s*)?(?:__restrict__\s*)?([A-Za-z_]\w*)")
_ARITHMETIC = frozenset(
    b"const unsigned signed char short int long bool float double size_t".split()
)
_TOLD = re.compile(
    rb"\b(?:__FILE__|__func__|__FUNCTION__|__PRETTY_FUNCTION__|file_name|\w*printf|cerr|cout|throw)\b"
)
_SIGNATURE_TOLD = re.compile(
    rb"\b(?:__FILE__|__LINE__|file_name|\w*printf|cerr|cout|throw|assert)\b"
)
"""What stands beside a line's number, or a signature, that is only reported."""
_PRINTED = re.compile(
    rb"\(\s*void\s*\)\s*\Z|\b(?:printf|__assertfail|__assert_fail)\s*\([^(){};]*\Z"
)
_BODY = 4000
_MACRO = re.compile(rb"(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)\(\s*(\w+)\s*\)([^\n]*)")
_ALIAS = re.compile(rb"[ \t]+([A-Za-z_]\w*)\s*")
"""Text after a macro's name if it is another function's name, for an IDE or a platform."""
_CALLING = re.compile(rb"\(([^()]*)\)(.*)")
_WORD = re.compile(rb"[A-Za-z_]\w*+")
_NO_CALLS = frozenset((b"if", b"while", b"for", b"switch", b"return", b"string_view"))


SIGNATURES = (
    *("__PRETTY_FUNCTION__", "__FUNCSIG__", "__FUNCDNAME__", "__FUNCTION__", "__func__"),
    *("function_name", "__builtin_FUNCTION", "__builtin_FUNCSIG"),
)
"""What says the name or the signature of the function that it stands in."""
_WHOLE = (b"__FILE__", b"__BASE_FILE__", b"__builtin_FILE", b"__INCLUDE_LEVEL__")
_PIECES = frozenset(
    name[begin:end]
    for name in _WHOLE
    for begin in range(len(name))
    for end in range(begin + 1, len(name) + 1)
    if end - begin < len(name)
)


@dataclass(frozen=True, slots=True)
class NameUse:
    """A text's use of file names.

    Attributes:
        asks: whether it asks for one.
        pastes: whether its macros paste names.
        pieces: words from which such a question may be assembled.
    """

    asks: bool
    pastes: bool
    pieces: frozenset[bytes]


def name_use(text: bytes) -> NameUse:
    """Read the use of file names in a source or header."""
    asks = _SIGN.search(text) is not None
    pastes = b"##" in text or b"%:%:" in text
    return NameUse(asks, pastes, frozenset(_PIECES.intersection(FRAGMENT.findall(text))))


def in_pieces(uses: Sequence[NameUse]) -> tuple[bytes, ...]:
    """Uses of a file's name that can be assembled from words in texts whose macros paste."""
    if not any(use.pastes for use in uses):
        return ()
    pieces = {piece for use in uses for piece in use.pieces}
    return tuple(name for name in _WHOLE if is_made_of(name, pieces))


def decided_by_name(codes: Sequence[bytes]) -> str | None:
    """What in a compilation's texts may depend on a file's name; None if nothing does.

    Names assembled by macros are handled by `in_pieces`.

    Args:
        codes: the source and the user's headers, without comments and literals.
    """
    is_located = any(b"source_location" in text for text in codes)
    words = _WHOLE + ((b"file_name",) if is_located else ())
    found = _Finder(codes).find(words, _NAMES + (_OF_LOCATION if is_located else b""))
    return found[0].decode("utf-8", "replace") if found is not None else None


def decided_by_line(behind: bytes, others: Sequence[bytes]) -> bool:
    """Whether something may depend on the number of a line behind a place.

    Args:
        behind: the text from there to the end of its file, as for `decided_by_name`.
        others: the compilation's texts, for what macros and functions mean.
    """
    within = _Within(behind, _TOLD, _takes_number)
    finder = _Finder((behind, *others), within)
    return finder.find((b"__LINE__",), b"__LINE__") is not None


def line_decided_by_signature(text: bytes, others: Sequence[bytes]) -> int | None:
    """The first line of a text where something may depend on the signature of a function.

    Args:
        text: as for `decided_by_name`, its lines as they are.
        others: as of `decided_by_line`.
    """
    words = tuple(one.encode() for one in SIGNATURES)
    names = rb"(?:%b)(?:\s*\(\s*\))?" % b"|".join(words)
    within = _Within(text, _SIGNATURE_TOLD, _takes_string)
    found = _Finder((text, *others), within).find(words, names)
    return None if found is None else 1 + found.string.count(b"\n", 0, found.start())


@dataclass(frozen=True, slots=True)
class _Within:
    """A text whose results are meant, and not only what it is compiled to: a host function may hand
    on what it is given.

    Attributes:
        text: where mentions count; a macro stands where it is used.
        told: what stands in the statement of a mention that is only reported.
        takes: whether a parameter, as written, may take more of it than that it is there.
    """

    text: bytes
    told: re.Pattern[bytes]
    takes: Callable[[bytes], bool]


class _Finder:
    def __init__(self, texts: Sequence[bytes], within: _Within | None = None) -> None:
        self._texts, self._within = texts, within
        qualifiers = [found for text in texts for found in _QUALIFIER.findall(text)]
        names = {name for name, _ in qualifiers}
        constant = {name for name, body in qualifiers if _CONSTANT.search(body)}
        self._constant = _any_of({b"constexpr", b"consteval"} | constant)
        self._qualified = _any_of({b"__device__", b"constexpr", b"consteval"} | names)
        self._discarding = _discarding(texts)
        self._known: dict[bytes, bool] = {}
        self._standing: set[bytes] = set()

    def find(self, words: tuple[bytes, ...], names: bytes) -> re.Match[bytes] | None:
        """The first mention of names that is not only reported, or of a macro that stands for it.

        Args:
            words: of which each mention has one.
            names: a pattern for them.
        """
        asked, pending = names, [(words, names)]
        while pending:
            words, names = pending.pop()
            mention = re.compile(rb"(?<![\w$])(?:" + names + rb")(?![\w$])")
            for text in self._holding(*words):
                for found in mention.finditer(text):
                    macro = self._reported(text, found)
                    if self._within is not None:
                        is_direct = names == asked
                        macro = _within(self._within, text, found, macro, is_direct=is_direct)
                    if macro is None:
                        return found
                    if macro and macro not in self._standing:
                        if len(self._standing) == _MOST:  # further uses are not followed
                            return found
                        self._standing.add(macro)
                        pending.append(((macro,), re.escape(macro)))
        return None

    def _holding(self, *words: bytes) -> list[bytes]:
        """The texts that contain one of some words, found in a single pass."""
        return [text for text in self._texts if any(word in text for word in words)]

    def _reported(self, text: bytes, found: re.Match[bytes]) -> bytes | None:
        """Empty if a mention only reports a name, or the macro that stands for it; else None."""
        before = text[max(0, found.start() - _BACK) : found.start()]
        line = before[before.rfind(b"\n") + 1 :]
        defined = _DEFINE.match(line)
        if re.fullmatch(rb"[ \t]*(?:#|%:)[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+", line):
            return b""
        if _BEHIND.match(text, found.end()) is None:
            return None
        head = before.rstrip()
        while head.endswith(b'""'):
            head = head[:-2].rstrip()
        statement = max(before.rfind(b";"), before.rfind(b"}"), 0)
        if _ASKING.search(before, statement) is not None:
            return None
        if head.endswith(b"<<"):
            is_written = _is_streamed(before[statement:])
            return b"" if is_written or self._is_of_host(b"operator<<") else None
        if not head.endswith((b",", b"(", b"{")):
            return None
        called = _called(line if defined is not None else before)
        if called is None:
            return defined[1] if defined is not None and head.endswith(b",") else None
        return b"" if self._is_of_host(called) else None

    def _is_of_host(self, name: bytes) -> bool:
        """Whether a function can run neither in device code nor in a constant expression."""
        if name not in self._known:
            self._known[name] = False  # for a macro that names itself
            self._known[name] = self._looks_of_host(name)
        return self._known[name]

    def _looks_of_host(self, name: bytes) -> bool:
        if name in _NO_CALLS or name.startswith(b"__builtin_"):
            return False
        is_operator = name == b"operator<<"
        own = rb"operator\s*<<" if is_operator else rb"(?<![\w$])" + re.escape(name)
        texts = self._holding(b"operator" if is_operator else name)
        other = re.compile(rb"%b\s*+=\s*+\[|%b\s*+\([^;{}]{0,400}?\(\s*+&" % (own, own))
        if any(other.search(text) for text in texts):
            return False
        macro = re.compile(rb"(?:#|%%:)[ \t]*define[ \t]+%b(?![\w$])([^\n]*)" % own)
        for body in (body for text in texts for body in macro.findall(text)):
            alias = _ALIAS.fullmatch(body)
            if not (self._is_of_host(alias[1]) if alias is not None else self._hands_on(body)):
                return False
        if _is_declared(texts, own, self._qualified):
            if _is_declared(texts, own, self._constant):
                return False
            return not is_operator and self._only_prints(texts, own)
        if is_operator or _REPORTING.fullmatch(name) is not None:
            return True
        defined = re.compile(rb"%b\s*+\([^;{}]{0,600}\)[^;{}()]{0,100}[;{]" % own)
        declared = re.compile(rb"[\w*&][ \t\n]++[*&]*+%b\s*+\(" % own)
        return any(declared.search(text) and defined.search(text) for text in texts)

    def _hands_on(self, definition: bytes) -> bool:
        """Whether a macro only passes its arguments to host functions.

        Args:
            definition: from the parameters on.
        """
        found = _CALLING.fullmatch(definition)
        if found is None or _ASKING.search(found[2]) is not None:
            return False
        names = [*_WORD.findall(found[1]), b"__VA_ARGS__"]
        word = re.compile(rb"(?<![\w$])(?:" + b"|".join(map(re.escape, names)) + rb")(?![\w$])")
        return all(
            (called := _called(found[2][: use.start()])) is not None
            and _BEHIND.match(found[2], use.end()) is not None
            and self._is_of_host(called)
            for use in word.finditer(found[2])
        )

    def _only_prints(self, texts: Iterable[bytes], own: bytes) -> bool:
        """Whether every definition of a function only prints its strings."""
        defined = re.compile(rb"%b\s*+\(([^;{}()]{0,600})\)[^;{}()]{0,100}\{" % own)
        found = [(text, one) for text in texts for one in defined.finditer(text)]
        return bool(found) and all(self._prints(text, one) for text, one in found)

    def _prints(self, text: bytes, definition: re.Match[bytes]) -> bool:
        """Whether a function's body does nothing with what it is given except print or ignore them.

        Args:
            text: of the function.
            definition: up to its opening brace; the first group contains the parameters.
        """
        depth, end = 1, definition.end()
        for brace in re.finditer(rb"[{}]", text[end : end + _BODY]):
            depth += 1 if brace[0] == b"{" else -1
            if depth == 0:
                body = text[end : end + brace.start()]
                break
        else:
            return False
        names = _STRING.findall(definition[1])
        if self._within is not None:
            names = _taking(definition[1], self._within.takes)
        word = re.compile(rb"(?<![\w$])(?:" + b"|".join(map(re.escape, names)) + rb")(?![\w$])")
        return all(
            _is_printed(body[max(0, one.start() - 500) : one.start()], self._discarding)
            and re.match(rb"\s*[,);]", body[one.end() :]) is not None
            for one in (word.finditer(body) if names else ())
        )


def _is_declared(texts: Iterable[bytes], own: bytes, qualifiers: bytes) -> bool:
    """Whether a qualifier precedes a function's name in the same statement.

    Args:
        texts: to search.
        own, qualifiers: patterns for the name and for the qualifiers.
    """
    name, qualifier = re.compile(rb"%b\s*+\(" % own), re.compile(qualifiers)
    return any(
        qualifier.search(text, _statement(text, found.start()), found.start()) is not None
        for text in texts
        for found in name.finditer(text)
    )


def _within(
    one: _Within,
    text: bytes,
    found: re.Match[bytes],
    macro: bytes | None,
    *,
    is_direct: bool,
) -> bytes | None:
    """As `_Finder._reported` says, where only one text counts; a macro stands where it is used."""
    start = text.rfind(b"\n", 0, found.start()) + 1
    defined = _DEFINE.match(text, start, found.start())
    if is_direct and macro is not None:
        start = start if defined is not None else _statement(text, found.start())
        ends = (b"\n",) if defined is not None else (b";", b"{", b"}")
        behind = (at for end in ends if (at := text.find(end, found.end())) >= 0)
        is_told = one.told.search(text, start, min(behind, default=len(text))) is not None
        macro = macro if is_told else None
    if defined is not None:
        return defined[1] if macro is None else macro
    return macro if text is one.text else b""


def _taking(parameters: bytes, takes: Callable[[bytes], bool]) -> list[bytes]:
    """The names of those of a function's parameters that take what is asked about."""
    every = (part.partition(b"=")[0] for part in parameters.split(b","))
    return [words[-1] for one in every if (words := _WORD.findall(one)) and takes(one)]


def _takes_number(parameter: bytes) -> bool:
    return b"*" not in parameter and b"bool" not in _WORD.findall(parameter)


def _takes_string(parameter: bytes) -> bool:
    *kind, _ = _WORD.findall(parameter)
    return b"*" in parameter or not kind or not _ARITHMETIC.issuperset(kind)


def _any_of(words: Iterable[bytes]) -> bytes:
    return rb"\b(?:" + b"|".join(map(re.escape, sorted(words))) + rb")\b"


def _is_streamed(before: bytes) -> bool:
    """Whether text after the start of a statement is an operand of a host stream."""
    found = _STREAM.search(before)
    if found is None:
        return False
    between = before[found.end() :]
    is_nested = any(byte in between.replace(b"<<", b"") for byte in (b"<", b"{", b"?"))
    return not is_nested and between.count(b"(") == between.count(b")")


def _statement(text: bytes, at: int) -> int:
    """Start of the statement around an offset, up to a maximum distance."""
    start = max(0, at - _BACK)
    return max(start, *(text.rfind(end, start, at) + 1 for end in (b";", b"{", b"}")))


def _discarding(texts: Sequence[bytes]) -> frozenset[bytes]:
    """Macros whose every definition discards the argument: ``(void)(x)``."""
    found: dict[bytes, bool] = {}
    for text in texts:
        for name, parameter, body in _MACRO.findall(text):
            plain = b"".join(body.split())
            nothing = plain in (b"(void)" + parameter, b"(void)(" + parameter + b")")
            found[name] = found.get(name, True) and nothing
    return frozenset(name for name, nothing in found.items() if nothing)


def _is_printed(before: bytes, discarding: frozenset[bytes]) -> bool:
    """Whether the text before a name prints or discards it."""
    given = re.search(rb"\b(\w++)\s*+\(\s*+\Z", before)
    is_discarded = given is not None and given[1] in discarding
    return is_discarded or _PRINTED.search(before) is not None


def _called(before: bytes) -> bytes | None:
    """The function in whose arguments a text ends; None if there is none."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        byte = before[at : at + 1]
        if byte == b")":
            depth += 1
        elif byte == b";" and depth == 0:
            return None
        elif byte == b"(":
            if depth == 0:
                name = _CALLED.search(before[max(0, at - 300) : at])
                return None if name is None else name[1]
            depth -= 1
    return None

"""Extract a source's or header's macros: definitions and uses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from lmemscope.sources.compiler_macros import may_differ

_SPLICE = re.compile(rb"\\\r?\n")
_UNLIKE_SPLICES = (
    re.compile(rb"\\[ \t\v\f\r]*[ \t\v\f][ \t\v\f\r]*\n"),
    re.compile(rb"\?\?/[ \t\v\f\r]*\n"),
    # Only GCC treats a lone carriage return as a line end.
    re.compile(rb"\r(?!\n)"),
)
_TRIGRAPH = re.compile(rb"\?\?[=/'()!<>-]")
_NO_CODE = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
    rb"|(?<![\w$])\.?\d(?>(?>(?:[eEpP][+-]|'\w|[\w.]){1,999})*)"
    rb'|"(?>(?>(?:[^"\\\n]++|\\[^\n]){1,999})*)"'
    rb"|'(?>(?>(?:[^'\\\n]++|\\[^\n]){1,999})*)'",
    re.DOTALL,
)
_GIVEN_HEADER = re.compile(
    rb'(?<![\w$])([A-Za-z_][\w$]*)[ \t]*\([ \t]*(?:"([^"\n]{1,4096})"|<([^<>\n]{1,4096})>)[ \t]*\)'
)
_DEFINED = re.compile(rb"\bdefined[ \t]*(?:\([ \t]*)?[\w$]+")
_INCLUDING = re.compile(rb"\b(?:include|include_next|import|embed)\b|\*/")
_DIRECTIVE = re.compile(
    rb"(?:^|\r)[ \t\v\f\0\xef\xbb\xbf]*(?:#|%:)[ \t\v\f]*([a-z_]+)([^\n]*)", re.MULTILINE
)
WORD = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
FRAGMENT = re.compile(rb"[\w$\x80-\xff]+")
_TOKEN = re.compile(rb"[\w$\x80-\xff]+|##|%:%:|\S")
_STRINGIFIES = re.compile(rb"(?<![#%:])(?:#|%:)(?![#%:])")
_CONDITIONS = frozenset((b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef"))
_INCLUDES = frozenset((b"include", b"include_next", b"import", b"embed"))
_MESSAGES = frozenset((b"error", b"warning"))

Header = tuple[str, bool, bool]
"""As `lmemscope.sources.include_macros.Header`."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A ``#define``.

    Attributes:
        name: of the macro.
        words: in its parameters and body.
        open: words to which no header name is passed: what ``__has_include`` asks there is unknown.
        parameters: their names.
        pasted: chains of words joined by ``##``; each word is from the body or a parameter.
        stringifies: whether it turns parameters into strings.
    """

    name: bytes
    words: frozenset[bytes]
    open: frozenset[bytes]
    parameters: frozenset[bytes]
    pasted: tuple[tuple[bytes, ...], ...]
    stringifies: bool


@dataclass(frozen=True, slots=True)
class MacroUse:
    """The macros in one text.

    Attributes:
        named: names in its code that may differ, without those that the text defines first.
        conditions: words in its conditions.
        open: those of them to which no header name is passed, and that are not only tested with
            ``defined``.
        headers: names of headers, each with the word to which it is passed.
        definitions: all of them, in order.
        is_spliced_unlike: whether the compilers differ in where lines end or are joined.
    """

    named: frozenset[bytes]
    conditions: frozenset[bytes]
    open: frozenset[bytes]
    headers: tuple[tuple[bytes, Header], ...]
    definitions: tuple[Definition, ...]
    is_spliced_unlike: bool


def is_made_of(name: bytes, words: Iterable[bytes]) -> bool:
    """Whether words can be concatenated to a name."""
    pieces = [word for word in words if word and word in name]
    reached = {0}
    for at in range(len(name)):
        if at in reached:
            reached |= {at + len(one) for one in pieces if name.startswith(one, at)}
    return len(name) in reached


def code(data: bytes) -> bytes:
    """A text without comments and literals, with continued lines joined.

    Where they cannot be recognised reliably they remain: the text is only searched for names.
    """
    text = _joined(data)
    return _NO_CODE.sub(_shown, text) if _is_plain(text) else text


def _joined(data: bytes) -> bytes:
    return _SPLICE.sub(b"", data) if b"\\" in data else data


def _is_plain(text: bytes) -> bool:
    if b'R"' in text:
        return False
    at = text.find(b"/*")
    while at >= 0:
        end = text.find(b"\n", at)
        end = end if end >= 0 else len(text)
        if _begins_no_comment(text[text.rfind(b"\n", 0, at) + 1 : end]):
            return False
        at = text.find(b"/*", end)
    return True


def _begins_no_comment(line: bytes) -> bool:
    """Whether a line names a header such as ``<a/*b>``."""
    if _INCLUDING.search(line) is None:
        return False
    opened = line.find(b"<")
    while opened >= 0:
        begun = line.find(b"/*", opened)
        if begun < 0:
            return False
        if line.find(b">", opened, begun) < 0:
            return True
        opened = line.find(b"<", begun)
    return False


def _shown(found: re.Match[bytes]) -> bytes:
    first = found[0][:1]
    return b" " if first == b"/" else b'""' if first in b"\"'" else found[0]


def _without_comments(found: re.Match[bytes]) -> bytes:
    return b" " if found[0][:1] == b"/" else found[0]


def macro_use(data: bytes) -> MacroUse:
    """Read the macros in a source or header."""
    text = _joined(data)
    is_plain = _is_plain(text)
    if is_plain:
        text = _NO_CODE.sub(_without_comments, text)
    conditions: set[bytes] = set()
    opened: set[bytes] = set()
    headers: dict[tuple[bytes, Header], None] = {}
    definitions: list[Definition] = []
    for found in _DIRECTIVE.finditer(text):
        word, rest = found.groups()
        if word in _CONDITIONS:
            conditions.update(WORD.findall(rest))
            if word in (b"if", b"elif"):
                opened |= _open(_DEFINED.sub(b" ", rest), headers)
        elif word == b"define":
            definition = _definition(rest, headers)
            if definition is not None:
                definitions.append(definition)
    return MacroUse(
        _named(text, is_plain),
        frozenset(conditions),
        frozenset(opened),
        tuple(headers),
        tuple(definitions),
        any(splice.search(data) is not None for splice in _UNLIKE_SPLICES)
        or _TRIGRAPH.search(text) is not None,
    )


def _named(text: bytes, is_plain: bool) -> frozenset[bytes]:
    """Names in code that may differ, without those that the text defines first."""
    named = _that_may_differ(text)
    if named and is_plain:
        text = _NO_CODE.sub(_shown, text)
        named = _that_may_differ(text)
    if named:
        passed_over = [
            found.span()
            for found in _DIRECTIVE.finditer(text)
            if found[1] in _MESSAGES
            or (found[1] in _INCLUDES and found[2].lstrip()[:1] in (b"<", b'"'))
        ]
        named = _that_may_differ(_without(text, passed_over))
    return frozenset(named - defined_first(text, named))


def _that_may_differ(text: bytes) -> set[bytes]:
    return {word for word in set(WORD.findall(text)) if may_differ(word)}


def _open(text: bytes, headers: dict[tuple[bytes, Header], None]) -> set[bytes]:
    """Words to which no header name is passed; header names are recorded."""
    opened: set[bytes] = set()
    at = 0
    for call in _GIVEN_HEADER.finditer(text):
        word, quoted, angled = call.groups()
        name = (quoted or angled).decode("utf-8", "surrogateescape")
        headers[word, (name, quoted is not None, word.endswith(b"_next"))] = None
        opened.update(WORD.findall(text, at, call.start()))
        at = call.end()
    opened.update(WORD.findall(text, at))
    return opened


def given(defines: Iterable[bytes]) -> MacroUse:
    """The macros defined by ``-D``, each as ``NAME`` or ``NAME=BODY``."""
    lines = (b"#define %s %s\n" % tuple((*define.split(b"=", 1), b"1")[:2]) for define in defines)
    return macro_use(b"".join(lines))


def _without(text: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    parts, at = [], 0
    for begin, end in spans:
        parts.append(text[at:begin])
        at = end
    return b"\n".join((*parts, text[at:])) if parts else text


def _definition(rest: bytes, headers: dict[tuple[bytes, Header], None]) -> Definition | None:
    name = WORD.search(rest)
    if name is None:
        return None
    after = rest[name.end() :]
    parameters: set[bytes] = set()
    if after[:1] == b"(":
        parameters = {b"__VA_ARGS__", *WORD.findall(after.partition(b")")[0])}
    return Definition(
        name[0],
        frozenset(FRAGMENT.findall(after)),
        frozenset(_open(after, headers)),
        frozenset(parameters),
        tuple(_pasted(after)) if b"##" in after or b"%:%:" in after else (),
        bool(parameters) and _STRINGIFIES.search(after) is not None,
    )


def _pasted(body: bytes) -> Iterator[tuple[bytes, ...]]:
    """Words joined by ``##``; pasting with a comma or an operator forms no name."""
    chain: list[bytes] = []
    is_joined = False
    for token in _TOKEN.findall(body):
        if token in (b"##", b"%:%:"):
            is_joined = True
            continue
        if not is_joined or FRAGMENT.fullmatch(token) is None:
            if len(chain) > 1:
                yield tuple(chain)
            chain = []
        if FRAGMENT.fullmatch(token):
            chain.append(token)
        is_joined = False
    if len(chain) > 1:
        yield tuple(chain)


def defined_first(text: bytes, names: Collection[bytes]) -> set[bytes]:
    """Names whose first mention is an unconditional definition."""
    mentions: dict[bytes, int] = {}
    for found in WORD.finditer(text) if names else ():
        if found[0] in names:
            mentions.setdefault(found[0], found.start())
    first: set[bytes] = set()
    depth = -1 if mentions and _is_guarded(text) else 0
    for directive in _DIRECTIVE.finditer(text) if mentions else ():
        word = directive[1]
        if word in (b"if", b"ifdef", b"ifndef"):
            depth += 1
        elif word == b"endif":
            depth -= 1
        elif word == b"define" and depth <= 0:
            name = WORD.search(directive[2])
            if name and mentions.get(name[0]) == directive.start(2) + name.start():
                first.add(name[0])
    return first


def _is_guarded(text: bytes) -> bool:
    """Whether a header is completely inside one condition that holds when it is first read."""
    directives = [(found[1], found[2].split()[:1]) for found in _DIRECTIVE.finditer(text)]
    if [word for word, _ in directives[:2]] != [b"ifndef", b"define"]:
        return False
    depth = 0
    for number, (word, _) in enumerate(directives, 1):
        depth += (word in (b"if", b"ifdef", b"ifndef")) - (word == b"endif")
        if depth == 0:
            return number == len(directives) and directives[0][1] == directives[1][1]
    return False

"""Names in a text that stand for something else under nvcc than under NVRTC.

nvcc preprocesses with a host compiler, and reads the host's headers before the source. So a macro
may have another value there, or exist there alone, and a source may ask for it in any place: in a
condition, in the body of a macro, in an expression. Names are followed through the text's own
macros. What cannot be followed, such as a name that is pasted together, counts as different.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmemscope.sources.compiler_macros import DIFFERENT, RESERVED, SAME

PASTED = "a name that macros put together"
SPLICED = "a line splice or a trigraph that NVRTC reads otherwise"

_SPLICE = re.compile(rb"\\\r?\n")
_UNLIKE_SPLICE = re.compile(rb"\\[ \t\v\f\r]*[ \t\v\f][ \t\v\f\r]*\n|\?\?/[ \t\v\f\r]*\n")
_TRIGRAPH = re.compile(rb"\?\?[=/'()!<>-]")
_NO_CODE = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
    rb"|(?<![\w$])\.?\d(?:[eEpP][+-]|'\w|[\w.])*+"
    rb'|"(?:[^"\\\n]|\\[^\n])*+"'
    rb"|'(?:[^'\\\n]|\\[^\n])*+'",
    re.DOTALL,
)
_INCLUDING = re.compile(rb"\b(?:include|include_next|import|embed)\b|\*/")
_DIRECTIVE = re.compile(
    rb"(?:^|\r)[ \t\v\f\0\xef\xbb\xbf]*(?:#|%:)[ \t\v\f]*([a-z_]+)([^\n]*)", re.MULTILINE
)
_WORD = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
_FRAGMENT = re.compile(rb"[\w$\x80-\xff]+")
_STRINGIFIES = re.compile(rb"(?<![#%:])(?:#|%:)(?![#%:])")
_CONDITIONS = frozenset((b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef"))
_INCLUDES = frozenset((b"include", b"include_next", b"import", b"embed"))
_MESSAGES = frozenset((b"error", b"warning"))

_ALIKE = re.compile(rb"__noinline__$|__volatile__$|assert$|va_(?:arg|copy|end|start)$|__THROW$|NV_")
"""Spelt otherwise by the two, with one meaning where the code uses them: NVRTC's ``assert`` calls
``__assertfail`` as nvcc's does, and ``<nv/target>`` is built into NVRTC."""

_LIKELY = re.compile(
    rb"__[A-Z0-9_]+__$|_[A-Z][A-Z0-9_]*_SOURCE$|_(?:OPENMP|REENTRANT|LP64)$"
    rb"|__(?:linux|unix|gnu_linux|x86|amd|k8|i[3-6]86|znver|tune|arm|aarch|pic|pie|clang|code_model)"
)
"""Names that a host compiler is likely to define, unless the text itself does."""

_NOT_DEFINED = re.compile(
    rb"_WIN32|_WIN64|__WIN32__|_MSC_VER|__MINGW(?:32|64)__|__CYGWIN__|__APPLE__|__MACH__"
    rb"|__clang\w*|__INTEL\w*|__ICC|__ICL|__PGIC?__|__NVCOMPILER|__HIP\w*|__HCC\w*"
    rb"|__SYCL\w*|__OPENCL\w*|__ANDROID__|__(?:Free|Net|Open)BSD__|__sun|__SVR4|__IBMC\w*"
    rb"|__xl[Cc]__|_AIX|__GFX\w*|__AMDGCN\w*|__MUSA\w*|__EMSCRIPTEN__|__BORLANDC__|__SUNPRO_CC"
    rb"|_DEBUG|__DEBUG__|__CUDA__|__CUDACC_DEBUG__|__CUDA_NO_\w+"
)
"""Names of other compilers and systems, which neither nvcc with GCC nor NVRTC defines, and those
that options define for both."""

_NO_MACROS = frozenset(
    b"defined true false and or not bitand bitor xor compl __VA_ARGS__ __VA_OPT__ "
    b"__FUNCTION__ __PRETTY_FUNCTION__ __FUNCSIG__ __func__".split()
)
_SAME_FAMILY = re.compile(rb"__CUDA_ARCH_FEAT_SM\d+_ALL$")
_MOST = 200_000
"""Steps of looking for what can be pasted together; what takes more counts as different."""
_LONGEST = 20_000
"""Bytes of a macro's arguments."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A ``#define``: its name, the words of its parameters and body, and what it does to them."""

    name: bytes
    words: frozenset[bytes]
    pastes: bool
    stringifies: bool


@dataclass(frozen=True, slots=True)
class MacroUse:
    """What one text says of macros.

    Attributes:
        named: names in its code that may differ; those that the text defines first are left out.
        conditions: words of its conditions.
        definitions: all of them, in order.
        is_spliced_unlike: whether lines are joined in one of the compilers only.
    """

    named: frozenset[bytes]
    conditions: frozenset[bytes]
    definitions: tuple[Definition, ...]
    is_spliced_unlike: bool


def code(data: bytes) -> bytes:
    """A text without comments and literals, spliced lines joined.

    They are left in where they cannot be told for sure: the text is only looked through for names.
    """
    text = _SPLICE.sub(b"", data) if b"\\" in data else data
    if b'R"' in text or any(map(_begins_no_comment, text.split(b"\n"))):
        return text
    return _NO_CODE.sub(_shown, text)


def _begins_no_comment(line: bytes) -> bool:
    """Whether a line names a header such as ``<a/*b>``."""
    if b"/*" not in line or _INCLUDING.search(line) is None:
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


def macro_use(data: bytes) -> MacroUse:
    """Read a source or a header for its macros."""
    text = code(data)
    conditions: set[bytes] = set()
    definitions: list[Definition] = []
    passed_over: list[tuple[int, int]] = []
    for found in _DIRECTIVE.finditer(text):
        word, rest = found.groups()
        if word in _CONDITIONS:
            conditions.update(_WORD.findall(rest))
        elif word == b"define":
            definition = _definition(rest)
            if definition is not None:
                definitions.append(definition)
        elif word in _MESSAGES or (word in _INCLUDES and rest.lstrip()[:1] in (b"<", b'"')):
            passed_over.append(found.span())
    words = frozenset(_WORD.findall(_without(text, passed_over)))
    named = frozenset(word for word in words if _may_differ(word))
    return MacroUse(
        named - _defined_first(text, named),
        frozenset(conditions),
        tuple(definitions),
        _UNLIKE_SPLICE.search(data) is not None or _TRIGRAPH.search(text) is not None,
    )


def given(defines: Iterable[bytes]) -> MacroUse:
    """What ``-D`` says, each as ``NAME`` or ``NAME=BODY``."""
    lines = (b"#define %s %s\n" % tuple((*define.split(b"=", 1), b"1")[:2]) for define in defines)
    return macro_use(b"".join(lines))


def _without(text: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    parts, at = [], 0
    for begin, end in spans:
        parts.append(text[at:begin])
        at = end
    return b"\n".join((*parts, text[at:])) if parts else text


def _definition(rest: bytes) -> Definition | None:
    name = _WORD.search(rest)
    if name is None:
        return None
    after = rest[name.end() :]
    pastes = b"##" in after or b"%:%:" in after
    stringifies = after[:1] == b"(" and _STRINGIFIES.search(after) is not None
    return Definition(name[0], frozenset(_FRAGMENT.findall(after)), pastes, stringifies)


def _may_differ(name: bytes) -> bool:
    if name in SAME or name in _NO_MACROS:
        return False
    return (
        name in DIFFERENT
        or RESERVED.match(name) is not None
        or _LIKELY.match(name) is not None
        or _ALIKE.match(name) is not None
    ) and _SAME_FAMILY.match(name) is None


def _is_different(name: bytes) -> bool:
    return name in DIFFERENT or RESERVED.match(name) is not None


def _defined_first(text: bytes, names: Iterable[bytes]) -> set[bytes]:
    """Names whose first mention is a definition that no condition can leave out."""
    first: set[bytes] = set()
    outermost = 1 if _is_guarded(text) else 0
    for name in names:
        mention = re.search(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])", text)
        if mention is None:
            continue
        depth = 0
        for directive in _DIRECTIVE.finditer(text, 0, mention.end()):
            word = directive[1]
            if word in (b"if", b"ifdef", b"ifndef"):
                depth += 1
            elif word == b"endif":
                depth -= 1
            elif word == b"define" and depth <= outermost and directive[2].strip() == name:
                first.add(name)
    return first


def _is_guarded(text: bytes) -> bool:
    """Whether all of a header's text stands under a condition that holds when it is first read."""
    directives = _DIRECTIVE.finditer(text)
    first, second = next(directives, None), next(directives, None)
    return (
        first is not None
        and second is not None
        and (first[1], second[1]) == (b"ifndef", b"define")
        and first[2].split() == second[2].split()[:1]
    )


def differing(
    texts: Sequence[MacroUse], codes: Callable[[], Iterable[bytes]], *, other_host: bool = False
) -> str | None:
    """What of a compilation's texts nvcc may answer otherwise than NVRTC, or None.

    Args:
        texts: of the source, of its headers and of its options.
        codes: gives the texts as `code` does; asked only where macros paste.
        other_host: whether the host compiler may be another than GCC.
    """
    if any(text.is_spliced_unlike for text in texts):
        return SPLICED
    bodies: dict[bytes, list[Definition]] = {}
    for text in texts:
        for definition in text.definitions:
            bodies.setdefault(definition.name, []).append(definition)
    asked = _reached((word for text in texts for word in text.conditions), bodies)
    spells = _spells_out(bodies)
    for text in texts:
        for name in sorted(text.named):
            if _ALIKE.match(name) is not None:
                differs = name in asked or spells
            elif not other_host and _NOT_DEFINED.fullmatch(name) is not None:
                differs = False
            else:
                differs = _is_different(name) or name not in bodies
            if differs:
                return name.decode("utf-8", "replace")
    for name in sorted(asked):
        if name in bodies:
            if any(definition.pastes for definition in bodies[name]):
                return PASTED
        elif _is_unknown(name, other_host):
            return name.decode("utf-8", "replace")
    pasting = {name for name, found in bodies.items() if any(one.pastes for one in found)}
    return PASTED if pasting and _can_paste(pasting, bodies, codes()) else None


def _is_unknown(name: bytes, other_host: bool) -> bool:
    """Whether a name that a condition asks for may be one of a compiler's or of its headers'."""
    if name in SAME or name in _NO_MACROS or _SAME_FAMILY.match(name) is not None:
        return False
    if not other_host and _NOT_DEFINED.fullmatch(name) is not None:
        return False
    return b"__" in name or re.match(rb"_[A-Z]", name) is not None


def _reached(words: Iterable[bytes], bodies: dict[bytes, list[Definition]]) -> set[bytes]:
    """Words, and those of the macros among them, and so on."""
    reached: set[bytes] = set()
    pending = list(words)
    while pending:
        word = pending.pop()
        if word not in reached:
            reached.add(word)
            pending += [more for one in bodies.get(word, ()) for more in one.words]
    return reached


def _spells_out(bodies: dict[bytes, list[Definition]]) -> bool:
    """Whether a macro makes a string of what other macros stand for."""
    strings = {name for name, found in bodies.items() if any(one.stringifies for one in found)}
    return bool(strings) and any(one.words & strings for found in bodies.values() for one in found)


def _can_paste(
    pasting: set[bytes], bodies: dict[bytes, list[Definition]], codes: Iterable[bytes]
) -> bool:
    """Whether pasting macros may make a name that differs, from what they are given."""
    users: dict[bytes, list[bytes]] = {}
    for name, found in bodies.items():
        for word in frozenset().union(*(one.words for one in found)):
            users.setdefault(word, []).append(name)
    pending = list(pasting)
    while pending:
        new = [name for name in users.get(pending.pop(), ()) if name not in pasting]
        pasting.update(new)
        pending += new
    fragments = {word for name in pasting for one in bodies[name] for word in one.words}
    for text in codes:
        fragments.update(_given_to(pasting, text))
    return _makes_different(_reached(fragments, bodies))


def _given_to(macros: set[bytes], text: bytes) -> Iterator[bytes]:
    """Words among the arguments of macros; all words where one is named without arguments."""
    for found in _WORD.finditer(text):
        if found[0] not in macros:
            continue
        begin = found.end()
        while text[begin : begin + 1].isspace():
            begin += 1
        if text[begin : begin + 1] != b"(":
            line = text[text.rfind(b"\n", 0, found.start()) + 1 : found.start()].strip()
            if not re.fullmatch(rb"(?:#|%:)\s*(?:define|undef|ifdef|ifndef)", line):
                yield from _FRAGMENT.findall(text)
                return
            continue
        depth, end = 0, begin
        for bracket in re.finditer(rb"[()]", text[begin : begin + _LONGEST]):
            depth += 1 if bracket[0] == b"(" else -1
            if depth == 0:
                end = begin + bracket.end()
                break
        yield from _FRAGMENT.findall(text, begin, end if end > begin else len(text))


_beginnings: dict[bytes, None] = {}


def _makes_different(fragments: set[bytes]) -> bool:
    """Whether fragments put together may be a name that differs."""
    if not _beginnings:
        for name in (*DIFFERENT, *_FUNCTIONS):
            _beginnings.update(dict.fromkeys(name[:end] for end in range(1, len(name))))
    pending = [word for word in fragments if word in _beginnings or word[:1] == b"_"]
    tried = 0
    while pending:
        begun = pending.pop()
        for word in fragments:
            tried += 1
            made = begun + word
            if made in SAME:
                continue
            if made in _FUNCTIONS or _is_different(made) or _LIKELY.match(made) is not None:
                return True
            if tried > _MOST:
                return True
            if made in _beginnings:
                pending.append(made)
    return False


_FUNCTIONS = frozenset((b"pow", b"signbit", b"isnan", b"isinf", b"isfinite", b"isnormal"))
"""Functions that NVRTC overloads otherwise than nvcc (`lmemscope.sources.unlike_nvcc`)."""

"""Names in a text that stand for something else under nvcc than under NVRTC.

nvcc preprocesses with a host compiler, and reads the host's headers before the source. So a macro
may have another value there, or exist there alone, and a source may ask for it in any place: in a
condition, in the body of a macro, in an expression. Names are followed through the text's own
macros. What cannot be followed, such as a name that is pasted together, counts as different.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from lmemscope.sources.compiler_macros import (
    ALIKE,
    DIFFERENT,
    FUNCTIONS,
    NOT_DEFINED,
    SAME,
    is_different,
    is_likely,
    is_unknown,
)
from lmemscope.sources.macro_use import FRAGMENT, WORD, Definition, MacroUse

PASTED = "a name that macros put together"
SPLICED = "a line splice or a trigraph that NVRTC reads otherwise"

_PROBES = frozenset((b"__has_include", b"__has_include_next", b"__has_embed"))
_OF_THE_TIME = frozenset((b"__DATE__", b"__TIME__", b"__TIMESTAMP__"))
_MOST = 200_000
"""Steps of looking for what can be pasted together; what takes more counts as different."""
_LONGEST = 20_000
"""Bytes of a macro's arguments."""


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
            if ALIKE.match(name) is not None:
                differs = name in asked or spells
            elif not other_host and NOT_DEFINED.fullmatch(name) is not None:
                differs = False
            else:
                differs = is_different(name) or name not in bodies
            if differs:
                return name.decode("utf-8", "replace")
    for name in sorted(asked):
        if name in bodies:
            if any(definition.pastes for definition in bodies[name]):
                return PASTED
        elif is_unknown(name, other_host):
            return name.decode("utf-8", "replace")
    pasting = {name for name, found in bodies.items() if any(one.pastes for one in found)}
    return PASTED if pasting and _can_paste(pasting, bodies, codes()) else None


def probed(texts: Sequence[MacroUse]) -> tuple[frozenset[bytes], bool]:
    """Words by which texts ask whether headers exist: ``__has_include``, and macros for it.

    Returns:
        The words, and whether one of them is asked of something else than a header's name.
    """
    words = set(_PROBES)
    users: dict[bytes, list[bytes]] = {}
    for text in texts:
        for definition in text.definitions:
            for word in definition.open:
                users.setdefault(word, []).append(definition.name)
    pending = list(words)
    while pending:
        new = set(users.get(pending.pop(), ())) - words
        words |= new
        pending += new
    return frozenset(words), any(text.open & words for text in texts)


def is_of_its_time(texts: Sequence[MacroUse]) -> bool:
    """Whether a text names a macro that is another at each compilation."""
    return any(not _OF_THE_TIME.isdisjoint(text.named) for text in texts)


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
    for found in WORD.finditer(text):
        if found[0] not in macros:
            continue
        begin = found.end()
        while text[begin : begin + 1].isspace():
            begin += 1
        if text[begin : begin + 1] != b"(":
            line = text[text.rfind(b"\n", 0, found.start()) + 1 : found.start()].strip()
            if not re.fullmatch(rb"(?:#|%:)\s*(?:define|undef|ifdef|ifndef)", line):
                yield from FRAGMENT.findall(text)
                return
            continue
        depth, end = 0, begin
        for bracket in re.finditer(rb"[()]", text[begin : begin + _LONGEST]):
            depth += 1 if bracket[0] == b"(" else -1
            if depth == 0:
                end = begin + bracket.end()
                break
        yield from FRAGMENT.findall(text, begin, end if end > begin else len(text))


_beginnings: dict[bytes, None] = {}


def _makes_different(fragments: set[bytes]) -> bool:
    """Whether fragments put together may be a name that differs."""
    if not _beginnings:
        for name in (*DIFFERENT, *FUNCTIONS):
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
            if made in FUNCTIONS or is_different(made) or is_likely(made):
                return True
            if tried > _MOST:
                return True
            if made in _beginnings:
                pending.append(made)
    return False

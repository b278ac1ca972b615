"""Find names in a text that have different meanings under nvcc and NVRTC.

nvcc preprocesses with a host compiler and reads the host's headers before the source. A macro may
therefore have another value there, or exist only there, and a source may use it anywhere: in a
condition, a macro body or an expression. Names are followed through the text's own macros. What
cannot be followed, such as a pasted name, counts as different.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from lmemscope.sources.compiler_macros import (
    ALIKE,
    DIFFERENT,
    FUNCTIONS,
    LIBRARY_FUNCTIONS,
    NO_MACROS,
    NOT_DEFINED,
    SAME,
    is_different,
    is_likely,
    is_unknown,
)
from lmemscope.sources.host_names import ASKING, HOST_NAMES, OTHER_RESULTS
from lmemscope.sources.macro_use import FRAGMENT, WORD, Definition, MacroUse, is_made_of

PASTED = "a name that macros put together"
SPLICED = "a line's end, a line splice or a trigraph that NVRTC reads otherwise"

_PROBES = frozenset((b"__has_include", b"__has_include_next", b"__has_embed"))
_OF_THE_TIME = frozenset((b"__DATE__", b"__TIME__", b"__TIMESTAMP__"))
_RESERVED_NAME = re.compile(rb"_[A-Z]")
_OF_SYSTEMS = frozenset((b"linux", b"unix", b"i386"))
"""Names that are not reserved but that GNU dialects define."""
_OF_NVCC = re.compile(rb"__CUDA\w+|__NVCC__|__cplusplus")
_OF_EACH = re.compile(rb"__CUDA_ARCH__|__CUDACC__|__CUDACC_RTC__|__cplusplus")
"""Reserved names that do not depend on the host compiler, or that every CUDA compiler defines."""
_BLANKS = re.compile(rb"\s*")
_BRACKET = re.compile(rb"[()]")
_ASKED_ABOUT = re.compile(rb"(?:#|%:)\s*(?:define|undef|ifdef|ifndef)")
_MOST = 200_000
"""Effort limit for finding what can be pasted; beyond it, the text counts as different."""
_NAMED_OTHERWISE = HOST_NAMES | OTHER_RESULTS | ASKING
_LONGEST = 20_000
"""Maximum length of a macro's arguments, in bytes."""


def differing(
    texts: Sequence[MacroUse], codes: Callable[[], Iterable[bytes]], *, other_host: bool = False
) -> str | None:
    """What in a compilation's texts nvcc may treat differently from NVRTC, or None.

    Args:
        texts: of the source, its headers and its options.
        codes: returns the texts as `code` does; called only if macros paste.
        other_host: whether the host compiler may be other than GCC.
    """
    if any(text.is_spliced_unlike for text in texts):
        return SPLICED
    bodies = _bodies(texts)
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
            if any(definition.pasted for definition in bodies[name]):
                return PASTED
        elif is_unknown(name, other_host):
            return name.decode("utf-8", "replace")
    pastes = any(one.pasted for found in bodies.values() for one in found)
    return PASTED if pastes and _can_paste(bodies, codes()) else None


def asked_of_compiler(texts: Sequence[MacroUse], is_nvcc: bool, is_gcc: bool) -> str | None:
    """A reserved name used in texts whose meaning only the build's compiler knows.

    Args:
        texts: of the source, its headers and its options.
        is_nvcc: whether that compiler is any version of nvcc.
        is_gcc: whether its host compiler is GCC.
    """
    bodies = _bodies(texts)
    asked = _reached((word for text in texts for word in text.conditions), bodies)
    if any(one.pasted for name in asked for one in bodies.get(name, ())):
        return PASTED
    # Names that the code uses unconditionally.
    named = (name for text in texts for name in text.named if is_different(name))
    for name in sorted({*asked, *named} - set(bodies)):
        is_reserved = name.startswith(b"__") or _RESERVED_NAME.match(name) is not None
        is_reserved |= name in _OF_SYSTEMS
        if not is_reserved or name in NO_MACROS or ALIKE.match(name) is not None:
            continue
        if (_OF_NVCC if is_nvcc else _OF_EACH).fullmatch(name) is not None:
            continue
        if not (is_nvcc and is_gcc and NOT_DEFINED.fullmatch(name) is not None):
            return name.decode("utf-8", "replace")
    return None


def probed(texts: Sequence[MacroUse]) -> tuple[frozenset[bytes], bool]:
    """Words by which texts test whether headers exist: ``__has_include``, and macros for it.

    Returns:
        The words, and whether one of them is applied to something other than a header name.
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


def pastes_a_probe(texts: Sequence[MacroUse], probes: Iterable[bytes]) -> bool:
    """Whether a condition may assemble a test for headers, or for the time.

    Args:
        texts: of the source, its headers and its options.
        probes: words by which they test whether headers exist, from `probed`.
    """
    bodies = _bodies(texts)
    # A name tested only with ``defined`` is not expanded.
    given = (word for text in texts for word, _ in text.headers)
    asked = _reached((*(word for text in texts for word in text.open), *given), bodies)
    if not any(one.pasted for name in asked for one in bodies.get(name, ())):
        return False
    # The name of any other macro may be assembled first.
    words = {word for text in texts for word in text.conditions}.union(
        *(one.words for found in bodies.values() for one in found)
    )
    # A whole name pasted to nothing is a word that `probed` has found.
    names = {*probes, *_OF_THE_TIME}
    return any(is_made_of(name, words - {name}) for name in names)


def _bodies(texts: Sequence[MacroUse]) -> dict[bytes, list[Definition]]:
    bodies: dict[bytes, list[Definition]] = {}
    for text in texts:
        for definition in text.definitions:
            bodies.setdefault(definition.name, []).append(definition)
    return bodies


def is_of_its_time(texts: Sequence[MacroUse]) -> bool:
    """Whether a text uses a macro whose value changes with each compilation."""
    return any(not _OF_THE_TIME.isdisjoint(text.named) for text in texts)


def _reached(words: Iterable[bytes], bodies: dict[bytes, list[Definition]]) -> set[bytes]:
    """Words, with those in the macros among them, transitively."""
    reached: set[bytes] = set()
    pending = list(words)
    while pending:
        word = pending.pop()
        if word not in reached:
            reached.add(word)
            pending += [more for one in bodies.get(word, ()) for more in one.words]
    return reached


def _spells_out(bodies: dict[bytes, list[Definition]]) -> bool:
    """Whether a macro makes a string of other macros' expansions."""
    strings = {name for name, found in bodies.items() if any(one.stringifies for one in found)}
    return bool(strings) and any(one.words & strings for found in bodies.values() for one in found)


def _can_paste(bodies: dict[bytes, list[Definition]], codes: Iterable[bytes]) -> bool:
    """Whether macros may paste a name that differs, from their arguments."""
    chains, given, is_nested = _pasted(bodies, codes)
    if is_nested:
        return _makes_different(given)
    return any(_makes_one_of(chain, parameters, given) for chain, parameters in chains)


def pasted_name(
    texts: Sequence[MacroUse], codes: Iterable[bytes], names: Sequence[bytes]
) -> bytes | None:
    """The first of some names that macros may paste from their arguments, or None.

    Args:
        texts: of a source and its headers.
        codes: the same without comments and literals.
        names: to look for.
    """
    if not names:
        return None
    chains, given, is_nested = _pasted(_bodies(texts), codes)
    if is_nested:
        words = given.union(*(chain for chain, _ in chains))
        return next((one for one in names if is_made_of(one, words)), None)
    for name in names:
        for chain, parameters in chains:
            ends = {0}
            for word in chain:
                parts = given | {b""} if word in parameters else {word}
                ends = {at + len(one) for at in ends for one in parts if name.startswith(one, at)}
            if len(name) in ends:
                return name
    return None


def _pasted(
    bodies: dict[bytes, list[Definition]], codes: Iterable[bytes]
) -> tuple[set[tuple[tuple[bytes, ...], frozenset[bytes]]], set[bytes], bool]:
    """What macros paste, with parameters; the words passed to them; whether these paste too.

    A macro may be passed what another one was passed or has pasted.
    """
    pasting = {name for name, found in bodies.items() if any(one.pasted for one in found)}
    handing = set(pasting)
    users: dict[bytes, set[bytes]] = {}
    for name, found in bodies.items():
        for word in {word for one in found for word in one.words}:
            users.setdefault(word, set()).add(name)
    pending = list(pasting)
    while pending:
        new = users.get(pending.pop(), set()) - handing
        handing |= new
        pending += new
    given: set[bytes] = set()
    # A macro without parameters stands for its definition.
    called = {name for name in handing if any(one.parameters for one in bodies[name])}
    for text in codes:
        given.update(_given_to(handing, called, text))
    given = _reached(given, bodies)
    chains = {
        (chain, one.parameters) for name in pasting for one in bodies[name] for chain in one.pasted
    }
    return chains, given, bool(given & handing)


def _makes_one_of(
    chain: Sequence[bytes], parameters: frozenset[bytes], given: frozenset[bytes] | set[bytes]
) -> bool:
    """Whether words concatenated in order may be a name that differs."""
    begun = {b""}
    for number, word in enumerate(chain):
        parts = given | {b""} if word in parameters else {word}
        made = {begin + part for begin in begun for part in parts}
        if number + 1 == len(chain):
            return any(_differs_made(name) for name in made)
        begun = {name for name in made if not name or _begins(name)}
        if len(begun) * len(given) > _MOST:
            return True
    return False


def _given_to(macros: set[bytes], called: set[bytes], text: bytes) -> Iterator[bytes]:
    """Words in macro arguments; all words if a macro is named without arguments."""
    behind = 0
    for found in WORD.finditer(text):
        if found[0] not in macros or found.start() < behind:
            continue
        at = _after_blanks(text, found.end())
        if text.startswith(b"(", at):
            end = _closed(text, at)
            inside = text[at:end]
            if end is not None and not _holds_bare(inside, called):
                behind = end
                yield from FRAGMENT.findall(inside)
                continue
        elif found[0] not in called or _is_asked_about(text, found.start()):
            continue
        yield from FRAGMENT.findall(text)
        return


def _after_blanks(text: bytes, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()


def _closed(text: bytes, begin: int) -> int | None:
    """Position after the brackets that close the arguments, and those directly following."""
    depth = 0
    for bracket in _BRACKET.finditer(text, begin, begin + _LONGEST):
        depth += 1 if bracket[0] == b"(" else -1
        if depth == 0 and not text.startswith(b"(", _after_blanks(text, bracket.end())):
            return bracket.end()
    return None


def _holds_bare(text: bytes, names: set[bytes]) -> bool:
    """Whether one of some names occurs without arguments, which may come from elsewhere."""
    return any(
        found[0] in names and not text.startswith(b"(", _after_blanks(text, found.end()))
        for found in WORD.finditer(text)
    )


def _is_asked_about(text: bytes, at: int) -> bool:
    """Whether a directive defines or undefines a name, or tests whether it is defined."""
    line = text[text.rfind(b"\n", 0, at) + 1 : at].strip()
    return _ASKED_ABOUT.fullmatch(line) is not None


@functools.cache
def _beginnings() -> frozenset[bytes]:
    names = (*DIFFERENT, *FUNCTIONS, *LIBRARY_FUNCTIONS, *_NAMED_OTHERWISE)
    return frozenset(name[:end] for name in names for end in range(1, len(name)))


def _begins(name: bytes) -> bool:
    return name in _beginnings() or name[:1] == b"_" or b"M_".startswith(name[:2])


def _differs_made(name: bytes) -> bool:
    if name in SAME:
        return name in FUNCTIONS
    if name in LIBRARY_FUNCTIONS or name in _NAMED_OTHERWISE:
        return True
    # Two macro names joined together are not a macro's name.
    likely = is_likely(name) and b"____" not in name
    return name in FUNCTIONS or is_different(name) or likely


def _makes_different(fragments: set[bytes]) -> bool:
    """Whether fragments concatenated in any order may be a name that differs."""
    pending = [word for word in fragments if _begins(word)]
    tried = 0
    while pending:
        begun = pending.pop()
        for word in fragments:
            tried += 1
            if tried > _MOST:
                return True
            made = begun + word
            if _differs_made(made):
                return True
            if made in _beginnings():
                pending.append(made)
    return False

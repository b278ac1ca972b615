"""Words of files that say how a project is built, that call a build, or that one reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lmemscope.discover.option_tables import FLAGS, VALUED
from lmemscope.sources.encoding import decoded, readable

OF_OPTIONS = re.compile(
    r"defin|option|flag|propert|feature|standard|architect|build_?type|configuration|toolchain"
    r"|include|copts|nvcc|cuda|_args|preset|config",
    re.IGNORECASE,
)
"""Commands, variables and keywords whose arguments may become options of a compiler."""
SCRIPT = re.compile(r".*\.(?:py|pl|rb|sh|bash|ps1|bat|cmd|json|ya?ml|toml|cfg|ini)")
"""Names of files in which options begin with a dash; a list of words may leave it out."""
WORD = re.compile(r"[^\s\"'`,;:()\[\]{}<>$=]+")
_TOKEN = re.compile(r"[^\s\"'`,;()\[\]{}<>$]+")
"""A word of a command as a shell or a script writes it, with its value."""
_IDLE = frozenset(
    "dropped output refused host language include quote after system response elsewhere guarded "
    "unknown optimize".split()
)
_KINDS = {**VALUED, **FLAGS}
NO_CODE = frozenset(name for name, kind in _KINDS.items() if kind in ("dropped", "output"))
"""Options of a compiler that change nothing in what it compiles."""
CHANGING = frozenset(
    name for name, kind in _KINDS.items() if kind not in _IDLE and (len(name) > 1 or name == "G")
)
"""Options of a compiler that change device code, but for macros."""


def words_in(data: bytes | None, every: bool) -> frozenset[str]:
    """The words of a text, without the dashes in front; those that have one, or all."""
    text = text_of(data)
    words = WORD.findall(text)
    found = {w.lstrip("-") for w in words if every or w.startswith("-")}
    return frozenset((*found, *_options_in(text))) - {""}


def _options_in(text: str) -> Iterator[str]:
    """Options of a text with their values: ``maxrregcount=40``, also where a blank is between."""
    tokens = iter(_TOKEN.findall(text))
    for token in tokens:
        for piece in re.split(r"(?<==)(?=-)", token):
            name, _, value = piece.lstrip("-").partition("=")
            if not piece.startswith("-"):
                continue
            if not value and name in CHANGING and name in VALUED:
                value = next(tokens, "")
            yield f"{name}={value}" if value else name
            if OF_OPTIONS.search(name):
                yield from WORD.findall(value)


def options_of(words: Iterable[str]) -> Iterator[str]:
    """The options of a compiler's command that change device code, each with its value."""
    left = iter(words)
    for word in left:
        name = word.lstrip("-")
        if word == name:
            continue
        own = name.partition("=")[0]
        value = f"={next(left, '')}" if own == name and name in VALUED and len(name) > 1 else ""
        if own in CHANGING or name.startswith(("D", "U")):
            yield f"-{name}{value}"


def text_of(data: bytes | None) -> str:
    """The text of a file, which may be damaged; empty where there is none."""
    return "" if data is None else readable(decoded(data).text)

"""Recognise words that may be compiler options in build files, scripts and option lists."""

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
"""Commands, variables and keywords whose arguments may become compiler options."""
SCRIPT = re.compile(r".*\.(?:py|pl|rb|sh|bash|ps1|bat|cmd|json|ya?ml|toml|cfg|ini)")
"""Names of files in which options have a leading dash; in a list of words they may not."""
WORD = re.compile(r"[^\s\"'`,;:()\[\]{}<>$=]+")
_TOKEN = re.compile(r"[^\s\"'`,;()\[\]{}<>$]+")
"""A word of a command, with its value, as a shell or a script writes it."""
_IDLE = frozenset(
    "dropped output refused host language include quote after system response elsewhere guarded "
    "unknown optimize".split()
)
_KINDS = {**VALUED, **FLAGS}
NO_CODE = frozenset(name for name, kind in _KINDS.items() if kind in ("dropped", "output"))
"""Compiler options that do not affect the compiled code."""
CHANGING = frozenset(
    name for name, kind in _KINDS.items() if kind not in _IDLE and (len(name) > 1 or name == "G")
)
"""Compiler options that affect device code, except macros."""


def words_in(data: bytes | None, every: bool) -> frozenset[str]:
    """The words in a text without leading dashes: all, or only those that had one."""
    text = text_of(data)
    words = WORD.findall(text)
    found = {w.lstrip("-") for w in words if every or w.startswith("-")}
    return frozenset((*found, *_options_in(text))) - {""}


def _options_in(text: str) -> Iterator[str]:
    """Options in a text with their values, as ``maxrregcount=40`` even if separated by a blank."""
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
    """The options in a compiler command that affect device code, each with its value."""
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
    """The text of a possibly damaged file; empty if there is no file."""
    return "" if data is None else readable(decoded(data).text)

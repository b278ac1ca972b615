"""Make JSON for files and screens: ASCII only, so that strings cannot affect a terminal or log.

Outside strings JSON is ASCII. Inside, every other character is escaped, which every JSON parser
reverses. The text can therefore be shown, piped and logged whatever an input's name.
"""

from __future__ import annotations

import re

from lmemscope.exporters.escape import COMMAND_ANYWHERE
from lmemscope.formats import codec, seal

_OTHER = re.compile("[^\n -~]")


def document(value: object) -> str:
    """A structure as a file: indented, with a final newline."""
    return _plain(codec.pretty(value))


def sealed(value: object) -> str:
    """As `document`, with a digest of it as the last field."""
    return _plain(codec.indented(seal.sealed(codec.encode(value))))


def _plain(text: str) -> str:
    if not text.isascii() or "\x7f" in text:
        text = _OTHER.sub(_escaped, text)
    return COMMAND_ANYWHERE.sub(r"\\u0023#", text)


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))

"""Escape foreign text for SARIF: messages without links, locations as URIs."""

from __future__ import annotations

import posixpath
import re

from lmemscope.exporters.escape import visible

# ``[text](target)`` in a message is a link (SARIF 2.1.0, 3.11.6) and cannot be escaped.
_LINK = re.compile(r"\](?=\()")


def message(text: str) -> dict[str, str]:
    """A plain text message."""
    return {"text": name(text)}


def name(text: str) -> str:
    """Text that a viewer shows unchanged."""
    return _LINK.sub("] ", visible(text, lines=True))


def uri(path: str) -> str:
    """A path as a URI, relative or on this machine; a name that is not UTF-8 is kept as bytes."""
    from urllib.parse import quote

    # Two leading slashes would refer to another machine.
    plain = posixpath.normpath(f"/{path.lstrip('/')}") if path.startswith("/") else path
    try:
        quoted = quote(plain, errors="surrogateescape")
    except UnicodeEncodeError:
        quoted = quote(plain, errors="surrogatepass")
    return f"file://{quoted}" if path.startswith("/") else quoted

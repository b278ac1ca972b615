"""Foreign text in SARIF: messages without links, places as URIs."""

from __future__ import annotations

import posixpath
import re

from lmemscope.exporters.escape import visible

# ``[text](target)`` in a message is a link (SARIF 2.1.0, 3.11.6), for which there is no escape.
_LINK = re.compile(r"\](?=\()")


def message(text: str) -> dict[str, str]:
    """A message of plain text."""
    return {"text": name(text)}


def name(text: str) -> str:
    """What a viewer shows as it is."""
    return _LINK.sub("] ", visible(text, lines=True))


def uri(path: str) -> str:
    """A path as a URI: relative, or of this machine; a name that is no UTF-8 is its bytes."""
    from urllib.parse import quote

    # What stands behind two slashes would be another machine.
    plain = posixpath.normpath(f"/{path.lstrip('/')}") if path.startswith("/") else path
    try:
        quoted = quote(plain, errors="surrogateescape")
    except UnicodeEncodeError:
        quoted = quote(plain, errors="surrogatepass")
    return f"file://{quoted}" if path.startswith("/") else quoted

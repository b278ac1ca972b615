"""Whose code a line is: nobody changes, or writes comments into, an installed header."""

from __future__ import annotations

import re

from lmemscope.model import Advice, SourceLocation

_INSTALLED = re.compile(
    r"/(?:site|dist)-packages/|^/usr/(?:local/)?include/|^/(?:usr/local|opt)/[^/]*cuda"
    r"|/targets/[^/]+/include/"
)
"""Directories of the system, of a toolkit, and of packages."""

NOT_YOURS = Advice(
    "This is the code of an installed header: call it with other types or sizes, or use something "
    "else, or leave it as it is."
)
"""Instead of advice on what to change in such a line."""


def is_installed(place: SourceLocation | None) -> bool:
    """Whether a line is in a header of the system, of a toolkit or of an installed package."""
    return place is not None and _INSTALLED.search(place.file) is not None

"""Match paths with the globs of ``--include`` and ``--exclude``."""

from __future__ import annotations

import functools
import re

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^]/]{0,64}\]|.", re.DOTALL)
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(path: str, glob: str) -> bool:
    """Whether a glob matches a path.

    ``*`` and ``?`` match within a directory, ``**`` also across directories. A glob without a slash
    is compared with the file's name, as in gitignore(5).

    Args:
        path: relative, with slashes.
        glob: from the same directory.
    """
    return _pattern(glob).fullmatch(path) is not None


@functools.lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    glob = glob if "/" in glob else f"**/{glob}"
    return re.compile("".join(map(_translated, _PARTS.findall(glob))), re.DOTALL)


def _translated(part: str) -> str:
    if len(part) > 2 and part.startswith("["):
        inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
        return f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    return _MEANING.get(part) or re.escape(part)

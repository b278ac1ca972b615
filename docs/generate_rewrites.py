"""Write docs/rewrites.md from the rewrites' docstrings: python docs/generate_rewrites.py"""

from __future__ import annotations

from pathlib import Path

from lmemscope.rewrites import ADDITIONS, REWRITES
from lmemscope.rewrites.base import Addition, Rewrite

TARGET = Path(__file__).parent / "rewrites.md"
HEAD = """\
# Rewrites

[`lmemscope fix`](fix.md) tries these rewrites in this order. It tries pairs if no single rewrite
removes an object. Each section says why a rewrite is safe, or which promise it needs.
"""


def section(rewrite: Rewrite | Addition) -> str:
    """A rewrite's page as a section."""
    title, _, body = rewrite.page.partition("\n")
    causes = ", ".join(sorted(rewrite.causes))
    return f"## {rewrite.name}\n\n{title}. Tried on: {causes}.\n\n{body.strip()}\n"


def whole() -> str:
    """The whole text."""
    return "\n".join([HEAD, *map(section, (*REWRITES, *ADDITIONS))])


if __name__ == "__main__":
    TARGET.write_text(whole())

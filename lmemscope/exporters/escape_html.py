"""Make HTML: text is escaped unless its type says that it is markup.

Pages come from templates (`html.py`), in which every value passes through `shown`: whatever is not
`Html` is foreign text. There is no other way in: see tests/test_escaping.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from importlib import resources

from lmemscope.exporters.escape import COMMAND_ANYWHERE, spans, visible

# Neutralises commands to a CI server in a printed page; the entity costs nothing.
_AT_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Html:
    """Markup that is balanced and safe."""

    markup: str

    def __html__(self) -> str:
        """For templates, which escape objects without this method."""
        return self.markup


def html(text: str, *, lines: bool = False) -> Html:
    """Foreign text, escaped; ``lines`` keeps line ends and tabs, for ``pre``."""
    markup = _AT_START.sub(r"\1&#58;", escape(visible(text, lines=lines)))
    return Html(COMMAND_ANYWHERE.sub("&#35;#", markup))


def shown(value: object) -> object:
    """What a template writes for a value: markup unchanged, text and numbers escaped."""
    if hasattr(value, "__html__"):
        return value
    if not isinstance(value, (str, int)):
        raise TypeError(f"a page shows text and numbers, not {type(value).__name__}")
    return html(str(value))


def prose(sentence: str) -> Html:
    """A sentence whose backticks mark code."""
    made = (
        f"<code>{html(text).markup}</code>" if code else html(text).markup
        for code, text in spans(sentence)
    )
    return Html("".join(made))


def shipped(name: str) -> Html:
    """A style sheet or script of this package, as included in the page."""
    text = resources.files("lmemscope.exporters.page").joinpath(name).read_text("utf-8")
    return Html(text.strip())

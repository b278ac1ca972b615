"""HTML that only this module makes: text is escaped unless its type says that it is markup.

A page is built of `element`; a child that is a string is foreign text and is escaped, a child that
is `Html` is markup already. There is no other way in: see tests/unit/exporters/test_escaping.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import LiteralString

from lmemscope.exporters.escape import COMMAND_ANYWHERE, spans, visible

_VOID = frozenset({"br", "meta"})
# What a CI server would take for a command in a page that is printed; an entity costs nothing.
_AT_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Html:
    """Markup, balanced and safe."""

    markup: str


Child = Html | str
Attribute = str | int | bool | None

NOTHING = Html("")


def html(text: str, *, lines: bool = False) -> Html:
    """Foreign text; ``lines`` keeps ends of lines and tabs, for ``pre``."""
    markup = _AT_START.sub(r"\1&#58;", escape(visible(text, lines=lines)))
    return Html(COMMAND_ANYWHERE.sub("&#35;#", markup))


def constant(markup: LiteralString) -> Html:
    """Markup, a style sheet or a script that is written in a module of ours."""
    return Html(markup)


def element(tag: LiteralString, *children: Child, **attributes: Attribute) -> Html:
    """``<tag attribute="value">children</tag>``.

    Args:
        tag: its name.
        children: text is escaped.
        attributes: ``class_`` and ``data_v`` stand for ``class`` and ``data-v``; None and False
            leave one out, True gives it no value.
    """
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{given}>")
    lines = tag == "pre"
    inner = "".join(
        child.markup if isinstance(child, Html) else html(child, lines=lines).markup
        for child in children
    )
    return Html(f"<{tag}{given}>{inner}</{tag}>")


def joined(parts: Iterable[Child]) -> Html:
    """Parts one after the other, a line each."""
    texts = (part.markup if isinstance(part, Html) else html(part).markup for part in parts)
    return Html("\n".join(text for text in texts if text))


def prose(sentence: str) -> Html:
    """A sentence whose backticks mark code."""
    made = (element("code", text) if code else html(text) for code, text in spans(sentence))
    return Html("".join(part.markup for part in made))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{html(str(value)).markup}"'

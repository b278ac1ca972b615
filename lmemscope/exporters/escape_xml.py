"""XML that only this module writes: what XML forbids is spelled out, the rest is escaped."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from lmemscope.exporters.escape import COMMAND_ANYWHERE, visible

_AT_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


def document(root: ElementTree.Element) -> str:
    """A tree whose texts and attributes are foreign, indented; none of its own text is lost.

    Whatever XML 1.0 has no character for is visible as in every other format. What is layout is
    made here, after that.
    """
    for element in root.iter():
        for name, value in element.items():
            element.set(name, visible(value))
        if element.text is not None:
            element.text = visible(element.text, lines=True)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    # Printed, no line of it is a command to a CI server; an entity costs nothing.
    text = COMMAND_ANYWHERE.sub("&#35;#", _AT_START.sub(r"\1&#58;", text))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

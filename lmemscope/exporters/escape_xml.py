"""Make XML: characters that XML forbids are spelled out, the others escaped."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from lmemscope.exporters.escape import COMMAND_ANYWHERE, visible

_AT_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


def document(root: ElementTree.Element) -> str:
    """An element tree with foreign texts and attributes as indented XML, without losing any text.

    Characters that XML 1.0 does not allow become visible escapes, as in every other format. Layout
    is added afterwards.
    """
    for element in root.iter():
        for name, value in element.items():
            element.set(name, visible(value))
        if element.text is not None:
            element.text = visible(element.text, lines=True)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    # Neutralises commands to a CI server in printed XML; the entity costs nothing.
    text = COMMAND_ANYWHERE.sub("&#35;#", _AT_START.sub(r"\1&#58;", text))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

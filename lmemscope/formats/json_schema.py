"""Generate the published JSON Schema (draft 2020-12) of a document from its structure.

Descriptions come from the docstrings of the structures, those of fields from ``Attributes:``.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, get_type_hints

import msgspec

from lmemscope.formats.documents import schema_of

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ATTRIBUTE = re.compile(r"^ {4}(\w+(?:, \w+)*): ", re.MULTILINE)
_PYTHON = re.compile(r"\b(?:None|True|False)\b")
_JSON = {"None": "null", "True": "true", "False": "false"}


def json_schema(structure: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a document; every structure in it is under ``$defs`` by name."""
    name, _, version = schema_of(structure).partition("/")
    (_,), parts = msgspec.json.schema_components((structure,), ref_template="#/$defs/{name}")
    known = _structures(structure, {})
    parts = {name: parts[name] for name in known}
    for kind in known.values():
        for unwritten in _unwritten(kind):
            del parts[kind.__name__]["properties"][unwritten]
        _describe(parts[kind.__name__], kind)
    root = parts.pop(structure.__name__)
    return {
        "$schema": DRAFT,
        "$id": f"urn:{name.replace('.', ':')}:{version}",
        **root,
        "title": schema_of(structure),
        "$defs": dict(sorted(parts.items())),
    }


def _structures(kind: Any, found: dict[str, type[object]]) -> dict[str, type[object]]:
    """The structures in a type, by name."""
    is_structure = inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    if is_structure and kind.__name__ not in found:
        found[kind.__name__] = kind
        for field, hint in get_type_hints(kind).items():
            if field not in _unwritten(kind):
                _structures(hint, found)
    for argument in getattr(kind, "__args__", ()):
        _structures(argument, found)
    return found


def _unwritten(kind: type[object]) -> tuple[str, ...]:
    """The fields of a structure that documents never contain."""
    return getattr(kind, "UNWRITTEN", ())


def _describe(part: dict[str, Any], kind: type[object]) -> None:
    """Add descriptions from the docstring: the text before ``Attributes:``, then the fields."""
    text, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
    if text:
        part["description"] = _joined(text)
    for base in reversed(kind.__mro__):
        if base is not kind and base.__doc__ and hasattr(base, "__annotations__"):
            _describe_fields(part, inspect.cleandoc(base.__doc__).partition("\nAttributes:\n")[2])
    _describe_fields(part, attributes)


def _describe_fields(part: dict[str, Any], attributes: str) -> None:
    words = _ATTRIBUTE.split(attributes)[1:]
    for names, meaning in zip(words[::2], words[1::2], strict=True):
        for name in names.split(", "):
            if name in part["properties"]:
                part["properties"][name]["description"] = _joined(meaning)


def _joined(text: str) -> str:
    words = " ".join(text.replace("``", "`").split())
    return _PYTHON.sub(lambda match: _JSON[match[0]], words)

"""``lmemscope schema``: print the JSON Schema of a document that the program writes."""

from __future__ import annotations

import importlib

import click
from msgspec import Struct

from lmemscope.commands.say import say, show

_EXIT_USAGE = 2
SCHEMAS = {
    "baseline": "lmemscope.model:Baseline",
    "diff": "lmemscope.model:Difference",
    "fix": "lmemscope.exporters.fix_document:FixDocument",
    "gate": "lmemscope.exporters.gate_document:GateDocument",
    "measure": "lmemscope.model:Measurement",
    "report": "lmemscope.model:Report",
    "tune": "lmemscope.model:TuneReport",
}
"""Name and structure of each document; add a line here for a new one."""


@click.command(name="schema")
@click.argument("name", required=False, metavar="[NAME]")
def command(name: str | None) -> None:
    """List the documents that have a schema, or print the JSON Schema of one (draft 2020-12).

    \b
    Examples:
      lmemscope schema
      lmemscope schema report > report.schema.json
    """
    from lmemscope.exporters.escape_json import document
    from lmemscope.formats.documents import schema_of
    from lmemscope.formats.json_schema import json_schema

    if name is None:
        for known in SCHEMAS:
            say(f"{known:<9}  {schema_of(structure(known))}")
        return
    if name not in SCHEMAS:
        say(f"error: [schema] there is no schema {name}", err=True)
        say(f"hint: one of {', '.join(SCHEMAS)}", err=True)
        raise SystemExit(_EXIT_USAGE)
    show(document(json_schema(structure(name))))


def structure(name: str) -> type[Struct]:
    """The structure of a document in `SCHEMAS`."""
    module, _, attribute = SCHEMAS[name].partition(":")
    found: type[Struct] = getattr(importlib.import_module(module), attribute)
    return found

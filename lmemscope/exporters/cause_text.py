"""Summarise a row's causes in a few words, for tables."""

from __future__ import annotations

from lmemscope.analysis.groups import Group
from lmemscope.exporters import layout
from lmemscope.model import Cause, traits_of


def causes_of(entry: Group) -> str:
    """Causes and variables only: `explain` shows where they are."""
    facts = [kernel.facts for _, kernel in entry.kernels]
    said: dict[Cause, list[str]] = {}
    for one in entry.causes:
        objects = [
            found
            for each in facts
            for found in each.objects
            if found.name == one.object is not None
        ]
        mark = "?" if any(found.confidence == "possible" for found in objects) else ""
        sizes = [found.size for found in objects]
        size = f"{layout.span(sizes)} B" if sizes else f"{one.frame} B" if one.frame.most else ""
        if traits_of(one.cause).verdict == "spill":
            size = f"{layout.spills(facts)} B"
        what = " ".join(part for part in (f"{one.object or ''}{mark}", size) if part)
        said.setdefault(one.cause, []).extend([what] if what else [])
    parts = [f"{cause}{': ' if found else ''}{', '.join(found)}" for cause, found in said.items()]
    return f"{'; '.join(parts) or entry.verdict.text}{doubt(entry)}"


def doubt(entry: Group) -> str:
    """A warning for a row whose sources disagree; empty for others."""
    disagree = any(kernel.facts.disagreements for _, kernel in entry.kernels)
    return " (sources disagree, see below)" if disagree else ""

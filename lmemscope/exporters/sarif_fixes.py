"""SARIF ``fixes`` for a finding, from the patch of its proven fix.

SARIF 2.1.0, section 3.55: a fix replaces regions of artifacts; a region that ends at the first
column of a line contains whole lines before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lmemscope.exporters import proven
from lmemscope.model import ProvenFix

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def fixes(fix: ProvenFix, text: Callable[[str], Any], uri: Callable[[str], str]) -> list[Any]:
    """The ``fixes`` property of a result.

    Args:
        fix: the proven fix.
        text: makes a message from foreign text.
        uri: makes a URI from a file's name.
    """
    changes = [
        {"artifactLocation": {"uri": uri(name)}, "replacements": replacements}
        for name, replacements in _files(proven.patch_lines(fix))
    ]
    return [{"description": text(proven.sentence(fix)), "artifactChanges": changes}]


def _files(lines: list[str]) -> Iterator[tuple[str, list[Any]]]:
    name, at = "", 0
    replacements: list[Any] = []
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("--- a/") and at < len(lines) and lines[at].startswith("+++ b/"):
            if name:
                yield name, replacements
            name, replacements = lines[at].removeprefix("+++ b/").partition("\t")[0], []
            at += 1
            continue
        found = _HUNK.match(line)
        if found is None:
            continue
        first, count = int(found[1]), int(found[2] or 1)
        inserted = ""
        while at < len(lines) and not lines[at].startswith("@@ ") and not _is_name(lines, at):
            mark, rest = lines[at][:1], lines[at][1:]
            inserted += f"{rest}\n" if mark in " +" else ""
            at += 1
        replacements.append(
            {
                "deletedRegion": {
                    "startLine": first,
                    "startColumn": 1,
                    "endLine": first + count,
                    "endColumn": 1,
                },
                "insertedContent": {"text": inserted},
            }
        )
    if name:
        yield name, replacements


def _is_name(lines: list[str], at: int) -> bool:
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return lines[at].startswith("--- a/") and following.startswith("+++ b/")

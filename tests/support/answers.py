"""What readers demand of the gate's formats: SARIF, JUnit's XML, GitHub's commands, a comment."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

import jsonschema

from tests.support.program import DATA

_PROPERTY = r"(?:file|line|title)=(?:[^%:,\s]|[^%:,\S\r\n]|%(?:25|0D|0A|3A|2C))+"
_COMMAND = re.compile(
    rf"::(?:error|warning|notice)(?: {_PROPERTY}(?:,{_PROPERTY})*)?::(?:[^%\r\n]|%(?:25|0D|0A))+"
)
"""A workflow command, and how its properties and its text are escaped (GitHub's documentation)."""
_PIPE = re.compile(r"(?<!\\)\|")
_OUTCOMES = {"failures": "failure", "errors": "error", "skipped": "skipped"}
_MOST = 65_536


@functools.cache
def _sarif_validator() -> Any:
    schema = json.loads((DATA / "sarif" / "sarif-schema-2.1.0.json").read_text())
    return jsonschema.Draft4Validator(schema)


def of_sarif(log: object) -> list[str]:
    """What the OASIS schema has against a log; see tests/support/data/sarif/README.md."""
    found = _sarif_validator().iter_errors(log)
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in found]


def of_junit(text: str) -> Iterator[str]:
    """What the servers that read JUnit's XML would stumble over."""
    root = ElementTree.fromstring(text)
    if root.tag != "testsuites":
        yield f"root {root.tag}"
    for suite in root:
        cases = list(suite)
        if suite.tag != "testsuite" or not suite.get("name"):
            yield f"suite {suite.tag} {suite.attrib}"
        sums = {"tests": len(cases)} | {
            key: sum(case.find(tag) is not None for case in cases) for key, tag in _OUTCOMES.items()
        }
        yield from (
            f"{suite.get('name')}: {key} is {suite.get(key)}"
            for key, number in sums.items()
            if suite.get(key) != str(number)
        )
        for case in cases:
            if case.tag != "testcase" or not case.get("name") or not case.get("classname"):
                yield f"case {case.tag} {case.attrib}"
            yield from (
                f"outcome {one.tag} {one.attrib}"
                for one in case
                if one.tag not in _OUTCOMES.values() or not one.get("message")
            )


def of_github(text: str) -> Iterator[str]:
    """Lines that GitHub would take for commands and not understand."""
    for line in text.split("\n"):
        if line.startswith("::") and not _COMMAND.fullmatch(line):
            yield line


def of_comment(text: str) -> Iterator[str]:
    """What GitHub would not take, or show otherwise than it is meant."""
    lines = text.split("\n")
    if lines[0] != "<!-- lmemscope -->":
        yield f"no mark: {lines[0]}"
    if len(text) > _MOST:
        yield f"{len(text)} characters"
    depth = 0
    for number, line in enumerate(lines):
        depth += (line == "<details>") - (line == "</details>")
        if line == "<details>" and not lines[number + 1].startswith("<summary>"):
            yield f"details without a summary: {lines[number + 1]}"
        row, above = _PIPE.findall(line), _PIPE.findall(lines[number - 1])
        if line.startswith("|") and lines[number - 1].startswith("|") and len(row) != len(above):
            yield f"a row of {len(row) - 1} cells below one of {len(above) - 1}: {line}"
    if depth:
        yield f"{depth} details are not closed"


OBJECTIONS: Mapping[str, Callable[[str], list[str]]] = {
    "sarif": lambda text: of_sarif(json.loads(text)),
    "junit": lambda text: [*of_junit(text)],
    "github": lambda text: [*of_github(text)],
    "pr-comment": lambda text: [*of_comment(text)],
}
"""What is wrong with an answer of the gate, by its format; nothing where all is well."""

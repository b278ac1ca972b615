"""Parse ``bazel aquery`` output: the commands of a Bazel build, which it stores in no file.

Formats: ``--output=text`` (Bazel's ``ActionGraphTextOutputFormatterCallback``), and
``ActionGraphContainer`` of ``analysis_v2.proto`` as ``--output=textproto`` and
``--output=jsonproto``. Only the command of each action is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lmemscope.formats.repeated_keys import telling_repeated
from lmemscope.formats.shell_words import shell_words

_COMMAND = "  Command Line: "
_CONTINUED = " \\"
_TEXT = re.compile(r"^action '", re.MULTILINE)
_TEXTPROTO = re.compile(r"^actions \{", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^  Environment: \[(.*)\]$")
_ARGUMENT = re.compile(r'arguments: "((?:[^"\\]|\\.)*)"')
_PAIR = re.compile(r'(key|value): "((?:[^"\\]|\\.)*)"')
_BYTES = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


@dataclass(frozen=True, slots=True)
class Action:
    """A command in a build.

    Attributes:
        arguments: its words, the program first; relative paths start at the execution root.
        environment: variables that Bazel sets for it.
    """

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def parse_aquery(text: str) -> tuple[Action, ...]:
    """The actions in an output that have a command.

    Raises:
        ValueError: the text is in none of the three forms, or a command cannot be parsed.
    """
    if text.lstrip()[:1] == "{":
        return tuple(_of_json(json.loads(text, object_pairs_hook=telling_repeated)))
    if _TEXTPROTO.search(text) is not None:
        return tuple(_of_textproto(text))
    if _TEXT.search(text) is not None:
        return tuple(_of_text(text))
    raise ValueError("it is no output of bazel aquery: text, textproto or jsonproto")


def _of_json(document: Any) -> Iterator[Action]:
    actions = document.get("actions", [])
    if not isinstance(actions, list):
        raise ValueError("it has no actions, as --output=jsonproto writes them")
    for action in actions:
        if not isinstance(action, dict):
            raise ValueError("an action is no object")
        words, pairs = action.get("arguments", []), action.get("environmentVariables", [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("an action's arguments are not a list of strings")
        if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
            raise ValueError("an action's environment is not a list of objects")
        variables = tuple((str(one.get("key")), str(one.get("value", ""))) for one in pairs)
        if words:
            yield Action(tuple(words), variables)


def _of_textproto(text: str) -> Iterator[Action]:
    """Bazel prints one field per line; the indentation differs between versions."""
    words: list[str] = []
    variables: dict[str, str] = {}
    inside: list[str] = []
    key = ""
    for line in map(str.strip, text.split("\n")):
        if line.endswith("{"):
            inside.append(line.rstrip(" {"))
            if inside == ["actions"]:
                words, variables = [], {}
        elif line == "}":
            if inside == ["actions"] and words:
                yield Action(tuple(words), tuple(variables.items()))
            del inside[-1:]
        elif inside == ["actions"] and (found := _ARGUMENT.fullmatch(line)):
            words.append(_unescaped(found[1]))
        elif inside == ["actions", "environment_variables"] and (found := _PAIR.fullmatch(line)):
            if found[1] == "key":
                key = _unescaped(found[2])
                variables[key] = ""
            else:
                variables[key] = _unescaped(found[2])


def _of_text(text: str) -> Iterator[Action]:
    """One argument per line, quoted for a shell, in ``(exec …)`` except on Windows."""
    lines = iter(text.split("\n"))
    variables: tuple[tuple[str, str], ...] = ()
    for line in lines:
        if line.startswith("action '"):
            variables = ()
        elif found := _ENVIRONMENT.match(line):
            pairs = (one.partition("=") for one in found[1].split(", "))
            variables = tuple((name, value) for name, _, value in pairs)
        elif line.startswith(_COMMAND):
            command = line.removeprefix(_COMMAND)
            parts = [command]
            while parts[-1].endswith(_CONTINUED):
                parts[-1] = parts[-1].removesuffix(_CONTINUED)
                parts.append(next(lines, ""))
            command = "\n".join(parts)
            if command.startswith("(exec ") and command.endswith(")"):
                command = command[len("(exec ") : -1]
            yield Action(tuple(shell_words(command)), variables)


def _unescaped(text: str) -> str:
    """A string in protobuf's text format, whose escapes stand for bytes."""

    def byte(match: re.Match[bytes]) -> bytes:
        octal, hexadecimal, letter = match.groups()
        if octal is not None:
            return bytes([int(octal, 8) & 0xFF])
        if hexadecimal is not None:
            return bytes([int(hexadecimal, 16)])
        return _LETTERS.get(letter, letter)

    if "\\" not in text:
        return text
    raw = text.encode("utf-8", "surrogateescape")
    return _BYTES.sub(byte, raw).decode("utf-8", "surrogateescape")

"""Expand the commands in ``build.ninja``, as ninja runs and logs them.

Grammar: the Ninja manual, "Ninja file reference". Variables of a file and of a build statement are
expanded where they are written; those of a rule for each build statement, whose own variables come
first. ``$in`` and ``$out`` are quoted for a shell. A file named by ``include`` is read in the scope
of the including file, one named by ``subninja`` in its own scope below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lmemscope.formats.build_ninja import Edge, logical_lines, parse_edge

_REFERENCE = re.compile(r"\$(?:([\w-]+)|\{([\w.-]+)\}|([ :$]))", re.ASCII)
_PLAIN = re.compile(r"[\w+./-]+", re.ASCII)
_LARGEST = 1 << 27
_MOST_FILES = 1 << 14
_DEEPEST = 32


@dataclass(slots=True)
class _Scope:
    """Rules with their variables as written, and the variables of a file."""

    above: _Scope | None = None
    rules: dict[str, dict[str, str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """A variable's value; empty if it has none, as for ninja."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.above
        return ""

    def rule(self, name: str) -> dict[str, str]:
        """The variables of a rule; empty if there is no such rule."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.rules:
                return scope.rules[name]
            scope = scope.above
        return {}


class NinjaFile:
    """A build file, including those it names.

    Attributes:
        edges: build statements by output, with paths and their own variables expanded.
    """

    def __init__(self, read: Callable[[str], str]) -> None:
        """Start empty.

        Args:
            read: returns the text of a file by its name as written; `add` does not catch its
                errors.
        """
        self.edges: dict[str, Edge] = {}
        self._read = read
        self._top = _Scope()
        self._scopes: dict[str, _Scope] = {}
        self._left, self._files = _LARGEST, 0

    def add(self, text: str) -> None:
        """Read a file, and those it includes, in the scope of those before it.

        Raises:
            ValueError: files include one another, or values are implausibly long; `command` raises
                it too.
        """
        self._add(text, self._top, 0)

    def command(self, output: str, *, with_response: bool = True) -> str | None:
        """The command that makes an output; None if there is none.

        Args:
            output: as in `edges`.
            with_response: append the content of its response file, as in Ninja's log; otherwise
                replace ``@FILE`` by it, because Ninja does not keep the file.
        """
        edge = self.edges.get(output)
        if edge is None:
            return None
        scope = self._scopes[output]
        rule = scope.rule(edge.rule)
        if "command" not in rule:
            return None
        inputs = [*map(_quoted, edge.inputs)]
        known = {
            "in": " ".join(inputs),
            "in_newline": "\n".join(inputs),
            "out": " ".join(map(_quoted, edge.outputs)),
        }

        def value(name: str) -> str:
            if name not in known:
                known[name] = ""  # for a variable that refers to itself
                if name in edge.bindings:
                    known[name] = edge.bindings[name]
                elif name in rule:
                    known[name] = self._evaluated(rule[name], value)
                else:
                    known[name] = scope.value(name)
            return known[name]

        command, content = value("command"), value("rspfile_content")
        if not content:
            return command
        if with_response:
            return f"{command};rspfile={content}"
        named = re.compile(rf"(?<!\S)@{re.escape(value('rspfile'))}(?!\S)")
        return named.sub(lambda _: " ".join(content.split("\n")), command)

    def _add(self, text: str, scope: _Scope, depth: int) -> None:
        self._files += 1
        if depth > _DEEPEST or self._files > _MOST_FILES:
            raise ValueError("its files include one another, or are more than any build's")
        for line, bindings in _statements(text):
            word, _, rest = line.partition(" ")
            if word == "build":
                self._add_edge(rest, bindings, scope)
            elif word == "rule":
                scope.rules[rest.strip()] = dict(bindings)
            elif word in ("include", "subninja"):
                inner = scope if word == "include" else _Scope(scope)
                name = self._evaluated(rest.strip(), scope.value)
                self._add(self._read(name), inner, depth + 1)
            else:
                name, equals, value = line.partition("=")
                if equals and _PLAIN.fullmatch(name.strip()):
                    scope.variables[name.strip()] = self._evaluated(value.strip(), scope.value)

    def _add_edge(self, statement: str, bindings: list[tuple[str, str]], scope: _Scope) -> None:
        own = _Scope(scope)
        for name, text in bindings:
            own.variables[name] = self._evaluated(text, scope.value)
        edge = parse_edge(statement, lambda path: self._evaluated(path, own.value))
        if edge is not None:
            edge.bindings.update(own.variables)
            self.edges.update(dict.fromkeys(edge.outputs, edge))
            self._scopes.update(dict.fromkeys(edge.outputs, scope))

    def _evaluated(self, text: str, value: Callable[[str], str]) -> str:
        """Text with its variables expanded."""
        parts: list[str] = []
        at = 0
        for match in _REFERENCE.finditer(text):
            name = match[1] or match[2]
            parts += (text[at : match.start()], match[3] if name is None else value(name))
            at = match.end()
            self._left -= len(parts[-1])
            if self._left < 0:
                raise ValueError("the values of its variables are longer than any build's")
        return "".join((*parts, text[at:]))


def _statements(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each line that is not indented, with the variables set by the indented lines below."""
    line, bindings = "", list[tuple[str, str]]()
    for one in logical_lines(text):
        if one.lstrip().startswith("#"):
            continue
        if one[:1] in (" ", "\t"):
            name, equals, value = one.strip().partition("=")
            if equals:
                bindings.append((name.strip(), value.strip()))
        else:
            yield line, bindings
            line, bindings = one, []
    yield line, bindings


def _quoted(path: str) -> str:
    """A path as ninja quotes it for a shell."""
    return path if _PLAIN.fullmatch(path) else "'" + path.replace("'", "'\\''") + "'"

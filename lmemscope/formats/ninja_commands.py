"""The commands of ``build.ninja`` with the values of their variables, as ninja runs and logs them.

Grammar: the Ninja manual, "Ninja file reference". The variables of a file and those of a build
statement have their values where they are written; those of a rule get theirs for each build
statement, whose own come first. ``$in`` and ``$out`` are quoted for a shell. What ``subninja``
names has a scope of its own and is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lmemscope.formats.build_ninja import CONTINUED, Edge, parse_build_ninja

_REFERENCE = re.compile(r"\$(?:([\w-]+)|\{([\w.-]+)\}|([ :$]))", re.ASCII)
_PLAIN = re.compile(r"[\w+./-]+", re.ASCII)
_INCLUDE = re.compile(r"^include[ \t]+(.+)$", re.MULTILINE)
_LARGEST = 1 << 27
_MOST_INCLUDED = 16


@dataclass(slots=True)
class NinjaFile:
    """What build files say.

    Attributes:
        rules: variables of each rule, as written.
        variables: of the file.
        edges: build statements by output.
        left: characters that values may still have.
    """

    rules: dict[str, dict[str, str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    left: int = _LARGEST

    def command(self, output: str, *, with_response: bool = True) -> str | None:
        """The command that makes an output; None where none does.

        Args:
            output: as written.
            with_response: whether what its response file holds follows, as in Ninja's log.
        """
        edge = self.edges.get(output)
        rule = self.rules.get(edge.rule) if edge is not None else None
        if edge is None or rule is None or "command" not in rule:
            return None
        known = {
            "in": " ".join(map(_quoted, edge.inputs)),
            "out": " ".join(map(_quoted, edge.outputs)),
        }

        def value(name: str) -> str:
            if name in known:
                return known[name]
            known[name] = ""  # For a variable that its own value names.
            if name in edge.bindings:
                known[name] = self._evaluated(edge.bindings[name], self._of_file)
            elif name in rule:
                known[name] = self._evaluated(rule[name], value)
            else:
                known[name] = self._of_file(name)
            return known[name]

        content = value("rspfile_content") if with_response else ""
        return f"{value('command')};rspfile={content}" if content else value("command")

    def _of_file(self, name: str) -> str:
        return self.variables.get(name, "")

    def _evaluated(self, text: str, value: Callable[[str], str]) -> str:
        """Text with the values of its variables."""
        parts: list[str] = []
        at = 0
        for match in _REFERENCE.finditer(text):
            name = match[1] or match[2]
            parts += (text[at : match.start()], match[3] if name is None else value(name))
            at = match.end()
            self.left -= len(parts[-1])
            if self.left < 0:
                raise ValueError("the values of its variables are longer than any build's")
        return "".join((*parts, text[at:]))

    def add(self, text: str) -> None:
        """Read one more file, in the scope of those before it.

        Raises:
            ValueError: values are longer than those of any build; `command` raises it too.
        """
        for edge in parse_build_ninja(text):
            self.edges.update(dict.fromkeys(edge.outputs, edge))
        rule: dict[str, str] | None = None
        for line in CONTINUED.sub("", text).splitlines():
            if line[:1] in (" ", "\t"):
                name, equals, value = line.strip().partition("=")
                if rule is not None and equals:
                    rule[name.strip()] = value.strip()
                continue
            rule = None
            if line.startswith("rule "):
                rule = self.rules.setdefault(line.removeprefix("rule ").strip(), {})
                continue
            name, equals, value = line.partition("=")
            if equals and _PLAIN.fullmatch(name.strip()):
                value = self._evaluated(value.strip(), self._of_file)
                self.variables[name.strip()] = value


def included(text: str) -> tuple[str, ...]:
    """The files that a build file includes, as written; not more than builds have."""
    return tuple(dict.fromkeys(name.strip() for name in _INCLUDE.findall(text)))[:_MOST_INCLUDED]


def _quoted(path: str) -> str:
    """A path as ninja quotes it for a shell."""
    return path if _PLAIN.fullmatch(path) else "'" + path.replace("'", "'\\''") + "'"

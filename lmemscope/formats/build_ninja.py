"""Parse ``build.ninja``: which objects a build's device links use.

Grammar: the Ninja manual, "Ninja file reference", as far as CMake's generator uses it: build
statements, their indented bindings, ``$`` escapes. CMake names the rule of a device link after its
kind and target: ``CUDA_EXECUTABLE_DEVICE_LINKER__app_Release`` (cmNinjaNormalTargetGenerator.cxx).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_CONTINUED = re.compile(r"(?<!\$)((?>(?:\$\$)*))\$\r?\n[ \t]*")
_ESCAPED = re.compile(r"\$([ :$])")
_WORD = re.compile(r"(?>(?:[^ \t$]|\$.?)+)")
_OUTPUTS = re.compile(r"((?>(?:[^$:]|\$.?)*)):")


@dataclass(frozen=True, slots=True)
class Edge:
    """A build statement.

    Attributes:
        rule: its name.
        outputs, inputs: explicit ones, as written.
        bindings: its own variables, as written.
    """

    rule: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    bindings: dict[str, str] = field(default_factory=dict)

    @property
    def is_device_link(self) -> bool:
        """Whether it links device code."""
        return "_DEVICE_LINKER_" in self.rule

    @property
    def is_cuda_compilation(self) -> bool:
        """Whether it compiles CUDA."""
        return self.rule.startswith("CUDA_COMPILER_")

    @property
    def is_archive(self) -> bool:
        """Whether it creates a static library."""
        return "_STATIC_LIBRARY_LINKER_" in self.rule


def logical_lines(text: str) -> list[str]:
    """Lines, joined with their continuations (``$`` at the end)."""
    return _CONTINUED.sub(r"\1", text).splitlines()


def parse_build_ninja(text: str) -> tuple[Edge, ...]:
    """The build statements in a file; anything else is skipped."""
    edges: list[Edge] = []
    current: Edge | None = None
    for line in logical_lines(text):
        if line.startswith("build "):
            current = parse_edge(line.removeprefix("build "), _unescaped)
            if current is not None:
                edges.append(current)
        elif current is not None and line[:1] in (" ", "\t"):
            name, equals, value = line.strip().partition("=")
            if equals:
                current.bindings[name.strip()] = value.strip()
        else:
            current = None
    return tuple(edges)


def parse_edge(statement: str, path: Callable[[str], str]) -> Edge | None:
    """Parse the text after ``build``; None if it is not a build statement.

    Args:
        statement: on one line.
        path: expands a path as written.
    """
    outputs = _OUTPUTS.match(statement)
    if outputs is None:
        return None
    words = _WORD.findall(statement[outputs.end() :])
    if not words:
        return None
    inputs = map(path, _explicit(words[1:]))
    return Edge(words[0], tuple(map(path, _explicit(_WORD.findall(outputs[1])))), tuple(inputs))


def _unescaped(word: str) -> str:
    return _ESCAPED.sub(r"\1", word)


def _explicit(words: list[str]) -> list[str]:
    """The words before ``|``, which starts the implicit ones."""
    ends = [at for at, word in enumerate(words) if word in ("|", "||", "|@")]
    return words[: ends[0]] if ends else words

"""``build.ninja``: which objects a build links device code from.

Grammar: the Ninja manual, "Ninja file reference", as far as CMake's generator writes it: build
statements, their indented bindings, ``$`` escapes. CMake names the rule of a device link after its
kind and target: ``CUDA_EXECUTABLE_DEVICE_LINKER__app_Release`` (cmNinjaNormalTargetGenerator.cxx).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

CONTINUED = re.compile(r"\$\r?\n[ \t]*")
_ESCAPED = re.compile(r"\$([ :$])")
_SPLIT = re.compile(r"(?<!\$)[ \t]+")
_COLON = re.compile(r"(?<!\$):")


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
        """Whether it makes a static library."""
        return "_STATIC_LIBRARY_LINKER_" in self.rule


def parse_build_ninja(text: str) -> tuple[Edge, ...]:
    """The build statements of a file; what is none is passed over."""
    edges: list[Edge] = []
    current: Edge | None = None
    for line in CONTINUED.sub("", text).splitlines():
        if line.startswith("build "):
            current = _edge(line.removeprefix("build "))
            if current is not None:
                edges.append(current)
        elif current is not None and line[:1] in (" ", "\t"):
            name, equals, value = line.strip().partition("=")
            if equals:
                current.bindings[name.strip()] = value.strip()
        else:
            current = None
    return tuple(edges)


def _edge(statement: str) -> Edge | None:
    parts = _COLON.split(statement, maxsplit=1)
    if len(parts) != 2:
        return None
    outputs, words = _words(parts[0]), _words(parts[1])
    if not words:
        return None
    return Edge(words[0], _explicit(outputs), _explicit(words[1:]))


def _words(text: str) -> list[str]:
    return [_ESCAPED.sub(r"\1", word) for word in _SPLIT.split(text.strip()) if word]


def _explicit(words: list[str]) -> tuple[str, ...]:
    """Those before ``|``, behind which stand implicit ones."""
    ends = [at for at, word in enumerate(words) if word in ("|", "||", "|@")]
    return tuple(words[: ends[0]] if ends else words)

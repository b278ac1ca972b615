"""Read the commands in CMake's Makefiles: ``build.make`` and ``flags.make`` of a target.

As cmMakefileTargetGenerator.cxx writes them: a recipe is ``cd DIRECTORY && COMMAND``, or only the
command in the top directory, with variables from ``flags.make`` for options common to all sources.
"""

from __future__ import annotations

import re

_VARIABLE = re.compile(r"^(\w+) =[ \t]*(.*)$", re.MULTILINE | re.ASCII)
_REFERENCE = re.compile(r"\$(?:\((\w+)\)|(\$))", re.ASCII)
_CHANGED = re.compile(r"cd (?:[^\s&\"]+|\"[^\"]+\") && ")


def commands(build: str, flags: str) -> tuple[str, ...]:
    """The commands in a target's recipes, with variables expanded.

    Args:
        build: text of ``build.make``.
        flags: text of ``flags.make``.
    """
    variables = {name: value.rstrip() for name, value in _VARIABLE.findall(flags)}

    def value(match: re.Match[str]) -> str:
        return match[2] or variables.get(match[1], match[0])

    recipes = (line[1:] for line in build.splitlines() if line[:1] == "\t" and line[1:2] != "@")
    return tuple(_REFERENCE.sub(value, _CHANGED.sub("", line, count=1)) for line in recipes)

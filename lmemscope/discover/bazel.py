"""Read ``bazel aquery`` output as a build database: the commands, and where Bazel runs them.

Bazel runs commands in an execution root whose links lead to the sources. Here, commands start in
the workspace, so that sources have the names known to git and the user. Other repositories, which
appear only as ``external`` in the execution root, are taken from Bazel's output base.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from lmemscope.formats.aquery import parse_aquery
from lmemscope.formats.build_steps import SOURCES
from lmemscope.sources.arguments import ENVIRONMENT_ARGUMENTS

_COMPILES = frozenset(("-c", "--compile", "-dc", "--device-c", "-dw", "--device-w"))
_WORKSPACE = ("MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE", "REPO.bazel")
_EXTERNAL = re.compile(r"((?:-I|-isystem|-iquote|-include|--?[A-Za-z][\w-]*=)?)external/")
_OF_NVCC = (*ENVIRONMENT_ARGUMENTS, "NVCC_CCBIN")


def commands_of_aquery(path: str, text: str) -> Iterator[dict[str, object]]:
    """The compilations in an ``aquery`` output, in the form of compilation database entries.

    Args:
        path: of the file, which lies in the workspace.

    Raises:
        ValueError: the text is not output of ``bazel aquery``.
    """
    workspace = _workspace_of(os.path.dirname(os.path.abspath(path)))
    external = _external_of(workspace)
    for action in parse_aquery(text):
        source = _source(action.arguments)
        if source is None:
            continue
        words = [f"{name}={value}" for name, value in action.environment if name in _OF_NVCC]
        words += action.arguments
        if external is not None:
            words = [_elsewhere(word, external) for word in words]
            source = _elsewhere(source, external)
        yield {"directory": workspace, "file": source, "arguments": words}


def _source(words: Sequence[str]) -> str | None:
    """The source that a command compiles: the word after ``-c`` in Bazel's rules and rules_cuda."""
    at = next((at for at, word in enumerate(words) if word in _COMPILES), None)
    if at is None:
        return None
    behind = words[at + 1] if at + 1 < len(words) else ""
    if behind and not behind.startswith("-"):
        return behind
    named = [word for word in words[1:] if word.lower().endswith(SOURCES)]
    return named[-1] if named else None


def _elsewhere(word: str, external: str) -> str:
    """A word with its reference to another repository replaced by that repository's location."""
    found = _EXTERNAL.match(word)
    return word if found is None else f"{found[1]}{external}{word[found.end() :]}"


def _workspace_of(directory: str) -> str:
    """The nearest Bazel workspace upwards, else the directory itself."""
    above = directory
    while not any(os.path.isfile(os.path.join(above, name)) for name in _WORKSPACE):
        if above == os.path.dirname(above):
            return directory
        above = os.path.dirname(above)
    return above


def _external_of(workspace: str) -> str | None:
    """Bazel's directory of other repositories; None if ``bazel-out`` does not reveal it.

    ``bazel-out`` links to ``OUTPUT_BASE/execroot/NAME/bazel-out``.
    """
    out = os.path.realpath(os.path.join(workspace, "bazel-out"))
    root = os.path.dirname(os.path.dirname(out))
    if os.path.basename(out) != "bazel-out" or os.path.basename(root) != "execroot":
        return None
    return os.path.join(os.path.dirname(root), "external", "")

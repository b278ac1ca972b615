"""A file of ``bazel aquery`` as a build database: its commands, and where Bazel runs them.

Bazel runs commands in an execution root, whose links lead to the sources. Here they start in the
workspace, so that sources have the names that git and the user know; other repositories, which
only the execution root shows as ``external``, are taken from Bazel's output base.
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
    """The compilations of an output, in the form of a database's entries.

    Args:
        path: of the file, which lies in the workspace.

    Raises:
        ValueError: the text is no output of ``bazel aquery``.
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
    """What a command compiles: the word behind ``-c`` in Bazel's own rules and in rules_cuda."""
    at = next((at for at, word in enumerate(words) if word in _COMPILES), None)
    if at is None:
        return None
    behind = words[at + 1] if at + 1 < len(words) else ""
    if behind and not behind.startswith("-"):
        return behind
    named = [word for word in words[1:] if word.lower().endswith(SOURCES)]
    return named[-1] if named else None


def _elsewhere(word: str, external: str) -> str:
    """A word with the place of another repository, of which it may name a file or directory."""
    found = _EXTERNAL.match(word)
    return word if found is None else f"{found[1]}{external}{word[found.end() :]}"


def _workspace_of(directory: str) -> str:
    """The nearest directory upwards that Bazel takes for a workspace, else the directory."""
    above = directory
    while not any(os.path.isfile(os.path.join(above, name)) for name in _WORKSPACE):
        if above == os.path.dirname(above):
            return directory
        above = os.path.dirname(above)
    return above


def _external_of(workspace: str) -> str | None:
    """Where Bazel keeps other repositories; None where ``bazel-out`` does not tell.

    ``bazel-out`` leads to ``OUTPUT_BASE/execroot/NAME/bazel-out``.
    """
    out = os.path.realpath(os.path.join(workspace, "bazel-out"))
    root = os.path.dirname(os.path.dirname(out))
    if os.path.basename(out) != "bazel-out" or os.path.basename(root) != "execroot":
        return None
    return os.path.join(os.path.dirname(root), "external", "")

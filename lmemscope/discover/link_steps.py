"""Read a build's device link steps from ``build.ninja``, else from CMake's File API reply.

``compile_commands.json`` has none: it lists compilations only.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.files import read_input
from lmemscope.formats.build_ninja import Edge, parse_build_ninja
from lmemscope.formats.cmake_reply import Target, codemodel_of, target_of, targets_of
from lmemscope.model import kind_of_binary

_NINJA = "build.ninja"
_REPLY = os.path.join(".cmake", "api", "v1", "reply")


@dataclass(frozen=True, slots=True)
class LinkStep:
    """A device link step of a build.

    Attributes:
        name: of the output: CMake's target.
        said_by: the file that describes it.
        sources: compiled for it: absolute path, and the CMake target that compiles it, or an empty
            string.
        binaries: absolute paths of other objects and archives that exist.
        missing: those that do not exist, as written.
    """

    name: str
    said_by: str
    sources: tuple[tuple[str, str], ...]
    binaries: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def link_steps(build: str) -> tuple[tuple[LinkStep, ...], tuple[str, ...]]:
    """The device link steps in a build directory, and notes about unreadable files."""
    ninja = os.path.join(build, _NINJA)
    try:
        if os.path.isfile(ninja):
            text = read_input(ninja).decode("utf-8", "surrogateescape")
            return tuple(_of_ninja(parse_build_ninja(text), build, ninja)), ()
        replies = sorted(glob.glob(os.path.join(glob.escape(build), _REPLY, "index-*.json")))
        if replies:
            return tuple(_of_reply(replies[-1])), ()
    except (OSError, ValueError, RecursionError) as error:
        return (), (f"{build}: its links cannot be read: {error}",)
    return (), ()


def _of_ninja(edges: Sequence[Edge], build: str, said_by: str) -> Iterator[LinkStep]:
    made = {output: edge for edge in edges for output in edge.outputs}
    for edge in edges:
        if not edge.is_device_link:
            continue
        words = [*edge.inputs, *edge.bindings.get("LINK_LIBRARIES", "").split()]
        sources: dict[tuple[str, str], None] = {}
        binaries: dict[str, None] = {}
        missing: dict[str, None] = {}
        for word in words:
            for found in _leaves(word, made):
                compiled = made.get(found)
                path = os.path.normpath(os.path.join(build, found))
                if compiled is not None and compiled.is_cuda_compilation and compiled.inputs:
                    source = os.path.normpath(os.path.join(build, compiled.inputs[0]))
                    sources[source, _target_in(found)] = None
                elif kind_of_binary(found) is not None and compiled is None:
                    (binaries if os.path.isfile(path) else missing)[path] = None
        if sources or binaries:
            name = edge.rule.rpartition("_DEVICE_LINKER_")[2].strip("_")
            name = _target_in(edge.outputs[0]) or name
            yield LinkStep(name, said_by, tuple(sources), tuple(binaries), tuple(missing))


def _leaves(word: str, made: Mapping[str, Edge]) -> Iterator[str]:
    """An object, or the objects in an archive that the build makes."""
    edge = made.get(word)
    if edge is not None and edge.is_archive:
        yield from edge.inputs
    elif not word.startswith("-"):
        yield word


def _target_in(output: str) -> str:
    """The CMake target in an object's path: ``CMakeFiles/app.dir/a.cu.o``."""
    _, marker, rest = f"/{output}".partition("/CMakeFiles/")
    return rest.partition(".dir/")[0] if marker and ".dir/" in rest else ""


def _of_reply(index: str) -> Iterator[LinkStep]:
    directory = os.path.dirname(index)
    model = codemodel_of(read_input(index))
    if model is None:
        return
    base, names = targets_of(read_input(os.path.join(directory, os.path.basename(model))))
    targets: dict[str, Target] = {}
    for name in names:
        one = target_of(read_input(os.path.join(directory, os.path.basename(name))))
        targets[one.id] = one
    for one in targets.values():
        if not one.is_linked:
            continue
        sources = {
            (os.path.normpath(os.path.join(base, source)), part.name): None
            for part in (one, *_static_below(one, targets))
            for source in part.sources
        }
        if sources:
            yield LinkStep(one.name, index, tuple(sources))


def _static_below(target: Target, targets: Mapping[str, Target]) -> list[Target]:
    found: dict[str, Target] = {}
    waiting = list(target.dependencies)
    while waiting:
        one = targets.get(waiting.pop(0))
        if one is not None and one.is_static and one.id not in found:
            found[one.id] = one
            waiting += one.dependencies
    return list(found.values())

"""Read CMake's File API: the targets of a build, their CUDA sources and what they link.

Format: cmake-file-api(7), "codemodel version 2" and its "target" objects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LINKED = frozenset({"EXECUTABLE", "SHARED_LIBRARY", "MODULE_LIBRARY"})


@dataclass(frozen=True, slots=True)
class Target:
    """A target.

    Attributes:
        id: unique in the build.
        name: of the target.
        is_linked: whether building it links, so that device code is linked too.
        is_static: whether it is a static or object library, whose code is linked into others.
        sources: compiled as CUDA, as written: absolute, or below the source directory.
        dependencies: ids.
    """

    id: str
    name: str
    is_linked: bool
    is_static: bool
    sources: tuple[str, ...]
    dependencies: tuple[str, ...]


def codemodel_of(index: bytes) -> str | None:
    """Name of the codemodel file in a reply's index, or None.

    Raises:
        ValueError: it is not JSON.
    """
    document = json.loads(index)
    objects = document.get("objects") if isinstance(document, dict) else None
    for one in objects if isinstance(objects, list) else ():
        if isinstance(one, dict) and one.get("kind") == "codemodel":
            name = one.get("jsonFile")
            return name if isinstance(name, str) else None
    return None


def targets_of(codemodel: bytes) -> tuple[str, tuple[str, ...]]:
    """The source directory, and the target file names of the first configuration.

    Raises:
        ValueError: it is not JSON, or not a codemodel.
    """
    document = json.loads(codemodel)
    try:
        first = document["configurations"][0]
        names = tuple(str(one["jsonFile"]) for one in first["targets"])
        return str(document["paths"]["source"]), names
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"no codemodel: {error!r}") from error


def target_of(document: bytes) -> Target:
    """Parse a target.

    Raises:
        ValueError: it is not JSON, or not a target.
    """
    read = json.loads(document)
    try:
        sources: list[Mapping[str, Any]] = read.get("sources", [])
        cuda = [
            str(sources[index]["path"])
            for group in read.get("compileGroups", [])
            if group.get("language") == "CUDA"
            for index in group["sourceIndexes"]
        ]
        kind = str(read["type"])
        return Target(
            id=str(read["id"]),
            name=str(read["name"]),
            is_linked=kind in _LINKED,
            is_static=kind in ("STATIC_LIBRARY", "OBJECT_LIBRARY"),
            sources=tuple(cuda),
            dependencies=tuple(str(one["id"]) for one in read.get("dependencies", [])),
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"no target: {error!r}") from error

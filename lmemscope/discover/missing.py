"""Errors for typed paths that yield no input, with advice."""

from __future__ import annotations

import os

from lmemscope.discover.locate import DATABASE, NINJA, is_below, is_build_name, is_database
from lmemscope.errors import InputError
from lmemscope.model import INPUT_ENDINGS


def gone(name: str, path: str, database: str) -> InputError:
    """The error for a source that a build names but that does not exist."""
    generated = is_below(path, os.path.dirname(os.path.abspath(database)))
    hint = "build the project once, which generates it, or" if generated else "the build is stale:"
    return InputError(
        "plan",
        f"{name} does not exist, though {database} names it",
        hint=f"{hint} configure again",
    )


def how_to_make(path: str) -> str:
    """Advice for a path that does not exist: build directories are created by configuring."""
    named = os.path.abspath(path)
    directory = os.path.dirname(named) if is_database(named) else named
    hint = configured(directory) if is_build_name(directory) else None
    return hint or "check the path"


def configured(build: str) -> str | None:
    """How to create a build directory's database, or None if unknown."""
    from lmemscope.discover.build_notes import configure_command, written_by

    project = configure_command(os.path.dirname(build))
    return None if project is None else written_by(*project)


def no_cuda_in(database: str) -> InputError:
    """The error for a build without CUDA."""
    return InputError("plan", f"{database} compiles no CUDA file", hint="name the files instead")


def nothing_in(directory: str) -> InputError:
    """The error for a directory without inputs."""
    return InputError(
        "plan",
        f"{directory} holds no .cu file, nor another input that a directory stands for",
        hint="name headers and build logs themselves; "
        "include and exclude of the configuration may leave files out",
    )


def unreadable_kind(path: str) -> InputError:
    """The error for a file of unknown kind."""
    return InputError(
        "plan",
        f"{path} is not a kind of file that lmemscope reads",
        hint=f"it reads {', '.join(INPUT_ENDINGS)} files, directories of them, "
        f"{DATABASE}, {NINJA} and output of bazel aquery (aquery.json); "
        "with --link it links .o, .a and .fatbin files too",
    )

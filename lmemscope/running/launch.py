"""Starting a worker process; a module of its own, so that it can happen before all imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import IO, NamedTuple

from lmemscope.environment import cleaned, import_path

UNITS = "lmemscope.pipeline:load"
"""What a worker that analyses units calls before the first arrives."""

COMPILED_UNITS = "lmemscope.pipeline:load_compiler"
"""The same, where the first unit is expected to need NVRTC."""


class Launched(NamedTuple):
    """A started worker; its standard error is an unlinked file, read back when it crashes."""

    process: subprocess.Popen[bytes]
    stderr: IO[bytes]


started_early: list[Launched] = []
"""Workers that the program started before it knew what for."""


def start(preload: str | None) -> Launched:
    """Start a worker that calls ``module:function`` before it takes tasks."""
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
    # The path is set from inside: PYTHONPATH stays as the user has it, for a user's file that a
    # worker may have to run.
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        f"from lmemscope.running.serve import serve; serve({preload!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=cleaned(),
        start_new_session=True,
    )
    return Launched(process, stderr)

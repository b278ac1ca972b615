"""Starting a worker process; a module of its own, so that it can happen before all imports."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import IO, NamedTuple

UNITS = "lmemscope.pipeline:load"
"""What a worker that analyses units calls before the first arrives."""


class Launched(NamedTuple):
    """A started worker; its standard error is an unlinked file, read back when it crashes."""

    process: subprocess.Popen[bytes]
    stderr: IO[bytes]


started_early: list[Launched] = []
"""Workers that the program started before it knew what for."""


def start(preload: str | None) -> Launched:
    """Start a worker that calls ``module:function`` before it takes tasks."""
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
    code = f"from lmemscope.running.serve import serve; serve({preload!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        start_new_session=True,
    )
    return Launched(process, stderr)

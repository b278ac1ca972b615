"""Runs the program in a process that is new in all but its imports.

Some three hundred tests start the program, and a third of what each run takes is Python and imports
that are the same every time. Here one process imports them once and forks for each run: arguments,
environment, directory, output, threads, workers and exit code are the run's own, as in a program
that was started; only the imported modules are shared, as they were before the first run.

Run as a module it is that process: a line of JSON on its standard input for each run, and two lines
on its standard output, the child's number and what ``waitpid`` said.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

# One of each kind of command, with what they import when they run.
_IMPORTED = (
    "lmemscope.__main__",
    "lmemscope.app.execute",
    "lmemscope.commands.group",
    "lmemscope.config.file",
    "lmemscope.exporters.gate_text",
    "lmemscope.gate.compare",
    "lmemscope.gate.policy",
    "lmemscope.lowering.cuda",
    "lmemscope.lowering.log",
    "lmemscope.lowering.log_sources",
    "lmemscope.running.pool",
    *(
        f"lmemscope.commands.{name}"
        for name in ("baseline", "check", "diff", "explain", "report", "scan")
    ),
    *(f"lmemscope.exporters.{name}" for name in ("html", "json", "markdown", "sarif", "terminal")),
    "lmemscope.commands.fix",
    "lmemscope.fixing.run",
    # Its workers are forks of it.
    "lmemscope.app.log_unit",
    "lmemscope.pipeline",
    "lmemscope.lowering.compile_cuda",
    "lmemscope.rules.reported",
    "importlib.metadata",
)


class Parent:
    """The process that has the imports.

    Args:
        environment: its own, which decides what it can import.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What a buffer had read already, `select` would wait for.
            bufsize=0,
        )

    def run(
        self,
        arguments: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        timeout: float,
        given: bytes = b"",
    ) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a run of the program.

        Args:
            arguments, cwd, environment: the run's.
            timeout: seconds.
            given: what is on its standard input, a file.

        Raises:
            subprocess.TimeoutExpired: it took longer; it is stopped.
        """
        with self._lock, tempfile.TemporaryDirectory() as directory:
            out, err = Path(directory, "out"), Path(directory, "err")
            read = Path(directory, "in") if given else Path(os.devnull)
            if given:
                read.write_bytes(given)
            request = (arguments, str(cwd), dict(environment), str(read), str(out), str(err))
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            child = int(self._process.stdout.readline())
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                os.kill(child, 9)
                self._process.stdout.readline()
                raise subprocess.TimeoutExpired(list(arguments), timeout)
            code = os.waitstatus_to_exitcode(int(self._process.stdout.readline()))
            return code, out.read_text(), err.read_text()


def _serve() -> None:
    import importlib

    for name in _IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(*json.loads(line))
        print(child, flush=True)
        print(os.waitpid(child, 0)[1], flush=True)


def _become(
    arguments: list[str], cwd: str, environment: dict[str, str], read: str, out: str, err: str
) -> NoReturn:
    code: Any = 1
    try:
        for number, path in ((1, out), (2, err)):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        os.dup2(os.open(read, os.O_RDONLY), 0)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as Python opens it
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["lmemscope", *arguments]
        from lmemscope.__main__ import main

        # It leaves by itself; what comes back is what the interpreter would have seen to.
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - shown as the interpreter would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()

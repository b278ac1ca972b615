"""Tasks for the worker pool's tests: workers import functions by name."""

from __future__ import annotations

import os
import sys
import time

from lmemscope.errors import CompileError


def double(value: int) -> int:
    return 2 * value


def die(number: int) -> None:
    os.write(2, b"a library's last words\n")
    os.kill(os.getpid(), number)


def leave() -> None:
    os._exit(7)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def burn(seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass


def refuse() -> None:
    raise CompileError("compile", "refused", hint="do otherwise", log="line 3: error")


def chatter(value: int) -> int:
    os.write(1, b"this goes to standard output, where the protocol lives\n" * 100)
    return value


def process_id() -> int:
    return os.getpid()


def modules_of_ours() -> set[str]:
    return {name for name in sys.modules if name.startswith("lmemscope.")}


def run_program_that_starts_another(file: str) -> None:
    """Note this process, a program that it runs, and one that the program runs."""
    from lmemscope.tools import process

    script = f'sleep 600 & echo {os.getpid()} $$ $! >> "$0"; wait'
    process.run(["sh", "-c", script, file])


def note_and_die(file: str, number: int) -> None:
    with open(file, "a") as stream:
        stream.write("x")
    os.kill(os.getpid(), number)


def recurse(value: int) -> int:
    return recurse(value + 1) + 1


def exhaust(value: int) -> None:
    raise MemoryError(value)


def leave_politely(value: int) -> None:
    sys.exit(value)


def nested(depth: int) -> object:
    made: list[object] = []
    for _ in range(depth):
        made = [made]
    return made

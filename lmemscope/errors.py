"""Errors that lmemscope raises on purpose; each knows its stage, its message and a way out.

Every error a user can meet derives from `LmemscopeError`, so that a command can turn it into one
clear paragraph and an exit code, and a worker process can send it home by pickling.
"""

from __future__ import annotations

from typing import ClassVar


class LmemscopeError(Exception):
    """A problem with a named stage (``compile``, ``ptxas``, ``read``, …) and a hint.

    Attributes:
        stage: the pipeline stage that could not go on.
        message: what is wrong, naming the file or tool.
        hint: what to do next, or None when there is nothing better than the message.
        command: the tool invocation that failed, shell-quoted, or None.
        log: the tool's own output, or None.
        exit_code: what a command that ends with it returns to the shell.
    """

    exit_code: ClassVar[int] = 3

    def __init__(
        self,
        stage: str,
        message: str,
        *,
        hint: str | None = None,
        command: str | None = None,
        log: str | None = None,
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.message = message
        self.hint = hint
        self.command = command
        self.log = log

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by all fields: the default would call ``__init__`` with the message alone."""
        return (
            _rebuild,
            (type(self), self.stage, self.message, self.hint, self.command, self.log),
        )


def _rebuild(
    kind: type[LmemscopeError],
    stage: str,
    message: str,
    hint: str | None,
    command: str | None,
    log: str | None,
) -> LmemscopeError:
    return kind(stage, message, hint=hint, command=command, log=log)


class UsageError(LmemscopeError):
    """The request itself is wrong: unknown architecture, unwritable output, bad option value."""

    exit_code: ClassVar[int] = 2


class InputError(LmemscopeError):
    """An input cannot be read: missing, not text, not what its name says."""


class FormatError(LmemscopeError):
    """Bytes or text do not follow the format a parser expects (truncated ELF, broken PTX, …)."""


class ToolMissingError(LmemscopeError):
    """A tool or library of the CUDA toolchain is missing; the hint names the wheel to install."""


class CompileError(LmemscopeError):
    """A compiler or assembler refused the program; ``log`` holds what it printed."""


class UncompiledError(LmemscopeError):
    """Kernels are there, but nothing instantiates or may run them; the hint says what would."""


class StageTimeoutError(LmemscopeError):
    """A unit took longer than ``--timeout``."""


class WorkerCrashError(LmemscopeError):
    """The process that compiled a unit died (a crash inside NVRTC or ptxas)."""


class OutputError(LmemscopeError):
    """What was found cannot be written: a full disk, a file that cannot be opened."""


class Stopped(BaseException):
    """A signal told the program to end.

    No `KeyboardInterrupt`, which libraries take for themselves, and no error.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class InternalError(LmemscopeError):
    """A mistake in lmemscope itself; ``log`` is the traceback."""

    @classmethod
    def of(cls, error: BaseException, doing: str = "") -> InternalError:
        """What was raised by mistake, such as ``on a.cu``, with a request to report it."""
        import traceback

        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return cls(
            "internal",
            f"lmemscope failed{doing and ' '}{doing}: {what}",
            hint="this is a bug in lmemscope; please report it with the input and the lines above",
            log="".join(traceback.format_exception(error)),
        )

"""Choose a command's output file and format, and write to it."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from lmemscope import files, whole
from lmemscope.commands import streams
from lmemscope.errors import OutputError, UsageError
from lmemscope.exporters.formats import Document, Format, render


@dataclass(frozen=True, slots=True)
class Sink:
    """An output destination, checked before anything is compiled.

    Attributes:
        target: a file, or None for standard output.
        format_name: one of the command's formats.
        color: whether output may contain escape sequences.
    """

    target: str | None
    format_name: str
    color: bool = False

    @classmethod
    def open(
        cls,
        target: str | None,
        format_name: str | None = None,
        *,
        formats: Mapping[str, Format] | None = None,
        color: str = "auto",
    ) -> Sink:
        """Choose the format and check the destination.

        Args:
            target: ``-o``, or None.
            format_name: ``--format``, or None to choose by the target's ending.
            formats: the command's formats; None if ``format_name`` is the only one.
            color: ``--color``.

        Raises:
            UsageError: the ending matches no format, or the file cannot be written.
        """
        if format_name is None:
            format_name = _format_of(target, formats or {})
        if target is not None:
            directory = os.path.dirname(os.path.abspath(target))
            if not os.path.isdir(directory):
                raise _unusable(
                    f"{target} cannot be written: no directory {directory}", "create it"
                )
            writable = target if os.path.exists(target) else directory
            if not target or os.path.isdir(target) or not os.access(writable, os.W_OK):
                raise _unusable(
                    f"{target or '-o'} cannot be written", "name a file in a writable directory"
                )
            why = _never_written(target)
            if why is not None:
                raise _unusable(
                    f"{target} cannot be written: {why}",
                    "name a file; what else is to have it reads a pipe: -o /dev/stdout | …",
                )
        return cls(target, format_name, color_wanted(color, target))

    @property
    def width(self) -> int | None:
        """Columns of the output terminal; None for a pipe or a file."""
        if self.target is not None or not sys.stdout.isatty():
            return None
        # A terminal of unknown width reports 0 columns.
        return click.get_current_context().terminal_width or os.get_terminal_size().columns or 80

    def show(self, document: Document, **how: Any) -> None:
        """Write a document in the chosen format and width; ``how`` as in `Presentation`.

        Raises:
            OutputError: as `write`.
        """
        from lmemscope.discover.checkouts import in_repository

        how = {"color": self.color, "width": self.width, "located": in_repository, **how}
        self.write(render(document, self.format_name, **how))

    def write(self, content: str | bytes) -> None:
        """Write the complete content.

        Raises:
            OutputError: the disk is full, or the directory has disappeared; the file is then
                unchanged. Errors on standard output are found at exit: see `streams`.
        """
        if self.target is None:
            click.echo(content, nl=False, color=self.color)
            return
        if isinstance(content, str):
            content = content.encode("utf-8", streams.ESCAPED)
        try:
            whole.write(self.target, content)
        except BrokenPipeError:
            pass  # the reader of a pipe has seen enough
        except OSError as error:
            raise _unwritten(self.target, error, "name another file with -o") from error


def append(path: str, text: str | bytes) -> None:
    """Append to a file that other programs write too.

    Raises:
        OutputError: it cannot be written.
    """
    if isinstance(text, str):
        text = text.encode("utf-8", streams.ESCAPED)
    try:
        whole.append(path, text)
    except OSError as error:
        raise _unwritten(path, error, "check the path") from error


def _format_of(target: str | None, formats: Mapping[str, Format]) -> str:
    if target is None:
        return next(iter(formats))
    ending = os.path.splitext(target)[1].lower()
    for row in formats.values():
        if ending in row.endings:
            return row.name
    known = ", ".join(one for row in formats.values() for one in row.endings)
    context = click.get_current_context(silent=True)
    named = context is not None and "format_name" in context.params
    raise _unusable(
        f"the ending of {target} names no format",
        f"use one of {known}{', or use --format' if named else ''}",
    )


def color_wanted(color: str, target: str | None) -> bool:
    """Whether output may hold escape sequences: ``--color``, else on terminals without NO_COLOR."""
    if color != "auto":
        return color == "always"
    return target is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


_SINKS = tuple(os.makedev(1, minor) for minor in (3, 5, 7))
"""Linux device numbers of ``/dev/null``, ``zero`` and ``full``, which never block."""

_OPEN = re.compile(r"/(?:dev/fd|proc/self/fd)/(\d{1,9})")
_LINKS = 40


def _never_written(target: str) -> str | None:
    """Why a target may block forever, or None if it cannot.

    A named pipe waits for a reader, and a device may do anything. A descriptor that the program
    inherited has been opened by someone: ``/dev/stdout``, or ``/dev/fd/63`` for a shell's ``>(…)``.
    """
    descriptor = _descriptor_of(target)
    if descriptor is not None:
        try:
            # A descriptor that the program opened itself is not inheritable, and not an output.
            is_given = descriptor <= 2 or os.get_inheritable(descriptor)
        except OSError:
            is_given = False
        if not is_given:
            return "it is not open"
    try:
        found = os.stat(target)
    except OSError:
        return None
    mode = found.st_mode
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and descriptor is not None):
        return None
    if stat.S_ISCHR(mode) and (found.st_rdev in _SINKS or _is_terminal(target)):
        return None
    return f"it is {files.kind(mode)}"


def _descriptor_of(target: str) -> int | None:
    """The number of the open descriptor that a path refers to, links followed; None for others."""
    path = os.path.abspath(target)
    for _ in range(_LINKS):
        found = _OPEN.fullmatch(path)
        if found is not None:
            return int(found[1])
        try:
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        except OSError:
            break
    return None


def _is_terminal(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def _unwritten(path: str, error: OSError, hint: str) -> OutputError:
    return OutputError("output", f"{path} cannot be written: {error.strerror}", hint=hint)


def _unusable(message: str, hint: str) -> UsageError:
    return UsageError("output", message, hint=hint)

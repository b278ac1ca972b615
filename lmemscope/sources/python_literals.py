"""Extract the CUDA C++ of a string literal in a Python file, keeping byte positions."""

from __future__ import annotations

import io
import re
import tokenize

_LITERAL = re.compile(r"(?P<prefix>[rRuU]?)(?P<quotes>\"\"\"|'''|\"|')")


def masked(data: bytes, line: int) -> bytes | None:
    """A Python file in which everything but one literal's text is blank, so that offsets stay.

    Args:
        data: the file's bytes.
        line: a line of the literal, from 1.

    Returns:
        Bytes as long as ``data``. None if no literal there has the same text as its value: not one
            with a backslash (unless raw), an f-string, a file that is not UTF-8, or one that is not
            Python.
    """
    try:
        text = data.decode("utf-8")
        tokens = [*tokenize.generate_tokens(io.StringIO(text, newline="").readline)]
    except (UnicodeDecodeError, SyntaxError, tokenize.TokenError):
        return None
    if text.startswith("\ufeff"):
        return None
    # Lines as Python counts them: a form feed does not end one.
    lines = [*io.StringIO(text, newline="")]
    for token in tokens:
        if token.type != tokenize.STRING or not token.start[0] <= line <= token.end[0]:
            continue
        found = _LITERAL.match(token.string)
        if found is None or ("\\" in token.string and found["prefix"].lower() != "r"):
            continue
        begin = _offset(lines, *token.start) + found.end()
        end = _offset(lines, *token.end) - len(found["quotes"])
        blank = re.compile(rb"[^\r\n]")
        return blank.sub(b" ", data[:begin]) + data[begin:end] + blank.sub(b" ", data[end:])
    return None


def _offset(lines: list[str], row: int, column: int) -> int:
    """The byte offset of a row (from 1) and a column (from 0, in characters)."""
    before = sum(len(one.encode("utf-8")) for one in lines[: row - 1])
    return before + len(lines[row - 1][:column].encode("utf-8")) if row <= len(lines) else before

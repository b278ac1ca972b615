"""Whether an object is what a lambda has captured by value: a member of the lambda itself."""

from __future__ import annotations

import re

from lmemscope.rules.base import Case

_LAMBDA = re.compile(r"(?<![\w)\]\s])\s*\[[^\[\]]*\]\s*(?:__\w+__\s*)*[({]")


def is_captured(case: Case) -> bool:
    """Whether a lambda's copy is meant: it is a member of the lambda, which nothing can move.

    Debug information places a capture where the lambda begins, and no declaration of it is there.
    """
    declared = case.object.declared if case.object is not None else None
    if case.object is None or case.object.name is None or declared is None:
        return False
    lines = case.sources.code_lines(declared.file)
    text = lines[declared.line - 1] if 0 < declared.line <= len(lines) else ""
    if _LAMBDA.search(text) is None:
        return False
    root = re.escape(re.split(r"\.|->", case.object.name)[0])
    own = re.compile(rf"[\w>*&]\s*(?<!\w){root}\s*(?:[\[=;{{(]|$)")
    return own.search(_LAMBDA.split(text)[0]) is None

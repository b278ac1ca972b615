"""Targets for rewrites of local arrays, from a source's text alone."""

from __future__ import annotations

import re

from msgspec.structs import replace

from lmemscope import rules
from lmemscope.model import Rewriting, SourceLocation
from lmemscope.rewrites.base import DeclinedError, Hit, Rewrite, Target
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import Syntax
from tests.support.builders import kernel_with, local_object, source_text

PATH = "/p/a.cu"


def array_target(text: str, name: str, type_: str) -> Target:
    """The array of a name in a file, declared on the first indented line that has it as such."""
    pattern = re.compile(rf"^\s.*[\s,]{name}\[")
    at = next(n for n, line in enumerate(text.splitlines(), 1) if pattern.match(line))
    declared = SourceLocation(PATH, at)
    found = local_object("dynamic-index", name=name, type=type_, declared=declared, size=80)
    facts = replace(
        kernel_with("dynamic-index", kind=type_),
        objects=(found,),
        location=SourceLocation(PATH, 1),
    )
    case, finding = next(iter(rules.cases(facts, source_text({PATH: text}))))
    syntax = Syntax(text.encode())
    return Target(
        cause="dynamic-index",
        name=name,
        type=type_,
        place=declared,
        declared_at=declared,
        path=PATH,
        syntax=syntax,
        hits=(Hit(facts, finding, case),),
        tree={PATH: syntax}.get,
    )


def proposed(rewrite: Rewrite, text: str, name: str, type_: str) -> list[tuple[Rewriting, str]]:
    """What a rewrite proposes, and the text after each."""
    target = array_target(text, name, type_)
    return [(one, patched(text.encode(), one.edits).decode()) for one in rewrite.propose(target)]


def declined(rewrite: Rewrite, text: str, name: str, type_: str) -> str | None:
    """Why a rewrite declines; "" where it has nothing to say, None where it proposes something."""
    try:
        return None if proposed(rewrite, text, name, type_) else ""
    except DeclinedError as reason:
        return str(reason)

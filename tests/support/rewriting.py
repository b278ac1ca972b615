"""Targets of rewrites made of text, and what is proposed for them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from lmemscope import rules
from lmemscope.model import Cause, SourceLocation
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Hit, Target
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import Syntax
from tests.support.builders import changed, kernel_with, local_object, source_text


def target(
    text: str,
    name: str,
    type_: str,
    cause: Cause = "dynamic-index",
    block: int | None = 64,
    files: Mapping[str, str] | None = None,
    line: str | None = None,
    **changes: object,
) -> Target:
    """The variable of a name in ``/p/a.cu``, declared on the first line that has it as such."""

    lines, part = text.splitlines(), line or f" {name}["
    at = next(n for n, one in enumerate(lines, 1) if one.startswith(" ") and part in one)
    declared = SourceLocation("/p/a.cu", at)
    known = {"/p/a.cu": text, **(files or {})}
    base = kernel_with(cause, kind=type_)
    found = local_object(cause, name=name, type=type_, declared=declared, size=80)
    place = SourceLocation("/p/a.cu", 1)
    given: dict[str, object] = {"location": place, **changes}
    facts = changed(base, objects=(found,), **given)
    case, finding = next(iter(rules.cases(facts, source_text(known))))
    trees = {path: Syntax(one.encode()) for path, one in known.items()}
    return Target(
        cause=cause,
        name=name,
        type=type_,
        place=declared,
        declared_at=declared,
        path="/p/a.cu",
        syntax=trees["/p/a.cu"],
        hits=(Hit(facts, finding, case),),
        asked_block=block,
        tree=trees.get,
    )


def rewritten(text: str, name: str, type_: str, rewrite: str, **how: object) -> str | None:
    """The text behind the helper class with a rewrite made; None where it is declined."""
    text = textwrap.dedent(text)
    found, _ = proposals(target(text, name, type_, **how))  # type: ignore[arg-type]
    one = next((one for one in found if one.rewrite == rewrite), None)
    if one is None:
        return None
    made = patched(text.encode(), [e for e in one.edits if e.file == "/p/a.cu"]).decode()
    return made.rpartition("#endif\n")[2].strip("\n") + "\n" if "#endif" in made else made


def kernel(*body: str, before: str = "") -> str:
    inside = "".join(f"  {line}\n" for line in body)
    return f"{before}__global__ void k(const int *p, float *out, int n) {{\n{inside}}}\n"

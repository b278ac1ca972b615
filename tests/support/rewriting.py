"""Targets of rewrites made of text, and what is proposed for them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from msgspec.structs import replace

from lmemscope import rules
from lmemscope.model import Cause, CubinFacts, IndexFacts, IndexSource, LocalAccess, SourceLocation
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Hit, Target
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import Syntax
from tests.support.builders import access, changed, kernel_with, local_object, source_text


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


LOADED = IndexSource("memory", "p", 0)
SCATTERED = access(is_store=True, uniformity="data-dependent", sectors=32)


def indexed(
    *body: str,
    source: IndexSource,
    elements: int = 8,
    cause: Cause = "dynamic-index",
    written_out: int | None = None,
    also: tuple[Cause, ...] = (),
    registers: int = 32,
    limit: int = 255,
    kind: str = "float",
    accesses: tuple[LocalAccess, ...] = (SCATTERED,),
) -> Target:
    """The array `a` of a kernel, by what its indices are made of."""
    text = kernel(f"{kind} a[{elements}];", *body)
    made = target(text, "a", f"{kind}[{elements}]", cause=cause)
    (hit,) = made.hits
    (own,) = hit.facts.objects
    line = SourceLocation("/p/a.cu", 3)
    index = IndexFacts("i", (source,), "uniform", line, line, written_out=written_out)
    own = replace(own, index=index, size=4 * elements, type_size=4 * elements, also=also)
    cubin = CubinFacts(registers, 4 * elements, 4 * elements, limit)
    facts = changed(hit.facts, objects=(own,), cubin=cubin, ptxas=None)
    given = tuple(replace(one, cause=cause) for one in accesses)
    facts = changed(facts, accesses=tuple(replace(one, function=own.function) for one in given))
    case, finding = next(iter(rules.cases(facts, source_text({"/p/a.cu": text}))))
    return replace(made, hits=(changed(hit, facts=facts, case=case, finding=finding),))

"""Hand-made facts and what follows from them, without any toolchain."""

from __future__ import annotations

from collections.abc import Mapping

from lmemscope import rules
from lmemscope.model import Finding, KernelFacts, SourceText


def source_text(files: Mapping[str, str] | None = None) -> SourceText:
    """Sources out of a dictionary; other files have no lines."""
    known = files or {}
    return SourceText(lambda file: known.get(file, "").splitlines())


def find(facts: KernelFacts, files: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Findings of hand-made facts."""
    return rules.find(facts, source_text(files))

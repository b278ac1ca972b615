"""Match source comments to compiled kernels, by the kernel's name in the text.

Line numbers reported by compilers are not used, since ``#line`` and macros can set them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from lmemscope.formats.demangle import short_name
from lmemscope.formats.parameters import of_demangled
from lmemscope.model import KernelDirective, KernelReport, UnitReport, may_agree


def holds_for(directive: KernelDirective, unit: UnitReport, kernel: KernelReport) -> bool:
    """Whether a comment in a unit's file or headers applies to a kernel of that unit.

    It does if the kernel has the qualified name, form and parameters of the definition that the
    comment is above or in, and no other definition may have produced it.
    """
    return (
        _may_be(directive, kernel)
        and not doubt(directive, unit)
        and any(one is kernel for one in _meant(directive, unit))
    )


def doubt(directive: KernelDirective, unit: UnitReport) -> str:
    """Why it is unclear which kernel of a unit a comment refers to; empty if it is clear."""
    if directive.doubt or directive.tie == "branch":
        return directive.doubt or "the branch of an #if that holds it ends before the kernel"
    if directive.ambiguous:
        return f"more than one definition of {directive.kernel} may be meant"
    meant = _meant(directive, unit)
    is_template = directive.form in ("template", "specialization")
    scopes = {_scope(kernel) for kernel in meant}
    if len(scopes) > 1 or (not is_template and len(meant) > 1):
        names = ", ".join(sorted({kernel.facts.demangled for kernel in meant})[:3])
        return f"more than one compiled kernel may be meant: {names}"
    name = directive.qualified or directive.kernel
    if meant and not is_template and name in unit.others:
        return f"another kernel called {name} was left out of the report"
    return ""


def _meant(directive: KernelDirective, unit: UnitReport) -> list[KernelReport]:
    """Kernels with that name; if there are none, kernels in a namespace that the text hides."""
    possible = [kernel for kernel in unit.kernels if _may_be(directive, kernel)]
    name = directive.qualified or directive.kernel
    exact = [kernel for kernel in possible if _called(kernel.facts.demangled)[0] == name]
    return exact or possible


def _may_be(directive: KernelDirective, kernel: KernelReport) -> bool:
    facts = kernel.facts
    if directive.kernel not in facts.name and directive.kernel not in facts.demangled:
        return False
    called, has_arguments, parameters = _called(facts.demangled)
    # An ``extern "C"`` kernel has no namespace wherever it is defined.
    if facts.name == directive.kernel:
        return directive.form in (None, "plain") and not directive.namesakes
    name = directive.qualified or directive.kernel
    # A macro may open namespaces around it that the text does not show.
    hidden = _ends(called, name) and not any(_ends(called, one) for one in directive.namesakes)
    if called != name and not hidden:
        return False
    if directive.form is not None and (directive.form == "plain") == has_arguments:
        return False
    return may_agree(directive.parameters, parameters)


def _ends(called: str, name: str) -> bool:
    return called == name or called.endswith(f"::{name}")


@functools.lru_cache(maxsize=1 << 16)
def _called(demangled: str) -> tuple[str, bool, tuple[str | None, ...] | None]:
    """A kernel's qualified name, whether it has template arguments, and its parameters."""
    name, bracket, _ = short_name(demangled).partition("<")
    return name, bool(bracket), of_demangled(demangled)


def _scope(kernel: KernelReport) -> str:
    """A kernel's namespaces, including anonymous ones."""
    anonymous = kernel.facts.demangled.count("(anonymous namespace)::")
    return f"{anonymous} {_called(kernel.facts.demangled)[0]}"


def doubtful(unit: UnitReport, word: str) -> Iterator[tuple[KernelDirective, str]]:
    """A unit's comments with a given keyword whose kernel is unclear."""
    for directive in unit.directives:
        if directive.word == word and directive.tie != "branch":
            why = doubt(directive, unit)
            if why:
                yield directive, why

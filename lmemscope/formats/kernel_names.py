"""What a kernel may be called, and whether a user's glob means it: one answer for all places."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from lmemscope.formats.demangle import short_name


def spellings(name: str, demangled: str) -> tuple[str, ...]:
    """The names of a kernel, without repetition.

    ``_ZN2ns2rmILi32EEEvPf`` is called that, ``void ns::rm<32>(float*)``, ``ns::rm<32>``,
    ``rm<32>``, ``ns::rm`` and ``rm``.

    Args:
        name: mangled.
        demangled: as `lmemscope.formats.demangle.demangle` gives it.
    """
    short = short_name(demangled)
    template = short.partition("<")[0]
    base = template.rpartition("::")[2]
    plain = demangled.partition("(")[0]
    if "<" in plain:  # cut within a template's arguments
        plain = short
    instance = base + short.removeprefix(template)
    names = (name, demangled, plain, short, instance, template, base)
    return tuple(dict.fromkeys(spelling for spelling in names if spelling))


def matches(patterns: Iterable[str], name: str, demangled: str) -> bool:
    """Whether a kernel is meant by any of some globs; no globs mean all kernels."""
    wanted = tuple(patterns)
    return not wanted or any(
        fnmatchcase(spelling, pattern)
        for spelling in spellings(name, demangled)
        for pattern in wanted
    )

"""Determine the names of a kernel, and whether a user's glob matches one of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from lmemscope.formats.demangle import demangle, scoped_name, short_name, without_release


def spellings(name: str, demangled: str) -> tuple[str, ...]:
    """The names of a kernel, without duplicates.

    ``_ZN2ns2rmILi32EEEvPf`` is called that, ``void ns::rm<32>(float*)``, ``ns::rm<32>``,
    ``rm<32>``, ``ns::rm`` and ``rm``.

    Args:
        name: mangled.
        demangled: from `lmemscope.formats.demangle.demangle`.
    """
    short = short_name(demangled)
    template = short.partition("<")[0]
    base = template.rpartition("::")[2]
    plain = demangled.replace("(anonymous namespace)::", "").partition("(")[0]
    if "<" in plain:  # cut inside template arguments
        plain = short
    instance = base + short.removeprefix(template)
    is_same = without_release(demangled) == demangled
    earlier = short if is_same else scoped_name(demangled)
    names = (name, demangled, plain, short, instance, template, base, earlier)
    return tuple(dict.fromkeys(spelling for spelling in names if spelling))


def matches(patterns: Iterable[str], name: str, demangled: str) -> bool:
    """Whether any of the globs matches a kernel; no globs match all kernels.

    A name as displayed matches its kernel, even if ``(*) [4]`` is also a glob. Blanks after commas
    are ignored.
    """
    wanted = tuple(patterns)
    return not wanted or are_meant(wanted, spellings(name, demangled))


def are_meant(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether any of the globs matches any of a kernel's `spellings`; as `matches`."""
    wanted = tuple(pattern.replace(", ", ",") for pattern in patterns)
    return any(
        spelling == pattern or fnmatchcase(spelling, pattern)
        for spelling in (one.replace(", ", ",") for one in names)
        for pattern in wanted
    )


def is_instance(demangled: str, written: str) -> bool:
    """Whether a compiled kernel may be one defined in a source, which may qualify it less.

    Args:
        demangled: the kernel's name.
        written: a kernel's or template's name in the source, without arguments.
    """
    compiled = short_name(demangled).partition("<")[0]
    return compiled == written or compiled.endswith(f"::{written}")


def nearest_names(pattern: str, names: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The names most similar to a glob that matches none, without duplicates, nearest first.

    Args:
        pattern: the glob.
        names: shortened; instances of a template count as the template.
        most: maximum number of names.
    """
    from difflib import SequenceMatcher

    plain = "".join(character for character in pattern if character not in "*?[]").lower()

    def unlike(name: str) -> tuple[float, str]:
        return -SequenceMatcher(None, plain, name.rpartition("::")[2].lower()).ratio(), name

    return tuple(sorted({name.partition("<")[0] for name in names}, key=unlike)[:most])


_LENGTH = re.compile(r"\d{1,9}(?=_(?:GLOBAL__N_|INTERNAL)_)")
_UNIT = re.compile(
    r"_(?P<scope>GLOBAL__N_|INTERNAL)_(?:(?P<hash>[0-9a-f]{8})_)?(?P<length>\d{1,9})_(?P<rest>.+)"
)
_STATIC = re.compile(r"__nv_static_(\d{1,9})_")


@functools.lru_cache(maxsize=1 << 16)
def stable_name(name: str) -> str:
    """A mangled name without numbers that a compiler changes with each run and directory.

    NVIDIA's front end names a file's anonymous namespace, and its static entities, by a hash of the
    path, the file's name, another hash and its process ID:
    ``_ZN41_GLOBAL__N__00000000_4_r_cu_2429f4fc_55604anonEPii`` gives ``_ZN11_GLOBAL__N_4anonEPii``.
    Other names are returned unchanged.
    """
    name = _without_static_units(name)
    if "_GLOBAL__N_" not in name and "_INTERNAL_" not in name:
        return name
    kept: list[str] = []
    position = 0
    while (found := _LENGTH.search(name, position)) is not None:
        # Digits of an identifier may precede those of the length.
        for start in reversed(range(found.start(), found.end())):
            end = found.end() + int(name[start : found.end()])
            unit = _UNIT.fullmatch(name[found.end() : end]) if end <= len(name) else None
            if unit is not None and len(unit["rest"]) > int(unit["length"]):
                scope = f"_{unit['scope']}"
                kept += [name[position:start], str(len(scope)), scope]
                position = end
                break
        else:
            kept.append(name[position : found.end()])
            position = found.end()
    return "".join([*kept, name[position:]])


_WARP = re.compile(r"_[0-9a-f]{8}(?=_cuda_kernel_(?:forward|backward)$)")


def lasting_name(name: str) -> str:
    """A stable name that survives edits of the kernel and other releases of CCCL.

    Warp names kernels by a digest of their text.

    Several instances of a generic kernel share it.
    """
    return _WARP.sub("", stable_name(without_release(name)))


def _without_static_units(name: str) -> str:
    """The name without the unit in ``__nv_static_<length>_<unit>_``, from older front ends."""
    found = _STATIC.match(name) if name.startswith("__nv") else None
    if found is None:
        return name
    return "__nv_static_" + name[found.end() + int(found.group(1)) + 1 :]


def select(names: Iterable[str], globs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The mangled names of the requested kernels, and the short names of the others."""
    kept: list[str] = []
    others: list[str] = []
    for name in names:
        demangled = demangle(name)
        if matches(globs, name, demangled):
            kept.append(name)
        else:
            others.append(short_name(demangled))
    return tuple(kept), tuple(others)

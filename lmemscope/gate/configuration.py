"""Describe what a configuration takes away from the gate, and where it is weaker than another.

The file comes with the sources, so an author can edit it. Every setting that affects what is
checked, how it is compiled or what passes is reported. Compared with an earlier revision's file, a
change counts as weaker unless it is known to be at least as strict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmemscope.config.kinds import shown
from lmemscope.config.options import OPTIONS, Row

Values = Mapping[str, Any]
"""A file's checked values, by option name."""

_NEUTRAL = frozenset(("jobs", "cache", "device", "sm_count", "threads_per_sm"))
_TAKES_AWAY = {
    "arch": "only these architectures are checked",
    "include": "only these files of directories and builds are checked",
    "exclude": "these files of directories and builds are not checked",
    "kernels": "only these kernels are checked",
    "defines": "these macros are defined, and can exclude code",
    "max_file_size": "larger files are not read",
    "timeout": "inputs that take longer are missing evidence",
    "build_database": "whether files are compiled with their build's options",
    "objects": "whether facts are read from objects of the build",
    "baseline": "its findings are accepted",
    "tolerance": "known findings may grow by this",
    "toolchain_tolerance": "known findings may grow by this after a toolchain change",
    "uninstantiated": "how uninstantiated kernels are treated",
    "external": "how calls to functions of other translation units are treated",
}
_MORE_IS_STRICTER = frozenset(("compile_ptx", "instantiate", "signatures"))
_LESS_IS_STRICTER = frozenset(("tolerance", "toolchain_tolerance"))
_CHOICES = frozenset(("include", "kernels", "arch"))
"""Lists that select what is checked; empty means everything, or the default."""
_OWN_BOUNDS = frozenset(("max_registers", "max_stack"))
"""Limits that replace no other rule: adding one forbids more."""
_NUMBERS = ("max_frame", "max_spill", "max_sites", "max_registers", "max_stack")


def taken_away(values: Values) -> Iterator[str]:
    """Sentences on what each setting of a file takes away from the gate, or decides."""
    for row in _rows():
        if row.name not in values:
            continue
        value = values[row.name]
        if row.name == "limits":
            yield from (f"limits: {_limit(table)}" for table in value)
        elif row.name == "allowances":
            yield from (f"allowances: {_allowance(table)}" for table in value)
        elif value != row.default:
            meaning = _TAKES_AWAY.get(row.name)
            yield f"{row.key} = {shown(_listed(value))}" + (f": {meaning}" if meaning else "")


def weaker(before: Values, now: Values) -> tuple[str, ...]:
    """Sentences on settings through which a configuration may accept more than an earlier one."""
    found: list[str] = []
    for row in _rows():
        old, new = (values.get(row.name, row.default) for values in (before, now))
        if old == new:
            continue
        if row.name == "allowances":
            found += [f"allowances: {_allowance(one)}" for one in new if not _is_held(one, old)]
        elif row.name == "limits":
            if not _is_stricter_list(old, new):
                said = "; ".join(map(_limit, new)) or "none any more"
                found.append(f"limits: {said}")
        elif not _is_stricter(row.name, old, new):
            found.append(f"{row.key} = {_value(new)}, before {_value(old)}")
    return tuple(found)


def _rows() -> Iterator[Row]:
    return (row for row in OPTIONS if row.file and row.group != "view" and _decides(row))


def _decides(row: Row) -> bool:
    return row.name not in _NEUTRAL


def _is_stricter(name: str, old: Any, new: Any) -> bool:
    """Whether a changed value checks no less and accepts no more."""
    if name == "exclude":
        return set(new) <= set(old)
    if name in _CHOICES:
        return bool(old) and (set(new) >= set(old) or (not new and name != "arch"))
    if name in _MORE_IS_STRICTER:
        return set(new) >= set(old)
    if name in _LESS_IS_STRICTER:
        return bool(new < old)
    if name in ("uninstantiated", "external"):
        return bool(new == "error")
    return False


def _is_stricter_list(old: Sequence[Values], new: Sequence[Values]) -> bool:
    """Whether two lists of limits cover the same kernels, and the new one forbids no less."""
    # Behind the first, which ends the ban on local memory, a number of its own forbids more.
    added = new[len(old) :]
    return (
        len(new) >= len(old)
        and all(_is_stricter_limit(*pair) for pair in zip(old, new, strict=False))
        and all(_only_forbids_more(one) for one in added)
    )


def _only_forbids_more(limit: Values) -> bool:
    others = [name for name in _NUMBERS if name not in _OWN_BOUNDS]
    accepts = limit["forbid"] is not None or bool(limit["allow"])
    return not accepts and all(limit[name] is None for name in others)


def _is_stricter_limit(old: Values, new: Values) -> bool:
    if any(old[name] != new[name] for name in ("kernel", "arch", "toolkit")):
        return False
    for name in _NUMBERS:
        was, now = old[name], new[name]
        if was is None and now is not None and name not in _OWN_BOUNDS:
            return False
        if was is not None and (now is None or now > was):
            return False
    if (old["forbid"] is None) != (new["forbid"] is None):
        return False
    return set(new["forbid"] or ()) >= set(old["forbid"] or ()) and set(new["allow"]) <= set(
        old["allow"]
    )


def _is_held(allowance: Values, others: Sequence[Values]) -> bool:
    """Whether an earlier allowance accepts everything that another one does."""
    return any(
        all(allowance[name] == other[name] for name in ("kernel", "arch", "toolkit", "cause"))
        and (
            other["bytes"] is None
            or (allowance["bytes"] is not None and allowance["bytes"] <= other["bytes"])
        )
        and (
            other["expires"] is None
            or (allowance["expires"] is not None and allowance["expires"] <= other["expires"])
        )
        for other in others
    )


def _limit(table: Values) -> str:
    said = []
    for name in _NUMBERS:
        if table[name] is not None:
            key = name.replace("_", "-")
            instead = "" if name in _OWN_BOUNDS else ", which takes the place of the ban"
            said.append(f"{key} {table[name]}{instead}")
    if table["forbid"] is not None:
        causes = ", ".join(table["forbid"]) or "nothing"
        said.append(f"forbid {causes}, so that other causes pass")
    if table["allow"]:
        said.append(f"allow {', '.join(table['allow'])}, which passes")
    where = _where(table)
    return f"for {table['kernel']}{where}: {'; '.join(said) or 'nothing'}"


def _where(table: Values) -> str:
    """A description of the architectures and toolkits an entry is for; empty for all."""
    arch = f" on {table['arch']}" if table["arch"] != "*" else ""
    return f"{arch} with CUDA {table['toolkit']}" if table["toolkit"] else arch


def _allowance(table: Values) -> str:
    most = "any number of bytes" if table["bytes"] is None else f"{table['bytes']} bytes"
    until = "" if table["expires"] is None else f" until {table['expires']}"
    where = _where(table)
    return f"{table['cause']} of {table['kernel']}{where}, {most}{until}, passes: {table['reason']}"


def _value(value: Any) -> str:
    if value is None or value == ():
        return "not set"
    return shown(_listed(value))


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

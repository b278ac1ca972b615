"""What a project allows: from its configuration and from comments in its sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from lmemscope.errors import UsageError
from lmemscope.model import CAUSES, Allowance, Cause, KernelDirective, Limit, Policy, UnitReport

_CAUSES = tuple(cause.name for cause in CAUSES)
_NUMBERS = ("max-frame", "max-spill", "max-sites", "max-registers")
_LIMIT_KEYS = frozenset({"kernel", "arch", "forbid", "allow", *_NUMBERS})
_ALLOWANCE_KEYS = frozenset({"kernel", "cause", "bytes", "reason", "expires"})
_ALLOW = re.compile(
    r'(?P<cause>[\w-]+)(?:\s+(?P<bytes>\d+))?\s+"(?P<reason>[^"]+)"'
    r"(?:\s+until\s+(?P<expires>\d{4}-\d{2}-\d{2}))?\s*$"
)


def from_configuration(section: Mapping[str, Any], file: str) -> Policy:
    """Limits and allowances of ``[tool.lmemscope]``.

    Raises:
        UsageError: an unknown key, cause or type, named with the file.
    """
    limits = tuple(_limit(item, file) for item in _tables(section, "limits", file))
    allowances = tuple(_allowance(item, file) for item in _tables(section, "allowances", file))
    return Policy(limits, allowances)


def from_sources(units: Sequence[UnitReport]) -> tuple[Allowance, ...]:
    """``// lmemscope: allow CAUSE BYTES "reason" until DATE`` comments.

    Raises:
        UsageError: a comment that cannot be read, named with its line.
    """
    found: dict[tuple[str, int], Allowance] = {}
    for unit in units:
        for directive in unit.directives:
            if directive.word == "allow":
                place = f"{unit.input}:{directive.line}"
                found[unit.input, directive.line] = _directive(directive, place)
    return tuple(found.values())


def _directive(directive: KernelDirective, place: str) -> Allowance:
    match = _ALLOW.match(directive.argument)
    if match is None:
        raise UsageError(
            "policy",
            f"{place}: not an allowance: {directive.argument}",
            hint='write: // lmemscope: allow dynamic-index 128 "reason" until 2027-01-31',
        )
    expires = match.group("expires")
    return Allowance(
        kernel=directive.kernel,
        cause=cause_of(match.group("cause"), place),
        bytes=int(match.group("bytes")) if match.group("bytes") else None,
        reason=match.group("reason"),
        expires=date.fromisoformat(expires) if expires else None,
        place=place,
    )


def cause_of(name: str, place: str) -> Cause:
    """A cause by name.

    Raises:
        UsageError: there is no such cause.
    """
    if name not in _CAUSES:
        raise UsageError(
            "policy", f"{place}: unknown cause {name}", hint=f"causes: {', '.join(_CAUSES)}"
        )
    return name


def _tables(section: Mapping[str, Any], key: str, file: str) -> list[Mapping[str, Any]]:
    value = section.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UsageError("policy", f"{file}: {key} is no list of tables")
    return value


def _limit(item: Mapping[str, Any], file: str) -> Limit:
    _check_keys(item, _LIMIT_KEYS, "limits", file)
    numbers = {}
    for key in _NUMBERS:
        value = item.get(key)
        if value is not None and (not isinstance(value, int) or value < 0):
            raise UsageError("policy", f"{file}: limits: {key} is no number: {value!r}")
        numbers[key.replace("-", "_")] = value
    forbid = item.get("forbid")
    return Limit(
        kernel=str(item.get("kernel", "*")),
        arch=str(item.get("arch", "*")),
        forbid=None if forbid is None else tuple(cause_of(name, file) for name in forbid),
        allow=tuple(cause_of(name, file) for name in item.get("allow", ())),
        **numbers,
    )


def _allowance(item: Mapping[str, Any], file: str) -> Allowance:
    _check_keys(item, _ALLOWANCE_KEYS, "allowances", file)
    reason = item.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(
            "policy",
            f"{file}: an allowance for {item.get('kernel', '*')} has no reason",
            hint='say why it is accepted: reason = "…"',
        )
    expires = item.get("expires")
    if expires is not None and not isinstance(expires, date):
        raise UsageError("policy", f"{file}: expires is no date: {expires!r}")
    return Allowance(
        kernel=str(item.get("kernel", "*")),
        cause=cause_of(str(item.get("cause")), file),
        bytes=item.get("bytes"),
        reason=reason,
        expires=expires,
        place=file,
    )


def _check_keys(item: Mapping[str, Any], known: frozenset[str], what: str, file: str) -> None:
    for key in item:
        if key not in known:
            raise UsageError(
                "policy",
                f"{file}: {what}: unknown key {key}",
                hint=f"keys: {', '.join(sorted(known))}",
            )

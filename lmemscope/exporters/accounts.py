"""Describe what happened to everything the gate was given, in sentences for every format.

What is missing is shown as missing evidence, and what is gone with the findings that are gone. The
sentences here cover what was checked, and what was left out and why.
"""

from __future__ import annotations

from lmemscope.gate.accounting import UNCHANGED, grouped
from lmemscope.model import GateResult, count, listed

_NAMED = 5
_LONGEST = 600


def edited(result: GateResult) -> list[str]:
    """Edits of the gate in the change under review; untrusted ones are missing evidence instead."""
    return [
        one.text for one in result.accounts if one.subject == "change" and one.state == "left-out"
    ]


def left_out(result: GateResult) -> list[str]:
    """What was left out, with similar things in one sentence; unchanged files are in the notes.

    Edits in the change under review are separate: see `edited`.
    """
    said = []
    for account, names in grouped(result.accounts):
        if account.reason == UNCHANGED or account.subject == "change":
            continue
        if account.subject == "baseline":
            named = listed(names, _NAMED)
            said.append(f"in the baseline but not checked: {named}: {account.reason}")
        elif account.subject == "input":
            said.append(f"checked only in part: {listed(names, _NAMED)}: {account.reason}")
        else:
            said.append(_short(account.reason))
    return said


def _short(text: str) -> str:
    """What builds decide may take pages; only the JSON document has all of it."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… (--format json shows all of it)"


def looked_at(result: GateResult) -> str:
    """How many inputs were checked; empty if unknown."""
    inputs = [one for one in result.accounts if one.subject == "input"]
    if not inputs:
        return ""
    missing = {one.name for one in inputs if one.state == "missing"}
    seen = {one.name for one in inputs if one.state == "looked-at"} - missing
    others = f", {len(missing)} could not be checked" if missing else ""
    return f"Checked {count(len(seen), 'input')}{others}."

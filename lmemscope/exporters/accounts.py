"""What became of all that the gate was given, as sentences that every format shows.

What is missing is shown as missing evidence, and what is gone with the findings that are; the
sentences here are of what was looked at, and of what was left out and why.
"""

from __future__ import annotations

from lmemscope.gate.accounting import UNCHANGED, grouped
from lmemscope.model import GateResult, count, listed

_NAMED = 5
_LONGEST = 600


def edited(result: GateResult) -> list[str]:
    """What the change under review edits of the gate; what nobody trusts is missing evidence."""
    return [
        one.text for one in result.accounts if one.subject == "change" and one.state == "left-out"
    ]


def left_out(result: GateResult) -> list[str]:
    """What was left out, alike things in one sentence; of unchanged files the notes speak.

    What the change under review edits is apart, see `edited`.
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
    """What builds decide may take pages; the JSON document has all of it."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… (--format json shows all of it)"


def looked_at(result: GateResult) -> str:
    """How many inputs were looked at; empty where that is not known."""
    inputs = [one for one in result.accounts if one.subject == "input"]
    if not inputs:
        return ""
    missing = {one.name for one in inputs if one.state == "missing"}
    seen = {one.name for one in inputs if one.state == "looked-at"} - missing
    others = f", {len(missing)} could not be checked" if missing else ""
    return f"Checked {count(len(seen), 'input')}{others}."

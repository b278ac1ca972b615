"""Account for the configuration of `check`: what it excludes, and how a change weakened it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.config.file import OWN
from lmemscope.discover.locate import shown_path
from lmemscope.discover.revision import configuration_at
from lmemscope.errors import UsageError
from lmemscope.gate.configuration import taken_away, weaker
from lmemscope.model import Account, AccountState, MissingEvidence

if TYPE_CHECKING:
    from lmemscope.config.settings import Configuration
    from lmemscope.discover.changed import Selection
    from lmemscope.discover.revision import Revision
    from lmemscope.model import GateResult

_WEAKER = (
    "a gate may not be weakened by what it judges: merge the configuration first, or give "
    "--trust-configuration"
)


@dataclass(frozen=True, slots=True)
class Said:
    """Statements about the configuration.

    Attributes:
        accounts: one per setting.
        missing: reasons why the answer is incomplete: settings weaker than the revision's.
    """

    accounts: tuple[Account, ...]
    missing: tuple[MissingEvidence, ...] = ()

    def added_to(self, result: GateResult) -> GateResult:
        """Add these statements to the gate's answer; ``--allow-incomplete`` never excuses them."""
        result = replace(result, accounts=(*result.accounts, *self.accounts))
        if not self.missing:
            return result
        return replace(
            result,
            missing=(*result.missing, *self.missing),
            allow_incomplete=False,
            verdict="failed" if result.failures else "undecided",
        )


def say_of(
    configuration: Configuration,
    since: Selection | None = None,
    edits: Iterable[Account] = (),
    own: Iterable[MissingEvidence] = (),
    *,
    trusted: bool = False,
) -> Said:
    """Account for the configuration file.

    Args:
        configuration: the command's configuration.
        since: the revision given by ``--changed``, or None.
        edits: other edits to the gate in the change under review.
        own: findings that pass only because the change itself accepts them.
        trusted: whether the command line accepts the configuration as it is.
    """
    accounts = list(_of_file(configuration))
    if since is None:
        return Said(tuple(accounts))
    accounts += edits
    weakened = list(_weakened(configuration, since.revision))
    state: AccountState = "left-out" if trusted else "missing"
    accounts += [Account("change", "", state, text) for text in weakened]
    accounts += [Account("change", one.input or "", state, one.reason) for one in own]
    if trusted:
        return Said(tuple(accounts))
    missing = [MissingEvidence(None, "configuration", f"{text}; {_WEAKER}") for text in weakened]
    return Said(tuple(accounts), (*missing, *own))


def _account(text: str) -> Account:
    return Account("configuration", "", "left-out", text)


def _of_file(configuration: Configuration) -> Iterator[Account]:
    if configuration.file is None:
        return
    name = shown_path(configuration.file)
    said = list(taken_away(configuration.written))
    if not said:
        yield _account(f"the configuration {name} takes nothing away")
    yield from (_account(f"{name}: {text}") for text in said)


def _weakened(configuration: Configuration, revision: Revision) -> Iterator[str]:
    """Settings that accept more than the revision's did."""
    try:
        before = configuration_at(revision)
    except UsageError as error:
        yield f"the configuration of {revision.name} cannot be read: {error.message}"
        return
    name = shown_path(configuration.file or before.path or OWN)
    for text in weaker(before.values, configuration.written):
        yield f"{name} is weaker than at {revision.name}: {text}"

"""The configuration file of `check`: what it takes away, and what a change made of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.config.file import OWN
from lmemscope.discover.locate import is_database, shown_path
from lmemscope.discover.revision import configuration_at
from lmemscope.errors import UsageError
from lmemscope.gate.configuration import taken_away, weaker
from lmemscope.model import Account, AccountState, InputId, MissingEvidence, kind_of

if TYPE_CHECKING:
    from lmemscope.config.settings import Configuration
    from lmemscope.discover.changed import Selection
    from lmemscope.discover.revision import Revision
    from lmemscope.model import GateResult, Report

_WEAKER = (
    "a gate may not be weakened by what it judges: merge the configuration first, or give "
    "--trust-configuration"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What there is to say of the configuration.

    Attributes:
        accounts: of each setting.
        missing: why the gate's answer is incomplete: settings weaker than the revision's.
    """

    accounts: tuple[Account, ...]
    missing: tuple[MissingEvidence, ...] = ()

    def added_to(self, result: GateResult) -> GateResult:
        """The gate's answer with this; what is weaker no ``--allow-incomplete`` accepts."""
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
    configuration: Configuration, report: Report, since: Selection | None, *, trusted: bool
) -> Said:
    """Account for the configuration file.

    Args:
        configuration: of the command.
        report: of the inputs.
        since: the revision of ``--changed``, or None.
        trusted: whether the command line takes the file as it is.
    """
    accounts = list(_of_file(configuration))
    if since is None:
        return Said(tuple(accounts))
    accounts += _new_allowances(report, since.revision)
    if since.grounds.inputs:
        accounts.append(_account(f"the baseline is not that of {since.revision.name}"))
    accounts += _changed_builds(since.revision)
    changed = list(_weakened(configuration, since.revision))
    accounts += [_account(text, "left-out" if trusted else "missing") for text in changed]
    if trusted:
        return Said(tuple(accounts))
    missing = (MissingEvidence(None, "configuration", f"{text}; {_WEAKER}") for text in changed)
    return Said(tuple(accounts), tuple(missing))


def _account(text: str, state: AccountState = "left-out") -> Account:
    return Account("configuration", "", state, text)


def _of_file(configuration: Configuration) -> Iterator[Account]:
    if configuration.file is None:
        return
    name = shown_path(configuration.file)
    said = list(taken_away(configuration.written))
    if not said:
        yield _account(f"the configuration {name} takes nothing away")
    yield from (_account(f"{name}: {text}") for text in said)


def _changed_builds(revision: Revision) -> Iterator[Account]:
    """Build databases in git that are not those of the revision."""
    for path in sorted(revision.changed):
        if is_database(path):
            said = "which says how files are compiled, is not that of"
            yield _account(f"{shown_path(path)}, {said} {revision.name}")


def _weakened(configuration: Configuration, revision: Revision) -> Iterator[str]:
    """Settings that accept more than the revision's."""
    try:
        before = configuration_at(revision)
    except UsageError as error:
        yield f"the configuration of {revision.name} cannot be read: {error.message}"
        return
    name = shown_path(configuration.file or before.path or OWN)
    for text in weaker(before.values, configuration.written):
        yield f"{name} is weaker than at {revision.name}: {text}"


def _new_allowances(report: Report, revision: Revision) -> Iterator[Account]:
    """Comments that allow and that the revision does not have."""
    found: dict[tuple[str, int], tuple[str, str]] = {}
    for unit in report.units:
        for one in unit.directives:
            if one.word == "allow":
                file = one.file or InputId.parse(unit.input).file
                # A text of the revision tells no names of kernels that Python makes.
                kernel = "" if _is_python(file) else one.kernel
                found[file, one.line] = (kernel, one.argument)
    before: dict[str, Counter[tuple[str, str]]] = {}
    for (file, line), said in sorted(found.items()):
        if file not in before:
            before[file] = _allowances_at(file, revision)
        if before[file][said] > 0:
            before[file][said] -= 1
        else:
            yield _account(f"{file}:{line}: this allowance is new since {revision.name}: {said[1]}")


def _allowances_at(file: str, revision: Revision) -> Counter[tuple[str, str]]:
    """Kernel and words of each comment that allows in a file of the revision."""
    from lmemscope.sources.cuda import read_cuda_source
    from lmemscope.sources.encoding import decoded, readable

    data = revision.content(os.path.realpath(file)) or b""
    if _is_python(file):
        from lmemscope.sources.python_comments import allowances

        return Counter(("", said) for said in allowances(readable(decoded(data).text)))
    return Counter(
        (one.kernel, one.argument)
        for one in read_cuda_source(readable(decoded(data).text)).kernel_directives
        if one.word == "allow"
    )


def _is_python(file: str) -> bool:
    kind = kind_of(file)
    return kind is not None and kind.reads == "imports"

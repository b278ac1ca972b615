"""Apply the gate's policy to a report and one baseline; `check` may do this several times."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lmemscope.app import earlier
from lmemscope.app.gate_inputs import inputs_of
from lmemscope.gate import baseline
from lmemscope.gate.compare import compare
from lmemscope.model import InputId

if TYPE_CHECKING:
    from lmemscope.config.settings import Configuration, Settings
    from lmemscope.discover.changed import Selection
    from lmemscope.model import Baseline, BaselineEntry, GateResult, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Everything that the gate needs except the baseline.

    Attributes:
        paths: as the user typed them.
        report: the report of these paths.
        configuration: limits, allowances and tolerances.
        settings: how it was compiled.
        typed: the options given on the command line, by name.
        allow_incomplete: pass even if evidence is missing.
        since: the selection of what may have changed since a revision; None if all was analysed.
        new_since: name of the earlier revision whose findings are known too, or None.
    """

    paths: Sequence[str]
    report: Report
    configuration: Configuration
    settings: Settings
    typed: Mapping[str, Any]
    allow_incomplete: bool
    since: Selection | None = None
    new_since: str | None = None

    def answer(self, known: Baseline | None, before: Report | None = None) -> GateResult:
        """The gate's answer.

        Args:
            known: a baseline with the report's paths, or None.
            before: report of an earlier revision whose findings are known too, or None.
        """
        given, since = self.configuration, self.since
        both = known if before is None else earlier.joined(known, before, given.tolerance)
        result = compare(
            self.report,
            given.policy,
            both,
            tolerance=given.tolerance,
            toolchain_tolerance=given.toolchain_tolerance,
            allow_incomplete=self.allow_incomplete,
            inputs=inputs_of(
                self.paths,
                self.report,
                both,
                self.settings,
                globs_typed=bool(self.settings.narrowed),
                archs_typed="arch" in self.typed,
                # What the earlier revision already lacked was not moved by this change.
                deleted=since.revision.deleted if since and before is not None else None,
            ),
            kernels=self.settings.kernels,
            unchanged=since.unchanged if since is not None else (),
            known_in="the baseline" if before is None else self.new_since or "",
        )
        if before is None or since is None:
            return result
        # What the earlier revision already lacked has not disappeared since.
        had = {_identity(one) for one in baseline.from_report(before).findings}
        deleted = since.revision.deleted
        gone = tuple(
            one
            for one in result.gone
            if _identity(one) in had or os.path.realpath(InputId.parse(one.input).file) in deleted
        )
        result = replace(result, gone=gone)
        name = self.new_since or ""
        untouched = since.untouched
        return earlier.without_old(result, self.report, before, given.policy, name, untouched)


def _identity(entry: BaselineEntry) -> BaselineEntry:
    return replace(entry, bytes=0)

"""Run the gate for `check`: analyse, compare with the baseline, and record what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_in
from string import hexdigits
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.app import own_acceptance, under_review
from lmemscope.app.acceptance import acceptance_of, with_comments
from lmemscope.app.baseline_file import BaselineFile, unused, without_architectures
from lmemscope.app.failing_advice import with_advice
from lmemscope.app.gate_configuration import say_of
from lmemscope.app.gate_inputs import with_stale
from lmemscope.app.gathered import filtered, gathered_analysed
from lmemscope.app.judging import Judging
from lmemscope.app.saved_options import with_other_options
from lmemscope.config.settings import Configuration, Settings
from lmemscope.discover.locate import is_build, is_saved
from lmemscope.exporters import measured_document
from lmemscope.gate import baseline, measured
from lmemscope.model import Baseline, Checked, GateResult, Report, Written
from lmemscope.rules.clean_kernels import with_clean

if TYPE_CHECKING:
    from lmemscope.app.session import Session
    from lmemscope.discover.changed import Selection


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `check` that are not in its configuration.

    Attributes:
        revision: check only what changed since this revision; None checks everything.
        new_since: a revision whose existing findings do not fail; or None.
        allow_incomplete: pass even if evidence is missing.
        trust_configuration: accept a configuration weaker than the revision's.
        update: remove findings that no longer exist from the baseline.
        ratchet: record improvements in the baseline.
        typed: the options given on the command line, by name.
    """

    revision: str | None = None
    new_since: str | None = None
    allow_incomplete: bool = False
    trust_configuration: bool = False
    update: bool = False
    ratchet: bool = False
    typed: Mapping[str, Any] = field(default_factory=dict)


def settings_as(known: Baseline | None, settings: Settings) -> Settings:
    """The settings, with the baseline's architectures unless the user named some.

    The result must not depend on which GPU the machine has.
    """
    if known is None or settings.archs:
        return settings
    if known.archs:
        return replace(settings, archs=known.archs)
    # Older baselines record no architecture except that of their findings.
    default = (known.default_arch,) if known.default_arch else {e.arch for e in known.findings}
    return replace(settings, default_archs=tuple(sorted(default)))


def _short(revision: str) -> str:
    """A revision shortened for display: hashes are truncated."""
    is_hash = len(revision) in (40, 64) and all(digit in hexdigits for digit in revision)
    return revision[:10] if is_hash else revision


def judge(
    paths: Sequence[str],
    session: Session,
    configuration: Configuration,
    file: BaselineFile | None,
    known: Baseline | None,
    asked: Asked,
) -> tuple[Checked, Baseline | None]:
    """The gate's answer, and the baseline to write, if any.

    Args:
        paths: as the user typed them.
        session: how to compile, with the settings from `settings_as`.
        configuration: limits, allowances and tolerances.
        file, known: the baseline file and its content, or None.
        asked: the command-line options.

    Raises:
        UsageError: a saved report or the baseline was filtered, and its counterpart was not.
        LmemscopeError: as `gathered`.
    """
    settings = session.settings
    since = None
    revision, name = asked.revision, None
    if asked.new_since is not None:
        from lmemscope.app import earlier

        revision = earlier.merge_base(asked.new_since, paths)
        asked = replace_in(asked, new_since=_short(asked.new_since))
        name = f"the merge base with {asked.new_since}"
    if revision is not None:
        from lmemscope.discover import changed

        path = file.path if file is not None else None
        since = changed.since(revision, paths, path, configuration.file, settings, name=name)
    narrow = since.narrow if since is not None else None
    report, analysed = gathered_analysed(paths, session, narrow, verify=True)
    theirs = known.filters if known is not None else ()
    # Exclusions by this command's own flags are reported below. How much an already filtered file
    # lacks is unknown.
    foreign = tuple(one for one in report.filters if one not in settings.filters)
    saved = next(filter(is_saved, paths), None)
    if saved is not None and foreign and report.filters != theirs:
        other = "the gate" if known is None else "the baseline"
        raise filtered(saved, foreign, theirs, other)
    if file is not None and known is not None:
        known = file.reported(known, report)
    report = with_other_options(paths, with_stale(paths, with_clean(report)), settings)
    judging = Judging(
        paths=paths,
        report=report,
        configuration=configuration,
        settings=settings,
        typed=asked.typed,
        allow_incomplete=asked.allow_incomplete,
        since=since,
        new_since=asked.new_since,
    )
    if since is None:
        result = say_of(configuration).added_to(judging.answer(known))
    else:
        result = _since(judging, session, file, known, since, asked)
    if settings.causes and not settings.proposals:
        report, result = with_advice(report, result, analysed, session)
    result = with_comments(result, analysed)
    where = (f"the baseline is {file.path}",) if file is not None and file.found else ()
    hints = unused(paths, file) if configuration.baseline is None else ()
    failures, archs = result.failures, settings.archs
    unknown = without_architectures(paths, file, known, report, failures, asked.typed, archs)
    result = replace(result, notes=(*where, *hints, *unknown, *result.notes))
    update, ratchet = known is not None and asked.update, known is not None and asked.ratchet
    written = Written(update=update, ratchet=ratchet)
    how = acceptance_of(paths, settings, configuration, file, result, asked.typed)
    checked = Checked(report, result, written, asked.new_since, how)
    if known is None or not (update or ratchet):
        return checked, None
    changed_ = baseline.without(known, result.gone) if update else known
    return checked, baseline.ratcheted(changed_, result.better) if ratchet else changed_


def _since(
    judging: Judging,
    session: Session,
    file: BaselineFile | None,
    known: Baseline | None,
    since: Selection,
    asked: Asked,
) -> GateResult:
    """The answer for what changed since a revision, with the change's edits to the gate itself."""
    from lmemscope.app import earlier

    revision, report = since.revision, judging.report
    found = own_acceptance.theirs_of(file, known, revision, report)
    theirs = found.known
    of_build = any(map(is_build, judging.paths))
    unbuilt = under_review.unbuilt(revision, report, since.unchanged) if of_build else ()
    added = own_acceptance.added(known, theirs)
    edits = under_review.edits(revision, report, added, judging.settings, unbuilt)
    notes = (*since.notes, *filter(None, (found.unreadable,)))
    own = [*own_acceptance.by_architectures(judging, known, theirs, revision)]
    name = asked.new_since or revision.name
    own += own_acceptance.in_advance(judging, known, theirs, name)

    def of_revision() -> Report:
        return with_clean(earlier.known_at(revision, judging.paths, session, report))

    if asked.new_since is None:
        result = judging.answer(known)
        own += own_acceptance.since_alone(judging, result, known, theirs, name, of_revision)
    else:
        were = of_revision()
        result = judging.answer(known, were)
        strict = judging.answer(theirs, were) if known != theirs else result
        own += own_acceptance.by_baseline(result, strict, known, name)
        before = own_acceptance.Before(theirs, were, name)
        by_build = own_acceptance.by_build(judging, strict, before, revision, session)
        own += by_build.missing
        notes = (*notes, *by_build.notes)
    said = say_of(judging.configuration, since, edits, own, trusted=asked.trust_configuration)
    result = said.added_to(result)
    return replace(result, notes=(*notes, *result.notes))


def measured_alone(*, allow_incomplete: bool) -> Checked:
    """An empty answer, to which `with_measurement` adds."""
    none = GateResult("passed", allow_incomplete, (), (), (), (), (), (), ())
    return Checked(Report(version=__version__, toolchain={}, units=()), none)


def with_measurement(checked: Checked, path: str, most: float, kernels: Sequence[str]) -> Checked:
    """The answer, combined with a document saved by `lmemscope measure`.

    Args:
        checked: the answer so far.
        path: the JSON document.
        most: highest accepted share of local memory, from 0 to 1.
        kernels: globs that select kernels.

    Raises:
        InputError, UsageError: the file is not such a document.
    """
    found = measured_document.SAVED.load(path)
    result = measured.with_measured(checked.result, found, path, most, kernels)
    return replace(checked, result=result)

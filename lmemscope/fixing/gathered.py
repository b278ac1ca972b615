"""The report of inputs with what rewrites achieve, tried now or read from a document of ``fix``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.app.gathered import gathered, limited
from lmemscope.app.session import Session
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError
from lmemscope.model import FixReport, Report


@dataclass(frozen=True, slots=True)
class Fixes:
    """Where proven fixes come from.

    Attributes:
        tries: whether rewrites are tried now.
        saved: path of a saved document of ``fix``, or None.
        block: threads of a block at most, where rewrites are tried and the source does not say it.
    """

    tries: bool
    saved: str | None
    block: int | None

    def __post_init__(self) -> None:
        if self.block is not None and not self.tries:
            raise UsageError(
                "usage", "--block is for rewrites that are tried", hint="ask for them with --fix"
            )
        if self.tries and self.saved is not None:
            raise UsageError(
                "usage",
                "--fix tries rewrites, and --fix-from takes what was tried before",
                hint="leave one of them out",
            )


def gathered_with_fixes(
    paths: Sequence[str], session: Session, fixes: Fixes
) -> tuple[Report, tuple[str, ...]]:
    """The report of inputs; where asked for, findings show the best proven fix, and no advice that
    was tried in vain.

    Args:
        paths: as the user typed them.
        session: how to compile and what to keep.
        fixes: where they come from.

    Returns:
        The report, and those of its notes that say which saved fixes no longer hold.

    Raises:
        UsageError: rewrites are to be tried on a saved report, or as `gathered`.
        InputError: a saved document does not exist, or is damaged.
        Interrupted, CutError: by the user; the latter's report shows what was tried by then.
    """
    if fixes.saved is not None:
        return _with_saved(paths, session, fixes.saved)
    if not fixes.tries:
        return gathered(paths, session), ()
    saved = next((path for path in paths if is_saved(path)), None)
    if saved is not None:
        raise UsageError(
            "usage",
            f"{saved} is a saved report: --fix compiles",
            hint="name the source instead, or take what `fix` saved with --fix-from",
        )
    # Most reports are made without.
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.run import Asked, CutError, fix

    kernels = session.settings.kernels

    def shown(report: Report, found: FixReport, *, is_cut: bool = False) -> Report:
        report = with_fixes(report, found, is_cut=is_cut)
        # Trials looked at every kernel, for each may be harmed.
        units = tuple(limited(one, kernels) for one in report.units) if kernels else report.units
        return replace(report, units=units)

    try:
        return shown(*fix(paths, session, Asked(kernels, block=fixes.block))), ()
    except CutError as cut:
        cut.report = shown(cut.report, cut.fixes, is_cut=True)
        raise


def _with_saved(
    paths: Sequence[str], session: Session, path: str
) -> tuple[Report, tuple[str, ...]]:
    from lmemscope.exporters.fix_document import load
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.same import that_holds

    saved = load(path)
    report = gathered(paths, session)
    holding, said = that_holds(saved, report)
    notes = tuple(f"{path}: {one}" for one in said)
    report = with_fixes(report, holding)
    return replace(report, notes=(*report.notes, *notes)), notes

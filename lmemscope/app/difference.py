"""The two reports that `diff` compares: reports, inputs, architectures, toolkits, revisions."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from lmemscope.app.earlier import report_at
from lmemscope.app.execute import run
from lmemscope.app.gathered import filtered, gathered
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.errors import UsageError
from lmemscope.gate.difference import difference
from lmemscope.model import Difference, Report
from lmemscope.rules.clean_kernels import with_clean


def compared(
    paths: Sequence[str], revisions: str | None, toolkits: Sequence[str], session: Session
) -> tuple[Report, Report, Difference]:
    """Both sides of a comparison, and their difference.

    Args:
        paths: the two paths to compare, or the inputs to compare in two versions.
        revisions: two git revisions, ``A..B``, or None.
        toolkits: two toolkits to compare, or one to compare with the installed toolkit.
        session: how to compile.

    Raises:
        UsageError: there are not two sides, or only one side was filtered.
        LmemscopeError: as `gathered`.
    """
    old, new, ignore_arch, ignore_input = _sides(paths, revisions, toolkits, session)
    if old.filters != new.filters:
        # Only saved reports can differ here: inputs analysed now share their filters.
        side, other = (old, new) if old.filters else (new, old)
        name, name2 = paths if side is old else reversed(paths)
        raise filtered(name, side.filters, other.filters, name2)
    old, new = with_clean(old), with_clean(new)
    roots = ("", "")
    if len(paths) == 2 and revisions is None and all(map(os.path.isdir, paths)):
        roots = (paths[0], paths[1])
    found = difference(old, new, ignore_arch=ignore_arch, ignore_input=ignore_input, roots=roots)
    return old, new, found


def _sides(
    paths: Sequence[str], revisions: str | None, toolkits: Sequence[str], session: Session
) -> tuple[Report, Report, bool, bool]:
    """The two reports, and whether matching ignores architectures and files."""
    settings = session.settings
    if len(paths) == 1 and toolkits and revisions is None and len(toolkits) <= 2:
        pair = toolkits if len(toolkits) == 2 else [settings.toolkit, *toolkits]
        old, new = (_run(paths, session, replace(settings, toolkit=each)) for each in pair)
        return old, new, False, False
    if len(toolkits) > 1:
        raise UsageError("usage", "several --toolkit compare one PATH", hint="name one of each")
    if toolkits:
        settings = replace(settings, toolkit=toolkits[0])
    if revisions is not None:
        first, separator, second = revisions.partition("..")
        if not separator or not first or not second:
            raise UsageError("git", f"{revisions} does not name two revisions", hint="write A..B")
        old, new = (report_at(each, paths, session, settings) for each in (first, second))
        return old, new, False, False
    if len(paths) == 1 and len(settings.archs) == 2:
        every = (replace(settings, archs=(arch,)) for arch in settings.archs)
        old, new = (_run(paths, session, each) for each in every)
        return old, new, True, False
    if len(paths) != 2:
        raise UsageError(
            "usage",
            "diff takes two things to compare",
            hint="OLD NEW, or one PATH with two --arch or a --toolkit, or --git A..B PATH...",
        )
    with session.anew(settings) as own:
        old, new = (gathered([path], own) for path in paths)
    # A build log has one unit per source file: "build.log[src/a.cu]".
    single = all(len({u.file for u in r.units}) == 1 for r in (old, new))
    return old, new, False, single


def _run(paths: Sequence[str], session: Session, settings: Settings) -> Report:
    with session.anew(settings) as own:
        return run(paths, own)

"""Reports as text: one module per format, each a function from a `Report` to a string."""

from __future__ import annotations

from lmemscope.model import Report


def render(
    report: Report,
    format_name: str,
    *,
    color: bool,
    width: int | None,
    verbose: bool,
    with_accesses: bool = False,
) -> str:
    """Render a report.

    Args:
        report: what to show.
        format_name: ``table``, ``json``, ``markdown``, ``sarif`` or ``html``.
        color: whether the table may hold escape sequences.
        width: columns of the terminal, or None for a pipe or a file.
        verbose: whole logs, and log lines that were not understood.
        with_accesses: every single access in JSON.
    """
    if format_name == "json":
        from lmemscope.exporters.json import render_json

        return render_json(report, with_accesses=with_accesses)
    if format_name == "sarif":
        from lmemscope.exporters.sarif import render_sarif

        return render_sarif(report)
    if format_name == "html":
        from lmemscope.exporters.html import render_html

        return render_html(report)
    if format_name == "markdown":
        from lmemscope.exporters.markdown import render_markdown

        return render_markdown(report)
    from lmemscope.exporters.terminal import render_table

    return render_table(report, color=color, width=width, verbose=verbose)

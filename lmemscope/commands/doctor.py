"""``lmemscope doctor``: which tools are installed, and whether they are compatible."""

from __future__ import annotations

import click

from lmemscope.commands.options import flag
from lmemscope.commands.say import say
from lmemscope.config.options import option
from lmemscope.errors import ToolMissingError
from lmemscope.tools.addresses import fixed_addresses
from lmemscope.tools.examination import (
    examine,
    installed_wheels,
    mismatches,
    mixed_lines,
    several_cupys,
)
from lmemscope.tools.toolchain import Toolchain

_ESSENTIAL = ("nvrtc", "ptxas", "cuda headers")


@click.command(name="doctor")
@flag(option("toolkit"), help="Examine the toolkit in DIR.")
def command(toolkit: str | None) -> None:
    """Show which tools were found, where, their versions, and what is missing.

    The exit code is 3 if a tool that every analysis needs is missing.
    """
    from lmemscope.discover.plan import choose_arch

    findings = examine(Toolchain(toolkit))
    for finding in findings:
        if finding.tool is not None:
            version = finding.tool.version or ""
            say(f"{finding.name:<14} {version:<10} {finding.tool.path}")
        else:
            say(f"{finding.name:<14} {'missing':<10} {finding.purpose}: {finding.hint}")
    say(f"{'default arch':<14} {choose_arch()[1]}")
    wheels = installed_wheels() if toolkit is None else {}
    for warning in (several_cupys(wheels), mixed_lines(findings, wheels)):
        if warning is not None:
            say(f"warning: {warning}")
    for problem in mismatches(findings):
        say(f"note: {problem}")
    with fixed_addresses() as fixed:
        if not fixed:
            say(
                "note: this system refuses fixed addresses (personality(2)), as containers may; "
                "NVRTC's code for a few programs then differs between runs: --frontend nvcc"
            )
    missing = [f.name for f in findings if f.tool is None and f.name in _ESSENTIAL]
    if missing:
        raise ToolMissingError("toolchain", f"missing: {', '.join(missing)}")

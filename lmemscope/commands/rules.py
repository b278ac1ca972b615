"""``lmemscope rules``: list the rules, or show one rule's page."""

from __future__ import annotations

import click

from lmemscope.commands.say import say
from lmemscope.errors import UsageError
from lmemscope.exporters.escape_terminal import lines


def _offered(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from lmemscope.rules import RULES

    return [rule.cause for rule in RULES if rule.cause.startswith(incomplete)]


@click.command(name="rules")
@click.argument("name", required=False, metavar="[ID]", shell_complete=_offered)
def command(name: str | None) -> None:
    """List the causes, or show the page of one: what it is, what it costs, how to remove it.

    ID is a number (LM201) or a name (dynamic-index).
    """
    from lmemscope.rules import RULES, rule

    if name is None:
        for found in RULES:
            say(f"{found.id}  {found.cause:<15}  {found.title}")
        return
    one = rule(name)
    if one is None:
        raise UsageError("rules", f"there is no rule {name}", hint="`lmemscope rules` lists them")
    say(f"{one.id} {one.cause}", "", *lines(one.page))

"""Flags made from the table of options, and their way into a command's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from lmemscope.config.gate_options import LIMIT
from lmemscope.config.kinds import Place
from lmemscope.config.option import Group, Option
from lmemscope.config.options import OPTIONS

Function = TypeVar("Function", bound=Callable[..., Any])

_NAMES = frozenset(row.name for row in (*OPTIONS, *LIMIT))
_UNSAID = frozenset({ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP})
_COMPLETED = {"arch": "archs", "kernels": "kernels"}
"""Options whose values a shell is offered, and by which function of `completion`."""

_COLOR = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)


def compile_options(function: Function) -> Function:
    """Add the flags of every command that compiles; they arrive as one ``settings``."""
    return _reading(_flagged(_COLOR(function), "compile"), "settings")


def comparing_options(function: Function) -> Function:
    """As `compile_options`, with ``--toolkit`` repeatable; it arrives as ``toolkits``."""
    return _reading(
        _flagged(
            _COLOR(function),
            "compile",
            toolkit={
                "name": "toolkits",
                "multiple": True,
                "help": "Compare the installed toolkit with DIR; or, given twice, two of them.",
            },
        ),
        "settings",
    )


def configured_options(function: Function) -> Function:
    """As `compile_options`; what the gate needs arrives with them, as one ``configuration``."""
    return _reading(_flagged(_COLOR(function), "compile"), "configuration")


def group_options(group: Group) -> Callable[[Function], Function]:
    """Add the flags of one group; a decorator below this one reads them."""
    return lambda function: _flagged(function, group)


def flag(row: Option, **changes: Any) -> Callable[[Function], Function]:
    """The click option of a row; its value arrives checked.

    Args:
        row: with at least one flag.
        changes: to what `click.option` is given; ``name`` is the parameter's.
    """
    kind = row.kind
    made: dict[str, Any] = {"help": row.help, "metavar": row.metavar, "callback": _checking(row)}
    if kind.bounds:
        made["help"] += f"  [{kind.bounds}]"
    if kind.shape == "switch":
        paired = "/" in row.flags[-1]
        made |= {"default": row.default} if paired else {"is_flag": True}
    elif kind.shape == "many":
        made["multiple"] = True
        if kind.choices:
            made["shell_complete"] = _completing(kind.choices)
    elif kind.choices:
        made |= {"default": row.default, "show_default": row.default is not None}
        made |= {
            "metavar": f"[{'|'.join(kind.choices)}]",
            "shell_complete": _completing(kind.choices),
        }
    if row.name in _COMPLETED:
        made["shell_complete"] = completing(_COMPLETED[row.name])
    made |= changes
    return click.option(*row.flags, made.pop("name", row.name), **made)


def completing(name: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """A function of `lmemscope.commands.completion`, imported when a shell asks."""

    def offered(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from lmemscope.commands import completion

        found: list[Any] = getattr(completion, name)(context, parameter, incomplete)
        return found

    return offered


def _flagged(function: Function, group: Group, **changes: dict[str, Any]) -> Function:
    for row in reversed(tuple(_rows(group))):
        function = flag(row, **changes.get(row.name, {}))(function)
    return function


def _rows(group: Group) -> Iterator[Option]:
    for row in OPTIONS:
        if row.group == group:
            yield from (one for one in (row, *row.rows) if one.flags)


def _reading(function: Function, argument: str) -> Function:
    """Replace a command's flags by what they and the configuration file say together."""

    @functools.wraps(function)
    def command(**values: Any) -> Any:
        from lmemscope.config.settings import from_flags

        source = click.get_current_context().get_parameter_source
        own = {name: value for name, value in values.items() if name not in _NAMES}
        given = {
            name: value
            for name, value in values.items()
            if name in _NAMES and source(name) not in _UNSAID
        }
        read = from_flags(given, admit=_admitted)
        return function(**own, **{argument: read if argument == "configuration" else read.settings})

    return command  # type: ignore[return-value]


def _admitted(name: str, words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # Few configurations hold arguments to tools.
    from lmemscope.discover.found_arguments import admitted

    return admitted(name, words)


def _checking(row: Option) -> Callable[[click.Context, click.Parameter, Any], Any]:
    place = Place(row.flag)
    # A switch that only has its negative form is given when it is off.
    negative = row.flag.startswith("--no-")

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        # Click 8.4.0 says where a value is from only after its callback.
        unsaid = value is None or context.get_parameter_source(parameter.name or "") in _UNSAID
        if unsaid or context.resilient_parsing:
            return value
        if row.kind.shape == "switch":
            return value != negative
        if not isinstance(value, tuple):
            return row.kind.check(row.kind.read(value), place)
        checked = [row.kind.check(row.kind.read(text), place) for text in value]
        many = row.kind.shape == "many"
        return tuple(item for part in checked for item in part) if many else tuple(checked)

    return callback


def _completing(words: tuple[str, ...]) -> Callable[[Any, Any, str], list[str]]:
    return lambda context, parameter, incomplete: [
        word for word in words if word.startswith(incomplete)
    ]

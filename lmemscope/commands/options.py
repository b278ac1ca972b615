"""Make click flags from the declared options, and pass their values to a command."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from lmemscope.analysis.occupancy import LARGEST_BLOCK
from lmemscope.config.kinds import Place
from lmemscope.config.options import LIMIT, OPTIONS, Row
from lmemscope.model.option import Group

Function = TypeVar("Function", bound=Callable[..., Any])

_NAMES = frozenset(row.name for row in (*OPTIONS, *LIMIT))
_UNSAID = frozenset({ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP})
_TYPED = f"{__name__}.typed"
_PATHS = frozenset({"FILE", "DIR"})
"""Value placeholders that shells complete as paths."""

_COLOR = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Use colour; auto does on a terminal, unless NO_COLOR is set.",
)

path_argument = functools.partial(click.argument, type=click.Path(), required=True)
"""A path argument with shell completion."""


def format_options(formats: Iterable[str]) -> Callable[[Function], Function]:
    """Add ``--format`` and ``-o``, passed as ``format_name`` and ``target``."""
    words = list(formats)
    choice = click.option(
        "--format",
        "format_name",
        type=click.Choice(words),
        help=f"Choose the format.  [default: from the ending of -o FILE, else {words[0]}]",
    )
    return lambda function: choice(output_option()(function))


def output_option(
    help_: str = "Write to FILE.", *, required: bool = False
) -> Callable[[Function], Function]:
    """Add ``-o``, passed as ``target``."""
    names = ("-o", "--output", "target")
    return click.option(*names, metavar="FILE", required=required, type=click.Path(), help=help_)


def block_option_saying(help_: str) -> Callable[[Function], Function]:
    """Add ``--block``, passed as ``block``."""
    return click.option("--block", type=click.IntRange(1, LARGEST_BLOCK), metavar="N", help=help_)


block_option = block_option_saying(
    "Assume at most N threads per block if neither launches nor __launch_bounds__ set it."
)


TRIAL_SECONDS = 10.0
"""Time for rewrites that nobody asked for: some ten trials of an ordinary file on two cores."""


def fix_options(function: Function) -> Callable[..., Any]:
    """Add the options that select a source of proven fixes, passed as ``fixes``."""
    return _fix_options(function, "--fix", "Try rewrites; show what is proven.", is_timed=False)


def timed_fix_options(function: Function) -> Callable[..., Any]:
    """As `fix_options`, where rewrites are tried for some seconds if the user says nothing."""
    help_ = f"Try all rewrites, or none.  [default: sources' for {TRIAL_SECONDS:g} s or more]"
    return _fix_options(function, "--fix/--no-fix", help_, is_timed=True)


def _fix_options(
    function: Function, names: str, help_: str, *, is_timed: bool
) -> Callable[..., Any]:
    @click.option(names, "with_fix", is_flag=True, default=None, help=help_)
    @click.option(
        "--fix-from",
        "fix_from",
        metavar="FILE",
        type=click.Path(),
        help="Show what `fix --format json` has proven, if it still holds.",
    )
    @block_option
    @functools.wraps(function)
    def command(
        *args: Any,
        with_fix: bool | None,
        fix_from: str | None,
        block: int | None,
        **options: Any,
    ) -> Any:
        from lmemscope.fixing.gathered import Fixes

        is_default = is_timed and with_fix is None and fix_from is None
        seconds = TRIAL_SECONDS if is_default else None
        fixes = Fixes(bool(with_fix), fix_from, block, seconds)
        return function(*args, fixes=fixes, **options)

    return command


def compile_options(function: Function, **changes: dict[str, Any]) -> Function:
    """Add the flags of every command that compiles, passed as one ``settings``.

    Args:
        function: the command.
        changes: by the option's name, as for `flag`.
    """
    return _reading(_flagged(_COLOR(function), "compile", **changes), "settings")


def configured_options(function: Function) -> Function:
    """As `compile_options`, and pass the gate's options as one ``configuration``."""
    return _reading(_flagged(_COLOR(function), "compile"), "configuration")


def group_options(group: Group) -> Callable[[Function], Function]:
    """Add the flags of one group; a decorator below this one must read them."""
    return lambda function: _flagged(function, group)


def flag(row: Row, **changes: Any) -> Callable[[Function], Function]:
    """The click option for a declared option; its value is passed checked.

    Args:
        row: with at least one flag.
        changes: to the arguments of `click.option`; ``name`` is the parameter's name.
    """
    kind = row.kind
    made: dict[str, Any] = {"help": row.help, "metavar": row.metavar, "callback": _checking(row)}
    if row.metavar in _PATHS:
        made["type"] = click.Path()
    if kind.choices:
        made["shell_complete"] = _offering(lambda: kind.choices)
    if kind.shape == "switch":
        made |= {"default": row.default} if "/" in row.flags[-1] else {"is_flag": True}
    elif kind.shape == "many":
        made["multiple"] = True
    elif kind.choices:
        made["metavar"] = f"[{'|'.join(kind.choices)}]"
    if kind.shape == "one" and row.default is not None:
        made["help"] += f"  [default: {row.default}]"
    if kind.bounds:
        made["help"] += f"  [{kind.bounds}]"
    made |= _COMPLETED.get(row.name, {}) | changes
    return click.option(*row.flags, made.pop("name", row.name), **made)


def is_typed(name: str) -> bool:
    """Whether the command line gives an option, as opposed to the configuration or nobody."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def typed() -> Mapping[str, Any]:
    """The declared options given on the command line, by name, unchecked as typed."""
    given: Mapping[str, Any] = click.get_current_context().meta.get(_TYPED, {})
    return given


def _flagged(function: Function, group: Group, **changes: dict[str, Any]) -> Function:
    for row in reversed(tuple(_rows(group))):
        function = flag(row, **changes.get(row.name, {}))(function)
    return function


def _rows(group: Group) -> Iterator[Row]:
    for row in OPTIONS:
        if row.group == group:
            yield from (one for one in (row, *row.rows) if one.flags)


def _reading(function: Function, argument: str) -> Function:
    """Replace a command's flags by the settings that they form with the configuration file."""

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
    # Imported late: few configurations hold arguments for tools.
    from lmemscope.discover.found_arguments import admitted

    return admitted(name, words)


def _checking(row: Row) -> Callable[[click.Context, click.Parameter, Any], Any]:
    place = Place(row.flag)
    # A switch that has only a negative form counts as given when it is off.
    negative = row.flag.startswith("--no-")

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        # Until click 8.4.0, the source of a value is known only after its callback.
        unsaid = value is None or context.get_parameter_source(parameter.name or "") in _UNSAID
        if unsaid or context.resilient_parsing:
            return value
        context.meta.setdefault(_TYPED, {})[row.name] = value
        if row.kind.shape == "switch":
            return value != negative
        if not isinstance(value, tuple):
            return row.kind.check(row.kind.read(value), place)
        checked = [row.kind.check(row.kind.read(text), place) for text in value]
        many = row.kind.shape == "many"
        return tuple(item for part in checked for item in part) if many else tuple(checked)

    return callback


def _offering(words: Callable[[], Iterable[str]]) -> Callable[[Any, Any, str], list[str]]:
    """A ``shell_complete`` function: the words that start with what was typed."""
    return lambda context, parameter, incomplete: [
        word for word in words() if word.startswith(incomplete)
    ]


def _archs() -> Iterable[str]:
    from lmemscope.discover.plan import arch_words

    return arch_words()


_COMPLETED = {"arch": {"shell_complete": _offering(_archs)}}


def package_option(function: Function) -> Function:
    """Add the option that names installed packages; see `with_packages`."""
    return click.option(
        "--package",
        "packages",
        multiple=True,
        metavar="NAME",
        help="Also read the libraries of an installed Python package; repeatable.",
    )(function)


def with_packages(paths: tuple[str, ...], packages: tuple[str, ...]) -> tuple[str, ...]:
    """The command's paths, and the files of the named packages.

    Raises:
        UsageError: a package is not installed, or contains no library.
    """
    if not packages:
        if not paths:
            raise click.UsageError("Missing argument 'PATH...'.", click.get_current_context())
        return paths
    from lmemscope.discover.packages import files_of

    return (*paths, *(file for name in packages for file in files_of(name)))

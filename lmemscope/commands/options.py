"""The click group and the options its commands share; the commands live in `lmemscope.commands`.

Commands are imported when they run: ``--help`` must not pay for a compiler binding.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lmemscope import __version__

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings

_COMMANDS = {
    "cache": "Show or empty the store of compilers' outputs.",
    "baseline": "Write down the findings that check accepts.",
    "check": "Fail on local memory that is neither known nor allowed.",
    "diff": "Show what changed between two reports, inputs, architectures or revisions.",
    "doctor": "Show which tools were found, where, and what is missing.",
    "dump": "Print the PTX, SASS, cubin or compiler log of an input.",
    "explain": "Explain a kernel's local memory and what would remove it.",
    "report": "Write a full report as Markdown, HTML, JSON or SARIF.",
    "rules": "List the causes, or show the page of one.",
    "scan": "Show which kernels use local memory, as a table or a report.",
}
"""Name and one-line help of each command; the module of the same name holds it."""

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])

EXIT_CODES = """\b
Exit codes:
  0  clean, or nothing asked to fail
  1  the gate failed
  2  usage: unknown option, architecture or value
  3  an input could not be analysed, or evidence is missing
"""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help lines without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module now."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"lmemscope.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``--help``, from the table instead of from the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, "-V", "--version", prog_name="lmemscope")
def cli() -> None:
    """Which CUDA kernels use local memory, what causes it, and what would remove it.

    Kernels are compiled with NVRTC (or nvcc, where a file holds host code); PTX, the report of
    ptxas and the machine code are read side by side, because each alone lies. No GPU is needed.

    Start with:  lmemscope scan my_kernels.cu
    """


def compile_options(function: CommandFunction) -> CommandFunction:
    """Add the options of every command that compiles; they arrive as one `Settings`."""
    return _with_settings(function, _OPTIONS)


def comparing_options(function: CommandFunction) -> CommandFunction:
    """As `compile_options`, with ``--toolkit`` up to twice; it arrives as ``toolkits``."""
    several = click.option(
        "--toolkit",
        "toolkits",
        multiple=True,
        metavar="DIR",
        help="Compare the installed toolkit with DIR; or, given twice, two of them.",
    )
    options = tuple(several if option is _TOOLKIT else option for option in _OPTIONS)
    return _with_settings(function, options)


def _with_settings(
    function: CommandFunction, options: tuple[Callable[..., Any], ...]
) -> CommandFunction:
    def with_settings(*, color: str, **flags: Any) -> Any:
        from lmemscope.commands.running import EXIT_USAGE, fail
        from lmemscope.config.file import find
        from lmemscope.config.settings import settings_from_flags
        from lmemscope.errors import UsageError

        own = {name: flags.pop(name) for name in list(flags) if name not in _SHARED}
        try:
            found = find()
            settings: Settings = settings_from_flags(flags, found.section, found.directory)
        except UsageError as error:
            fail(error, EXIT_USAGE)
        return function(settings=settings, color=color, **own)

    with_settings.__name__ = function.__name__
    with_settings.__doc__ = function.__doc__
    with_settings.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(options):
        option(with_settings)
    return with_settings  # type: ignore[return-value]


_TOOLKIT = click.option(
    "--toolkit",
    metavar="DIR",
    help="Take every CUDA tool from DIR: an installation, or a directory of wheels.",
)

_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "--arch",
        multiple=True,
        metavar="SM",
        help="Real architecture such as sm_90; repeatable; `all-major` for every family. "
        "[default: the GPU present, else sm_90]",
    ),
    click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="Header directory."),
    click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro."),
    click.option("--std", metavar="DIALECT", help="C++ dialect, such as c++20."),
    click.option(
        "--maxrregcount", type=click.IntRange(1), metavar="N", help="Register cap per thread."
    ),
    click.option("--use-fast-math", is_flag=True, help="As the compilers' --use_fast_math."),
    click.option(
        "--instantiate",
        multiple=True,
        metavar="EXPR",
        help="Instantiate a template kernel, such as 'rm<32>'; repeatable.",
    ),
    click.option(
        "--frontend",
        type=click.Choice(["auto", "nvrtc", "nvcc", "both"]),
        default="auto",
        show_default=True,
        help="Route from CUDA C++ to PTX; auto takes nvcc where a file holds host code.",
    ),
    click.option(
        "--nvrtc-arg", "nvrtc_args", multiple=True, metavar="ARG", help="Pass ARG to NVRTC."
    ),
    click.option("--nvcc-arg", "nvcc_args", multiple=True, metavar="ARG", help="Pass ARG to nvcc."),
    click.option(
        "--ptxas-arg", "ptxas_args", multiple=True, metavar="ARG", help="Pass ARG to ptxas."
    ),
    click.option(
        "--run-python",
        is_flag=True,
        help="Run .py inputs to compile their Numba kernels. Without it they are only read.",
    ),
    click.option(
        "--signature",
        "signatures",
        multiple=True,
        metavar="SIG",
        help="Types of a Python kernel: 'kernel(float32[::1], int32)'; repeatable.",
    ),
    click.option(
        "--kernel",
        "kernels",
        multiple=True,
        metavar="GLOB",
        help="Only kernels whose demangled or mangled name matches; repeatable.",
    ),
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Compilations at a time. [default: number of CPUs]",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Seconds that one input may take.",
    ),
    _TOOLKIT,
    click.option(
        "--executor",
        metavar="URL",
        help="Analyse on the workers of a Dask cluster: dask://HOST:PORT.",
    ),
    click.option(
        "--build-database/--no-build-database",
        default=True,
        help="Compile as the project's compile_commands.json says, which is found by itself.",
    ),
    click.option(
        "--cache/--no-cache",
        "use_cache",
        default=True,
        help="Keep what the compilers made for the next run; see `lmemscope cache`.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colour; auto means on a terminal, unless NO_COLOR is set.",
    ),
)

_SHARED = frozenset(
    [
        "arch",
        "include_dirs",
        "defines",
        "std",
        "maxrregcount",
        "use_fast_math",
        "instantiate",
        "frontend",
        "nvrtc_args",
        "nvcc_args",
        "ptxas_args",
        "run_python",
        "signatures",
        "kernels",
        "jobs",
        "timeout",
        "toolkit",
        "use_cache",
        "executor",
        "build_database",
    ]
)

"""``lmemscope dump``: print the artefacts themselves."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from msgspec.structs import replace

from lmemscope.commands.options import compile_options, is_typed, output_option, path_argument
from lmemscope.commands.output import Sink
from lmemscope.commands.running import working
from lmemscope.commands.say import say
from lmemscope.config.settings import Settings
from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.exporters import escape_terminal
from lmemscope.model import Artifacts

_KINDS = ("ptx", "sass", "cubin", "log")
_IGNORED = {"linked": "--link", "lto": "--lto", "executor": "--executor"}
"""Compile options that have no effect on one input's artefacts."""

_LOCAL_PTX = (
    "ld.local",
    "st.local",
    ".local ",
    "cvta.local",
    "ld.volatile.local",
    "st.volatile.local",
)
_LOCAL_SASS = ("LDL", "STL")
_LOCAL_LOG = ("stack frame", "spill", "cannot be statically determined", "local memory")


@click.command(name="dump")
@path_argument("named", metavar="PATH[::KERNEL]")
@click.option("--ptx", "kind", flag_value="ptx", help="Print the PTX.")
@click.option("--sass", "kind", flag_value="sass", help="Print the SASS with source lines.")
@click.option("--cubin", "kind", flag_value="cubin", help="Write the ELF file (binary; use -o).")
@click.option("--log", "kind", flag_value="log", help="Print the compiler's log, with ptxas -v.")
@output_option()
@compile_options
def command(
    named: str, kind: str | None, target: str | None, settings: Settings, color: str
) -> None:
    """Print the PTX, SASS, cubin or compiler log of one input.

    Lines about local memory are highlighted on a terminal. Several --arch are printed in order.

    \b
    Examples:
      lmemscope dump filter.cu --ptx
      lmemscope dump 'filter.cu::blur*' --sass --arch sm_80
      lmemscope dump filter.cu --cubin -o filter.cubin
    """
    from lmemscope.app.execute import lower_all

    if kind is None:
        raise UsageError("usage", "nothing to dump", hint=f"choose one of --{', --'.join(_KINDS)}")
    if kind == "cubin" and target is None and sys.stdout.isatty():
        raise UsageError("usage", "a cubin is binary", hint="write it with -o FILE")
    ignored = [flag for name, flag in _IGNORED.items() if is_typed(name)]
    if kind in ("cubin", "log") and is_typed("kernels"):
        ignored.append("--kernel")
    if ignored:
        raise UsageError(
            "usage",
            f"dump --{kind} does not take {', '.join(ignored)}",
            hint="leave it out" if len(ignored) == 1 else "leave them out",
        )
    path, separator, kernel = named.partition("::")
    if separator:
        settings = replace(settings, kernels=(*settings.kernels, kernel))
    sink = Sink.open(target, kind, color=color)
    for note in settings.left_out:
        say(f"note: {note}", err=True)
    with working(replace(settings, jobs=1, executor=None)) as session:
        lowered, errors = lower_all(path, session)
    if kind == "cubin" and len(lowered) > 1:
        raise UsageError("usage", "one cubin at a time", hint="name one --arch")
    outputs = _contents(kind, lowered, settings.kernels)
    raw = sink.target is not None or kind == "cubin"
    sink.write(b"\n".join(outputs) if raw else shown(kind, outputs, sink.color))
    if errors:
        raise errors[0]


class _NoMatchError(LmemscopeError):
    """A unit has none of the named kernels; another unit of the file may have them."""


def _contents(kind: str, lowered: Sequence[Artifacts], kernels: tuple[str, ...]) -> list[bytes]:
    """The output for each unit that has a named kernel.

    Raises:
        LmemscopeError: no unit has one, or the artefact is missing.
    """
    outputs: list[bytes] = []
    missed: _NoMatchError | None = None
    for artifacts in lowered:
        try:
            outputs.append(_content(kind, artifacts, kernels))
        except _NoMatchError as error:
            missed = missed or error
    if missed is not None and not outputs:
        raise missed
    return outputs


def _content(kind: str, artifacts: Artifacts, kernels: tuple[str, ...]) -> bytes:
    from lmemscope.analysis.layers import check_templates
    from lmemscope.formats.cubin import Cubin

    if kind != "log":
        # Empty output because nothing is instantiated is not an answer; the log may explain it.
        check_templates(artifacts, Cubin(artifacts.cubin), [])
    if kind == "cubin":
        return artifacts.cubin
    if kind == "log":
        if artifacts.ptxas_log is None:
            raise LmemscopeError("dump", f"{artifacts.unit.input} has no compiler log")
        return artifacts.ptxas_log.strip().encode() + b"\n"
    if kind == "ptx":
        return _ptx(artifacts, kernels)
    return _sass(artifacts, kernels)


def _ptx(artifacts: Artifacts, kernels: tuple[str, ...]) -> bytes:
    from lmemscope.formats.cubin import Cubin
    from lmemscope.formats.ptx import PtxModule

    text = artifacts.ptx if artifacts.ptx is not None else Cubin(artifacts.cubin).ptx
    if text is None:
        raise LmemscopeError(
            "dump",
            f"{artifacts.unit.input} contains no PTX text",
            hint="a cubin contains it if compiled with -lineinfo",
        )
    text = text.rstrip(b"\0")
    if not kernels:
        return text
    chosen = [f for f in PtxModule(text).functions if _wanted(kernels, f.name)]
    if not chosen:
        raise _no_match(artifacts, kernels)
    return b"\n".join(function.text.strip(b"\n") for function in chosen) + b"\n"


def _sass(artifacts: Artifacts, kernels: tuple[str, ...]) -> bytes:
    from lmemscope.formats.cubin import Cubin
    from lmemscope.tools import nvdisasm
    from lmemscope.tools.toolchain import Toolchain

    cubin = Cubin(artifacts.cubin)
    symbols = None
    if kernels:
        names = {name for name in cubin.records if _wanted(kernels, name)}
        if not names:
            raise _no_match(artifacts, kernels)
        symbols = [symbol.number for symbol in cubin.elf.symbols if symbol.name in names]
    listing = nvdisasm.listing(
        artifacts.cubin, ("-g", "-gi", "-gp"), symbols, Toolchain(artifacts.unit.toolkit)
    )
    return listing.encode()


def _wanted(kernels: tuple[str, ...], name: str) -> bool:
    from lmemscope.formats.demangle import demangle
    from lmemscope.formats.kernel_names import matches

    return matches(kernels, name, demangle(name))


def _no_match(artifacts: Artifacts, kernels: tuple[str, ...]) -> _NoMatchError:
    return _NoMatchError(
        "dump",
        f"{artifacts.unit.input} has no kernel that matches {', '.join(kernels)}",
        hint="`lmemscope scan` lists them",
    )


def shown(kind: str, outputs: list[bytes], color: bool) -> str:
    """The output for a terminal or a log; a file named by ``-o`` gets the unchanged bytes."""
    marks = {"ptx": _LOCAL_PTX, "sass": _LOCAL_SASS, "log": _LOCAL_LOG}[kind]
    made = []
    for output in outputs:
        for one in escape_terminal.lines(output.decode("utf-8", "replace").rstrip("\n")):
            marked = any(mark in one.text for mark in marks) and " 0 bytes" not in one.text[:24]
            made.append(escape_terminal.styled(one, "33;1", on=color and marked))
    return escape_terminal.document(made)

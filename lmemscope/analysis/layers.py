"""Artefacts to parsed layers: PTX, ptxas's report and the cubin, with what is missing said."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from lmemscope.analysis.instances import has_instance
from lmemscope.analysis.languages import language_of
from lmemscope.analysis.lines import Lines
from lmemscope.analysis.origin import Origins
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.reassembly import reassembly
from lmemscope.errors import UncompiledError
from lmemscope.formats.cubin import Cubin, number_of
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.ptxas_log import PtxasLog, parse_ptxas_log
from lmemscope.model import LANGUAGES, Artifacts, Disagreement, DisplayPaths, Gap


class Layers(Struct, frozen=True):
    """The three layers of one unit.

    Attributes:
        artifacts: where they come from.
        paths: file names as a reader knows them.
        ptx: None where there is no PTX text.
        log: None where there is no report.
        cubin: always there.
        gaps: what is missing, those of the artefacts included.
        flow: analyses of the PTX, each made when it is first asked for; None without PTX.
        origins: where each machine instruction comes from.
        lines: of machine code and of PTX.
        differences: by mangled name, how the cubin of a kernel differs from what ptxas now makes
            of its PTX.
    """

    artifacts: Artifacts
    paths: DisplayPaths
    ptx: PtxModule | None
    log: PtxasLog | None
    cubin: Cubin
    gaps: tuple[Gap, ...]
    flow: ModuleFlow | None
    origins: Origins
    lines: Lines
    differences: Mapping[str, tuple[Disagreement, ...]] = field(default_factory=dict)

    def log_of(self, kernel: str) -> PtxasLog | None:
        """The report where it is of this kernel's machine code."""
        return None if kernel in self.differences else self.log


def parse(
    artifacts: Artifacts,
    directory: str,
    flow: ModuleFlow | None = None,
    cubin: Cubin | None = None,
) -> Layers:
    """Parse the artefacts of one unit.

    Args:
        artifacts: what the toolchain made.
        directory: the working directory, absolute; paths are shown relative to it.
        flow: of the artefacts' PTX, where there are analyses of it already.
        cubin: the artefacts', where it was looked into before.

    Raises:
        FormatError: a layer that is there cannot be read.
    """
    gaps = list(artifacts.gaps)
    paths = DisplayPaths(artifacts.unit.path, artifacts.unit.input, directory)
    cubin = cubin if cubin is not None else Cubin(artifacts.cubin)
    text = artifacts.ptx
    if text is None:
        text = cubin.ptx
        if text is None and not all(map(cubin.is_clean, cubin.records.values())):
            gaps.append(_no_ptx(artifacts, cubin))
    check_templates(artifacts, cubin, gaps)
    log = None if artifacts.ptxas_log is None else parse_ptxas_log(artifacts.ptxas_log)
    if not cubin.records:
        gaps.append(Gap("kernels", _why_no_kernels(artifacts)))
    if flow is None and text is not None:
        flow = ModuleFlow(PtxModule(text))
    module = flow.ptx if flow is not None else None
    differences: Mapping[str, tuple[Disagreement, ...]] = {}
    if artifacts.assembled is not None:
        target = number_of(module.target) if module is not None and module.target else None
        found = reassembly(cubin, Cubin(artifacts.assembled), target)
        cubin = cubin.with_lines(found.lines, found.ptx_lines)
        differences = found.differences
    origins = Origins(flow, cubin)
    lines = Lines(paths, cubin, flow, origins)
    return Layers(
        artifacts, paths, module, log, cubin, tuple(gaps), flow, origins, lines, differences
    )


def _no_ptx(artifacts: Artifacts, cubin: Cubin) -> Gap:
    """That a cubin has no PTX text, and the setting of its language that adds it."""
    name = next(iter(cubin.records), "")
    setting = LANGUAGES[language_of(artifacts, None, name, None)].lines
    reason = "the cubin carries no PTX text: it was compiled without line information"
    return Gap("ptx", f"{reason} ({setting})", "evidence")


def check_templates(artifacts: Artifacts, cubin: Cubin, gaps: list[Gap]) -> None:
    """A template that nothing instantiates yields no code and no message: say so here.

    Args:
        artifacts: of the unit.
        cubin: its machine code.
        gaps: where to note templates without an instance beside kernels.

    Raises:
        UncompiledError: the unit holds nothing else.
    """
    source = artifacts.source
    if source is None or not source.template_kernels:
        return
    missing = [
        kernel.name
        for kernel in source.template_kernels
        if not kernel.is_declaration and not has_instance(kernel, artifacts, cubin)
    ]
    if not missing:
        return
    names = ", ".join(dict.fromkeys(missing))
    example = (
        f"--instantiate '{missing[0]}<…>' or a comment // lmemscope: instantiate {missing[0]}<…>"
    )
    if not cubin.records:
        raise UncompiledError(
            "instantiate",
            f"{artifacts.unit.input} holds only template kernels, and nothing instantiates "
            f"them: {names}",
            hint=f"say which instances to compile: {example}",
        )
    reason = f"template kernels without an instance: {names} ({example})"
    gaps.append(Gap("instantiate", reason, "uninstantiated"))


def _why_no_kernels(artifacts: Artifacts) -> str:
    source = artifacts.source
    defined = () if source is None else source.kernels
    names = dict.fromkeys(kernel.name for kernel in defined if not kernel.is_declaration)
    if names:
        return f"nothing was compiled of the kernels it defines ({', '.join(names)})"
    return "it defines no __global__ function"

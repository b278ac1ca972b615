"""Our figures against NVIDIA's own tools, run independently on the same artefacts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lmemscope.app.worker import analyse_unit
from lmemscope.formats.ptxas_log import parse_ptxas_log
from lmemscope.lowering.lower import lower
from lmemscope.model import Artifacts, KernelFacts, Unit, Wanted
from lmemscope.tools.toolchain import INSTALLED
from tests.conftest import Once
from tests.support.program import DATA, ROOT

pytestmark = pytest.mark.toolchain

SOURCES = [*sorted((ROOT / "kernels").glob("*.cu")), DATA / "many_forms.cu"]
_USAGE = re.compile(r"Function (\S+):\s*\n\s*REG:(\d+) STACK:(\d+|UNKNOWN)")


Analysed = Callable[[Path, str], tuple[dict[str, KernelFacts], Artifacts]]


@pytest.fixture(scope="session")
def analysed(once: Once, shared_store: str) -> Analysed:
    """The kernels of a file on an architecture, and the artefacts they were read from."""

    def analyse(source: Path, arch: str) -> tuple[dict[str, KernelFacts], Artifacts]:
        unit = Unit(source.name, str(source), "auto", arch)
        artifacts = lower(unit, shared_store)
        report = analyse_unit(unit, Wanted(cache=shared_store))
        assert report.failure is None
        assert report.kernels
        return {kernel.facts.name: kernel.facts for kernel in report.kernels}, artifacts

    return lambda source, arch: once(f"truth-{source.stem}-{arch}", lambda: analyse(source, arch))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_figures_equal_cuobjdump_and_ptxas(
    analysed: Analysed, source: Path, arch: str, tmp_path: Path
) -> None:
    kernels, artifacts = analysed(source, arch)
    cubin, ptx = tmp_path / "a.cubin", tmp_path / "a.ptx"
    cubin.write_bytes(artifacts.cubin)
    usage = _tool("cuobjdump", "-res-usage", str(cubin))
    seen = {m[1]: (int(m[2]), m[3]) for m in _USAGE.finditer(usage)}
    assert seen.keys() == kernels.keys()
    for name, (registers, stack) in seen.items():
        if kernels[name].kind == "entry" or registers:
            assert kernels[name].registers == registers
        # Of a function that others call, cuobjdump prints 0 registers; ptxas's are below.
        # cuobjdump's STACK is the stack with calls, not the kernel's own frame.
        expected = None if stack == "UNKNOWN" else int(stack)
        calls = kernels[name].calls
        if expected == 0 and calls is not None and calls.recursive:
            expected = None  # Before 13.5 a cubin says 0 of what recursion takes.
        if any(kernel.launches for kernel in kernels.values()):
            # Relocatable code: cuobjdump prints 0, which is not known before linking.
            assert kernels[name].cumulative_stack is None
            continue
        assert kernels[name].cumulative_stack == expected
        assert kernels[name].stack_known == (expected is not None)

    assert artifacts.ptx is not None
    ptx.write_bytes(artifacts.ptx)
    separate = ["-c"] if any(kernel.launches for kernel in kernels.values()) else []
    log = parse_ptxas_log(
        _tool("ptxas", f"-arch={arch}", "-v", *separate, str(ptx), "-o", str(tmp_path / "b.cubin"))
    )
    assert not log.unknown_lines
    for name, kernel in kernels.items():
        if name.startswith("__cuda_sm"):
            continue  # ptxas's own, in relocatable code: it reports none of these.
        reported = log.entry(name)
        assert reported is not None
        if kernel.kind == "entry" or reported.registers is not None:
            assert kernel.registers == reported.registers
        assert kernel.stack_frame == reported.stack_frame
        assert kernel.spill_stores == reported.spill_stores
        assert kernel.spill_loads == reported.spill_loads


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_spilled_site_bytes_equal_ptxas(analysed: Analysed, source: Path) -> None:
    kernels, _ = analysed(source, "sm_90")
    for kernel in kernels.values():
        found = {(found.quantity, found.reason) for found in kernel.disagreements}
        assert found <= {("stack_frame", "called-frames")}
        assert not found or kernel.callees
        assert kernel.own_sites is not None
        assert kernel.own_sites.spill.store_bytes == kernel.spill_stores
        assert kernel.own_sites.spill.load_bytes == kernel.spill_loads
        assert kernel.sites is not None
        assert kernel.sass is not None
        split = (kernel.sites.spill, kernel.sites.local_object, kernel.sites.unknown)
        assert sum(c.load_bytes for c in split) == kernel.sass.load_bytes
        assert sum(c.store_bytes for c in split) == kernel.sass.store_bytes


def _tool(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [INSTALLED.find(name), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout

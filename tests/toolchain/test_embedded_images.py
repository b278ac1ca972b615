"""The images that our own reader finds in host files, held to cuobjdump's."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from lmemscope.formats.containers import budget_for, read_images
from lmemscope.formats.cubin import architecture
from lmemscope.formats.elf import ElfFile
from lmemscope.formats.fatbin import unpack
from lmemscope.tools.toolchain import INSTALLED
from tests.support.program import ROOT

pytestmark = pytest.mark.toolchain

_CODECS = ("none", "size", "speed", "balance")


def ours(path: Path) -> tuple[Counter[str], Counter[str]]:
    """Digests of the cubins of a file, and their architectures."""
    data = path.read_bytes()
    budget = budget_for(len(data))
    digests: Counter[str] = Counter()
    archs: Counter[str] = Counter()
    for file in read_images(memoryview(data), budget):
        assert file.problem is None
        for image in file.entries:
            if image.kind == "cubin":
                content = bytes(unpack(image, budget))
                digests[hashlib.sha256(content).hexdigest()] += 1
                archs[architecture(ElfFile(content))] += 1
    return digests, archs


def cuobjdumps(path: Path, directory: Path) -> tuple[Counter[str], Counter[str]]:
    """The same from the files that cuobjdump writes."""
    directory.mkdir()
    tool = INSTALLED.find("cuobjdump")
    subprocess.run([tool, "-xelf", "all", path], cwd=directory, check=True, capture_output=True)
    done = subprocess.run([tool, "-lelf", path], check=True, capture_output=True, text=True)
    listed = Counter(re.findall(r"\.(sm_\w+)\.cubin", done.stdout))
    written = Counter(
        hashlib.sha256(one.read_bytes()).hexdigest() for one in directory.glob("*.cubin")
    )
    return written, listed


@pytest.fixture(scope="module", params=_CODECS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object with two architectures and PTX, packed in one of nvcc's ways."""
    made = tmp_path_factory.mktemp("built") / "histogram.o"
    nvcc = INSTALLED.find("nvcc")
    archs = [f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in (80, 90)]
    ptx = "-gencode=arch=compute_90,code=compute_90"
    source = ROOT / "kernels" / "histogram.cu"
    command = [nvcc, "-c", *archs, ptx, f"--compress-mode={request.param}", source, "-o", made]
    subprocess.run(command, check=True, capture_output=True)
    return made


def test_the_images_of_an_object_are_cuobjdumps(built: Path, tmp_path: Path) -> None:
    found, archs = ours(built)
    assert archs == {"sm_80": 1, "sm_90": 1}
    assert (found, archs) == cuobjdumps(built, tmp_path / "images")


def test_the_images_of_the_toolkits_own_library_are_cuobjdumps(tmp_path: Path) -> None:
    """A static library of the runtime's wheel: many architectures, each in a member's section."""
    roots = [Path(one.path).parents[1] for one in (INSTALLED.tool("ptxas"),) if one.path]
    libraries = [one for root in roots for one in root.rglob("libcudadevrt.a")]
    if not libraries:
        pytest.skip("this toolkit has no libcudadevrt.a")
    found, archs = ours(libraries[0])
    assert sum(found.values()) > 5
    assert (found, archs) == cuobjdumps(libraries[0], tmp_path / "images")

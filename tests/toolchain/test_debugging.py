"""A debug compilation begins with the PTX, and says what one made afterwards says."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.app import worker
from lmemscope.errors import CompileError
from lmemscope.lowering import debug
from lmemscope.lowering.debugging import Debugging
from lmemscope.lowering.lower import lower
from lmemscope.model import Artifacts, Frontend, Unit, Variable

pytestmark = pytest.mark.toolchain
LOCAL = """__global__ void k(float *o, int i) {
  float window[16];
  for (int j = 0; j < 16; j++) window[j] = o[j];
  o[0] = window[i & 15];
}
"""
POINTED = "const float *p = window + (i & 7); o[0] = p[i & 3]"
PLAIN = "__global__ void k(float *o, int i) { o[i] = 0; }\n"


def refused(artifacts: Artifacts) -> tuple[Variable, ...]:
    raise CompileError("compile", f"no debug compilation of {artifacts.unit.path}")


def unit(directory: Path, text: str, frontend: Frontend) -> Unit:
    path = directory / "k.cu"
    path.write_text(text)
    return Unit("k.cu", str(path), frontend, "sm_90")


@pytest.mark.parametrize("frontend", ["nvrtc", "nvcc"])
def test_the_names_are_those_of_a_later_one(
    tmp_path: Path, frontend: Frontend, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = unit(tmp_path, LOCAL, frontend)
    later = debug.variables_of(lower(source))
    debugging = Debugging(lambda: None, wants_names=True)
    artifacts = lower(source, None, debugging)
    debugging.begin(artifacts)
    monkeypatch.setattr(debug, "variables_of", None)
    assert debugging.variables(artifacts, pytest.fail) == later
    debugging.close()
    assert any(one.name == "window" for one in later)


def test_it_begins_while_ptxas_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bytes] = []
    monkeypatch.setattr(Debugging, "begin", lambda _, artifacts: begun.append(artifacts.cubin))
    lower(unit(tmp_path, LOCAL, "nvcc"), None, Debugging(lambda: None, wants_names=True))
    assert begun == [b""]


@pytest.mark.parametrize("frontend", ["nvrtc", "nvcc"])
def test_none_begins_where_the_source_tells_the_names(
    tmp_path: Path, frontend: Frontend, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = unit(tmp_path, LOCAL, frontend)
    by_compiler = replace(source, path=str(tmp_path / "pointed.cu"))
    Path(by_compiler.path).write_text(LOCAL.replace("o[0] = window[i & 15]", POINTED))
    monkeypatch.setattr(debug, "variables_of", refused)
    (kernel,) = worker.analyse_unit(source).kernels
    assert [(one.name, one.type, one.confidence) for one in kernel.facts.objects] == [
        ("window", "float[16]", "certain")
    ]
    missing = [gap.stage for gap in worker.analyse_unit(by_compiler).gaps]
    assert "names" in missing


def test_none_begins_where_no_variable_is_in_local_memory(tmp_path: Path) -> None:
    artifacts = lower(unit(tmp_path, PLAIN, "nvrtc"))
    debugging = Debugging(lambda: None, wants_names=True)
    debugging.begin(artifacts)
    assert debugging.variables(artifacts, lambda _: ()) == ()
    debugging.close()


def test_a_unit_has_its_names(tmp_path: Path) -> None:
    report = worker.analyse_unit(unit(tmp_path, LOCAL, "nvcc"))
    assert [one.name for kernel in report.kernels for one in kernel.facts.objects] == ["window"]

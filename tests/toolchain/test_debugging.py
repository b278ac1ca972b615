"""A debug compilation begins with the PTX, and says what one made afterwards says."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.app import worker
from lmemscope.lowering import debug
from lmemscope.lowering.debugging import Debugging
from lmemscope.lowering.lower import lower
from lmemscope.model import Frontend, Unit
from lmemscope.tools import ptxas

pytestmark = pytest.mark.toolchain
LOCAL = """__global__ void k(float *o, int i) {
  float window[16];
  for (int j = 0; j < 16; j++) window[j] = o[j];
  o[0] = window[i & 15];
}
"""
PLAIN = "__global__ void k(float *o, int i) { o[i] = 0; }\n"


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


def test_it_begins_before_ptxas_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bytes | None] = []
    monkeypatch.setattr(Debugging, "begin", lambda _, artifacts: begun.append(artifacts.ptx))
    monkeypatch.setattr(ptxas, "assemble", lambda *_: pytest.fail(f"begun: {len(begun)}"))
    debugging = Debugging(lambda: None, wants_names=True)
    with pytest.raises(pytest.fail.Exception, match="begun: 1"):
        lower(unit(tmp_path, LOCAL, "nvcc"), None, debugging)


def test_none_begins_where_no_variable_is_in_local_memory(tmp_path: Path) -> None:
    artifacts = lower(unit(tmp_path, PLAIN, "nvrtc"))
    debugging = Debugging(lambda: None, wants_names=True)
    debugging.begin(artifacts)
    assert debugging.variables(artifacts, lambda _: ()) == ()
    debugging.close()


def test_a_unit_has_its_names(tmp_path: Path) -> None:
    report = worker.analyse_unit(unit(tmp_path, LOCAL, "nvcc"))
    assert [one.name for kernel in report.kernels for one in kernel.facts.objects] == ["window"]

"""A report with quotes, of what an earlier run without them has concluded."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.app.worker import analyse_unit
from lmemscope.discover.project import Projects
from lmemscope.lowering import analysed
from lmemscope.model import Unit, Wanted

SOURCE = """
extern "C" __global__ void k(float *x, const int *at, int n) {
  float own[64];
  for (int i = 0; i < n; ++i) own[at[i] & 63] += x[i];
  for (int i = 0; i < n; ++i) x[i] = own[at[n - i] & 63];
}
"""


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    path = tmp_path / "a.cu"
    path.write_text(SOURCE)
    return Unit("a.cu", str(path), "auto", "sm_90")


@pytest.mark.toolchain
def test_quotes_are_added_to_what_is_known(
    unit: Unit, own_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Wanted(cache=own_store)
    quoting = replace(plain, quotes=("sass", "ptx"))
    fresh = analyse_unit(unit, replace(quoting, cache=None))
    known = analyse_unit(unit, plain)
    monkeypatch.setattr(
        "lmemscope.analysis.explanation.explain_facts",
        lambda *_: pytest.fail("it was concluded again"),
    )
    quoted = analyse_unit(unit, quoting)
    assert replace(quoted, cached=False) == replace(fresh, cached=False)
    assert replace(quoted.kernels[0], quotes=None) == replace(known.kernels[0], quotes=None)
    quotes = quoted.kernels[0].quotes
    assert quotes is not None
    assert quotes.sass
    assert quotes.ptx


@pytest.mark.toolchain
def test_a_file_that_was_edited_since_is_analysed_again(unit: Unit, own_store: str) -> None:
    plain = Wanted(cache=own_store)
    analyse_unit(unit, plain)
    Path(unit.path).write_text(SOURCE.replace("float own[64]", "float own[32]"))
    quoted = analyse_unit(unit, replace(plain, quotes=("sass",)))
    assert quoted == analyse_unit(unit, replace(plain, quotes=("sass",), cache=None))
    assert quoted.kernels[0].facts.objects[0].size == 128


@pytest.mark.toolchain
def test_what_was_wanted_otherwise_is_not_what_is_known(unit: Unit, own_store: str) -> None:
    wanted = Wanted(cache=own_store, quotes=("sass",))
    analyse_unit(unit, Wanted(cache=own_store, names=False))
    slot = analysed.slot_of(unit, wanted)
    assert (
        analysed.known_of_less(slot, unit, replace(wanted, quotes=()), Projects().mentioning)
        is None
    )

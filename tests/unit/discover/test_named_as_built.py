"""Whether a build calls a file by its absolute path: its name is then known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.config.settings import Settings
from lmemscope.discover.plan import make_units
from lmemscope.discover.walk import Globs, discover
from lmemscope.lowering.compile_cuda import gaps_of, read_source
from lmemscope.model import Artifacts, Gap, Unit

_TEXT = "__global__ void k(int *o) { o[0] = sizeof(__FILE__); }\n"


def _unit(tmp_path: Path, command: str) -> Unit:
    (tmp_path / "k.cu").write_text(_TEXT)
    record = {"directory": str(tmp_path), "file": str(tmp_path / "k.cu"), "command": command}
    (tmp_path / "compile_commands.json").write_text(json.dumps([record]))
    found = discover([str(tmp_path)], Globs("/"))
    units, _ = make_units(found.inputs, ("sm_90",), Settings())
    return units[0]


def _gaps(unit: Unit, names: tuple[str, ...] = ()) -> tuple[Gap, ...]:
    text, source = read_source(unit)
    made = Artifacts(unit, "nvcc", (), b"", None, b"", (), (), source=source, instantiated=names)
    return gaps_of(unit, text, source, made)


@pytest.mark.parametrize(
    ("command", "is_known"),
    [
        ("nvcc -c {0}/k.cu -o k.o", True),
        ("nvcc -I{0}/include -isystem {0} -c {0}/k.cu -o k.o", True),
        ("nvcc -c k.cu -o k.o", False),
        ("nvcc -c {0}/../{1}/k.cu -o k.o", False),
        ("nvcc -Iinclude -c {0}/k.cu -o k.o", False),
        ("nvcc -I{0}/x/.. -c {0}/k.cu -o k.o", False),
        ("nvcc -include first.h -c {0}/k.cu -o k.o", False),
    ],
)
def test_every_name_is_an_absolute_path(tmp_path: Path, command: str, is_known: bool) -> None:
    unit = _unit(tmp_path, command.format(tmp_path, tmp_path.name))
    assert unit.is_named_as_built == is_known
    assert bool(_gaps(unit)) != is_known


def test_a_file_that_instances_are_asked_of_is_included_by_another(tmp_path: Path) -> None:
    unit = _unit(tmp_path, f"nvcc -c {tmp_path}/k.cu -o k.o")
    assert _gaps(unit, ("k<int>",))
    assert _gaps(replace(unit, is_named_as_built=False))

"""The rows of input kinds: each complete, each found by its ending or its first bytes."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from lmemscope.errors import InputError
from lmemscope.lowering.reading import read_text
from lmemscope.model import INPUT_KINDS, InputId, InputKind, Unit, kind_of, kind_of_binary
from lmemscope.routes import Asked, Route, kind_of_content, kind_of_unit, per_arch, route_of
from tests.support.program import ROOT

ANALYSED = [kind for kind in INPUT_KINDS if kind.module]


@pytest.mark.parametrize("kind", ANALYSED, ids=lambda kind: kind.name)
def test_the_module_of_a_row_is_a_route(kind: InputKind) -> None:
    for name in ("is_walked", "expand", "lower"):
        wanted = list(inspect.signature(getattr(Route, name)).parameters)[1:]
        assert list(inspect.signature(getattr(route_of(kind), name)).parameters) == wanted


def test_no_ending_belongs_to_two_rows() -> None:
    endings = [ending for kind in INPUT_KINDS for ending in kind.endings]
    assert len(set(endings)) == len(endings)
    assert all(ending.startswith(".") and ending == ending.lower() for ending in endings)


def test_endings_of_inputs_are_written_down_in_one_place() -> None:
    """A kind is added in one row: no other module of discovery or lowering tests for an ending."""
    modules = [
        *(ROOT / "lmemscope" / "discover").glob("*.py"),
        *(ROOT / "lmemscope" / "lowering").glob("*.py"),
        *(ROOT / "lmemscope" / "commands").glob("*.py"),
        *(ROOT / "lmemscope" / "gate").glob("*.py"),
        *(ROOT / "lmemscope" / "app").glob("*.py"),
    ]
    for module in modules:
        code = [line for line in module.read_text().splitlines() if "ending ==" in line]
        assert not code, module
        for ending in (".cu", ".cuh", ".cubin", ".ptx", ".py", ".log", ".o", ".a"):
            assert f'"{ending}"' not in module.read_text(), (module, ending)


@pytest.mark.parametrize(
    ("name", "file", "variant"),
    [
        ("a.cu", "a.cu", ""),
        ("a.cu[2]", "a.cu", "2"),
        ("d[1]/a.cu", "d[1]/a.cu", ""),
        ("d[1]/a.cu[fast]", "d[1]/a.cu", "fast"),
        ("solver.cpp[2]", "solver.cpp", "2"),
        ("-[src/a.cu]", "-", "src/a.cu"),
        ("build.log[src/a.cu]", "build.log", "src/a.cu"),
    ],
)
def test_the_name_of_an_input_is_taken_apart_and_put_together(
    name: str, file: str, variant: str
) -> None:
    assert InputId.parse(name) == InputId(file, variant)
    assert str(InputId(file, variant)) == name


def test_what_is_only_linked_is_no_analysed_input() -> None:
    for name in ("a.o", "A.OBJ", "liba.a", "a.lib", "a.fatbin"):
        assert kind_of(name) is None
        assert kind_of_binary(name) is not None
    assert kind_of_binary("a.cu") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.cu", "CUDA C++"), ("A.CUH", "CUDA C++ header"), ("k.ptx", "PTX"), ("k.txt", None)],
)
def test_a_name_says_its_kind(name: str, expected: str | None) -> None:
    kind = kind_of(name)
    assert (kind.name if kind is not None else None) == expected


def test_first_bytes_say_it_where_the_name_does_not(tmp_path: Path) -> None:
    path = tmp_path / "kernel.bin"
    header = bytearray(64)
    header[:4], header[18:20] = b"\x7fELF", (190).to_bytes(2, "little")
    path.write_bytes(header)
    found = kind_of_content(str(path))
    assert found is not None
    assert found.name == "cubin"
    header[18:20] = (62).to_bytes(2, "little")
    path.write_bytes(header)
    found = kind_of_content(str(path))
    assert found is not None
    assert found.name == "host object", "an x86-64 object is no cubin"
    assert kind_of_content(str(tmp_path / "missing")) is None


def test_what_a_build_compiles_as_cuda_is_cuda_whatever_its_name() -> None:
    assert kind_of_unit(Unit("solver.cpp", "/nowhere/solver.cpp", "auto", "sm_90")).is_cuda


def test_a_directory_does_not_stand_for_headers_and_triton_leftovers() -> None:
    walked = {
        name: route_of(kind).is_walked(name, frozenset({"k.ptx", "k.cubin", "k.json"}))
        for name in ("a.cu", "a.cuh", "k.ptx", "other.ptx", "k.cubin")
        if (kind := kind_of(name)) is not None
    }
    assert walked == {
        "a.cu": True,
        "a.cuh": False,
        "k.ptx": False,
        "other.ptx": True,
        "k.cubin": True,
    }


def _walked(path: Path) -> bool:
    kind = kind_of(str(path))
    assert kind is not None
    beside = frozenset(one.name.lower() for one in path.parent.iterdir())
    return route_of(kind).is_walked(str(path), beside)


def test_ptx_is_read_with_a_cubin_that_has_its_kernels(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_bytes(b".visible .entry scale(.param .u64 p)")
    (tmp_path / "k.cubin").write_bytes(b"\x7fELF\0.text.scale\0")
    assert not _walked(tmp_path / "k.ptx")
    (tmp_path / "k.cubin").write_bytes(b"\x7fELF\0.text.scale_by\0")
    assert _walked(tmp_path / "k.ptx")


@pytest.mark.parametrize("ending", ["cubin", "ptx"])
def test_what_warp_compiled_a_module_from_is_not_compiled_again(
    tmp_path: Path, ending: str
) -> None:
    source = tmp_path / "wp_sim_381736d.cu"
    for name in (source.name, f"wp_sim_381736d.sm90.{ending}"):
        (tmp_path / name).touch()
    assert _walked(source)
    (tmp_path / "wp_sim_381736d.meta").touch()
    assert not _walked(source)


def test_a_source_in_a_cache_is_not_compiled_beside_its_cubin(tmp_path: Path) -> None:
    for name in ("0123456789abcdef0123456789abcdef", "mine"):
        (tmp_path / f"kernel.{name}").mkdir()
        for file in ("kernel.cu", "kernel.cubin"):
            (tmp_path / f"kernel.{name}" / file).touch()
    assert not _walked(tmp_path / "kernel.0123456789abcdef0123456789abcdef" / "kernel.cu")
    assert _walked(tmp_path / "kernel.mine" / "kernel.cu"), "it may be older than its source"


def test_ptx_may_end_with_the_nul_of_a_c_string(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(b".version 8.0\n\0")
    assert read_text(Unit("k.ptx", str(path), "auto", ""), "PTX") == ".version 8.0\n"
    path.write_bytes(b".version\0 8.0\n")
    with pytest.raises(InputError, match="binary"):
        read_text(Unit("k.ptx", str(path), "auto", ""), "PTX")


UNIT = Unit("a.cu", "/a.cu", "auto", "")


def test_architectures_and_routes_multiply() -> None:
    asked = Asked(("sm_80", "sm_90"), explicit=True, frontend="both", walked=False)
    units = per_arch(UNIT, asked).units
    assert [(unit.arch, unit.frontend) for unit in units] == [
        ("sm_80", "nvrtc"),
        ("sm_80", "nvcc"),
        ("sm_90", "nvrtc"),
        ("sm_90", "nvcc"),
    ]


def test_ptx_is_assembled_for_what_it_was_written_for_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.7\n.target sm_100a\n")
    kind = kind_of("k.ptx")
    assert kind is not None
    unit = Unit("k.ptx", str(path), "auto", "")
    for explicit, expected in ((False, "sm_100a"), (True, "sm_90")):
        asked = Asked(("sm_90",), explicit=explicit, frontend="both", walked=False)
        (one,) = route_of(kind).expand(unit, asked).units
        assert (one.arch, one.frontend) == (expected, "auto")


def test_a_cubin_has_its_own_architecture() -> None:
    kind = kind_of("k.cubin")
    assert kind is not None
    asked = Asked(("sm_80", "sm_90"), explicit=True, frontend="auto", walked=False)
    (one,) = route_of(kind).expand(Unit("k.cubin", "/k.cubin", "auto", ""), asked).units
    assert one.arch == ""

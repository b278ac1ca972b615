"""Libraries, archives and packages as inputs: scanned, compared and gated without a compiler."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest
from msgspec.json import encode

from lmemscope.app.execute import tasks_of
from lmemscope.app.readings import reports_of
from lmemscope.app.worker import analyse_binary
from lmemscope.discover.packages import files_of
from lmemscope.discover.walk import Globs, discover
from lmemscope.errors import UsageError
from lmemscope.model import Share, Unit, UnitReport, Wanted
from tests.support.device_containers import (
    ZSTD,
    archive,
    entry,
    fatbin,
    host_object,
    package,
)
from tests.support.program import run_program
from tests.support.seeded import SEEDS, cubin, library, units

ELF, ZIP = b"\x7fELF\x02\x01\x01" + bytes(57), b"PK\x03\x04" + bytes(60)


def scanned(*arguments: str, cwd: Path) -> dict[str, object]:
    done = run_program("scan", *arguments, "--format", "json", cwd=cwd)
    assert done.code == 0, done.err
    document: dict[str, object] = json.loads(done.out)
    return document


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    made = tmp_path / "p-1.0-py3-none-any.whl"
    static = archive(("a.o", library("recursion", archs=(90,))))
    made.write_bytes(
        package(
            ("p/lib.so", library("rolled_loop", "constant_table")),
            ("p/lib.a", static),
            ("p/__init__.py", b"raise SystemExit"),
        )
    )
    return made


def test_a_wheel_has_a_unit_for_each_file_and_architecture(wheel: Path) -> None:
    found = [
        (name, arch, len(kernels))
        for name, arch, kernels in units(scanned(wheel.name, cwd=wheel.parent))
    ]
    assert found == [
        (f"{wheel.name}[p/lib.so]", "sm_80", 4),
        (f"{wheel.name}[p/lib.so]", "sm_90", 4),
        (f"{wheel.name}[p/lib.a/a.o]", "sm_90", 2),
    ]


@pytest.mark.parametrize("name", ["lib.so.12", "program", "odd.cubin", "kernels.txt"])
def test_contents_tell_a_binary_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(library("rolled_loop"))
    assert [arch for _, arch, _ in units(scanned(name, cwd=tmp_path))] == ["sm_80", "sm_90"]


def test_figures_are_those_of_the_cubin_alone(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(library("rolled_loop", archs=(90,)))
    (tmp_path / "alone.cubin").write_bytes(cubin("rolled_loop"))
    sides = [scanned(name, cwd=tmp_path)["units"] for name in ("lib.so", "alone.cubin")]
    ((inside,), (alone,)) = ([u["kernels"][0] for u in side] for side in sides)  # type: ignore[attr-defined]
    assert inside == alone
    assert inside["stack_frame"] == 192
    assert [one["cause"] for one in inside["causes"]] == ["rolled-loop"]


def test_architectures_are_chosen_and_what_is_not_there_is_said(wheel: Path) -> None:
    document = scanned(wheel.name, "--arch", "sm_80", "--arch", "sm_100", cwd=wheel.parent)
    assert [(arch, len(kernels)) for _, arch, kernels in units(document)] == [
        ("sm_100", 0),
        ("sm_80", 4),
    ]
    (missing, *_) = document["units"]  # type: ignore[misc]
    assert [gap["kind"] for gap in missing["gaps"]] == ["evidence"]


@pytest.mark.parametrize("archs", ["", "sm_80", "sm_100"])
@pytest.mark.parametrize("kernels", [(), ("reverse_r*",)])
def test_several_workers_read_what_one_reads(
    tmp_path: Path, archs: str, kernels: tuple[str, ...]
) -> None:
    seed = (SEEDS / "rolled_loop.ptx").read_bytes()
    damaged = entry(b"\x7fELF", 90, codec=ZSTD)
    # Each says that it unpacks to so much that a file of this size cannot hold both.
    bombs = [_saying(entry(cubin("rolled_loop"), 90, codec=ZSTD), 100 << 20) for _ in range(3)]
    file = tmp_path / "p-1.0-py3-none-any.whl"
    file.write_bytes(
        package(
            ("p/lib.so", library("rolled_loop", "constant_table", "recursion")),
            ("p/odd.so", host_object((".nv_fatbin", fatbin(damaged, entry(seed, 75, kind=1))))),
            ("p/large.so", host_object((".nv_fatbin", fatbin(*bombs)))),
            ("p/more.so", library("recursion", "rolled_loop", archs=(80, 90, 100))),
            ("p/kernels.ptx", seed),
            ("p/other.tar", b"tar"),
            ("p/cut.so", library("recursion")[:-100]),
        )
    )
    unit, wanted = Unit(file.name, str(file), "auto", archs), Wanted(kernels=kernels)

    def read_by(workers: int) -> tuple[UnitReport, ...]:
        claims = str(tmp_path / f"claims of {workers}") if workers > 1 else None
        shares = [Share(number, claims) for number in range(workers)]
        return reports_of(unit, [analyse_binary(unit, wanted, one) for one in reversed(shares)])

    alone = read_by(1)
    assert {one.failure.stage for one in alone if one.failure is not None} == {"unpack", "cubin"}
    for workers in (2, 3, 16):
        assert encode(read_by(workers)) == encode(alone)


def _saying(packed: bytes, size: int) -> bytes:
    """An entry of a fat binary that says that it unpacks to some bytes."""
    return packed[:56] + size.to_bytes(8, "little") + packed[64:]


@pytest.mark.parametrize(("name", "start", "workers"), [("a.so", ELF, 8), ("a.whl", ZIP, 2)])
def test_a_large_binary_is_shared_out(
    tmp_path: Path, name: str, start: bytes, workers: int
) -> None:
    file = tmp_path / name
    file.write_bytes(start)
    unit = Unit(name, str(file), "auto", "")
    assert len(tasks_of(unit, Wanted(), 8, str)) == 1
    os.truncate(file, 1 << 30)
    shares = [given[2] for _, given in tasks_of(unit, Wanted(), 8, lambda: "claims")]
    assert shares == [Share(number, "claims") for number in range(workers)]


def test_much_ptx_is_assembled_for_named_kernels_only(tmp_path: Path) -> None:
    """ptxas took five minutes for a library of 4 MB with 7 MB of PTX for five architectures."""
    ptx = (SEEDS / "rolled_loop.ptx").read_bytes() + b"// padding\n" * 500_000
    alone = cubin("rolled_loop").replace(b".nv_debug_ptx_txt", b".nv_other_ptx_txt")
    packed = fatbin(entry(alone, 90), entry(ptx, 75, kind=1, codec=ZSTD))
    (tmp_path / "lib.so").write_bytes(host_object((".nv_fatbin", packed)))
    (unit,) = scanned("lib.so", cwd=tmp_path)["units"]  # type: ignore[attr-defined]
    assert any("--kernel" in gap["reason"] for gap in unit["gaps"])


def test_kernels_are_chosen_by_name(wheel: Path) -> None:
    document = scanned(wheel.name, "--kernel", "reverse_r*", "--arch", "sm_80", cwd=wheel.parent)
    assert [kernels for _, _, kernels in units(document)] == [["reverse_rolled"]]


def test_a_directory_without_sources_stands_for_its_binaries(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(library("rolled_loop", archs=(90,)))
    (tmp_path / "lib.so.1").symlink_to("lib.so")
    (tmp_path / "plain.so").write_bytes(host_object((".text", b"code")))
    found = units(scanned(".", cwd=tmp_path))
    assert [(name, len(kernels)) for name, _, kernels in found] == [("lib.so", 2), ("plain.so", 0)]
    (tmp_path / "a.ptx").write_text(".version 8.0\n.target sm_90\n.address_size 64\n")
    done = run_program("scan", ".", "--format", "json", cwd=tmp_path)
    assert [unit["input"] for unit in json.loads(done.out)["units"]] == ["a.ptx"]


@pytest.mark.parametrize("name", ["weights.bin", "k.fatbin", "k.o", "k", "k.hpp", "k.json"])
def test_a_directory_stands_for_device_code_whatever_its_name(tmp_path: Path, name: str) -> None:
    """Beside a source too, and a baseline knows it again under another name."""
    code = cubin("rolled_loop")
    (tmp_path / "k.cubin").write_bytes(code)
    assert run_program("baseline", ".", cwd=tmp_path).code == 0
    (tmp_path / "k.cubin").unlink()
    (tmp_path / name).write_bytes(fatbin(entry(code, 90)) if name == "k.fatbin" else code)
    done = run_program("check", ".", "--allow-incomplete", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.out
    looked_at = {one["name"] for one in json.loads(done.out)["accounts"] if one["name"]}
    assert name in looked_at
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    found = discover([str(tmp_path)], Globs(str(tmp_path))).inputs
    assert sorted(os.path.basename(one.path) for one in found) == sorted(("a.cu", name))
    (tmp_path / "a.cu").unlink()
    (tmp_path / "other.dat").write_bytes(cubin("recursion"))
    assert run_program("check", ".", "--allow-incomplete", cwd=tmp_path).code == 1


def test_device_code_is_no_source_that_hides_libraries(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(library("rolled_loop", archs=(90,)))
    (tmp_path / "k.bin").write_bytes(cubin("recursion"))
    found = units(scanned(".", cwd=tmp_path))
    assert [name for name, _, _ in found] == ["k.bin", "lib.so"]


def test_a_damaged_member_is_named_and_the_others_appear(tmp_path: Path) -> None:
    good = library("rolled_loop", archs=(90,))
    (tmp_path / "p.whl").write_bytes(package(("bad.so", good[:-70]), ("good.so", good)))
    done = run_program("scan", "p.whl", "--format", "json", cwd=tmp_path)
    assert done.code == 3
    first, second = json.loads(done.out)["units"]
    assert [kernel["demangled"] for kernel in first["kernels"]] == [
        "reverse_rolled",
        "reverse_unrolled",
    ]
    assert second["failure"]["message"].startswith("p.whl[bad.so]: ")
    assert second["failure"]["kind"] == "evidence"


def test_the_gate_knows_a_wheel_by_its_baseline_and_so_its_next_version(wheel: Path) -> None:
    (wheel.parent / "dist").mkdir()
    first = wheel.rename(wheel.parent / "dist" / wheel.name)
    assert run_program("check", "dist", cwd=wheel.parent).code == 1
    assert run_program("baseline", "dist", cwd=wheel.parent).code == 0
    assert run_program("check", f"dist/{first.name}", cwd=wheel.parent).code == 0
    first.rename(first.with_name("p-1.1-py3-none-any.whl"))
    assert run_program("check", "dist", cwd=wheel.parent).code == 0


def test_a_library_of_the_next_release_has_another_digest(tmp_path: Path) -> None:
    for name, release in (("a-1.0", "liba-a7a60d30.so.4.8"), ("a-1.1", "liba-01234567.so.5")):
        with zipfile.ZipFile(tmp_path / f"{name}-cp311-cp311-linux_x86_64.whl", "w") as package:
            package.writestr(f"a.libs/{release}", library("rolled_loop"))
    old, new = sorted(path.name for path in tmp_path.glob("*.whl"))
    done = run_program("diff", old, new, cwd=tmp_path)
    assert (done.code, done.out) == (0, "No kernel differs.\n")
    assert run_program("baseline", old, "-o", "b.json", cwd=tmp_path).code == 0
    assert run_program("check", new, "--baseline", "b.json", cwd=tmp_path).code == 0


def test_a_baseline_names_the_architectures_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(library("rolled_loop"))
    done = run_program("baseline", "lib.so", "--arch", "sm_90", "-o", "b.json", cwd=tmp_path)
    assert done.out == "b.json: 1 known finding, sm_90\n"
    assert json.loads((tmp_path / "b.json").read_text())["archs"] == ["sm_90"]
    done = run_program("check", "lib.so", "--baseline", "b.json", cwd=tmp_path)
    assert (done.code, "was not written for" in done.out) == (0, False)


def test_the_gate_passes_no_wheel_that_it_cannot_read(wheel: Path) -> None:
    assert run_program("baseline", wheel.name, cwd=wheel.parent).code == 0
    wheel.write_bytes(wheel.read_bytes()[:-30])
    assert run_program("check", wheel.name, cwd=wheel.parent).code == 3


def test_a_limit_on_a_cause_is_undecided_where_machine_code_does_not_show_it(
    tmp_path: Path,
) -> None:
    plain = cubin("constant_table").replace(b".nv_debug_ptx_txt", b".xx_debug_ptx_txt")
    (tmp_path / "lib.so").write_bytes(host_object((".nv_fatbin", fatbin(entry(plain)))))
    (kernel, *_) = scanned("lib.so", "--local-only", cwd=tmp_path)["units"][0]["kernels"]  # type: ignore[index]
    assert {one["cause"] for one in kernel["causes"]} == {"unattributed"}
    assert run_program("check", "lib.so", "--forbid", "const-table", cwd=tmp_path).code == 3
    assert run_program("check", "lib.so", "--max-frame", "256", cwd=tmp_path).code == 0
    assert run_program("check", "lib.so", "--max-frame", "128", cwd=tmp_path).code == 1


def test_a_saved_report_of_another_wheel_decides_nothing(wheel: Path) -> None:
    arguments = ("check", "saved.json", "--max-frame", "4096")
    wheel.write_bytes(package(("p/lib.so", library("rolled_loop"))))
    assert run_program("scan", wheel.name, "-o", "saved.json", cwd=wheel.parent).code == 0
    assert run_program(*arguments, cwd=wheel.parent).code == 0
    wheel.write_bytes(package(("p/lib.so", library("constant_table"))))
    assert run_program(*arguments, cwd=wheel.parent).code == 3


def test_two_versions_of_a_wheel_are_compared_member_by_member(wheel: Path) -> None:
    newer = wheel.with_name("p-1.1-py3-none-any.whl")
    newer.write_bytes(package(("p/lib.so", library("rolled_loop"))))
    done = run_program("diff", wheel.name, newer.name, "--format", "json", cwd=wheel.parent)
    found = {(d["kernel"], d["arch"]): d["change"] for d in json.loads(done.out)["kernels"]}
    assert set(found.values()) == {"removed"}
    assert len(found) == 6


def test_a_package_is_found_by_its_metadata_and_not_imported(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "p").mkdir(parents=True)
    (site / "p_1-1.0.dist-info").mkdir()
    (site / "p" / "lib.so").write_bytes(library("rolled_loop"))
    (site / "p" / "__init__.py").write_text("raise SystemExit('imported')")
    (site / "p_1-1.0.dist-info" / "METADATA").write_text("Name: p-1\nVersion: 1.0\n")
    (site / "p_1-1.0.dist-info" / "RECORD").write_text("p/lib.so,,\np/__init__.py,,\ngone.so,,\n")
    assert files_of("P_1", [str(site)]) == (str(site / "p" / "lib.so"),)
    with pytest.raises(UsageError, match="not installed"):
        files_of("other", [str(site)])


def test_saved_reports_keep_what_is_known_of_clean_kernels(tmp_path: Path) -> None:
    from lmemscope.exporters.json import parse_report, render_json
    from lmemscope.model import CleanKernel, Report, UnitReport
    from lmemscope.rules.clean_kernels import with_clean

    clean = (CleanKernel("_Z1kPf", "entry", 24), CleanKernel("_Z1fv", "function", None))
    report = Report(
        version="1",
        toolchain={},
        units=(
            UnitReport(
                input="lib.so",
                frontend="binary",
                arch="sm_90",
                options=(),
                failure=None,
                clean=clean,
                gaps=(),
                kernels=(),
            ),
        ),
    )
    assert parse_report(render_json(report)).units[0].clean == clean
    kernels = {one.facts.name: one for one in with_clean(report).units[0].kernels}
    assert kernels["_Z1kPf"].facts.registers == 24
    assert {one.verdict.kind for one in kernels.values()} == {"clean"}

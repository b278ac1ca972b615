"""Commands that nobody means as a trick: reports beside sources, other directories, pre-commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope.app import execute
from lmemscope.app.gate_inputs import inputs_of
from lmemscope.app.gathered import gathered
from lmemscope.app.saved_options import with_other_options
from lmemscope.app.saved_paths import from_here
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.discover.build_account import account
from lmemscope.discover.locate import Search
from lmemscope.discover.walk import Found, Globs, discover
from lmemscope.exporters import json
from lmemscope.exporters.accounts import looked_at
from lmemscope.files import digest_of
from lmemscope.gate import baseline
from lmemscope.gate.compare import compare
from lmemscope.gate.places import as_reported, as_written
from lmemscope.model import (
    CompileOptions,
    Gap,
    GateResult,
    KernelReport,
    Policy,
    Report,
    UnitReport,
)
from tests.support.builders import judged
from tests.support.program import run_program

KERNEL = "__global__ void k(int *p) { *p = 1; }\n"
DIRTY, CLEAN = judged("k", "dynamic-index"), judged("k")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (".git", "src", "first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "a.cu").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made_of(kernel: KernelReport | None, text: str = KERNEL, **changes: Any) -> Report:
    """A report of ``src``, made in the directory above it."""
    digest = digest_of("src/a.cu") if text == KERNEL else "0" * 64
    kernels = () if kernel is None else (kernel,)
    unit = UnitReport(
        input="src/a.cu",
        frontend="nvrtc",
        arch="sm_90",
        options=(),
        failure=None,
        kernels=kernels,
        gaps=(),
    )
    unit = replace(unit, source_digest=digest, sources={"src/a.cu": digest or ""}, **changes)
    return Report(version="0.1.0", toolchain={}, units=(unit,), paths=("src",))


class TestAUnitThatWasAnalysedTwice:
    """It is one unit; what was analysed now counts."""

    @staticmethod
    def together(
        monkeypatch: pytest.MonkeyPatch, reports: dict[str, Report], live: Report | None
    ) -> Report:
        monkeypatch.setattr(execute, "run_analysed", lambda *_, **__: (live, ()))
        monkeypatch.setattr(json, "load_report", reports.__getitem__)
        paths = [*reports, *(["src"] if live is not None else [])]
        return gathered(paths, Session(Settings()))

    def test_that_agrees(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        report = self.together(monkeypatch, {"r.json": made_of(DIRTY)}, made_of(DIRTY))
        assert len(report.units) == 1
        assert report.notes == ()
        assert report.doubts == ()

    @pytest.mark.parametrize("text", [KERNEL, "other"])
    def test_that_differs(self, root: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        report = self.together(monkeypatch, {"r.json": made_of(DIRTY, text)}, made_of(CLEAN))
        assert [unit.kernels for unit in report.units] == [(CLEAN,)]
        (note,) = report.notes
        assert "r.json" in note
        assert "src/a.cu" in note

    def test_for_another_architecture(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        other = made_of(DIRTY, arch="sm_80")
        report = self.together(monkeypatch, {"r.json": other}, made_of(CLEAN))
        assert sorted(unit.arch for unit in report.units) == ["sm_80", "sm_90"]

    def test_in_two_saved_reports(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        same = {"r.json": made_of(DIRTY), "s.json": made_of(DIRTY)}
        report = self.together(monkeypatch, same, None)
        assert (len(report.units), report.doubts) == (1, ())
        other = {"r.json": made_of(DIRTY), "s.json": made_of(CLEAN)}
        (doubt,) = self.together(monkeypatch, other, None).doubts
        assert "contradict" in doubt


class TestDirectories:
    """A report and a baseline mean the same files wherever the command is run."""

    @pytest.mark.parametrize("where", ["src", "first", ".."])
    def test_a_report_of_another_directory(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, where: str
    ) -> None:
        report = made_of(DIRTY)
        monkeypatch.chdir(root / where)
        path = str(root / "r.json")
        (unit,) = from_here(report, path).units
        assert Path(unit.input).samefile(root / "src" / "a.cu")
        assert [Path(name).resolve() for name in unit.sources or ()] == [root / "src" / "a.cu"]
        assert [Path(one).resolve() for one in from_here(report, path).paths or ()] == [
            root / "src"
        ]

    def test_the_file_that_is_as_it_was_is_meant(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        report = made_of(DIRTY)
        (root / "first" / "src").mkdir()
        (root / "first" / "src" / "a.cu").write_text("// another one\n")
        monkeypatch.chdir(root / "first")
        (unit,) = from_here(report, "../r.json").units
        assert unit.input == "../src/a.cu"

    def test_a_report_whose_files_are_nowhere_stays(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        report = made_of(DIRTY)
        (root / "src" / "a.cu").unlink()
        monkeypatch.chdir(root / "first")
        assert from_here(report, "../r.json") == report

    def test_a_baseline_behind_a_link(
        self, root: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        known = baseline.from_report(made_of(DIRTY))
        link = tmp_path_factory.mktemp("other") / "link"
        link.symlink_to(root)
        name = str(link / "src" / "a.cu")
        (unit,) = made_of(DIRTY).units
        report = Report(version="0.1.0", toolchain={}, units=(replace(unit, input=name),))
        here = as_reported(known, str(root), report)
        assert [entry.input for entry in here.findings] == [name]
        assert as_written(here, str(root)) == known

    def test_what_is_known_under_both_names_is_not_known_twice(self, root: Path) -> None:
        (root / "src" / "b.cu").symlink_to("a.cu")
        (unit,) = made_of(DIRTY).units
        both = Report(version="0.1.0", toolchain={}, units=(unit, replace(unit, input="src/b.cu")))
        here = as_reported(baseline.from_report(both), str(root), made_of(DIRTY))
        assert sorted(entry.input for entry in here.findings) == ["src/a.cu", "src/b.cu"]


class TestHeadersSince:
    """A saved report is out of date as soon as its source may include another header."""

    @staticmethod
    def lacking(root: Path, *words: str) -> list[str]:
        report = made_of(CLEAN, options=words)
        gaps = with_other_options(["r.json"], report, Settings(root=str(root))).gaps
        return [gap.reason for gap in gaps]

    def test_one_that_was_asked_for_in_vain(self, root: Path) -> None:
        text = f'#if __has_include("tune.h")\n#endif\n{KERNEL}'
        (root / "src" / "a.cu").write_text(text)
        assert self.lacking(root) == []
        (root / "src" / "tune.h").touch()
        (reason,) = self.lacking(root)
        assert "src/tune.h" in reason

    def test_one_that_shadows_another(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        words = [f"-I{root / name}" for name in ("first", "second")]
        (root / "src" / "a.cu").write_text(f"#include <n.h>\n{KERNEL}")
        (root / "first" / "n.h").touch()
        digests = {name: digest_of(name) or "" for name in ("src/a.cu", "first/n.h")}
        report = made_of(CLEAN, options=tuple(reversed(words)))
        (unit,) = report.units
        report = replace(report, units=(replace(unit, sources=digests),))
        settings = Settings(root=str(root))
        (told,) = with_other_options(["r.json"], report, settings).gaps
        assert told.kind == "note"
        (root / "second" / "n.h").touch()
        gap, _ = with_other_options(["r.json"], report, settings).gaps
        assert (gap.kind, "second/n.h" in gap.reason) == ("evidence", True)

    def test_one_with_kernels_that_nobody_includes(self, root: Path) -> None:
        assert self.lacking(root) == []
        (root / "src" / "t.cuh").write_text("template <int N> __global__ void t() {}\n")
        (reason,) = self.lacking(root)
        assert "src/t.cuh" in reason


class TestSourcesWithoutKernels:
    """A source that defines no kernel is a fact where it is named."""

    @staticmethod
    def gate(*paths: str, kernels: tuple[str, ...] = ()) -> GateResult:
        walked = discover(paths, Globs(""))
        files = [one.file for one in walked.inputs]
        units = tuple(
            UnitReport(
                input=file,
                frontend="nvrtc",
                arch="sm_90",
                options=(),
                failure=None,
                gaps=(),
                kernels=(),
            )
            for file in files
        )
        report = Report(version="0.1.0", toolchain={}, units=units, gaps=tuple(walked.gaps))
        inputs = inputs_of(paths, report, None, Settings(), globs_typed=False, archs_typed=False)
        return compare(report, Policy(), None, inputs=inputs, kernels=kernels)

    def test_named_files(self, root: Path) -> None:
        (root / "host.cu").write_text("int main() {}\n")
        (root / "plain.h").write_text("int f();\n")
        assert self.gate("host.cu").verdict == "passed"
        assert self.gate("plain.h", "host.cu").verdict == "passed"
        assert self.gate("host.cu", kernels=("k*",)).verdict == "undecided"

    def test_a_directory(self, root: Path) -> None:
        (root / "first" / "host.cu").write_text("int main() {}\n")
        assert self.gate("first").verdict == "undecided"

    def test_a_header_with_a_kernel_is_no_such_file(self, root: Path) -> None:
        (root / "k.h").write_text("__global__ void k(int *p) { *p = 1; }\n")
        walked = discover(["k.h"], Globs(""))
        assert (walked.headers, walked.without_kernels) == (["k.h"], [])

    def test_another_language_is_no_such_file(self, root: Path) -> None:
        (root / "t.py").write_text("import triton\n@triton.jit\ndef k(): pass\n")
        assert self.gate("t.py").verdict == "undecided"
        assert [gap.kind for gap in discover(["t.py"], Globs("")).gaps] == ["evidence"]

    def test_what_is_missing_is_not_counted_as_checked(self, root: Path) -> None:
        gap = Gap("read", "changed", "evidence", "src/a.cu")
        report = replace(made_of(CLEAN), gaps=(gap,))
        assert looked_at(compare(report, Policy(), None)).startswith("Checked 0 inputs, 1")


def test_the_note_on_a_build_says_what_the_build_says(root: Path) -> None:
    options = CompileOptions(
        nvcc_args=("-Xcompiler=-O3", "-rdc=true", "-D__CUDA_ARCH_LIST__=800\\,900"),
        ptxas_args=("-c",),
    )
    inputs = [Found("src/a.cu", str(root / "src/a.cu"), options, ("sm_80", "sm_90"))]
    (gap,) = account(inputs, [str(root / "compile_commands.json")], Search())
    assert "gives -O3, -rdc=true" in gap.reason
    assert "ARCH_LIST" not in gap.reason
    assert not gap.reason.endswith("-c")


@pytest.mark.toolchain
def test_the_gate_from_a_subdirectory_and_for_another_architecture(root: Path) -> None:
    body = "int a[99]; for (int &x : a) x = *p; *p = a[p[1]];"
    (root / "src" / "a.cu").write_text(f"__global__ void k(int *p) {{ {body} }}\n")
    assert run_program("scan", "src", "-o", "r.json", cwd=root).code == 0
    assert run_program("baseline", "src", cwd=root).code == 0
    assert run_program("check", "r.json", "src", cwd=root).code == 0
    for paths in (["../r.json"], ["."], ["../src"], ["a.cu", "../r.json"]):
        assert run_program("check", *paths, cwd=root / "src").code == 0, paths
    other = run_program("check", "src", "--arch", "sm_120", cwd=root)
    assert other.code == 1
    command = "lmemscope baseline src --arch sm_90 --arch sm_120"
    assert command in other.out
    assert run_program(*command.split()[1:], cwd=root).code == 0
    assert run_program("check", "src", cwd=root).code == 0

"""One rule of accounting: everything was looked at, is gone, was left out, or is missing."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from lmemscope import scan
from lmemscope.app.baseline_file import BaselineFile, unused, without_architectures
from lmemscope.app.gate_inputs import inputs_of, with_stale
from lmemscope.app.saved_options import with_other_options
from lmemscope.config.settings import Settings
from lmemscope.discover.headers import unseen
from lmemscope.discover.walk import Discovery, Globs, discover
from lmemscope.exporters.accounts import left_out
from lmemscope.exporters.github import render_annotations
from lmemscope.files import digest_of
from lmemscope.gate import baseline
from lmemscope.gate.accounting import Inputs
from lmemscope.gate.compare import compare
from lmemscope.model import (
    Baseline,
    CompileOptions,
    CubinFacts,
    Gap,
    GateResult,
    InputId,
    KernelReport,
    Limit,
    Policy,
    PtxFacts,
    Report,
    SassSites,
    Tool,
    Unit,
    UnitReport,
    by_name,
)
from lmemscope.sources.python import survey
from tests.support.builders import changed, facts, gate_as, judged

TODAY = date(2026, 11, 21)
DIRTY, CLEAN = judged("k", "dynamic-index"), judged("c")
KERNEL = "__global__ void k(int *p) { *p = 1; }\n"


def project(*units: tuple[str, KernelReport | None], **changes: Any) -> Report:
    """A report of files, each with a kernel or without one."""
    tool = Tool("nvrtc", "13.5", None)
    made = tuple(
        UnitReport(
            input=name,
            frontend="nvrtc",
            arch="sm_90",
            options=(),
            failure=None,
            gaps=(),
            kernels=() if one is None else (one,),
            tools=(tool,),
        )
        for name, one in units
    )
    return Report(version="0.1.0", toolchain=by_name((tool,)), units=made, **changes)


BOTH = project(("a.cu", CLEAN), ("sub/b.cu", DIRTY))
KNOWN = baseline.from_report(BOTH)


def gate(given: Report, known: Baseline | None = KNOWN, **inputs: Any) -> GateResult:
    return compare(given, Policy(), known, today=TODAY, inputs=Inputs(**inputs))


def states(result: GateResult) -> dict[tuple[str, str], str]:
    return {(one.subject, one.name): one.state for one in result.accounts}


class TestWhatTheBaselineKnows:
    ALONE = project(("a.cu", CLEAN))
    THERE = frozenset({"sub/b.cu"})

    def test_another_file_that_was_named_is_a_choice_and_said(self) -> None:
        result = gate(self.ALONE, present=self.THERE)
        assert (result.verdict, result.gone) == ("passed", ())
        assert states(result)["baseline", "sub/b.cu"] == "left-out"

    @pytest.mark.parametrize(
        "inputs", [{"directories": (os.getcwd(),)}, {"build": True}, {"saved": True}]
    )
    def test_what_should_have_held_a_file_and_does_not_is_missing(self, inputs: Any) -> None:
        result = gate(self.ALONE, present=self.THERE, **inputs)
        assert (result.verdict, result.exit_code) == ("undecided", 3)
        assert [piece.input for piece in result.missing] == ["sub/b.cu"]
        assert states(result)["baseline", "sub/b.cu"] == "missing"

    def test_another_directory_is_a_choice(self) -> None:
        result = gate(self.ALONE, present=self.THERE, directories=(os.path.abspath("other"),))
        assert result.verdict == "passed"

    def test_a_build_does_not_stand_for_python(self) -> None:
        known = baseline.from_report(project(("f.py[k]", DIRTY)))
        result = gate(self.ALONE, known, present=frozenset({"f.py"}), build=True)
        assert result.verdict == "passed"
        assert states(result)["baseline", "f.py[k]"] == "left-out"

    @pytest.mark.parametrize(("typed", "verdict"), [(True, "passed"), (False, "undecided")])
    def test_only_the_command_line_excludes_what_is_known(self, typed: bool, verdict: str) -> None:
        result = gate(
            self.ALONE,
            present=self.THERE,
            excluded=self.THERE,
            directories=(os.getcwd(),),
            globs_typed=typed,
        )
        assert result.verdict == verdict

    @pytest.mark.parametrize(("typed", "verdict"), [(True, "passed"), (False, "undecided")])
    def test_only_the_command_line_chooses_architectures(self, typed: bool, verdict: str) -> None:
        entries = tuple(replace(one, arch="sm_80") for one in KNOWN.findings)
        known = replace(KNOWN, findings=entries)
        given = project(("a.cu", CLEAN), ("sub/b.cu", CLEAN))
        assert gate(given, known, archs_typed=typed).verdict == verdict

    def test_a_file_that_is_gone_is_said(self) -> None:
        result = gate(self.ALONE)
        assert (result.verdict, len(result.gone)) == ("passed", 1)
        assert states(result)["baseline", "sub/b.cu"] == "gone"

    def test_a_file_that_had_kernels_and_has_none_is_said(self) -> None:
        result = gate(project(("a.cu", CLEAN), ("sub/b.cu", None)), present=self.THERE)
        assert (result.verdict, len(result.gone)) == ("passed", 1)

    def test_a_python_file_that_had_kernels_and_has_none_is_said(self) -> None:
        known = baseline.from_report(project(("f.py[k]", DIRTY)))
        empty = Gap("read", "f.py holds no kernel", "note", "f.py")
        there = {"present": frozenset({"f.py"}), "directories": (os.getcwd(),)}
        result = gate(project(("a.cu", CLEAN), gaps=(empty,)), known, **there)
        assert (result.verdict, len(result.gone)) == ("passed", 1)
        unread = Gap("read", "f.py may hold kernels", "evidence", "f.py")
        result = gate(project(("a.cu", CLEAN), gaps=(unread,)), known, **there)
        assert (result.verdict, result.gone) == ("undecided", ())


class TestMoving:
    COPY = project(("copy.cu", DIRTY))

    def test_a_finding_moves_from_a_file_that_is_gone(self) -> None:
        result = gate(self.COPY)
        assert result.verdict == "passed"
        assert "sub/b.cu is treated as moved to copy.cu" in result.notes

    def test_a_copy_of_a_file_that_is_there_is_new(self) -> None:
        result = gate(self.COPY, present=frozenset({"sub/b.cu"}))
        assert [failure.kind for failure in result.failures] == ["new"]

    def test_so_it_is_with_fingerprints_of_another_lmemscope(self) -> None:
        known = replace(KNOWN, fingerprints=1)
        there = frozenset({"sub/b.cu"})
        assert gate(self.COPY, known, present=there).verdict == "failed"
        assert gate(self.COPY, known).verdict == "passed"

    def test_the_same_file_under_another_name_has_moved(self) -> None:
        there = {"present": frozenset({"sub/b.cu"}), "aliases": {"sub/b.cu": "copy.cu"}}
        assert gate(self.COPY, **there).verdict == "passed"

    def test_one_known_finding_moves_to_one_place(self) -> None:
        result = gate(project(("c.cu", DIRTY), ("d.cu", DIRTY)))
        assert [failure.kind for failure in result.failures] == ["new"]

    @pytest.mark.parametrize(
        ("name", "file"),
        [
            ("a.cu", "a.cu"),
            ("a.cu[out/a.o]", "a.cu"),
            ("a[1].cu", "a[1].cu"),
            ("a[1].cu[2]", "a[1].cu"),
            ("f.py[k#2]", "f.py"),
            ("kernel[b.o]", "kernel"),
        ],
    )
    def test_brackets_in_names(self, name: str, file: str) -> None:
        assert InputId.parse(name).file == file


class TestFiguresWithoutFindings:
    FRAMED = KernelReport.of(
        changed(facts("k"), cubin=CubinFacts(32, 96, 0, 255), ptxas=None), CLEAN.verdict
    )
    SITES = KernelReport.of(replace(facts("k"), sass=SassSites(1, 0, 4, 0)), CLEAN.verdict)
    PTX = KernelReport.of(
        changed(facts("k"), ptxas=None, cubin=None, sass=None, ptx=PtxFacts(80, 1, 1, 0, 0)),
        CLEAN.verdict,
    )

    @pytest.mark.parametrize("kernel", [FRAMED, SITES, PTX])
    def test_they_decide_nothing(self, kernel: KernelReport) -> None:
        result = gate(project(("a.cu", kernel)), None)
        assert result.verdict == "undecided"
        assert "no finding says of what" in result.missing[0].text

    @pytest.mark.parametrize(
        ("limit", "verdict"),
        [
            (Limit(max_frame=96), "passed"),
            (Limit(max_frame=95), "failed"),
            (Limit(forbid=()), "passed"),
            (Limit(forbid=("dynamic-index",), max_frame=96), "undecided"),
            (Limit(max_registers=255), "undecided"),
        ],
    )
    def test_unless_a_limit_bounds_them(self, limit: Limit, verdict: str) -> None:
        result = compare(project(("a.cu", self.FRAMED)), Policy((limit,)), None)
        assert result.verdict == verdict

    def test_a_clean_kernel_is_clean(self) -> None:
        assert gate(project(("a.cu", CLEAN)), None).verdict == "passed"


def test_every_format_says_what_was_left_out() -> None:
    given = project(
        ("a.cu", CLEAN),
        gaps=(Gap("walk", "1 directory not walked: .venv", "note"),),
        filters=("--kernel c",),
    )
    result = gate(given, present=frozenset({"sub/b.cu"}))
    assert result.verdict == "passed"
    document = json.loads(gate_as("json", result))
    accounts = {(one["subject"], one["state"], one["name"]) for one in document["accounts"]}
    assert accounts == {
        ("input", "looked-at", "a.cu"),
        ("baseline", "left-out", "sub/b.cu"),
        ("filter", "left-out", "--kernel c"),
        ("directory", "left-out", ""),
    }
    (log,) = json.loads(gate_as("sarif", result, given))["runs"]
    (invocation,) = log["invocations"]
    assert invocation["executionSuccessful"] is True
    assert len(invocation["properties"]["accounts"]) == len(result.accounts)
    suites = ElementTree.fromstring(gate_as("junit", result, given))
    (suite,) = (one for one in suites if one.get("name") == "accounts")
    assert suite.get("skipped") == "3"
    shown = (
        gate_as("text", result),
        gate_as("markdown", result, given),
        render_annotations(result),
        json.dumps(log),
        ElementTree.tostring(suites, encoding="unicode"),
    )
    for text in shown:
        for said in ("sub/b.cu", "not walked: .venv", "--kernel c"):
            assert said.replace(".venv", "") in text.replace("\\", "")
    assert "Checked 1 input." in shown[0]


class TestWalk:
    """Directories that the walk does not enter."""

    @staticmethod
    def found(tree: Path, *exclude: str) -> Discovery:
        return discover([str(tree)], Globs(str(tree), exclude=exclude))

    @staticmethod
    def lacking(found: Discovery) -> list[str]:
        return [os.path.basename(gap.input or "") for gap in found.gaps if gap.kind == "evidence"]

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        tree = tmp_path / "src"
        tree.mkdir()
        (tree / "a.cu").write_text(KERNEL)
        return tree

    @staticmethod
    def hide(tree: Path, name: str) -> Path:
        hidden = tree / name
        hidden.mkdir(parents=True)
        (hidden / "k.cu").write_text(KERNEL)
        return hidden

    @staticmethod
    def git(tree: Path, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True)

    @pytest.mark.parametrize("name", [".hidden", "node_modules", "CMakeFiles", "__pycache__"])
    def test_a_kernel_in_one_is_missing(self, tree: Path, name: str) -> None:
        self.hide(tree, name)
        assert self.lacking(self.found(tree)) == [name]
        assert self.lacking(self.found(tree, f"{name}/*")) == []

    @pytest.mark.parametrize("name", ["k.cuh", "k.inl", "k.cpp"])
    @pytest.mark.parametrize("directory", [".hidden", "CMakeFiles"])
    def test_headers_in_one_are_judged_as_elsewhere(
        self, tree: Path, directory: str, name: str
    ) -> None:
        hidden = self.hide(tree, directory)
        (hidden / "k.cu").rename(hidden / name)
        assert [Path(one).name for one in self.found(tree).headers] == [name]
        self.git(tree, "init")
        self.git(tree, "add", "-A")
        assert [Path(one).name for one in self.found(tree).headers] == [name]
        assert self.found(tree, f"{directory}/*").headers == []

    def test_pyvenv_cfg_takes_no_directory_out(self, tree: Path) -> None:
        (self.hide(tree, "kernels") / "pyvenv.cfg").write_text("home = /usr\n")
        assert self.lacking(self.found(tree)) == ["kernels"]

    def test_a_virtual_environment_is_left_out_and_counted(self, tree: Path) -> None:
        venv = self.hide(tree, "venv")
        (venv / "pyvenv.cfg").write_text("home = /usr\n")
        (venv / "bin").mkdir()
        (venv / "bin" / "python").write_text("")
        found = self.found(tree)
        assert self.lacking(found) == []
        assert [gap.kind for gap in found.gaps] == ["note"]

    def test_what_git_tracks_is_the_projects(self, tree: Path) -> None:
        venv = self.hide(tree, "venv")
        (venv / "pyvenv.cfg").write_text("home = /usr\n")
        (venv / "bin").mkdir()
        (venv / "bin" / "python").write_text("")
        self.hide(tree, ".ignored")
        (tree / ".gitignore").write_text(".ignored\n")
        self.git(tree, "init")
        assert self.lacking(self.found(tree)) == []
        self.git(tree, "add", "-f", "venv/k.cu")
        assert self.lacking(self.found(tree)) == ["venv"]

    def test_what_git_would_add_is_the_projects(self, tree: Path) -> None:
        self.hide(tree, ".new")
        self.git(tree, "init")
        assert self.lacking(self.found(tree)) == [".new"]

    def test_a_link_to_what_is_not_walked_is_missing(self, tree: Path) -> None:
        elsewhere = self.hide(tree.parent, "elsewhere")
        (tree / "out").symlink_to(elsewhere)
        (tree / "self").symlink_to(tree)
        assert self.lacking(self.found(tree)) == ["out"]

    def test_a_source_directory_made_to_look_like_a_build_is_missing(self, tree: Path) -> None:
        entry = {"directory": str(tree), "file": "a.cu", "command": "nvcc -c a.cu"}
        (tree / "compile_commands.json").write_text(json.dumps([entry]))
        (tree / "CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
        (tree / "b.cu").write_text(KERNEL)
        self.git(tree, "init")
        self.git(tree, "add", ".")
        found = self.found(tree)
        assert [os.path.basename(one.path) for one in found.inputs] == ["a.cu"]
        assert self.lacking(found) == ["src"]


class TestCppFiles:
    """Kernels in files whose name says nothing of CUDA."""

    @pytest.mark.parametrize("name", ["k.cpp", "k.hpp", "k.inc", "k.H"])
    def test_a_kernel_that_nobody_includes_is_missing(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "a.cu").write_text(KERNEL)
        (tmp_path / name).write_text(KERNEL)
        found = discover([str(tmp_path)], Globs(str(tmp_path)))
        (gap,) = unseen(found.headers, [Unit("a.cu", str(tmp_path / "a.cu"), "auto", "sm_90")])
        assert (gap.kind, name in gap.reason) == ("uninstantiated", True)
        (tmp_path / "a.cu").write_text(f'#include "{name}"\n')
        assert not unseen(found.headers, [Unit("a.cu", str(tmp_path / "a.cu"), "auto", "sm_90")])

    @pytest.mark.parametrize(
        "text",
        [
            "#define GLOBAL __global__\nint GLOBAL_COUNT;\n",
            "// __global__ void k() {}\nint x;\n",
            "__global__ void k(int *);\nstruct S { int x; };\n",
        ],
    )
    def test_what_defines_none_is_not_said(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "a.cu").write_text(KERNEL)
        (tmp_path / "k.hpp").write_text(text)
        assert discover([str(tmp_path)], Globs(str(tmp_path))).headers == []

    def test_other_peoples_are_not_said(self, tmp_path: Path) -> None:
        (tmp_path / "a.cu").write_text(KERNEL)
        (tmp_path / "third_party").mkdir()
        (tmp_path / "third_party" / "k.hpp").write_text(KERNEL)
        assert discover([str(tmp_path)], Globs(str(tmp_path))).headers == []


def test_a_saved_report_of_another_text_is_missing_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cu").write_text(KERNEL)
    (unit,) = project(("a.cu", CLEAN)).units
    digest = digest_of("a.cu")
    same = replace(unit, source_digest=digest, sources={"a.cu": digest})
    given = replace(project(), units=(same,))
    assert with_stale(["r.json"], given).gaps == ()
    Path("a.cu").write_text(KERNEL + KERNEL.replace("k(", "other("))
    assert [gap.input for gap in with_stale(["r.json"], given).gaps] == ["a.cu"]
    assert gate(with_stale(["r.json"], given)).verdict == "undecided"
    assert with_stale(["a.cu"], given).gaps == ()
    Path("a.cu").unlink()
    assert [gap.input for gap in with_stale(["r.json"], given).gaps] == ["a.cu"]
    assert gate(with_stale(["r.json"], given)).verdict == "undecided"


def test_a_saved_report_that_does_not_know_its_headers_is_missing_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cu").write_text(KERNEL)
    (unit,) = project(("a.cu", CLEAN)).units
    unknown = replace(unit, source_digest=digest_of("a.cu"), sources=None)
    given = replace(project(), units=(unknown,))
    assert [gap.input for gap in with_stale(["r.json"], given).gaps] == ["a.cu"]
    known = replace(unknown, sources={"a.cu": digest_of("a.cu")})
    assert with_stale(["r.json"], replace(given, units=(known,))).gaps == ()


def test_a_header_changed_or_removed_since_is_missing_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cu").write_text('#include "h.h"\n')
    Path("h.h").write_text(KERNEL)
    (unit,) = project(("a.cu", CLEAN)).units
    digests = {file: digest_of(file) or "" for file in ("a.cu", "h.h")}
    given = replace(project(), units=(replace(unit, sources=digests),))
    assert with_stale(["r.json"], given).gaps == ()
    Path("h.h").write_text(KERNEL + "// other\n")
    assert [gap.input for gap in with_stale(["r.json"], given).gaps] == ["h.h"]
    assert gate(with_stale(["r.json"], given)).verdict == "undecided"
    Path("h.h").unlink()
    assert gate(with_stale(["r.json"], given)).verdict == "undecided"
    Path("a.cu").unlink()
    assert gate(with_stale(["r.json"], given)).verdict == "undecided"


@pytest.mark.toolchain
def test_a_unit_keeps_the_digests_of_its_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cu").write_text('#include "h.h"\n')
    Path("h.h").write_text(KERNEL)
    (unit,) = scan("a.cu", cache=None).units
    assert unit.sources == {file: digest_of(file) for file in ("a.cu", "h.h")}


def said_of(report: Report) -> str:
    """What was left out, as every format tells it."""
    return "; ".join(left_out(gate(report, None)))


class TestOptionsOfASavedReport:
    """What the settings ask for is what a saved report was made with, or evidence is missing."""

    @staticmethod
    def lacking(had: tuple[str, ...], settings: Settings, path: str = "r.json") -> list[str]:
        (unit,) = project(("a.cu", CLEAN)).units
        units = (replace(unit, options=had),)
        made = replace(project(), units=units, paths=())
        gaps = with_other_options([path], made, settings).gaps
        return [gap.reason for gap in gaps if gap.kind == "evidence"]

    @pytest.mark.parametrize(
        ("settings", "had"),
        [
            (Settings(options=CompileOptions(defines=("BIG",))), "-DBIG"),
            (Settings(options=CompileOptions(include_dirs=("/i",))), "-I/i"),
            (Settings(options=CompileOptions(std="c++20")), "--std=c++20"),
            (Settings(options=CompileOptions(maxrregcount=32)), "--maxrregcount=32"),
            (Settings(options=CompileOptions(use_fast_math=True)), "--use_fast_math"),
            (Settings(options=CompileOptions(nvrtc_args=("-DX",))), "-DX"),
            (Settings(options=CompileOptions(instantiate=("t<1>",))), "--instantiate=t<1>"),
        ],
    )
    def test_each_option(self, settings: Settings, had: str) -> None:
        assert self.lacking((had, "-DOFBUILD"), settings) == []
        (reason,) = self.lacking(("-DOFBUILD", "-DBIG=0"), settings)
        assert had.strip("-").replace("=t", " t") in reason
        assert self.lacking((), settings, "a.cu") == []

    @pytest.mark.parametrize("word", ["-DHIDE", "-G", "--std=c++20", "-I/elsewhere"])
    def test_options_that_nobody_asks_for_are_named_in_every_format(self, word: str) -> None:
        own = ("--gpu-architecture=sm_90", "-lineinfo", "-I/usr/local/cuda-13/include")
        (unit,) = project(("a.cu", CLEAN)).units
        units = (replace(unit, options=(*own, word)),)
        made = replace(project(), units=units, paths=("a.cu",))
        settings = Settings(options=CompileOptions(defines=("HIDE",)))
        assert word in said_of(with_other_options(["r.json"], made, Settings()))
        assert "HIDE" not in said_of(with_other_options(["r.json"], made, settings))

    def test_an_architecture_that_nobody_asks_for_is_named(self) -> None:
        (unit,) = project(("a.cu", CLEAN)).units
        made = replace(project(), units=(replace(unit, arch="sm_80"),), paths=("a.cu",))
        assert "sm_80" in said_of(with_other_options(["r.json"], made, Settings()))
        by_gpu = replace(made, default_arch="the GPU's")
        assert said_of(with_other_options(["r.json"], by_gpu, Settings())) == ""

    def test_architectures_and_routes(self) -> None:
        assert self.lacking((), Settings(archs=("90",))) == []
        (reason,) = self.lacking((), Settings(archs=("sm_80", "sm_90")))
        assert "sm_80" in reason
        (reason,) = self.lacking((), Settings(frontend="both"))
        assert "nvcc" in reason


class TestInputsOfASavedReport:
    """A saved report holds what its paths stand for now, compiled as builds say now."""

    @pytest.fixture
    def made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
        monkeypatch.chdir(tmp_path)
        Path("src").mkdir()
        Path("src/a.cu").write_text(KERNEL)
        Path("src/plain.py").write_text("x = getattr(x, y)\n")
        return replace(project(("src/a.cu", CLEAN)), paths=("src",))

    @staticmethod
    def lacking(made: Report, settings: Settings | None = None) -> list[str]:
        settings = settings or Settings(root=os.getcwd())
        return [gap.reason for gap in with_other_options(["r.json"], made, settings).gaps]

    @staticmethod
    def build(words: str) -> None:
        source = os.path.abspath("src/a.cu")
        entry = {"directory": os.getcwd(), "file": source, "command": f"nvcc {words} -c {source}"}
        Path("compile_commands.json").write_text(json.dumps([entry]))

    def test_files_that_came_since(self, made: Report) -> None:
        assert self.lacking(made) == []
        Path("src/b.cu").write_text(KERNEL)
        (reason,) = self.lacking(made)
        assert "src/b.cu" in reason
        assert self.lacking(made, Settings(root=os.getcwd(), exclude=("src/b.cu",))) == []
        filtered = replace(made, filters=("--exclude src/b.cu",))
        assert self.lacking(filtered) == []
        assert self.lacking(replace(made, paths=("src/a.cu",))) == []

    def test_a_build_database_that_changed_since(self, made: Report) -> None:
        self.build("-DBIG")
        (reason,) = self.lacking(made)
        assert "-DBIG" in reason
        (unit,) = made.units
        big = replace(unit, options=("-DBIG",))
        made = replace(made, units=(big,))
        assert self.lacking(made) == []
        self.build("-DBIG -arch=sm_75")
        (reason,) = self.lacking(made)
        assert "sm_75" in reason
        self.build("-std=c++14")
        assert ["-DBIG" in reason for reason in self.lacking(made)] == [False, True]

    def test_what_it_was_made_of_must_be_known(self, made: Report) -> None:
        assert len(self.lacking(replace(made, paths=None))) == 1
        assert len(self.lacking(replace(made, paths=("gone",)))) == 1


def test_a_baseline_beside_what_is_named_that_is_not_used_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg" / "cuda").mkdir(parents=True)
    Path("pkg/cuda/a.cu").write_text(KERNEL)
    assert list(unused(["pkg"], None)) == []
    Path("pkg/lmemscope-baseline.json").write_text("{}")
    for named in ("pkg", "pkg/cuda", "pkg/cuda/a.cu"):
        (said,) = unused([named], None)
        assert said.startswith("pkg/lmemscope-baseline.json is not used")
    assert list(unused(["pkg"], BaselineFile("pkg/lmemscope-baseline.json", "pkg"))) == []
    monkeypatch.chdir(tmp_path / "pkg")
    assert list(unused(["cuda"], None)) == []


def test_architectures_that_a_build_asks_for_are_not_said_to_be_missing_from_a_baseline() -> None:
    file, failed = BaselineFile("lmemscope-baseline.json", "/"), project(("a.cu", DIRTY))
    empty = replace(KNOWN, findings=(), archs=(), default_arch="sm_80")
    failures = gate(failed, empty).failures
    assert failures
    assert not [*without_architectures(["."], file, empty, failed, failures, {}, ())]
    (said,) = without_architectures(["."], file, empty, failed, failures, {}, ("sm_90",))
    assert "was not written for sm_90" in said


class TestPaths:
    """What is on disk, and what paths stand for."""

    def test_files_links_and_builds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("a.cu", "b.cu"):
            Path(name).write_text(KERNEL)
        Path("old.cu").symlink_to("a.cu")
        known = baseline.from_report(
            project(("b.cu", DIRTY), ("old.cu", DIRTY), ("gone.cu", DIRTY))
        )
        settings = Settings(root=str(tmp_path), exclude=("b.*",))
        given = project(("a.cu", DIRTY))
        made = inputs_of(["."], given, known, settings, globs_typed=False, archs_typed=False)
        assert made.present == {"b.cu", "old.cu"}
        assert made.aliases == {"old.cu": "a.cu"}
        assert made.excluded == {"b.cu"}
        assert (made.build, made.saved) == (False, False)
        Path("compile_commands.json").write_text("[]")
        made = inputs_of(["."], given, known, settings, globs_typed=False, archs_typed=False)
        assert made.build

    def test_a_report_of_another_machine_stands_for_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        given = project(("a.cu", CLEAN))
        made = inputs_of(["r.json"], given, KNOWN, Settings(), globs_typed=False, archs_typed=False)
        assert made.saved
        assert gate(given, saved=made.saved, present=made.present).verdict == "undecided"


SOURCE = '"__global__ void k(float *p) {}"'


class TestPython:
    @staticmethod
    def unread(tmp_path: Path, text: str) -> list[int]:
        path = tmp_path / "f.py"
        path.write_text(text)
        found = survey(str(path), "f.py")
        assert found.programs is not None
        return sorted({one.line for one in found.unread})

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            (f"import cupy\nR = cupy.RawKernel\nk = R({SOURCE}, 'k')\n", 2),
            ("import cupy\nk = getattr(cupy, 'RawKernel')(f(), 'k')\n", 2),
            ("import cupy\nk = getattr(cupy, 'Raw' + 'Kernel')(f(), 'k')\n", 2),
            ("import cupy\nk = vars(cupy)['Raw' + 'Kernel'](f(), 'k')\n", 2),
            ("from cupy import *\nk = RawKernel(f(), 'k')\n", 2),
            ("import cupy\nexec(open('k').read())\n", 2),
            ("exec('import cupy; cupy.RawKernel(a, b)')\n", 1),
            ("import cupy\nclass K(cupy.ElementwiseKernel):\n    pass\n", 2),
            ("from pycuda.compiler import SourceModule as M\nm = M(f())\n", 2),
            ("from torch.utils.cpp_extension import load_inline\nm = load_inline('m')\n", 2),
            (f"import mine\nk = mine.build({SOURCE})\n", 2),
            ("import mine\nk = mine.build(f'__global__ {t} k() {{}}')\n", 2),
            ("import mine\nk = mine.build('__global__ ' + f())\n", 2),
            ("from numba import cuda\nc = cuda\n@c.jit\ndef f(x): pass\n", 2),
            ("from numba.cuda import jit\nj = jit\n@j\ndef f(x): pass\n", 2),
            ("from numba import *\n@cuda.jit\ndef f(x): pass\n", 2),
            (
                "from numba import vectorize as v\n@v(['f4(f4)'], target='cuda')\ndef f(x): pass\n",
                2,
            ),
            ("from cupyx import jit\nr = jit.rawkernel\n@r()\ndef f(x): pass\n", 2),
            ("from helpers import cuda\n@cuda.jit\ndef f(x): pass\n", 2),
            ("from .compat import gpu\n@gpu.jit(fastmath=True)\ndef f(x): pass\n", 2),
            ("import helpers as h\n@h.gpu.jit\ndef f(x): pass\n", 2),
            ("from mine import gpu, kernel\n@kernel\ndef f(x):\n    gpu.local.array(4, 'f4')\n", 4),
            ("from mine import RK as R, cp\nk = cp.RawKernel(f(), 'k')\n", 2),
            ("from importlib import import_module as im\nn = im('numba.cuda')\n", 2),
            ("import cupy, builtins as b\nb.exec(open('k').read())\n", 2),
            ("import cupy\nfrom builtins import exec as e\ne(open('k').read())\n", 3),
            ("import mine\nk = mine.build(b'__global__ void k(float *p) {}')\n", 2),
        ],
    )
    def test_forms_that_are_not_read_are_named_with_their_line(
        self, tmp_path: Path, text: str, line: int
    ) -> None:
        assert line in self.unread(tmp_path, text)
        found = discover([str(tmp_path)], Globs(str(tmp_path)))
        assert [os.path.basename(one.path) for one in found.inputs] == ["f.py"]

    @pytest.mark.parametrize(
        "text",
        [
            f"from cupy import RawKernel as X\nk = X({SOURCE}, 'k')\n",
            "import cupy\nT = 'int'\nk = cupy.RawKernel(f'__global__ void k({T} *p) {{}}', 'k')\n",
            "import cupy as cp\nx = cp.zeros(3)\n",
            'import cupy\ndef f():\n    """A __global__ void k() by RawKernel."""\n',
            "import cupy\ndef f(x: cupy.RawKernel):\n    return isinstance(x, cupy.RawKernel)\n",
            "from numba import cuda\n@cuda.jit(device=True)\ndef f(x): pass\n",
            "from numba import cuda\n@cuda.jit\ndef f(x):\n    x[cuda.grid(1)] = 1\n",
            "import numba\n@numba.jit\ndef f(x): return x\n",
            "import numba as nb\n@nb.jit(nopython=True)\ndef f(x): return x\n",
            "import jax\n@jax.jit\ndef f(x): return x\n",
            "import jax as j\nfrom functools import partial\n@partial(j.jit)\ndef f(x): return x\n",
            "from flax import nnx\n@nnx.jit\ndef f(x): return x\n",
            "import torch\nm = torch.jit.script(f)\n",
            "from .settings import config\nif config.jit:\n    run(jit=config.jit)\n",
            "import re, cupy\np = re.compile(f())\n",
            "from numba import cuda\n@cuda.jit\ndef f(x):\n    a = cuda.local.array(4, 'f4')\n",
            "class A:\n    def f(self):\n        return self.jit(1)\n",
        ],
    )
    def test_what_is_read_or_makes_none_is_not_said(self, tmp_path: Path, text: str) -> None:
        assert self.unread(tmp_path, text) == []

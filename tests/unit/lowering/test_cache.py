"""The cache: what must miss, what may hit, and that a hit says the same as a compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.analysis import layers
from lmemscope.app.worker import analyse_unit
from lmemscope.discover.project import Projects
from lmemscope.errors import ToolMissingError
from lmemscope.lowering import analysed
from lmemscope.lowering import store as stores
from lmemscope.lowering.lower import lower
from lmemscope.model import CompileOptions, Tool, Unit, Wanted
from lmemscope.sources import includes
from lmemscope.tools import nvcc, nvrtc
from tests.support.program import ROOT, run_program

KERNEL = """#include "outer.h"
__global__ void pick(float *out, const int *at) {
    float bins[BINS];
    for (int i = 0; i < BINS; ++i) bins[i] = 0.0f;
    for (int i = 0; i < 1000; ++i) bins[at[i]] += 1.0f;
    for (int i = 0; i < BINS; ++i) out[i] = bins[i];
}
"""


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    (tmp_path / "include").mkdir()
    (tmp_path / "pick.cu").write_text(KERNEL)
    (tmp_path / "include" / "outer.h").write_text('#pragma once\n#include "inner.h"\n')
    (tmp_path / "include" / "inner.h").write_text("#define BINS 40\n")
    options = CompileOptions(include_dirs=(str(tmp_path / "include"),))
    return Unit("pick.cu", str(tmp_path / "pick.cu"), "auto", "sm_90", options)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


def key(store: str, unit: Unit) -> str | None:
    slot = stores.slot_for(store, unit)
    return None if slot is None else slot.key


def forbid_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a compiler was called")

    for module, function in (
        (nvrtc, "compile_program"),
        (nvrtc, "compile_to_ptx"),
        (nvcc, "compile_to_ptx"),
    ):
        monkeypatch.setattr(module, function, refuse)


@pytest.mark.toolchain
def test_a_hit_is_what_was_compiled(
    unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lower(unit, store)
    report = analyse_unit(unit, Wanted(cache=store))
    forbid_compilers(monkeypatch)
    second = lower(unit, store)
    assert not first.cached
    assert second.cached
    assert replace(second, cached=False) == first
    again = analyse_unit(unit, Wanted(cache=store))
    assert again == report
    assert again.kernels[0].findings[0].object == "bins"


@pytest.mark.toolchain
class TestReports:
    """What was concluded is kept too, and is found only by whoever would conclude the same."""

    def test_nothing_is_analysed_again(
        self, unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wanted = Wanted(cache=store, quotes=("ptx", "sass"))
        first = analyse_unit(unit, wanted)
        assert first.kernels[0].quotes is not None
        monkeypatch.setattr(layers, "parse", None)
        again = analyse_unit(unit, wanted)
        assert replace(again, cached=False) == first
        assert (first.cached, again.cached) == (False, True)

    def test_a_new_file_may_launch_a_kernel_and_a_report_written_again_does_not(
        self, unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, wanted = Path(unit.path).parent, Wanted(cache=store, proposals=True)
        monkeypatch.chdir(folder)
        os.mkdir(store)
        (folder / "report.json").write_text("{}")
        first = analyse_unit(unit, wanted)
        (folder / "new").write_text("{}")
        os.replace(folder / "new", folder / "report.json")
        with monkeypatch.context() as without:
            without.setattr(layers, "parse", None)
            assert replace(analyse_unit(unit, wanted), cached=False) == first
        (folder / "main.cu").write_text("void go() { pick<<<1, 192>>>(out, at); }\n")
        again = analyse_unit(unit, wanted)
        said = [
            " ".join(a.text for a in one.kernels[0].findings[0].advice) for one in (first, again)
        ]
        assert ["192 threads" in text for text in said] == [False, True]

    def test_proposals_are_added_to_a_report_that_was_kept_without(
        self, unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(Path(unit.path).parent)
        plain = analyse_unit(unit, Wanted(cache=store))
        monkeypatch.setattr(layers, "parse", None)
        whole = analyse_unit(unit, Wanted(cache=store, proposals=True))
        ((was,), (now,)) = plain.kernels[0].findings, whole.kernels[0].findings
        assert all(one.applicability is None for one in was.advice)
        assert any(one.applicability is not None for one in now.advice)
        assert replace(now, advice=()) == replace(was, advice=())
        # It is kept in turn.
        again = analyse_unit(unit, Wanted(cache=store, proposals=True))
        assert again.kernels == whole.kernels

    @pytest.mark.parametrize(
        "change",
        [
            lambda unit, wanted: (unit, replace(wanted, causes=False)),
            lambda unit, wanted: (unit, replace(wanted, kernels=("pic?",))),
            lambda unit, wanted: (unit, replace(wanted, quotes=("ptx",))),
            lambda unit, wanted: (replace(unit, input="./pick.cu"), wanted),
            lambda unit, wanted: (replace(unit, variant="2"), wanted),
        ],
        ids=("facts", "kernels", "quotes", "name", "variant"),
    )
    def test_another_question_is_another_report(
        self,
        unit: Unit,
        store: str,
        change: Callable[[Unit, Wanted], tuple[Unit, Wanted]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        wanted = Wanted(cache=store)
        analyse_unit(unit, wanted)
        asked = change(unit, wanted)
        answered = analyse_unit(*asked)
        anew = analyse_unit(asked[0], replace(asked[1], cache=None))
        assert replace(answered, cached=False) == anew

    def test_other_code_of_ours_analyses_anew(
        self, unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wanted = Wanted(cache=store)
        analyse_unit(unit, wanted)
        slot, mentioning = analysed.slot_of(unit, wanted), Projects().mentioning
        assert analysed.known_report(slot, unit, wanted, mentioning) is not None
        monkeypatch.setattr(analysed, "own_code", lambda: "a later commit")
        assert analysed.known_report(slot, unit, wanted, mentioning) is None

    def test_a_damaged_report_is_a_miss(self, unit: Unit, store: str) -> None:
        wanted = Wanted(cache=store)
        first = analyse_unit(unit, wanted)
        (entry,) = Path(store).rglob("*.report-*")
        entry.write_bytes(entry.read_bytes()[:-9])
        assert replace(analyse_unit(unit, wanted), cached=False) == first

    def test_an_edited_header_is_another_report(
        self, unit: Unit, store: str, tmp_path: Path
    ) -> None:
        wanted = Wanted(cache=store)
        before = analyse_unit(unit, wanted).kernels[0].facts.stack_frame
        (tmp_path / "include" / "inner.h").write_text("#define BINS 60\n")
        assert (before, analyse_unit(unit, wanted).kernels[0].facts.stack_frame) == (160, 240)

    def test_a_quoted_file_that_is_not_part_of_the_input_is_noticed(
        self, unit: Unit, store: str, tmp_path: Path
    ) -> None:
        written = tmp_path / "pick.gen"
        written.write_text(KERNEL)
        (tmp_path / "pick.cu").write_text(f'#line 1 "{written}"\n{KERNEL}')
        wanted = Wanted(cache=store)
        first = analyse_unit(unit, wanted)
        assert analyse_unit(unit, wanted).cached
        written.write_text(KERNEL.replace("bins[at[i]]", "bins[at[i]] /* as generated */"))
        again = analyse_unit(unit, wanted)
        assert "as generated" not in str(first.source_lines)
        assert "as generated" in str(again.source_lines)

    def test_what_a_failing_tool_left_open_is_asked_again(
        self, unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise ToolMissingError("toolchain", "it is being upgraded")

        # Which array that is, the statement alone does not tell.
        Path(unit.path).write_text(KERNEL.replace("= bins[i]", "= *(bins + at[i])"))
        wanted = Wanted(cache=store)
        with monkeypatch.context() as patch:
            patch.setattr(nvrtc, "compile_to_ptx", refuse)
            first = analyse_unit(unit, wanted)
        assert [gap.stage for gap in first.gaps] == ["names"]
        again = analyse_unit(unit, wanted)
        assert not again.gaps
        assert again.kernels[0].findings[0].object == "bins"


@pytest.mark.parametrize(
    "change",
    [
        "pick.cu",
        "include/outer.h",
        "include/inner.h",
    ],
)
def test_an_edited_file_is_another_key(unit: Unit, store: str, tmp_path: Path, change: str) -> None:
    before = key(store, unit)
    assert before is not None
    with (tmp_path / change).open("a") as stream:
        stream.write("// edited\n")
    assert key(store, unit) != before


def test_an_edit_that_keeps_size_and_time_of_day_apart_is_noticed(
    unit: Unit, store: str, tmp_path: Path
) -> None:
    header = tmp_path / "include" / "inner.h"
    before = key(store, unit)
    header.write_text("#define BINS 41\n")
    assert key(store, unit) != before


def test_a_header_that_appears_in_front_is_noticed(unit: Unit, store: str, tmp_path: Path) -> None:
    before = key(store, unit)
    (tmp_path / "outer.h").write_text("#define BINS 8\n")
    assert key(store, unit) != before


def test_a_header_that_a_condition_asks_for_is_noticed(
    unit: Unit, store: str, tmp_path: Path
) -> None:
    (tmp_path / "include" / "inner.h").write_text(
        "#if __has_include(<tuned.h>)\n#define BINS 8\n#else\n#define BINS 40\n#endif\n"
    )
    before = key(store, unit)
    (tmp_path / "include" / "tuned.h").write_text("")
    assert key(store, unit) != before


def test_a_header_named_by_a_macro_is_never_looked_up(
    unit: Unit, store: str, tmp_path: Path
) -> None:
    (tmp_path / "include" / "inner.h").write_text('#define H "x.h"\n#include H\n')
    assert key(store, unit) is None


@pytest.mark.parametrize(
    "other",
    [
        {"arch": "sm_80"},
        {"frontend": "nvcc"},
        {"toolkit": "/opt/cuda"},
        {"options": CompileOptions(defines=("X=1",))},
        {"options": CompileOptions(maxrregcount=32)},
        {"options": CompileOptions(nvrtc_args=("--dopt=off",))},
    ],
)
def test_what_is_asked_is_part_of_the_key(unit: Unit, store: str, other: dict[str, object]) -> None:
    assert key(store, replace(unit, **other)) != key(store, unit)  # type: ignore[arg-type]


def test_the_environment_of_the_compilers_is_part_of_the_key(
    unit: Unit, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(store, unit)
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DX")
    assert key(store, unit) != before


def test_files_that_arguments_name_are_followed(tmp_path: Path, unit: Unit, store: str) -> None:
    forced = tmp_path / "forced.h"
    forced.write_text("#define A 1\n")
    forcing = replace(unit, options=CompileOptions(nvcc_args=(f"-include={forced}",)))
    read = includes.closure(forcing.path, forcing.options)
    assert str(forced) in read.files
    before = key(store, forcing)
    forced.write_text("#define A 2\n")
    assert key(store, forcing) != before


def test_includes_that_lead_round_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('#include "b.h"\n#include <nowhere.h>\n')
    (tmp_path / "b.h").write_text('#include "c.h"\n')
    (tmp_path / "c.h").write_text('#include "b.h"\n')
    read = includes.closure(str(tmp_path / "a.cu"), CompileOptions())
    assert [os.path.basename(path) for path in read.files] == ["a.cu", "b.h", "c.h"]
    assert read.missing == {"nowhere.h"}
    assert not read.computed


@pytest.mark.toolchain
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "other"])
def test_a_damaged_entry_is_a_miss(unit: Unit, store: str, damage: str) -> None:
    first = lower(unit, store)
    (entry,) = Path(store).rglob("*.outputs.entry")
    content = bytearray(entry.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "truncate":
        del content[len(content) // 2 :]
    elif damage == "empty":
        content.clear()
    else:
        content[:] = b"nothing of ours\n"
    entry.write_bytes(content)
    again = lower(unit, store)
    assert not again.cached
    assert again.cubin == first.cubin
    assert lower(unit, store).cached, "the damaged entry was not replaced"


def test_a_tool_changed_in_place_is_a_miss(unit: Unit, store: str, tmp_path: Path) -> None:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("one build")
    slot = stores.slot_for(store, unit)
    assert slot is not None
    tool = Tool("ptxas", "13.5.37", str(ptxas))
    record = stores.Outputs("nvcc", (), (), None, ())
    slot.store("outputs", record, [b"cubin"], (tool,))
    assert slot.load("outputs", stores.Outputs, blobs=1) == (record, (b"cubin",), (tool,))
    ptxas.write_text("another build")
    assert slot.load("outputs", stores.Outputs, blobs=1) is None


@pytest.mark.toolchain
def test_a_directory_that_cannot_be_written_is_no_cache(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert lower(unit, str(tmp_path / "file")).cubin
    assert (tmp_path / "file").read_text() == ""


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    entries = tmp_path / "entries" / "00"
    entries.mkdir(parents=True)
    for age, name in enumerate(("new", "middle", "old")):
        path = entries / f"{name}.outputs.entry"
        path.write_bytes(b"x" * 100)
        os.utime(path, ns=(10**18 - age * 10**9,) * 2)
    stores.trim(str(tmp_path), limit=250)
    assert sorted(path.name[:3] for path in entries.iterdir()) == ["mid", "new"]


class TestRoute:
    """NVRTC's refusal of a header is remembered; its place is taken by nothing else."""

    SOURCE = "#include <iostream>\n__global__ void k(int *p) { *p = 1; }\n"

    @pytest.fixture
    def host(self, tmp_path: Path) -> Unit:
        path = tmp_path / "host.cu"
        path.write_text(self.SOURCE)
        return Unit("host.cu", str(path), "auto", "sm_90")

    @pytest.mark.toolchain
    def test_the_failing_attempt_is_not_repeated(
        self, host: Unit, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert lower(host, store).frontend == "nvcc"
        Path(host.path).write_text(self.SOURCE + "// edited\n")
        monkeypatch.setattr(nvrtc, "compile_program", lambda *_: pytest.fail("NVRTC was asked"))
        again = lower(host, store)
        assert again.frontend == "nvcc"
        assert not again.cached

    @pytest.mark.toolchain
    def test_without_the_header_the_file_is_nvrtcs_again(self, host: Unit, store: str) -> None:
        lower(host, store)
        Path(host.path).write_text(self.SOURCE.partition("\n")[2])
        assert lower(host, store).frontend == "nvrtc"

    @pytest.mark.toolchain
    def test_an_error_is_the_one_that_a_first_run_shows(self, host: Unit, store: str) -> None:
        from lmemscope.errors import CompileError

        lower(host, store)
        Path(host.path).write_text(self.SOURCE + "__global__ void broken( {}\n")
        with pytest.raises(CompileError) as first:
            lower(host, None)
        with pytest.raises(CompileError) as later:
            lower(host, store)
        assert later.value.message == first.value.message


@pytest.mark.toolchain
class TestCommand:
    def test_a_second_run_says_the_same_and_compiles_nothing(self, tmp_path: Path) -> None:
        place = {"LMEMSCOPE_CACHE_DIR": str(tmp_path / "c")}
        command = ("scan", "kernels/histogram.cu", "kernels/printing.cu", "--format", "json")
        first = run_program(*command, **place)
        entries = {p: p.stat().st_ino for p in (tmp_path / "c" / "entries").rglob("*.entry")}
        # What is printed has no names: printing.cu takes no second compilation.
        assert len(entries) == 5, "outputs and a report of each, variables of one"
        second = run_program(*command, **place)
        third = run_program(*command, "--no-cache", **place)
        assert first.code == second.code == third.code == 0
        assert first.out == second.out == third.out
        assert {path: path.stat().st_ino for path in entries} == entries, "it was compiled again"

    def test_info_and_clear(self, tmp_path: Path) -> None:
        place = {"LMEMSCOPE_CACHE_DIR": str(tmp_path / "c")}
        assert "entries    0" in run_program("cache", "info", **place).out
        run_program("scan", "kernels/histogram.cu", **place)
        assert "entries    3" in run_program("cache", "info", **place).out
        (tmp_path / "c" / "mine.txt").write_text("not the cache's")
        assert "removed 3 entries" in run_program("cache", "clear", **place).out
        assert "entries    0" in run_program("cache", "info", **place).out
        assert (tmp_path / "c" / "mine.txt").exists()

    def test_no_cache_leaves_nothing(self, tmp_path: Path) -> None:
        place = {"LMEMSCOPE_CACHE_DIR": str(tmp_path / "c")}
        run_program("scan", "kernels/histogram.cu", "--no-cache", **place)
        assert not list((tmp_path / "c").rglob("*.entry"))

    def test_two_runs_at_once(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "lmemscope", "scan", "kernels/histogram.cu"]
        command += ["kernels/large_array.cu", "--format", "json"]

        def begun(store: str) -> subprocess.Popen[bytes]:
            known = {"PYTHONPATH": str(ROOT), "LMEMSCOPE_CACHE_DIR": str(tmp_path / store)}
            environment = {**os.environ, **known}
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)

        def kept(store: str) -> list[str]:
            return sorted(p.name for p in (tmp_path / store / "entries").rglob("*") if p.is_file())

        runs = [begun("c") for _ in range(3)]
        outputs = {run.communicate(timeout=200)[0] for run in runs}
        assert len(outputs) == 1
        assert {run.returncode for run in runs} == {0}
        alone = begun("alone")
        alone.communicate(timeout=200)
        names = kept("c")
        assert names == kept("alone")
        assert all(name.endswith(".entry") for name in names), "something was left half written"

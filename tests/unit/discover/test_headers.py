"""Headers: which of their kernels nobody compiles, and that comments in them hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.analysis import headers as of_unit
from lmemscope.discover.headers import uninstantiated, unseen
from lmemscope.discover.walk import Builds, Globs, discover
from lmemscope.errors import UsageError
from lmemscope.gate.compare import compare
from lmemscope.model import (
    CompileOptions,
    CudaSource,
    DisplayPaths,
    Gap,
    HeaderSource,
    HeaderTemplates,
    KernelReport,
    Policy,
    Report,
    SourceLocation,
    Unit,
    UnitReport,
)
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.headers import with_headers
from tests.support.builders import judged, layers
from tests.support.program import run_program

KERNEL = "__global__ void s(int *p) { *p = 1; }\n"
TEMPLATE = "template <int N> __global__ void NAME(int *p) { *p = N; }\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.cu").write_text('#include "used.cuh"\n' + KERNEL)
    (tmp_path / "used.cuh").write_text('#  include "deep/inner.cuh"\n')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "inner.cuh").write_text(KERNEL.replace("s(", "t("))
    (tmp_path / "plain.cuh").write_text("__device__ int twice(int x) { return 2 * x; }\n")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "is_kernel"),
    [
        ('#include "m.h"\nKERNEL void k(int *p) { *p = 1; }\n', True),
        ('#include "m.h"\nextern "C" KERNEL void k(int *p) {\n}\n', True),
        ('#include "m.h"\nNAMED(k)(int *p) { *p = 1; }\n', True),
        ("#define K __global__\nK void k(int *p) { *p = 1; }\n", True),
        ("__attribute__((global)) void k(int *p) { *p = 1; }\n", True),
        ("__attribute((noinline, global)) void k(int *p) { *p = 1; }\n", True),
        ("__location__(global) void k(int *p) { *p = 1; }\n", True),
        ("/* fast */ __global__ void k(int *p) { *p = 1; }\n", True),
        ("__global__ void k(int *p /* out; in */) { *p = 1; }\n", True),
        ("#define V void\n__global__ V k(int *p) <% *p = 1; %>\n", True),
        ("__glo\\\nbal__ void k(int *p) { *p = 1; }\n", True),
        ("/* __global__ void k(int *p) { *p = 1; } */\n", False),
        ('const char *t = "__global__ only"; void f() {}\n', False),
        ('#include "m.h"\nKERNEL void k(int *p);\n', False),
        ('#include "m.h"\nvoid f() {\n  other(1);\n}\nEXPORT void k() {}\n', False),
        ("KERNEL void k(int *p) { *p = 1; }\n", False),
    ],
)
def test_kernels_of_cpp_files_are_told_by_what_their_macros_stand_for(
    tmp_path: Path, text: str, is_kernel: bool
) -> None:
    (tmp_path / "m.h").write_text(
        "#define KERNEL __global__\n#define NAMED(name) \\\n  __global__ void name\n"
        "#define EXPORT extern\n"
    )
    (tmp_path / "host.cpp").write_text(text)
    found = discover([str(tmp_path)], Globs(str(tmp_path)), Builds(use=False))
    assert len(unseen(found.headers, [])) == is_kernel


def lonely(
    tree: Path, *paths: str, globs: Globs | None = None, include: tuple[Path, ...] = ()
) -> tuple[Gap, ...]:
    named = [str(tree / path) for path in paths] or [str(tree)]
    found = discover(named, globs or Globs(str(tree)), Builds(use=False))
    options = CompileOptions(include_dirs=tuple(map(str, include)))
    units = [Unit(one.file, one.path, "auto", "sm_90", options) for one in found.inputs]
    return unseen(found.headers, units)


class TestThatNobodyIncludes:
    def test_headers_that_sources_include_are_compiled_with_them(self, tree: Path) -> None:
        assert lonely(tree) == ()

    def test_one_with_kernels_that_nobody_includes_is_named(self, tree: Path) -> None:
        (tree / "lonely.cuh").write_text(KERNEL)
        (gap,) = lonely(tree)
        assert gap.reason.startswith(f"{tree}/lonely.cuh: ")
        assert gap.kind == "uninstantiated"

    def test_one_that_is_named_beside_the_directory_is_an_input(self, tree: Path) -> None:
        (tree / "lonely.cuh").write_text(KERNEL)
        assert lonely(tree, ".", "lonely.cuh") == ()

    def test_one_that_the_configuration_excludes_is_nobodys_business(self, tree: Path) -> None:
        (tree / "lonely.cuh").write_text(KERNEL)
        assert lonely(tree, globs=Globs(str(tree), exclude=("lonely*",))) == ()

    def test_many_are_one_gap(self, tree: Path) -> None:
        for number in range(5):
            (tree / f"h{number}.cuh").write_text(KERNEL)
        headers = sorted(str(path) for path in tree.glob("h*.cuh"))
        (gap,) = unseen(headers, [])
        assert "and 2 more" in gap.reason

    def test_of_two_with_one_name_the_search_path_says_which_is_included(self, tree: Path) -> None:
        for name in ("one", "two"):
            (tree / name).mkdir()
            (tree / name / "same.cuh").write_text(KERNEL)
        (tree / "a.cu").write_text("#include <same.cuh>\n")
        (gap,) = lonely(tree, include=(tree / "two",))
        assert gap.reason.startswith(f"{tree}/deep/inner.cuh, {tree}/one/same.cuh: ")

    def test_one_that_only_a_lonely_header_includes_is_lonely(self, tree: Path) -> None:
        (tree / "outer.cuh").write_text('#include "within.cuh"\n')
        (tree / "within.cuh").write_text(KERNEL)
        (gap,) = lonely(tree)
        assert gap.reason.startswith(f"{tree}/within.cuh: ")

    def test_one_behind_a_symbolic_link_is_the_same(self, tree: Path) -> None:
        (tree / "link").symlink_to(tree / "deep")
        (tree / "used.cuh").write_text('#include "link/inner.cuh"\n')
        assert lonely(tree) == ()


def seen(path: Path, instantiated: str = "", others: str = "", file: str = "") -> UnitReport:
    templates = HeaderTemplates(
        file or path.name, str(path), tuple(instantiated.split()), tuple(others.split())
    )
    return UnitReport(
        input="a.cu",
        frontend="nvrtc",
        arch="sm_90",
        options=(),
        failure=None,
        headers=(templates,),
        gaps=(),
        kernels=(),
    )


class TestTemplatesThatNoUnitInstantiates:
    def judged(
        self, tree: Path, *reports: UnitReport, globs: Globs | None = None, inputs: str = ""
    ) -> tuple[list[str], list[str]]:
        found = uninstantiated(reports, {inputs}, [str(tree)], globs or Globs(str(tree)))
        assert all(gap.kind == "uninstantiated" for gap in found[0])
        return [gap.reason for gap in found[0]], list(found[1])

    def test_a_header_of_the_named_directory_is_a_gap(self, tree: Path) -> None:
        header = tree / "deep" / "inner.cuh"
        (gap,), notes = self.judged(tree, seen(header, others="ns::rm"), seen(header, "", "ns::rm"))
        assert gap.startswith("inner.cuh: template kernels that no unit instantiates: ns::rm (")
        assert "inner.cuh --instantiate 'ns::rm<…>'" in gap
        assert "// lmemscope: instantiate ns::rm<…>" in gap
        assert notes == []

    def test_an_instance_in_any_unit_counts(self, tree: Path) -> None:
        header = tree / "used.cuh"
        reports = seen(header, others="rm"), seen(header, instantiated="rm")
        assert self.judged(tree, *reports) == ([], [])

    @pytest.mark.parametrize(
        "place", ["third_party/lib/x.cuh", "_deps/cub-src/x.cuh", "vendor/x.h", "cutlass/x.h"]
    )
    def test_other_peoples_code_in_the_tree_is_a_note(self, tree: Path, place: str) -> None:
        gaps, (note,) = self.judged(tree, seen(tree / place, others="a b c d e"))
        assert gaps == []
        assert "a, b, c and 2 more" in note

    def test_a_submodule_is_other_peoples_code(self, tree: Path) -> None:
        (tree / "deep" / ".git").write_text("gitdir: ../.git/modules/deep\n")
        gaps, notes = self.judged(tree, seen(tree / "deep" / "inner.cuh", others="rm"))
        assert (gaps, len(notes)) == ([], 1)

    def test_a_library_that_the_user_names_is_the_users(self, tree: Path) -> None:
        (tree / "cutlass").mkdir()
        gaps, notes = self.judged(tree / "cutlass", seen(tree / "cutlass" / "x.h", others="rm"))
        assert (len(gaps), notes) == (1, [])

    def test_one_outside_of_what_was_named_is_a_note(self, tree: Path) -> None:
        gaps, notes = self.judged(tree / "deep", seen(tree / "used.cuh", others="rm"))
        assert (gaps, len(notes)) == ([], 1)

    def test_one_that_is_an_input_speaks_for_itself(self, tree: Path) -> None:
        header = tree / "used.cuh"
        assert self.judged(tree, seen(header, others="rm"), inputs=str(header)) == ([], [])

    def test_one_that_the_configuration_excludes_is_nobodys_business(self, tree: Path) -> None:
        globs = Globs(str(tree), exclude=("used*",))
        assert self.judged(tree, seen(tree / "used.cuh", others="rm"), globs=globs) == ([], [])

    def test_many_headers_are_bounded(self, tree: Path) -> None:
        reports = [seen(tree / "vendor" / f"{n:03}.h", others="rm") for n in range(200)]
        _, notes = self.judged(tree, *reports)
        assert len(notes) == 9
        assert notes[-1].startswith("008.h, 009.h, 010.h and 189 more: ")


LIBRARY = """namespace lib {
// lmemscope: allow dynamic-index 128 "a table"
__global__ void k(int *p) { *p = 1; }
}
"""


def header_of(text: str, path: str = "/tree/lib.cuh") -> HeaderSource:
    return HeaderSource(path, read_cuda_source(text))


def unit_with(name: str, *headers: HeaderSource, own: str = "") -> UnitReport:
    """A unit that includes headers, with a dirty kernel at line 3 of the first."""
    source: CudaSource = replace(read_cuda_source(own), headers=headers)
    bare = layers(None)
    found = replace(
        bare,
        artifacts=replace(bare.artifacts, source=source),
        paths=DisplayPaths(f"/tree/{name}", name, "/tree"),
    )
    kernel = judged("k", "dynamic-index")
    place = SourceLocation("lib.cuh", 3)
    facts = replace(kernel.facts, name="_ZN3lib1kEPi", demangled="lib::k(int*)", location=place)
    held = KernelReport.of(facts, kernel.verdict, kernel.findings)
    said = of_unit.directives(found)
    return UnitReport(
        input=name,
        frontend="nvrtc",
        arch="sm_90",
        options=(),
        failure=None,
        kernels=(held,),
        directives=said,
        gaps=(),
    )


def verdict(*units: UnitReport) -> tuple[str, tuple[str, ...]]:
    result = compare(Report(version="0", toolchain={}, units=units), Policy(), None)
    return result.verdict, result.unused


class TestComments:
    def test_an_allowance_holds_in_every_unit_and_is_one(self) -> None:
        units = [unit_with(name, header_of(LIBRARY)) for name in ("a.cu", "b.cu")]
        assert verdict(*units) == ("passed", ())

    def test_one_that_accepts_nothing_is_named_once_with_its_header(self) -> None:
        text = LIBRARY.replace("dynamic-index", "volatile")
        units = [unit_with(name, header_of(text)) for name in ("a.cu", "b.cu")]
        said, unused = verdict(*units)
        assert said == "failed"
        assert unused == (
            "lib.cuh:2: allowance of volatile for k accepts nothing: there is no such finding",
        )

    def test_it_does_not_hold_for_a_kernel_of_another_header(self, tree: Path) -> None:
        """Both branches of an ``#if`` are looked into; the compiler saw one of them."""
        (tree / "lib.cuh").write_text(LIBRARY)
        (tree / "other.cuh").write_text(LIBRARY.replace("// lmemscope: allow", "// once allowed"))
        own = '#if A\n#include "other.cuh"\n#else\n#include "lib.cuh"\n#endif\n'
        (tree / "a.cu").write_text(own)
        source = with_headers(read_cuda_source(own), str(tree / "a.cu"), CompileOptions())
        assert verdict(unit_with("a.cu", *source.headers))[0] == "failed"
        other = LIBRARY.replace("int *p", "int *p, int q").partition("allow")[2]
        (tree / "other.cuh").write_text("// once" + other)
        source = with_headers(read_cuda_source(own), str(tree / "a.cu"), CompileOptions())
        assert verdict(unit_with("a.cu", *source.headers))[0] == "passed"

    def test_a_wrong_one_is_refused_with_its_own_file_and_line(self) -> None:
        unit = unit_with("a.cu", header_of(LIBRARY.replace("allow", "alow")))
        with pytest.raises(UsageError, match=r"^lib\.cuh:2: not a word of lmemscope's: alow"):
            verdict(unit)

    def test_an_expectation_names_its_header(self) -> None:
        unit = unit_with("a.cu", header_of(LIBRARY.replace("allow dynamic", "expect frame<=")))
        with pytest.raises(UsageError, match=r"^lib\.cuh:2: not an expectation"):
            verdict(unit)

    def test_only_headers_that_say_something_are_kept(self, tree: Path) -> None:
        (tree / "used.cuh").write_text('#include "plain.cuh"\n#include "deep/inner.cuh"\n')
        source = with_headers(read_cuda_source(""), str(tree / "a.cu"), CompileOptions())
        (found,) = source.headers
        assert found.path == str(tree / "deep" / "inner.cuh")


@pytest.mark.toolchain
class TestPrograms:
    def test_a_header_that_a_macro_names_is_seen_by_its_kernels(self, tmp_path: Path) -> None:
        (tmp_path / "t.cuh").write_text(
            "template <int N> __global__ void kt(int *out) { out[threadIdx.x] = N; }\n"
            "template __global__ void kt<16>(int *);\n"
        )
        (tmp_path / "use.cu").write_text('#define HDR "t.cuh"\n#include HDR\n')
        checked = run_program("check", ".", cwd=tmp_path)
        assert checked.code == 0, checked.out

    def test_who_calls_a_header_that_prints_makes_no_print_of_its_own(self, tmp_path: Path) -> None:
        (tmp_path / "t.cuh").write_text(
            "struct Queue {\n  int ids[4];\n"
            '  __device__ void tell() { printf("%d\\n", ids[0]); }\n};\n'
        )
        (tmp_path / "use.cu").write_text(
            '#include "t.cuh"\n__global__ void k(Queue *x) {\n  x->tell();\n}\n'
        )
        scanned = run_program("scan", "use.cu", "--format", "json", cwd=tmp_path)
        ((finding,),) = [k["findings"] for k in scanned.document["units"][0]["kernels"]]
        said = " ".join(one["text"] for one in finding["advice"])
        assert finding["cause"] == "printf-args"
        assert "every call" not in said, said

    def test_the_gate_does_not_pass_what_it_did_not_see(self, tree: Path) -> None:
        (tree / "lonely.cuh").write_text(KERNEL)
        checked = run_program("check", ".", cwd=tree)
        assert checked.code == 3
        assert "lonely.cuh" in checked.out
        (tree / "lmemscope.toml").write_text('uninstantiated = "note"\n')
        noted = run_program("check", ".", cwd=tree)
        assert noted.code == 0
        assert "lonely.cuh" in noted.out
        assert run_program("scan", ".", cwd=tree).code == 0

    def test_templates_of_a_header_and_the_comment_that_instantiates_them(self, tree: Path) -> None:
        used = tree / "used.cuh"
        used.write_text(TEMPLATE.replace("NAME", "rm") + TEMPLATE.replace("NAME", "fill"))
        (tree / "deep" / "inner.cuh").unlink()
        (tree / "b.cu").write_text(
            '#include "used.cuh"\n#include <cstdio>\nint main() { fill<2><<<1, 1>>>(0); }\n'
        )
        checked = run_program("check", ".", cwd=tree)
        assert checked.code == 3, checked.out
        assert "used.cuh: template kernels that no unit instantiates: rm (" in checked.out
        named = run_program("scan", "a.cu", "--format", "json", cwd=tree)
        assert named.document["gaps"] == []
        (note,) = named.document["notes"]
        assert note.startswith("used.cuh: ")
        used.write_text("// lmemscope: instantiate rm<7>\n" + used.read_text())
        asked = run_program("scan", ".", "--format", "json", cwd=tree)
        assert (asked.document["gaps"], asked.document.get("notes", [])) == ([], [])
        units = {unit["input"]: unit for unit in asked.document["units"]}
        assert (units["a.cu"]["frontend"], units["b.cu"]["frontend"]) == ("nvrtc", "nvcc")
        for unit in units.values():
            assert any("rm<7>" in kernel["demangled"] for kernel in unit["kernels"])

    def test_a_comment_that_cannot_be_fulfilled_is_a_gap_with_its_place(self, tree: Path) -> None:
        (tree / "used.cuh").write_text(
            "\n// lmemscope: instantiate gone<7>\n" + KERNEL.replace("s(", "u(")
        )
        for frontend in ("nvrtc", "nvcc"):
            done = run_program("scan", "a.cu", "--frontend", frontend, "--format", "json", cwd=tree)
            (unit,) = done.document["units"]
            assert [gap["reason"] for gap in unit["gaps"] if gap["stage"] == "instantiate"] == [
                "could not instantiate gone<7> as used.cuh:2 asks"
            ]

    def test_a_named_header_is_compiled_as_a_source_that_includes_it(self, tree: Path) -> None:
        (tree / "used.cuh").write_text("__global__ void u(float *p) { p[0] = SIZE; }\n")
        words = ["nvcc", "-DSIZE=3", "-arch=sm_80", "-c", "a.cu"]
        record = {"directory": str(tree), "arguments": words, "file": "a.cu"}
        (tree / "compile_commands.json").write_text(json.dumps([record]))
        done = run_program("scan", "used.cuh", "--format", "json", cwd=tree)
        (unit,) = done.document["units"]
        assert (done.code, unit["arch"], len(unit["kernels"])) == (0, "sm_80", 1)
        (note,) = done.document["notes"]
        assert note.startswith("used.cuh is compiled with the options of a.cu, which includes it")

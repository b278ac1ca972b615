"""`check --new-since REV`: what a branch adds fails, what its base has does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import Finished, run_program
from tests.support.repositories import git, kernel

pytestmark = pytest.mark.toolchain


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A branch off a base with local memory, on which the base has gone on since."""
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("old", "kept", "moving"):
        (tmp_path / f"{name}.cu").write_text(kernel(name))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "base")
    git(tmp_path, "checkout", "-q", "-b", "branch")
    git(tmp_path, "checkout", "-q", "main")
    (tmp_path / "kept.cu").write_text(kernel("kept", 12))
    git(tmp_path, "commit", "-q", "-a", "-m", "the base goes on")
    git(tmp_path, "checkout", "-q", "branch")
    return tmp_path


def check(project: Path, *arguments: str) -> Finished:
    return run_program("check", ".", "--new-since", "main", *arguments, cwd=project)


def test_old_debt_in_a_file_that_changed_fails_nothing(project: Path) -> None:
    (project / "old.cu").write_text(kernel("old").replace("+= i", "+= i + 1"))
    git(project, "mv", "moving.cu", "moved.cu")
    done = check(project)
    assert (done.code, "Gate passed" in done.out) == (0, True), done.out
    # Without it, both do.
    plain = run_program("check", ".", "--changed", "main", cwd=project)
    assert plain.code == 1
    assert {"new: old", "new: moving"} <= {
        line.partition(" (")[0] for line in plain.out.split("\n")
    }


def test_what_the_branch_adds_or_makes_larger_fails(project: Path) -> None:
    (project / "old.cu").write_text(kernel("old", 24) + kernel("added"))
    done = check(project, "--format", "json")
    assert done.code == 1
    failures = json.loads(done.out)["failures"]
    assert {(one["kind"], one["kernel"]) for one in failures} == {
        ("worse", "old"),
        ("new", "added"),
    }
    (worse,) = (one for one in failures if one["kind"] == "worse")
    assert worse["expected"] == "at most 80 bytes of dynamic-index, as in main"


def test_a_baseline_of_another_toolkit_lets_nothing_grow(project: Path) -> None:
    run_program("baseline", ".", cwd=project)
    file = project / "lmemscope-baseline.json"
    known = json.loads(file.read_text())
    known["toolchain"] = dict.fromkeys(known["toolchain"], "12.0")
    file.write_text(json.dumps(known))
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a baseline by an older toolkit")
    git(project, "branch", "-f", "main")
    assert check(project).code == 0
    (project / "old.cu").write_text(kernel("old", 24))
    assert run_program("check", ".", cwd=project).code == 0
    done = check(project)
    assert done.code == 1
    assert done.out.startswith("worse: old (")


def test_a_limit_that_the_base_exceeded_fails_only_where_it_is_exceeded_by_more(
    project: Path,
) -> None:
    (project / "lmemscope.toml").write_text('[[limits]]\nkernel = "*"\nmax-frame = 40\n')
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a limit")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(kernel("old").replace("+= i", "+= i + 1"))
    git(project, "mv", "moving.cu", "moved.cu")
    assert check(project).code == 0
    (project / "old.cu").write_text(kernel("old", 24))
    done = check(project, "--format", "json")
    assert done.code == 1
    (failure,) = (one for one in json.loads(done.out)["failures"] if one["kind"] == "limit")
    assert failure["kernel"] == "old"


def test_evidence_that_the_base_lacked_too_is_a_note_and_other_evidence_is_not(
    project: Path,
) -> None:
    template = "template <int N> __global__ void of(int *p) {{ p[0] = N + {n}; }}\n"
    (project / "old.cu").write_text(kernel("old") + template.format(n=0))
    git(project, "commit", "-q", "-a", "-m", "a template that nothing instantiates")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(kernel("old") + template.format(n=1))
    done = check(project)
    assert done.code == 0, done.out
    assert "review: not checked, as at main: old.cu: [instantiate]" in done.out
    (project / "old.cu").write_text(kernel("old") + "this is no C++\n")
    assert check(project).code == 3
    # So may a file of nothing else, as before.
    (project / "old.cu").write_text(template.format(n=0))
    git(project, "commit", "-q", "-a", "-m", "templates alone")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(template.format(n=1))
    assert check(project).code == 0
    (project / "old.cu").write_text(kernel("old") + "this is no C++\n")
    # What a branch adds to a file that never compiled is seen by nobody.
    git(project, "commit", "-q", "-a", "-m", "broken")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(kernel("old") + kernel("added") + "this is no C++\n")
    assert check(project).code == 3


UNREADABLE = (
    "from pycuda.compiler import SourceModule\nmodule = SourceModule(open('k.cu').read())\n"
)


@pytest.mark.parametrize(
    ("name", "text", "comment"),
    [
        ("notes.py", UNREADABLE, "# edited\n"),
        # A macro may name a header, so that the file counts as changed.
        ("broken.cu", "#include NAME(x)\nthis is no C++\n", "// edited\n"),
    ],
)
def test_what_the_base_could_not_analyse_either_is_missing_only_where_it_changed(
    project: Path, name: str, text: str, comment: str
) -> None:
    (project / name).write_text(text)
    fails = check(project)
    assert fails.code == 3, fails.out
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "what cannot be analysed")
    git(project, "branch", "-f", "main")
    done = check(project)
    assert (done.code, f"review: not checked, as at main: {name}: " in done.out) == (0, True)
    # Nor does a setting that changes change the file.
    (project / "lmemscope.toml").write_text("tolerance = 0\n")
    assert check(project).code == 0
    (project / "CMakeLists.txt").write_text(f"add_library(p {name})\n")
    git(project, "add", ".")
    assert check(project).code == 0, "no build compiles it"
    (project / name).write_text(text + comment)
    assert check(project).code == 3


def test_a_new_option_of_the_build_is_a_change_of_what_it_breaks(project: Path) -> None:
    (project / "CMakeLists.txt").write_text("project(p CUDA)\nadd_library(p old.cu)\n")
    (project / "old.cu").write_text("#ifdef BROKEN\n#error\n#endif\n" + kernel("old"))
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a build")
    git(project, "branch", "-f", "main")
    cmake = project / "CMakeLists.txt"
    cmake.write_text(cmake.read_text() + "target_compile_definitions(p PRIVATE BROKEN)\n")
    build(project, "-DBROKEN")
    assert check_build(project).code == 3


def test_a_file_that_did_not_change_is_not_said_to_define_no_kernel(project: Path) -> None:
    done = run_program("check", "old.cu", "--new-since", "HEAD", cwd=project)
    assert (done.code, "no kernel" in done.out) == (0, False), done.out


def test_it_needs_a_common_commit_and_sources(project: Path) -> None:
    unknown = run_program("check", ".", "--new-since", "gone", cwd=project)
    assert unknown.code == 2
    assert "--new-since gone: " in unknown.err
    assert "no commit of that name" in unknown.err
    git(project, "checkout", "-q", "--orphan", "alone")
    git(project, "commit", "-q", "-m", "alone")
    done = check(project)
    assert done.code == 2
    assert "no commit in common" in done.err
    saved = run_program("check", "a.json", "--new-since", "main", cwd=project)
    assert saved.code == 2
    both = run_program("check", ".", "--new-since", "main", "--update", cwd=project)
    assert both.code == 2


def test_the_base_has_the_files_of_its_submodules(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    git(library, "init", "-q", "-b", "main")
    (library / "size.h").write_text("#define SIZE 20\n")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "a library")
    git(
        project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(library),
        "l",
    )
    source = '#include "l/size.h"\n' + kernel("old").replace("20", "(SIZE)").replace(")u", ")")
    (project / "old.cu").write_text(source)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a submodule")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(source.replace("+= i", "+= i + 1"))
    done = check(project)
    assert done.code == 0, done.out
    # The base's own commit of it, whatever is checked out now.
    (project / "l" / "size.h").write_text("#define SIZE 24\n")
    git(project / "l", "commit", "-q", "-a", "-m", "larger")
    assert "worse: old" in check(project).out


def test_what_cannot_be_analysed_at_the_base_is_said(project: Path) -> None:
    whole = (project / "old.cu").read_text()
    (project / "old.cu").write_text("this is no C++\n" + whole)
    git(project, "commit", "-q", "-a", "-m", "broken")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(whole)
    done = check(project)
    assert done.code == 1
    assert "old.cu could not be analysed as it was at main" in done.out


SIZED = "#ifndef SIZE\n#define SIZE 20\n#endif\n" + kernel("old").replace("20u", "(SIZE)").replace(
    "20", "SIZE"
)


def build(project: Path, options: str = "") -> None:
    """A build that git does not know, as CMake leaves it."""
    (project / "build").mkdir(exist_ok=True)
    (project / "build" / "build.ninja").write_text(
        f"rule cuda\n  command = nvcc -arch=sm_90 {options} -c $in -o $out\n"
        f"build old.o: cuda {project}/old.cu\n"
    )


def check_build(project: Path) -> Finished:
    return run_program("check", "build", "--new-since", "main", cwd=project)


@pytest.mark.parametrize(
    ("statement", "options", "code", "said"),
    [
        (
            "target_compile_definitions(p PRIVATE SIZE=24)",
            "-DSIZE=24",
            3,
            "main may not have it, as CMakeLists.txt changed options: -DSIZE=24",
        ),
        (
            "set(CMAKE_BUILD_TYPE Debug)",
            "",
            3,
            "main may not have it, as CMakeLists.txt may have changed options, in set",
        ),
        (
            "target_compile_definitions(p PRIVATE OTHER)",
            "-DOTHER",
            0,
            "note: CMakeLists.txt changed options: -DOTHER",
        ),
        ("add_library(q kept.cu)", "", 0, "note: CMakeLists.txt changed, in no option known"),
    ],
)
def test_what_new_options_of_a_build_bring_is_not_taken_for_the_bases(
    project: Path, statement: str, options: str, code: int, said: str
) -> None:
    cmake = "project(p CUDA)\nadd_library(p old.cu)\n"
    (project / "CMakeLists.txt").write_text(cmake)
    (project / "old.cu").write_text(SIZED)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a build")
    git(project, "branch", "-f", "main")
    (project / "CMakeLists.txt").write_text(cmake + statement + "\n")
    build(project, options)
    done = check_build(project)
    assert (done.code, said in done.out) == (code, True), done.out


def test_the_base_has_its_own_response_files(project: Path) -> None:
    (project / "flags.txt").write_text("-DOTHER\n")
    (project / "old.cu").write_text(SIZED)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a response file")
    git(project, "branch", "-f", "main")
    (project / "flags.txt").write_text("-DSIZE=24\n")
    build(project, f"--options-file {project}/flags.txt")
    done = check_build(project)
    assert (done.code, done.out.splitlines()[0]) == (
        1,
        "worse: old (old.cu, sm_90): dynamic-index `t`, 96 bytes",
    )


def test_what_only_the_baseline_of_the_branch_accepts_is_missing_evidence(project: Path) -> None:
    run_program("baseline", "old.cu", cwd=project)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a baseline")
    git(project, "branch", "-f", "main")
    (project / "old.cu").write_text(kernel("old", 24))
    run_program("baseline", "old.cu", cwd=project)
    done = check(project)
    assert done.code == 3
    assert "the baseline differs from that of the merge base with main, on old.cu" in done.out
    assert "96 bytes at old.cu:3: accepted by the baseline of this change, but not" in done.out
    assert check(project, "--allow-incomplete").code == 3
    trusted = check(project, "--trust-configuration")
    assert trusted.code == 0
    assert "review: old.cu: old (sm_90): dynamic-index `t`, 96 bytes at old.cu:3" in trusted.out


def test_what_became_a_link_is_known_by_its_name(project: Path) -> None:
    git(project, "mv", "old.cu", "real.cu")
    (project / "old.cu").symlink_to("real.cu")
    git(project, "add", ".")
    done = run_program("check", "old.cu", "--new-since", "main", cwd=project)
    assert (done.code, "1 finding known" in done.out) == (0, True), done.out

"""`check --changed REV`: which files are looked at, and what is said of the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.app.checkout import written_out
from lmemscope.config.settings import Settings
from lmemscope.discover.changed import Grounds, Selection, since
from lmemscope.discover.revision import Revision, read_revision
from lmemscope.discover.walk import Discovery, Found, Globs, discover
from lmemscope.errors import UsageError
from lmemscope.gate import baseline
from lmemscope.gate.compare import compare
from lmemscope.model import Allowance, CompileOptions, Policy
from tests.support.builders import gate_as, judged, report
from tests.support.program import Finished, run_program
from tests.support.repositories import git

FILES = {
    "a.cu": '#include "a.h"\n',
    "b.cu": "#include <b.h>\n",
    "c.cu": "int c;\n",
    "a.h": '#include "both.h"\n',
    "include/b.h": '#include "both.h"\n',
    "include/both.h": "\n",
    "both.h": "\n",
}
OPTIONS = CompileOptions(include_dirs=("include",))
NO_GROUNDS = Grounds()


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory of `FILES`, and what git would say of it."""

    top: Path

    def revision(self, *changed: str, **others: tuple[str, ...]) -> Revision:
        def absolute(names: tuple[str, ...]) -> frozenset[str]:
            return frozenset(str(self.top / name) for name in names)

        made = Revision("main", "0" * 40, str(self.top), absolute(tuple(FILES)), absolute(changed))
        return replace(made, **{name: absolute(value) for name, value in others.items()})

    def looked(self, revision: Revision, *more: Found, grounds: Grounds = NO_GROUNDS) -> str:
        """The files that are looked at, in one line; those of the tree alone without others."""
        return self.select(revision, *more, grounds=grounds)[0]

    def select(
        self, revision: Revision, *more: Found, grounds: Grounds = NO_GROUNDS
    ) -> tuple[str, Selection]:
        options = replace(OPTIONS, include_dirs=(f"{self.top}/first", f"{self.top}/include"))
        selection = Selection(revision, Settings(options=options), grounds)
        inputs = [Found(name, str(self.top / name)) for name in ("a.cu", "b.cu", "c.cu")]
        chosen = selection.narrow(Discovery(inputs=[*inputs, *more]))
        return " ".join(found.file for found in chosen.inputs), selection

    def add(self, name: str, text: str) -> Found:
        (self.top / name).write_text(text)
        return Found(name, str(self.top / name))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    top = tmp_path.resolve() / "project"
    (top / "include").mkdir(parents=True)
    for name, text in FILES.items():
        (top / name).write_text(text)
    return Tree(top)


@pytest.mark.parametrize(
    ("changed", "looked"),
    [
        ((), ""),
        (("README.md",), ""),
        (("a.cu",), "a.cu"),
        (("a.h",), "a.cu"),
        (("include/b.h", "c.cu"), "b.cu c.cu"),
        (("both.h",), "a.cu"),
        (("include/both.h",), "b.cu"),
        (("compile_commands.json",), "a.cu b.cu c.cu"),
    ],
)
def test_files_are_looked_at_for_their_text_and_their_headers(
    tree: Tree, changed: tuple[str, ...], looked: str
) -> None:
    assert tree.looked(tree.revision(*changed)) == looked


@pytest.mark.parametrize(
    ("changed", "untouched"),
    [
        ((), {"doubt.cu", "doubt.py"}),
        (("lmemscope.toml",), {"doubt.cu", "doubt.py"}),
        (("doubt.cu",), {"doubt.py"}),
        (("doubt.py",), {"doubt.cu"}),
        # What is not followed may read it all the same, and what is known to be read has changed.
        (("both.h",), {"doubt.py"}),
        (("module.py",), {"doubt.cu"}),
        (("compile_commands.json",), set()),
    ],
)
def test_what_is_looked_at_in_doubt_alone_is_untouched(
    tree: Tree, changed: tuple[str, ...], untouched: set[str]
) -> None:
    tree.add("module.py", "")
    inputs = (
        tree.add("doubt.cu", '#include "both.h"\n#include NAME(x)\n'),
        tree.add("doubt.py", "import module\nopen('x.cu')\n"),
    )
    names = (*FILES, "doubt.cu", "doubt.py", "module.py")
    revision = tree.revision(*changed, known=names)
    _, selection = tree.select(revision, *inputs)
    assert selection.untouched({"doubt.cu", "doubt.py", "a.cu"}) == untouched


def test_a_header_is_untouched_that_git_does_not_know_as_changed(tree: Tree) -> None:
    for changed, untouched in (("c.cu", {"a.h", "c.h"}), ("a.h", {"c.h"})):
        _, selection = tree.select(tree.revision(changed))
        with chdir(tree.top):
            assert selection.untouched({"a.h", "c.h", "b.cu"}) == untouched


def test_no_replacement_or_graft_stands_for_a_commit(tmp_path: Path) -> None:
    """Those of one clone are nobody else's, and would have a change compared with itself."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.cu").write_text("int a;\n")
    git(tmp_path, "add", "a.cu")
    git(tmp_path, "commit", "-q", "-m", "base")
    git(tmp_path, "checkout", "-q", "-b", "pr")
    (tmp_path / "a.cu").write_text("int b;\n")
    git(tmp_path, "commit", "-q", "-a", "-m", "change")
    fake = git(tmp_path, "commit-tree", "HEAD^{tree}", "-m", "base").strip()
    git(tmp_path, "replace", "main", fake)
    with chdir(tmp_path):
        revision = read_revision("main", ["."])
    assert revision.has_changed(str(tmp_path / "a.cu"))


def test_how_an_input_is_built_is_a_change_of_it(tree: Tree) -> None:
    built = replace(tree.add("doubt.cu", "#include NAME(x)\n"), options=OPTIONS)
    known = (*FILES, "doubt.cu")
    for changed, untouched in (((), {"doubt.cu"}), (("CMakeLists.txt",), set())):
        _, selection = tree.select(tree.revision(*changed, known=known), built)
        assert selection.untouched({"doubt.cu"}) == untouched


def test_what_is_not_in_the_revision_is_new(tree: Tree) -> None:
    (tree.top / "include" / "a.h").write_text("\n")
    assert tree.looked(tree.revision(), tree.add("new.cu", "int n;\n")) == "new.cu"
    (tree.top / "b.h").write_text("\n")
    assert tree.looked(tree.revision()) == "", "angled names are not looked up beside the source"
    (tree.top / "first").mkdir()
    (tree.top / "first" / "b.h").write_text("\n")
    assert tree.looked(tree.revision()) == "b.cu", "its new header comes in front"


def test_a_header_that_was_deleted_in_front_of_another_counts(tree: Tree) -> None:
    (tree.top / "both.h").unlink()
    gone = ("both.h",)
    assert tree.looked(tree.revision(*gone, deleted=gone)) == "a.cu b.cu"


@pytest.mark.parametrize("text", ['#include "s/../both.h"\n', "#if __has_include(<s/../t.h>)\n"])
def test_a_directory_that_a_header_is_named_by_way_of_counts(tree: Tree, text: str) -> None:
    (tree.top / "c.cu").write_text(text)
    assert tree.looked(tree.revision()) == ""
    (tree.top / "include" / "s").mkdir()
    assert tree.looked(tree.revision()) == "c.cu", "the revision may lack it"
    (tree.top / "include" / "s" / "x").write_text("")
    kept = tree.revision()
    known = kept.known | {str(tree.top / "include" / "s" / "x")}
    assert tree.looked(replace(kept, known=known)) == "", "both have it"
    gone = ("include/s/x",)
    (tree.top / "include" / "s" / "x").unlink()
    (tree.top / "include" / "s").rmdir()
    assert tree.looked(replace(tree.revision(*gone, deleted=gone), known=known)) == "c.cu"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "#define H <x.h>\n#include H\n",
            "what it reads is not all known: a macro may name a header",
        ),
        ('#include "../outside.h"\n', "outside.h, which is outside of the repository"),
    ],
)
def test_when_unsure_it_is_looked_at_and_said(tree: Tree, text: str, why: str) -> None:
    (tree.top.parent / "outside.h").write_text("\n")
    (tree.top / "c.cu").write_text(text)
    looked, selection = tree.select(tree.revision())
    assert looked == "c.cu"
    first, second = selection.notes
    assert first == "analysed 1 file; 2 unchanged since main"
    assert second.startswith("1 file analysed without a known change, such as c.cu: ")
    assert why in second


def test_inputs_outside_of_the_repository_are_looked_at(tree: Tree) -> None:
    (tree.top.parent / "far.cu").write_text("\n")
    assert tree.looked(tree.revision(), Found("../far.cu", f"{tree.top}/../far.cu")) == "../far.cu"


def test_links_are_followed(tree: Tree) -> None:
    (tree.top / "include" / "linked.h").symlink_to("both.h")
    (tree.top / "c.cu").write_text("#include <linked.h>\n")
    known = (*FILES, "include/linked.h")
    assert tree.looked(tree.revision(known=known)) == ""
    assert tree.looked(tree.revision("include/both.h", known=known)) == "b.cu c.cu"
    link = ("include/linked.h",)
    looked, selection = tree.select(tree.revision(*link, known=known, links=link))
    assert looked == "a.cu b.cu c.cu"
    assert selection.notes[1] == (
        "all inputs are analysed, because the symbolic link include/linked.h changed"
    )


def test_a_submodule_of_which_nothing_is_known_may_change_all(tree: Tree) -> None:
    looked, selection = tree.select(tree.revision(modules=("sub",)))
    assert looked == "a.cu b.cu c.cu"
    assert "submodule sub" in selection.notes[1]


def test_what_a_build_compiles_follows_the_files_that_describe_it(tree: Tree) -> None:
    built = replace(tree.add("d.cu", "int d;\n"), options=OPTIONS, archs=("sm_90",))
    known = (*FILES, "d.cu", "cmake/cuda.cmake")
    looked, selection = tree.select(tree.revision("cmake/cuda.cmake", known=known), built)
    assert "d.cu" in looked
    assert "d.cu: cmake/cuda.cmake, which says how it is built, changed" in selection.notes[-1]
    looked, selection = tree.select(tree.revision(known=known), built)
    assert "d.cu" not in looked
    assert selection.notes[-1].startswith("the build's options are assumed to be those of main")


@pytest.mark.parametrize(
    ("was", "word", "looked"),
    [
        ("", "-maxrregcount=40", True),
        ("", "-DBIG", True),
        ("", "-Xptxas=-O1", False),
        ("", "-c", False),
        ("-DSMALL", "-c", True),
    ],
)
def test_a_script_that_gives_options_says_how_an_input_is_built(
    repository: Repository, was: str, word: str, looked: bool
) -> None:
    top = repository.top
    (top / "build.sh").write_text(f"cmake -DCMAKE_CUDA_FLAGS={was}\n")
    repository.git("add", ".")
    repository.git("commit", "-qm", "two")
    (top / "build.sh").write_text("sh -c 'cmake -DCMAKE_CUDA_FLAGS=\"-maxrregcount=40 -DBIG\"'\n")
    (top / "compile_commands.json").write_text(
        json.dumps([{"directory": str(top), "file": "k.cu", "arguments": ["nvcc", word, "k.cu"]}])
    )
    (top / ".git" / "info" / "exclude").write_text("compile_commands.json\n")
    found = discover(["compile_commands.json"], Globs(str(top)))
    selection = Selection(read_revision("HEAD", ["."]), Settings(root=str(top)))
    chosen = [one.file for one in selection.narrow(found).inputs]
    assert chosen == (["k.cu"] if looked else [])


def test_headers_are_compiled_as_others_launch_them(tree: Tree) -> None:
    header = tree.add("t.cuh", "template <int N> __global__ void t() {}\n")
    known = (*FILES, "t.cuh")
    assert tree.looked(tree.revision(known=known), header) == ""
    assert tree.looked(tree.revision("c.cu", known=known), header) == "c.cu t.cuh"
    gone = ("gone.cu",)
    assert tree.looked(tree.revision(*gone, known=known, deleted=gone), header) == "t.cuh"


@pytest.mark.parametrize(
    ("name", "text", "changed", "looked"),
    [
        ("n.py", "x = 1\n", (), False),
        ("n.py", "x = 1\n", ("n.py",), True),
        ("n.py", "code = '#include <b.h>'\n", (), True),
        ("k.ptx", ".version 8.0\n", (), False),
        ("build.log", "ptxas info    : 0\n", (), True),
    ],
)
def test_other_kinds_of_input(
    tree: Tree, name: str, text: str, changed: tuple[str, ...], looked: bool
) -> None:
    found = tree.add(name, text)
    assert (tree.looked(tree.revision(*changed, known=(*FILES, name)), found) == name) == looked


@pytest.mark.parametrize(
    ("code", "looked"),
    [
        ("'__global__ void k() {}'", False),
        ("(Path(__file__).parent / 'k.txt').read_text()", True),
        ("Path('k.txt').read_text()", True),
        ("linecache.getlines('k.txt')", True),
    ],
)
def test_a_python_file_is_read_with_the_texts_of_its_kernels(
    tree: Tree, code: str, looked: bool
) -> None:
    tree.add("k.txt", "__global__ void k() {}\n")
    text = f"import cupy, linecache\nfrom pathlib import Path\nk = cupy.RawKernel({code}, 'k')\n"
    found = tree.add("n.py", text)
    known = (*FILES, "n.py", "k.txt")
    assert (tree.looked(tree.revision("k.txt", known=known), found) == "n.py") == looked
    is_unknown = "linecache." in code
    assert (tree.looked(tree.revision(known=known), found) == "n.py") == is_unknown


def test_a_cubin_is_read_with_its_neighbours(tree: Tree) -> None:
    tree.add("k.json", "{}")
    found = tree.add("k.cubin", "")
    known = (*FILES, "k.cubin", "k.json")
    assert tree.looked(tree.revision(known=known), found) == ""
    assert tree.looked(tree.revision("k.json", known=known), found) == "k.cubin"


def test_grounds_beside_the_files(tree: Tree) -> None:
    known = Grounds(inputs=frozenset({f"{tree.top}/b.cu[2/../3]", "elsewhere.cu"}))
    assert tree.looked(tree.revision(), grounds=known) == "b.cu"
    looked, selection = tree.select(tree.revision(), grounds=Grounds(("lmemscope.toml changed",)))
    assert looked == "a.cu b.cu c.cu"
    assert selection.notes == (
        "analysed 3 files; 0 unchanged since main",
        "all inputs are analysed, because lmemscope.toml changed",
    )


@pytest.mark.parametrize("header", ["include/both.h", "include/lonely.cuh"])
def test_what_nobody_compiles_is_said_if_it_may_have_changed(tree: Tree, header: str) -> None:
    discovery = Discovery(headers=[str(tree.top / header)])
    Selection(tree.revision(), Settings()).narrow(discovery)
    assert bool(discovery.headers) == (header not in FILES)


def test_what_unchanged_inputs_read_is_known(tree: Tree) -> None:
    inputs = [Found(name, str(tree.top / name)) for name in ("a.cu", "c.cu")]
    narrowed = Selection(tree.revision("c.cu"), Settings()).narrow(Discovery(inputs=inputs))
    assert [found.file for found in narrowed.inputs] == ["c.cu"]
    assert narrowed.elsewhere == {str(tree.top / name) for name in ("a.cu", "a.h", "both.h")}


class TestGate:
    """Nothing is said of what is known of files that were not looked at."""

    OLD = report(judged("k", "dynamic-index"))
    KNOWN = baseline.from_report(OLD)
    NOTHING = replace(OLD, units=())

    @pytest.mark.parametrize("name", ["a.cu", "a.cu[2]", "./a.cu[x/../y]"])
    def test_its_entries_are_not_gone(self, name: str) -> None:
        (entry,) = self.KNOWN.findings
        known = replace(self.KNOWN, findings=(replace(entry, input=name),))
        result = compare(self.NOTHING, Policy(), known, unchanged=("a.cu",))
        assert (result.exit_code, result.gone, result.notes) == (0, (), ())
        assert compare(self.NOTHING, Policy(), known).gone != ()

    def test_its_entries_accept_nothing_elsewhere(self) -> None:
        (unit,) = self.OLD.units
        copied = replace(self.OLD, units=(replace(unit, input="copy.cu"),))
        assert compare(copied, Policy(), self.KNOWN).failures == ()
        result = compare(copied, Policy(), self.KNOWN, unchanged=("a.cu",))
        assert [failure.kind for failure in result.failures] == ["new"]

    def test_its_allowances_are_not_unused_but_expire(self) -> None:
        allowance = Allowance("k", "dynamic-index", None, "why", date(2026, 1, 1), "toml")
        day, later = date(2026, 1, 1), date(2026, 1, 2)
        for today, partial, whole in ((day, 0, 1), (later, 1, 1)):
            policy = Policy(allowances=(allowance,))
            some = compare(self.NOTHING, policy, None, unchanged=("a.cu",), today=today)
            assert len(some.unused) == partial
            assert len(compare(self.NOTHING, policy, None, today=today).unused) == whole

    def test_every_format_says_that_it_passed(self) -> None:
        result = compare(self.NOTHING, Policy(), self.KNOWN, unchanged=("a.cu",))
        result = replace(result, notes=("no input changed since main",))
        markdown = gate_as("markdown", result, self.NOTHING)
        assert markdown.startswith("# Local memory gate: ✅ passed")
        assert "- no input changed since main" in markdown
        assert "<error" not in gate_as("junit", result, self.NOTHING)
        (log,) = json.loads(gate_as("sarif", result, self.NOTHING))["runs"]
        assert log["invocations"][0]["executionSuccessful"] is True
        assert log["results"] == []


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository with one commit."""

    top: Path

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        allowed = ("-c", "protocol.file.allow=always")
        command = ["git", *identity, *allowed, *arguments]
        done = subprocess.run(command, cwd=self.top, capture_output=True, text=True, check=True)
        return done.stdout

    def names(self, paths: frozenset[str]) -> list[str]:
        return sorted(os.path.relpath(path, self.top) for path in paths)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("committed")
    repository = Repository(top)
    for name in ("k.cu", "odd \n näme.cu", "x.cu"):
        (top / name).write_text("int x;\n")
    (top / "lmemscope-baseline.json").write_text('{"findings": [{"input": "x.cu", "bytes": 4}]}')
    (top / "pyproject.toml").write_text('[project]\nversion = "1"\n[tool.lmemscope]\nstd = "c++17"')
    repository.git("init", "-q", "-b", "main")
    repository.git("add", ".")
    repository.git("commit", "-qm", "one")
    return top


@pytest.fixture
def repository(tmp_path: Path, committed: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    top = tmp_path.resolve() / "repository"
    shutil.copytree(committed, top)
    monkeypatch.chdir(top)
    return Repository(top)


def test_git_says_what_differs(repository: Repository) -> None:
    top = repository.top
    (top / "k.cu").write_text("int y;\n")
    (top / "odd \n näme.cu").write_text("int y;\n")
    (top / "new.cu").write_text("int z;\n")
    repository.git("mv", "x.cu", "renamed.cu")
    found = read_revision("main", ["."])
    assert repository.names(found.changed) == ["k.cu", "odd \n näme.cu", "renamed.cu", "x.cu"]
    assert repository.names(found.deleted) == ["x.cu"]
    whys = {name: found.why(str(top / name)) for name in ("k.cu", "new.cu", "renamed.cu")}
    assert set(whys.values()) == {""}
    assert found.why("pyproject.toml") is None
    assert "is outside of" in (found.why("/etc/hosts") or "")


def test_warnings_of_git_are_no_names(repository: Repository) -> None:
    repository.git("config", "core.autocrlf", "input")
    repository.git("config", "core.safecrlf", "warn")
    (repository.top / "k.cu").write_bytes(b"int y;\r\n")
    assert repository.names(read_revision("HEAD", ["."]).changed) == ["k.cu"]


def test_line_ends_that_git_converted_are_no_change(repository: Repository) -> None:
    (repository.top / "k.cu").write_bytes(b"int x;\r\n")
    assert read_revision("main", ["."]).changed == frozenset()


def test_files_left_out_of_a_sparse_checkout_are_not_gone(repository: Repository) -> None:
    (repository.top / "k.cu").unlink()
    assert repository.names(read_revision("main", ["."]).deleted) == ["k.cu"]
    repository.git("update-index", "--skip-worktree", "k.cu")
    assert read_revision("main", ["."]).changed == frozenset()


@pytest.mark.parametrize(
    "name", ["", "-x", "--output=stolen", "nowhere", "main..main", "^main", "main:k.cu", "\0"]
)
def test_what_is_no_revision_is_refused(repository: Repository, name: str) -> None:
    before = repository.git("status", "--porcelain")
    with pytest.raises(UsageError) as caught:
        read_revision(name, ["."])
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith("--changed")
    assert ("is no revision" in caught.value.message) == (name[:1] in ("", "-", "\0"))
    assert caught.value.hint
    assert repository.git("status", "--porcelain") == before


@pytest.mark.parametrize(("taken", "commit"), [("main", "HEAD~1"), ("origin/main", "HEAD")])
def test_a_name_of_several_commits_is_refused(
    repository: Repository, taken: str, commit: str
) -> None:
    repository.git("remote", "add", "origin", ".")
    repository.git("fetch", "-q", "origin")
    repository.git("tag", taken)
    assert read_revision(taken, ["."]).changed == frozenset()
    repository.git("commit", "-qm", "two", "--allow-empty")
    repository.git("tag", "-a", "-f", "-m", "three", taken, commit)
    for name in (taken, f"{taken}^{{commit}}", f"{taken}~0"):
        with pytest.raises(UsageError, match="are different commits") as caught:
            read_revision(name, ["."])
        assert f"refs/tags/{taken} are different" in caught.value.message
        assert f"{taken}" in str(caught.value.hint)
    assert read_revision(f"refs/tags/{taken}", ["."]).name == f"refs/tags/{taken}"
    with pytest.raises(UsageError, match=f"--git {taken}: "), written_out(taken):
        pass


@pytest.mark.parametrize("name", ["k.cu", "sub/k.cu", "way/k.cu"])
def test_a_link_to_what_has_not_changed_is_a_change(repository: Repository, name: str) -> None:
    top = repository.top
    (top / "sub").mkdir()
    (top / "sub" / "k.cu").write_text("int sub;\n")
    (top / "way").symlink_to("sub")
    (top / "other").mkdir()
    (top / "other" / "k.cu").write_text("int other;\n")
    repository.git("add", ".")
    repository.git("commit", "-qm", "two")
    was = read_revision("HEAD", ["."])
    text = (top / name).read_bytes()
    assert (was.why(name), was.has_changed(name), was.content(name)) == (None, False, text)
    place = top / name if name != "way/k.cu" else top / "way"
    place.unlink()
    place.symlink_to(top / "other" / "k.cu" if name != "way/k.cu" else "other")
    found = read_revision("HEAD", ["."])
    assert (found.why(name), found.has_changed(name), found.content(name)) == ("", True, text)
    assert found.why("other/k.cu") is None


def test_no_repository_and_no_git_are_refused(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_revision("main", ["repository/k.cu"]).top == str(repository.top)
    with pytest.raises(UsageError, match="is in no git repository with a working tree"):
        read_revision("main", ["elsewhere.cu"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="git cannot be started"):
        read_revision("main", ["repository/k.cu"])


def test_a_hook_may_run_it_in_another_directory(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.top / "src").mkdir()
    monkeypatch.chdir(repository.top / "src")
    monkeypatch.setenv("GIT_DIR", str(repository.top / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index.lock")
    found = read_revision("HEAD", ["."])
    assert (found.top, found.changed) == (str(repository.top), frozenset())


def test_worktrees_and_submodules(repository: Repository, tmp_path: Path, committed: Path) -> None:
    repository.git("submodule", "--quiet", "add", str(committed), "sub")
    repository.git("commit", "-qm", "two")
    module = str(repository.top / "sub" / "k.cu")
    assert read_revision("HEAD", ["."]).why(module) is None
    (repository.top / "sub" / "ignored.cu").write_text("int y;\n")
    with (repository.top / ".git/modules/sub/info/exclude").open("a") as stream:
        stream.write("ignored.cu\n")
    found = read_revision("HEAD", ["."])
    assert (found.why(module), found.why("sub/ignored.cu")) == (None, "")
    (repository.top / "sub" / "x.cu").write_text("int y;\n")
    found = read_revision("HEAD", ["sub"])
    assert (found.why(module), found.why("sub/x.cu")) == (None, "")
    (repository.top / "sub" / "x.cu").unlink()
    assert str(repository.top / "sub" / "x.cu") in read_revision("HEAD", ["."]).deleted
    tree = tmp_path.resolve() / "tree"
    repository.git("worktree", "add", "--quiet", str(tree), "HEAD~1")
    there = read_revision("HEAD", [str(tree)])
    assert (there.top, there.changed) == (str(tree), frozenset())


def _submodule(repository: Repository, origin: Path, commit: str = "") -> None:
    repository.git("submodule", "--quiet", "add", str(origin), "sub")
    if commit:
        repository.git("update-index", "--cacheinfo", f"160000,{commit},sub")
    repository.git("commit", "-qm", "with a submodule")


@pytest.mark.parametrize("name", ["k.cu", "x.cu"])
def test_what_takes_a_files_place_deletes_it(
    name: str, repository: Repository, committed: Path
) -> None:
    path = repository.top / name
    path.unlink()
    path.mkdir()
    assert repository.names(read_revision("HEAD", ["."]).deleted) == [name]
    path.rmdir()
    repository.git("rm", "-q", "--cached", name)
    repository.git("submodule", "--quiet", "add", str(committed), name)
    assert repository.names(read_revision("HEAD", ["."]).deleted) == [name]


@pytest.mark.parametrize("takes_its_place", ["nothing", "directory", "link"])
def test_a_link_that_is_gone_has_changed(takes_its_place: str, repository: Repository) -> None:
    link = repository.top / "inc"
    link.symlink_to("elsewhere")
    repository.git("add", ".")
    repository.git("commit", "-qm", "two")
    link.unlink()
    if takes_its_place == "directory":
        link.mkdir()
    elif takes_its_place == "link":
        link.symlink_to("nowhere")
    assert repository.names(read_revision("HEAD", ["."]).links) == ["inc"]


@pytest.mark.parametrize("commit", ["", "1" * 40])
def test_a_submodule_whose_old_commit_is_unknown_may_be_anything(
    commit: str, repository: Repository, committed: Path
) -> None:
    _submodule(repository, committed, commit)
    assert bool(read_revision("HEAD", ["."]).modules) == bool(commit)


@pytest.mark.parametrize(
    ("what", "is_unknown"), [("deinit", False), ("removed", True), ("replaced", True)]
)
def test_a_submodule_that_is_gone(
    what: str, is_unknown: bool, repository: Repository, committed: Path
) -> None:
    _submodule(repository, committed)
    repository.git("submodule", "--quiet", "deinit", "-f", "sub")
    if what == "removed":
        repository.git("rm", "-q", "--cached", "sub")
    if what == "replaced":
        (repository.top / "sub" / "k.cu").write_text("int y;\n")
    assert bool(read_revision("HEAD", ["."]).modules) == is_unknown


def _version(top: Path) -> None:
    path = top / "pyproject.toml"
    path.write_text(path.read_text().replace('"1"', '"2"'))


def _dialect(top: Path) -> None:
    path = top / "pyproject.toml"
    path.write_text(path.read_text().replace("17", "20"))


def _finding(top: Path) -> None:
    path = top / "lmemscope-baseline.json"
    path.write_text(path.read_text().replace("4", "8"))


@pytest.mark.parametrize(
    ("edit", "grounds"),
    [
        (lambda top: None, Grounds()),
        (_version, Grounds()),
        (_dialect, Grounds(("pyproject.toml changed",))),
        (
            lambda top: (top / "lmemscope.toml").write_text(""),
            Grounds(("lmemscope.toml changed",)),
        ),
        (lambda top: (top / "pyproject.toml").unlink(), Grounds(("pyproject.toml changed",))),
        (_finding, Grounds(inputs=frozenset({"x.cu"}))),
        (
            lambda top: (top / "lmemscope-baseline.json").write_text(
                '{"findings": [], "archs": 1}'
            ),
            Grounds(("lmemscope-baseline.json is not that of main",)),
        ),
    ],
    ids=("nothing", "version", "options", "new", "deleted", "finding", "archs"),
)
def test_what_decides_about_all(
    repository: Repository, edit: Callable[[Path], object], grounds: Grounds
) -> None:
    edit(repository.top)
    configuration = str(repository.top / "pyproject.toml")
    found = since(
        "main", ["."], "lmemscope-baseline.json", configuration, Settings(root=str(repository.top))
    )
    named = frozenset(os.path.abspath(name) for name in found.grounds.inputs)
    assert (found.grounds.all, named) == (
        grounds.all,
        frozenset(map(os.path.abspath, grounds.inputs)),
    )


ARRAY = "int t[N]; for (int i = 0; i < n; i++) t[(p[i] * 7) % N] = i; p[0] = t[n % N];"


@pytest.mark.toolchain
def test_a_pull_request_is_checked(repository: Repository) -> None:
    top = repository.top

    def check(*arguments: str) -> Finished:
        return run_program("check", "src", "--changed", "HEAD", *arguments, cwd=top)

    (top / "src").mkdir()
    (top / "src" / "n.h").write_text("#define N 20\n")
    for name in ("a", "b"):
        include = '#include "n.h"' if name == "a" else "#define N 30"
        kernel = f"{include}\n__global__ void {name}(int *p, int n) {{ {ARRAY} }}\n"
        (top / "src" / f"{name}.cu").write_text(kernel)
    (top / "src" / "none.cu").write_text("int none;\n")
    (top / "lmemscope-baseline.json").unlink()
    assert run_program("baseline", "src", cwd=top).code == 0
    repository.git("add", ".")
    repository.git("commit", "-qm", "two")
    known = (top / "lmemscope-baseline.json").read_bytes()
    same = check("--update", "--ratchet")
    assert same.code == 0
    assert "no input changed since HEAD: none of 3 files analysed" in same.out
    assert (top / "lmemscope-baseline.json").read_bytes() == known
    (top / "src" / "none.cu").write_text("int still_none;\n")
    (top / "src" / "n.h").write_text("#define N 24\n")
    worse = check()
    assert worse.code == 1
    assert worse.out.startswith("worse: a (src/a.cu")
    assert "analysed 2 files; 1 unchanged since HEAD" in worse.out
    (top / "src" / "n.h").write_text("#define N 20\n")
    (top / "src" / "b.cu").unlink()
    gone = check("--update")
    assert gone.code == 0
    assert "gone: b (sm_90)" in gone.out
    left = json.loads((top / "lmemscope-baseline.json").read_text())["findings"]
    assert [entry["input"] for entry in left] == ["src/a.cu"]
    refused = run_program("check", "src", "--changed", "-x", cwd=top)
    assert refused.code == 2
    assert "'-x' is no revision" in refused.err

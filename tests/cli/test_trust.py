"""What is read never runs: the current directory, builds, configurations and repositories.

Everything hostile here writes a witness, a file that no test may find.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lmemscope import environment
from lmemscope.app.checkout import written_out
from lmemscope.config.settings import Configuration, from_flags
from lmemscope.discover.found_arguments import admitted
from lmemscope.discover.revision import read_revision
from lmemscope.errors import UsageError
from lmemscope.tools import process
from lmemscope.tools.git import Repository
from lmemscope.tools.toolchain import INSTALLED
from tests.support.program import ROOT, run_program, start_program

KERNEL = "__global__ void k(int *p) { *p = 1; }\n"
BY_PYTHON_ITSELF = frozenset(
    "importlib warnings keyword operator reprlib collections types functools contextlib "
    "encodings".split()
)
"""What ``python -m`` has imported from the current directory before any line of a package runs."""

OTHERS = (
    "click cupy cupy_backends numpy elftools msgspec cuda numba sitecustomize usercustomize "
    "conftest pygments jinja2 markupsafe"
).split()
PACKAGES = frozenset({"cupy", "cupy_backends", "cuda", "importlib", "lmemscope"})


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a kernel, and a module of every name that the program may import."""
    top = tmp_path / "hostile"
    top.mkdir()
    (top / "k.cu").write_text(KERNEL)
    for name in {*sys.stdlib_module_names, *OTHERS} - BY_PYTHON_ITSELF:
        place = top / name / "__init__.py" if name in PACKAGES else top / f"{name}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"open({str(tmp_path / 'witness')!r}, 'a').write({name!r})\nraise Evil\n")
    monkeypatch.chdir(top)
    return top


def witnesses(hostile: Path) -> list[str]:
    return sorted(path.name for path in hostile.parent.glob("witness*"))


# --- how the program starts -----------------------------------------------------------------


def test_a_module_run_leaves_the_current_directory(hostile: Path) -> None:
    done = start_program("rules", cwd=hostile)
    assert (done.code, witnesses(hostile)) == (0, [])
    assert "LM201" in done.out


@pytest.mark.toolchain
@pytest.mark.parametrize("start", [["-m", "lmemscope"], ["-P", "script"]], ids=" ".join)
def test_a_scan_of_the_current_directory_imports_nothing_of_it(
    start: list[str], hostile: Path
) -> None:
    script = hostile.parent / "script"
    # What pip makes of the entry point; its own directory comes first.
    script.write_text("import sys\nfrom lmemscope.__main__ import main\nsys.exit(main())\n")
    if "-P" in start:
        (hostile / "lmemscope").mkdir()
        (hostile / "lmemscope" / "__init__.py").write_text("raise Evil\n")
    words = [str(script) if word == "script" else word for word in start]
    done = subprocess.run(
        [sys.executable, *words, "scan", ".", "-j", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 kernel" in done.stdout
    assert witnesses(hostile) == []


def test_relative_entries_of_pythonpath_are_not_imported_from(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hostile / "lib").mkdir()
    monkeypatch.setenv("PYTHONPATH", "lib::/opt/mine")
    found = [str(hostile), "", str(hostile / "lib"), "/opt/mine", "lib"]
    monkeypatch.setattr(sys, "path", found)
    assert environment.import_path() == ["/opt/mine", str(ROOT)]


@pytest.mark.parametrize(
    ("path", "libraries", "kept"),
    [
        (":/usr/bin:.:bin", "/cuda/lib64:", ("/usr/bin", "/cuda/lib64")),
        ("", "", (os.defpath, None)),
        ("/usr/bin", ".:", ("/usr/bin", None)),
        ("/a:/b", "/c:/d", ("/a:/b", "/c:/d")),
    ],
)
def test_no_search_path_means_the_current_directory(
    path: str, libraries: str, kept: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries)
    found = environment.cleaned()
    assert (found["PATH"], found.get("LD_LIBRARY_PATH")) == kept
    # nvcc appends it to a colon.
    assert environment.for_tools()["LD_LIBRARY_PATH"] == (kept[1] or os.devnull)


def test_a_library_of_the_current_directory_is_not_loaded(hostile: Path) -> None:
    """The loader has read its variable by then: the program starts itself once more."""
    (hostile / "libcuda.so.1").write_text("no library")
    (hostile / "git").write_text(f"#!/bin/sh\ntouch {hostile.parent}/witness-git\n")
    (hostile / "git").chmod(0o755)
    code = (
        "import sys; from lmemscope import environment; environment.settle(); import os, ctypes\n"
        "print('libcuda.so.1' in os.environ, os.environ['PATH'], os.environ['LD_LIBRARY_PATH'])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PATH": f":{os.environ['PATH']}", "LD_LIBRARY_PATH": "/x:"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", os.environ["PATH"], "/x"]


@pytest.mark.toolchain
def test_what_nvcc_starts_loads_no_library_of_the_current_directory(hostile: Path) -> None:
    for name in ("libc.so.6", "libz.so.1", "libm.so.6"):
        (hostile / name).write_text("no library")
    nvcc = INSTALLED.find("nvcc")
    done = process.run([nvcc, "-E", "-x", "cu", str(hostile / "k.cu")])
    assert (done.returncode, "void k" in done.output) == (0, True), done.output
    bare = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    command = [nvcc, "-E", "-x", "cu", str(hostile / "k.cu")]
    left_alone = process.capture(command, bare, cwd=str(hostile), most=1 << 20)
    said = left_alone.output.decode() + left_alone.errors
    assert "libc.so.6" in said, "nvcc no longer does this: see for_tools"


# --- builds and configurations that are found -----------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "word",
    [
        "-ccbin=evil",
        "--compiler-bindir=evil",
        "-Xcompiler=-fplugin=evil",
        "-Xcompiler=-wrapper,evil",
        "-Xcompiler=-B,evil",
        "-Xcompiler=-specs=evil",
        "-Xcompiler=@evil",
        "--options-file=evil",
        "@evil",
        "--time=evil",
        "--keep-dir=evil",
        "-o=evil",
        "-MF=evil",
        "-odir=evil",
        "--fdevice-time-trace=evil",
        "-ldir=evil",
        "--libdevice-directory=evil",
        "-Xcicc=evil",
        "-Xptxas=-o,evil",
        "-Xptxas=-optf=evil",
        "-Xptxas=@evil",
        "-Xnvlink=evil",
        "-Xcudafe=evil",
        "--run-args=evil",
        "-arbin=evil",
        "-evil",
        "evil.cu",
        "-DX=$(evil)",
    ],
)
def test_arguments_to_nvcc_of_a_file_are_those_of_the_list(word: str, here: Path) -> None:
    (here / "evil").write_text("-ccbin=evil")
    kept, _ = admitted("nvcc_args", [word, "-std=c++20", "-G"])
    assert kept == ("-std=c++20", "-G")


def test_flags_of_nvcc_that_run_or_write_are_not_taken_either(here: Path) -> None:
    assert admitted("nvcc_args", ["--run", "--keep", "-save-temps", "-dlink", "-MD", "-clean"]) == (
        (),
        ("--run",),
    )


def test_what_a_file_may_tell_nvcc_arrives(here: Path) -> None:
    words = ["-DA=1", "-I/i", "-Xptxas", "-O1", "-rdc=true", "-maxrregcount=40", "-Xcompiler=-mavx"]
    kept, left_out = admitted("nvcc_args", words)
    assert left_out == ()
    assert sorted(kept) == [
        "-DA=1",
        "-I/i",
        "-Xcompiler=-mavx",
        "-Xptxas=-O1",
        "-Xptxas=-c",
        "-maxrregcount=40",
        "-rdc=true",
    ]


def test_arguments_to_nvrtc_of_a_file_are_those_of_the_list() -> None:
    harmless = ["-DA=$(b)", "-I", "inc", "--fmad=false", "-default-device", "--pre-include=a.h"]
    harmful = ["--time=e", "--create-pch=e", "--pch-dir=e", "--fdevice-time-trace=e", "e", "--pch"]
    assert admitted("nvrtc_args", [*harmful, *harmless]) == (tuple(harmless), tuple(harmful))
    assert admitted("nvrtc_args", ["--ptxas-options=-O1", "--ptxas-options=-o,x"]) == (
        ("--ptxas-options=-O1",),
        ("--ptxas-options=-o x",),
    )


def test_arguments_to_ptxas_of_a_file_are_those_of_the_list() -> None:
    found = admitted("ptxas_args", ["-O1", "-o", "x", "@x", "--fresh", "-dlcm=cg", "-optf=x"])
    assert found == (("-O1", "-dlcm=cg"), ("-o x", "@x", "-optf=x", "--fresh"))


def told(text: str, **flags: object) -> Configuration:
    Path("lmemscope.toml").write_text(text)
    return from_flags(flags, admit=admitted)


HARMFUL = 'toolkit = "."\nexecutor = "dask://evil:1"\nnvcc-args = ["-ccbin=e", "-G"]\n'


def test_a_file_chooses_no_tools_and_no_machines(here: Path) -> None:
    settings = told(HARMFUL).settings
    assert (settings.toolkit, settings.executor) == (None, None)
    assert settings.options.nvcc_args == ("-G",)
    (note,) = settings.left_out
    assert "nvcc-args -ccbin=e" in note
    assert 'executor = "dask://evil:1"' in note
    assert note.endswith("--trust-build takes it")


def test_a_file_starts_no_more_processes_than_there_are_cpus(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmemscope.config.settings.available_cpus", lambda: 3)
    settings = told("jobs = 1000").settings
    assert settings.jobs == 3
    assert settings.left_out == (
        f"{here / 'lmemscope.toml'}: jobs is 1000, and there are 3 CPUs: 3 at a time; "
        "--jobs takes more",
    )
    flagged = told("jobs = 1000", jobs=8).settings
    assert (flagged.jobs, flagged.left_out) == (8, ())
    # Who trusts what the tree runs has said nothing of how much.
    assert told("jobs = 1000", trust_build=True).settings.jobs == 3
    assert told("jobs = 2").settings.left_out == ()


def test_trust_takes_what_a_file_says(here: Path) -> None:
    settings = told(HARMFUL, trust_build=True).settings
    assert (settings.toolkit, settings.executor) == (str(here), "dask://evil:1")
    assert settings.options.nvcc_args == ("-ccbin=e", "-G")
    assert settings.left_out == ()


def test_a_flag_in_place_of_the_file_needs_no_note(here: Path) -> None:
    settings = told('toolkit = "."', toolkit="/own").settings
    assert (settings.toolkit, settings.left_out) == ("/own", ())


def test_nobody_judging_means_that_nothing_is_taken(here: Path) -> None:
    Path("lmemscope.toml").write_text('ptxas-args = ["-O1"]')
    assert from_flags({}).settings.options.ptxas_args == ()


@pytest.mark.parametrize("key", ["trust-build", "trust_build", "run-python"])
def test_trust_is_not_given_by_a_file(key: str, here: Path) -> None:
    with pytest.raises(UsageError, match="unknown key"):
        told(f"{key} = true")


@pytest.mark.toolchain
def test_a_compiler_of_the_tree_runs_only_for_those_who_trust_it(
    tmp_path: Path, own_store: str
) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/witness\nexit 1\n")
    evil.chmod(0o755)
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "compile_commands.json").write_text(
        f'[{{"directory": "{tmp_path}", "file": "k.cu", "command": "nvcc -ccbin=./evil k.cu"}}]'
    )
    (tmp_path / "lmemscope.toml").write_text('nvcc-args = ["-ccbin=./evil"]\n')
    scan = ("scan", ".", "--frontend", "nvcc")
    done = run_program(*scan, cwd=tmp_path)
    assert (done.code, (tmp_path / "witness").exists()) == (0, False), done.err
    said = done.out + done.err
    assert said.count("-ccbin=./evil") == 2
    assert said.count("--trust-build") == 2
    assert run_program(*scan, "--trust-build", cwd=tmp_path).code == 3
    assert (tmp_path / "witness").exists()


# --- the baseline ---------------------------------------------------------------------------


def test_the_baseline_of_a_file_stays_below_it(here: Path) -> None:
    outside = here.parent / "outside.json"
    (here / "link.json").symlink_to(outside)
    (here / "up").symlink_to(here.parent)
    for path in (str(outside), "../outside.json", "link.json", "up/outside.json", "."):
        with pytest.raises(UsageError, match="one below its directory"):
            told(f'baseline = "{path}"')
    assert told('baseline = "ci/known.json"').baseline == str(here / "ci/known.json")


def test_only_a_baseline_is_overwritten(here: Path) -> None:
    (here / "k.ptx").write_text("")
    precious = here / "precious"
    precious.write_text("alias ls=ls\n")
    (here / "lmemscope-baseline.json").symlink_to(precious)
    for arguments in ([], ["-o", "precious"]):
        done = run_program("baseline", "k.ptx", *arguments, cwd=here)
        assert done.code == 2
        assert "is no baseline, and is not overwritten" in done.err
    precious.rename(here / "gone")
    done = run_program("baseline", "k.ptx", cwd=here)
    assert (done.code, "a link to nothing" in done.err) == (2, True)
    assert not precious.exists()
    assert (here / "gone").read_text() == "alias ls=ls\n"


# --- repositories ---------------------------------------------------------------------------

COMMANDS = (
    "filter.evil.clean filter.evil.smudge diff.evil.textconv diff.evil.command diff.external "
    "core.fsmonitor core.pager pager.show pager.diff pager.cat-file core.editor core.sshCommand "
    "core.gitProxy credential.helper alias.rev-parse alias.cat-file alias.ls-tree alias.ls-files "
    "gpg.program merge.evil.driver remote.origin.uploadpack"
).split()
HOOKS = "post-checkout post-index-change reference-transaction pre-auto-gc fsmonitor-watchman"


def git(top: Path, *arguments: str, given: bytes | None = None) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(top), *identity, *arguments]
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose every command of its configuration leaves a witness."""
    top = tmp_path.resolve() / "repository"
    (top / "src").mkdir(parents=True)
    (top / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (top / "src" / "k.cu").write_text(KERNEL)
    (top / "other.cu").write_text(KERNEL)
    git(top, "init", "-q", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    evil = f"touch {tmp_path}/witness"
    for hook in HOOKS.split():
        (top / ".git/hooks" / hook).write_text(f"#!/bin/sh\n{evil}-{hook}\n")
        (top / ".git/hooks" / hook).chmod(0o755)
    with (top / ".git/config").open("a") as stream:
        for key in COMMANDS:
            section, _, name = key.rpartition(".")
            first, _, second = section.partition(".")
            header = f'[{first} "{second}"]' if second else f"[{first}]"
            shell = "!" if first in ("alias", "credential") else ""
            stream.write(f'{header}\n{name} = "{shell}{evil}-{key};cat"\n')
        stream.write(
            f'[filter "evil"]\nrequired = true\nprocess = "{evil}-process"\n'
            f'[remote "origin"]\nurl = "ext::sh -c touch% {tmp_path}/witness-ext"\n'
            'promisor = true\n[protocol "ext"]\nallow = always\n[protocol]\nallow = always\n'
            "[extensions]\npartialclone = origin\n[core]\nrepositoryformatversion = 1\n"
        )
    os.utime(top / "src" / "k.cu", (1, 1))  # git has to look into it
    monkeypatch.chdir(top)
    return top


def test_comparing_with_a_revision_runs_nothing_of_the_repository(repository: Path) -> None:
    (repository / "other.cu").write_text("int other;\n")
    found = read_revision("main", ["."])
    assert found.changed == {str(repository / "other.cu")}
    assert witnesses(repository) == []


def test_writing_a_revision_out_runs_nothing_of_the_repository(repository: Path) -> None:
    (repository / "src" / "k.cu").write_text("int later;\n")
    with written_out("main") as checkout:
        assert Path(checkout.tree, "src", "k.cu").read_text() == KERNEL
        assert not Path(checkout.tree, ".git").exists()
        assert checkout.tracked == {".", "src", "src/k.cu", "other.cu", ".gitattributes"}
    assert not os.path.exists(checkout.tree)
    assert witnesses(repository) == []


def test_what_is_missing_is_not_fetched(repository: Path) -> None:
    name = git(repository, "rev-parse", "main:src/k.cu")
    (repository / ".git/objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(UsageError, match="does not hold the content of"), written_out("main"):
        pass
    assert read_revision("main", ["."]).changed == frozenset()
    assert witnesses(repository) == []


def test_a_git_of_the_current_directory_does_not_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "git").write_text(f"#!/bin/sh\ntouch {repository.parent}/witness-git\n")
    (repository / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    assert read_revision("main", ["."]).changed == frozenset()
    assert witnesses(repository) == []


def _tree(top: Path, *entries: tuple[str, str, str]) -> str:
    """A commit of a tree that git would not write: mode, name and object of each entry."""
    raw = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(object_)
        for mode, name, object_ in entries
    )
    made = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
    return git(top, "commit-tree", "-m", "x", git(top, *made, given=raw))


@pytest.fixture
def blob(repository: Path) -> Callable[[bytes], str]:
    return lambda content: git(repository, "hash-object", "-w", "--stdin", given=content)


@pytest.mark.parametrize("name", ["..", ".", ".git", ".GIT"])
def test_a_revision_names_no_file_elsewhere(
    name: str, repository: Path, blob: Callable[[bytes], str]
) -> None:
    inner = git(
        repository,
        *("hash-object", "-t", "tree", "-w", "--literally", "--stdin"),
        given=b"100644 stolen\0" + bytes.fromhex(blob(b"evil")),
    )
    commit = _tree(repository, ("40000", name, inner))
    with pytest.raises(UsageError, match="holds a file that it calls"):
        Repository(str(repository)).entries(commit)


def test_a_link_of_a_revision_leads_no_file_elsewhere(
    repository: Path, blob: Callable[[bytes], str]
) -> None:
    elsewhere = repository.parent / "elsewhere"
    elsewhere.mkdir()
    inner = git(
        repository,
        *("hash-object", "-t", "tree", "-w", "--literally", "--stdin"),
        given=b"100644 stolen\0" + bytes.fromhex(blob(b"evil")),
    )
    link = blob(str(elsewhere).encode())
    commit = _tree(repository, ("120000", "a", link), ("40000", "a", inner))
    with pytest.raises(UsageError, match="cannot write"), written_out(commit):
        pass
    assert list(elsewhere.iterdir()) == []

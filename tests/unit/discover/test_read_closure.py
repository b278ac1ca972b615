"""What else a compilation reads: files of options, and headers that are only asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.config.settings import Settings
from lmemscope.discover.build_flags import read_flags
from lmemscope.discover.changed import Grounds, Selection
from lmemscope.discover.revision import Revision
from lmemscope.discover.walk import Discovery, Found
from lmemscope.lowering.store import slot_for
from lmemscope.model import CompileOptions, Unit
from lmemscope.sources.includes import Closure, closure


def read(tmp_path: Path, text: str, **options: tuple[str, ...]) -> Closure:
    source = tmp_path / "a.cu"
    source.write_text(text)
    return closure(str(source), CompileOptions(**options))  # type: ignore[arg-type]


def key(tmp_path: Path, options: CompileOptions) -> str | None:
    slot = slot_for(
        str(tmp_path / "cache"), Unit("a.cu", str(tmp_path / "a.cu"), "auto", "sm_90", options)
    )
    return None if slot is None else slot.key


@pytest.mark.parametrize(
    "text",
    [
        '#define T "t.h"\n#if __has_include(T)\n#endif\n',
        '#define HI(x) __has_include(x)\n#define T "t.h"\n#if HI(T)\n#endif\n',
        "#define HI __has_include\n#define L <\n#if HI(L t.h>)\n#endif\n",
        "#define HI(x) __has_include(x)\n#define HAVE(x) HI(x)\n#define S(x) #x\n"
        "#if HAVE(S(t.h))\n#endif\n",
        "#define E(x) __has_embed(x)\n#define T <t.h>\n#elif E(T)\n#endif\n",
        '#define J(a,b) a##b\n#if J(__has_,include)("t.h")\n#endif\n',
        'const char *s = __DATE__ " " __TIME__;\n',
        "#include T\n",
        "#embed T\n",
        "#define T <t.h>\n#include T\n",
        "#include T(t)\n",
        "#define T(x) U(x)\n#include T(t)\n",
        "#define T(x) <x.h>\n#ifdef A\n#define T(x) #x\n#endif\n#include T(t)\n",
        "#define T(x, y) <x/y>\n#include T(t, u)\n",
        "#define J(a,b) a##b\n#define K J(__has_,include)\n#if K(T)\n#endif\n",
    ],
)
def test_what_cannot_be_followed_counts_as_computed(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).computed
    assert key(tmp_path, CompileOptions()) is None


@pytest.mark.parametrize(
    "text",
    [
        '#if __has_include("t.h")\n#endif\n',
        '#ifdef __has_include\n#if __has_include ( "t.h" )\n#endif\n#endif\n',
        '#if defined(__has_include) && __has_include("t.h")\n#endif\n',
        '#define HI __has_include\n#if HI("t.h")\n#endif\n',
        '#define HI(x) __has_include(x)\n#if HI("t.h")\n#endif\n',
        '#define HI(x) __has_include(x)\n#define HAVE(x) HI(x)\n#if HAVE("t.h")\n#endif\n',
        '#define HAVE_T __has_include("t.h")\n#if HAVE_T\n#endif\n',
        '#include "t.h"\n#define J(a,b) a##b\n#ifndef K\n#define K(x) J(x,y)\n#endif\n',
    ],
)
def test_a_header_that_is_asked_for_by_name_is_followed(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert (found.computed, found.missing) == (False, {"t.h"})
    before = key(tmp_path, CompileOptions())
    (tmp_path / "t.h").touch()
    assert before is not None
    assert key(tmp_path, CompileOptions()) not in (before, None)


def test_options_may_ask_for_headers_too(tmp_path: Path) -> None:
    text = '#if HI("t.h")\n#endif\n'
    assert read(tmp_path, text, defines=("HI=__has_include",)).missing == {"t.h"}
    assert read(tmp_path, "#if HI\n#endif\n", defines=("HI=__has_include(T)",)).computed


@pytest.mark.parametrize(
    "arguments",
    [
        ("--options-file", "flags.txt"),
        ("--options-file=flags.txt",),
        ("-optf", "flags.txt"),
        ("-optf=none.txt,flags.txt",),
        ("-Xcompiler", "@flags.txt"),
        ("-Xcompiler=-imacros,forced.h",),
        ("-include", "forced.h"),
        ("--pre-include=forced.h",),
        ("-Xcompiler", "-include,forced.h"),
    ],
)
def test_files_that_arguments_name_are_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.txt").touch()
    (tmp_path / "flags.txt").write_text("--options-file more.txt")
    (tmp_path / "more.txt").write_text("-include forced.h")
    (tmp_path / "forced.h").write_text("#define A 1\n")
    options = CompileOptions(nvcc_args=arguments)
    assert str(tmp_path / "forced.h") in read(tmp_path, "int a;\n", nvcc_args=arguments).files
    for name in ("forced.h", "more.txt", "flags.txt"):
        before = key(tmp_path, options)
        with (tmp_path / name).open("a") as stream:
            stream.write("\n")
        is_read = name == "forced.h" or "flags.txt" in " ".join(arguments)
        assert (key(tmp_path, options) != before) is is_read


def test_a_header_that_is_forced_is_looked_for_where_others_are(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "f.h").touch()
    options = {"include_dirs": (str(tmp_path / "include"),), "nvcc_args": ("-include=f.h",)}
    assert str(tmp_path / "include" / "f.h") in read(tmp_path, "int a;\n", **options).files


def test_arguments_of_the_environment_name_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flags.txt").write_text("-DA")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", f"--options-file {tmp_path}/flags.txt")
    assert str(tmp_path / "flags.txt") in read(tmp_path, "int a;\n").files


def test_a_file_of_options_that_is_gone_counts_as_computed(tmp_path: Path) -> None:
    assert read(tmp_path, "int a;\n", nvcc_args=("--options-file=gone.txt",)).computed


# --- since a revision -------------------------------------------------------------------------


def looked(
    tmp_path: Path, found: Found, known: set[str], changed: set[str], **more: object
) -> bool:
    def at(names: set[str]) -> frozenset[str]:
        return frozenset(str(tmp_path / name) for name in names)

    revision = Revision("main", "c0ffee", str(tmp_path), at(known), at(changed))
    settings = replace(Settings(), **more)  # type: ignore[arg-type]
    selection = Selection(revision, settings, Grounds())
    return bool(selection.narrow(Discovery(inputs=[found])).inputs)


@pytest.fixture
def built(tmp_path: Path) -> Found:
    (tmp_path / "a.cu").write_text("int a;\n")
    (tmp_path / "flags.txt").write_text("@more.txt")
    (tmp_path / "more.txt").write_text("-DBIG")
    flags = read_flags(["--options-file", "flags.txt", "-c", "a.cu"], str(tmp_path))
    assert flags.options.defines == ("BIG",)
    path = str(tmp_path / "a.cu")
    return Found("a.cu", path, flags.options, responses=flags.responses)


def test_a_file_of_options_that_changed_is_a_reason(tmp_path: Path, built: Found) -> None:
    known = {"a.cu", "flags.txt", "more.txt", "compile_commands.json"}
    assert not looked(tmp_path, built, known, set())
    assert looked(tmp_path, built, known, {"flags.txt"})
    assert looked(tmp_path, built, known, {"more.txt"})
    # Written by configuring, as the database is; but for a database that git knows.
    assert not looked(tmp_path, built, {"a.cu"}, set())
    assert looked(tmp_path, built, {"a.cu", "compile_commands.json"}, set())


def test_a_file_of_options_of_the_configuration_is_a_reason_for_all(
    tmp_path: Path, built: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, known = Found("a.cu", built.path), {"a.cu", "flags.txt", "more.txt"}
    arguments = ("--options-file", "flags.txt")
    assert not looked(tmp_path, found, known, set(), arguments_as_written=arguments)
    assert looked(tmp_path, found, known, {"more.txt"}, arguments_as_written=arguments)
    own = CompileOptions(nvcc_args=arguments)
    assert looked(tmp_path, found, known, {"more.txt"}, options=own)


def test_a_header_named_by_an_argument_is_each_that_a_definition_makes_of_it(
    tmp_path: Path,
) -> None:
    for name in ("a/s.h", "b/s.h"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("int s;\n")
    text = "#if X\n#define S( n ) <a/n.h> // a\n#else\n#define S(n) <b/n.h>\n#endif\n"
    text += "#include S( s ) // x\n"
    found = read(tmp_path, text, include_dirs=(str(tmp_path),))
    assert not found.computed
    assert {os.path.relpath(path, tmp_path) for path in found.files[1:]} == {"a/s.h", "b/s.h"}
    options = {"include_dirs": (str(tmp_path),), "defines": ("S(n)=<c/n.h>",)}
    assert read(tmp_path, text, **options).computed

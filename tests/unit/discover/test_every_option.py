"""Every option of nvcc, in every spelling: taken, dropped by a stated table, or named once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lmemscope.discover.build_database import read_database
from lmemscope.discover.build_flags import BuildFlags, read_flags
from lmemscope.discover.found_arguments import admitted
from tests.support.program import DATA

RECORDED = DATA / "nvcc_options.txt"
_VALUED = ("dependency-output", "qpp-config")
"""Those whose value the help leaves out."""
_LINE = re.compile(r"--(?P<long>\S+) +(?P<value>.*?) *\(?--?(?P<short>[\w-]+)\)?")


def recorded() -> dict[str, tuple[str, bool]]:
    """Of each long name the short one, and whether a value follows."""
    lines = RECORDED.read_text().splitlines()[1:]
    found = [_LINE.fullmatch(line) for line in lines]
    assert None not in found
    return {
        one["long"]: (one["short"], bool(one["value"]) or one["long"] in _VALUED)
        for one in found
        if one is not None
    }


OPTIONS = recorded()

TAKEN = {
    "define-macro": "A=1",
    "undefine-macro": "A",
    "include-path": "inc",
    "system-include": "inc",
    "pre-include": "a.h",
    "std": "c++17",
    "ptxas-options": "-O1",
    "compiler-options": "-fopenmp",
    "maxrregcount": "32",
    "generate-code": "arch=compute_80,code=sm_80",
    "gpu-architecture": "sm_80",
    "gpu-code": "sm_80",
    "relocatable-device-code": "true",
    "x": "cu",
    "device-c": "",
    "device-w": "",
    "device-debug": "",
    "use_fast_math": "",
    "restrict": "",
    "extra-device-vectorization": "",
    "extensible-whole-program": "",
    "keep-device-functions": "",
    "expt-relaxed-constexpr": "",
    "extended-lambda": "",
    "expt-extended-lambda": "",
    "no-host-device-initializer-list": "",
    "no-host-device-move-forward": "",
    "ftz": "true",
    "prec-div": "false",
    "prec-sqrt": "false",
    "fmad": "false",
    "dopt": "on",
    "Ofast-compile": "min",
    "jump-table-density": "5",
    "split-compile": "2",
    "device-stack-protector": "true",
    "default-stream": "per-thread",
    "optimize": "3",
    "no-exceptions": "",
}
"""With a value each; what they mean to other tools is for other tests."""

REFUSED = {
    "run": "",
    "run-args": "a",
    "archiver-binary": "ar",
    "compiler-bindir": "g++",
    "libdevice-directory": "lib",
}
LINKED = {"dlink-time-opt", "lto", "gen-opt-lto", "ltoir"}
UNKNOWN = {
    "enable-tile": "",
    "tile-preview": "simt",
    "tile-only": "",
    "simt-only": "",
    "tilebc": "",
    "tilecubin": "",
    "tilefatbin": "",
    "tileiras-options": "-x",
    "apply-controls": "file",
    "entries": "k",
    "stdlib": "libc++",
    "fdevice-sanitize": "memcheck",
    "safety-compatibility": "",
}
READ = {"options-file"}

DROPPED = frozenset(
    # What is made of the device code, and what is done with it afterwards.
    "cuda cubin fatbin ptx optix-ir preprocess compile device-link link lib no-device-link "
    "relocatable-link relocatable-ptx compile-as-tools-patch qpp-config prune concat "
    "compress-mode no-compress cudart cudadevrt library library-path linker-options "
    "archive-options nvlink-options nvprune-options host-linker-script "
    "augment-host-linker-script split-compile-extended "
    # Names of files, dependencies, temporaries.
    "output-file output-directory generate-dependencies generate-nonsystem-dependencies "
    "generate-dependencies-with-compile generate-nonsystem-dependencies-with-compile "
    "dependency-output generate-dependency-targets dependency-target-name input-drive-prefix "
    "dependency-drive-prefix drive-prefix objdir-as-tempdir keep keep-dir save-temps "
    "clean-targets target-directory "
    # The host's code, and how the compilers run.
    "profile debug shared machine m64 no-align-double use-local-env "
    "force-cl-env-setup allow-unsupported-compiler dont-use-profile threads jobserver dryrun "
    "verbose verbose2 time fdevice-time-trace fdevice-time-trace-granularity frandom-seed "
    "forward-unknown-to-host-compiler forward-unknown-to-host-linker forward-unknown-opts "
    "static-global-template-stub device-entity-has-hidden-visibility utf-8 "
    # What is said, or looked up, about the code that stays the same.
    "generate-line-info source-in-ptx optimization-info resource-usage disable-warnings Wreorder "
    "Wdefault-stream-launch Wmissing-launch-bounds Wext-lambda-captures-this "
    "Wno-deprecated-declarations Wno-deprecated-gpu-targets Wconversion Werror "
    "ftemplate-backtrace-limit ftemplate-depth fmax-errors display-error-number "
    "no-display-error-number diag-error diag-suppress diag-warn brief-diagnostics "
    "fdevice-syntax-only skip-ptx-semantics-check list-gpu-code list-gpu-arch help version".split()
)
"""What has no effect on device code, or comes after it, and is left out without a word."""


def test_every_option_has_one_fate() -> None:
    fates = [*TAKEN, *REFUSED, *LINKED, *UNKNOWN, *READ, *DROPPED]
    assert sorted(fates) == sorted(OPTIONS)


def spellings(long: str, value: str) -> list[list[str]]:
    short, valued = OPTIONS[long]
    if not valued:
        return [[f"--{long}"], [f"-{short}"]]
    given = value or "7"
    return [
        spelled
        for name in (f"--{long}", f"-{short}")
        for spelled in ([f"{name}={given}"], [name, given])
    ]


def effects(words: list[str], directory: Path) -> tuple[BuildFlags, ...]:
    """What a compiler's words come to, by the command line and by a file of options."""
    (directory / "words.rsp").write_text(" ".join(words))
    return tuple(
        read_flags([*given, "-DAFTER", "k.cu"], str(directory))
        for given in (words, ["@words.rsp"], ["--options-file=words.rsp"])
    )


@pytest.mark.parametrize("long", sorted(set(OPTIONS) - READ))
def test_no_option_falls_silently(long: str, tmp_path: Path) -> None:
    plain = read_flags(["-DAFTER", "k.cu"], str(tmp_path))
    for words in spellings(long, {**TAKEN, **REFUSED, **UNKNOWN}.get(long, "")):
        for found in effects(words, tmp_path):
            assert "AFTER" in found.options.defines, words
            assert (found.inputs, found.stray) == (plain.inputs, ()), words
            fates = {
                "taken": (found.options, found.archs, found.language)
                != (plain.options, plain.archs, plain.language),
                "refused": len(found.refused) == 1,
                "linked": len(found.linked) == 1,
                "unknown": len(found.unknown) == 1,
            }
            wanted = [
                name
                for name, table in zip(fates, (TAKEN, REFUSED, LINKED, UNKNOWN), strict=True)
                if long in table
            ]
            assert [name for name, is_so in fates.items() if is_so] == wanted, words


@pytest.mark.parametrize(
    "word",
    [
        "-maxrregcount=many",
        "-arch=newest",
        "-gencode=fast",
        "-code=x",
        "-rdc=perhaps",
        "-G=1",
        "-fgpu-flush-denormals-to-zero",
        "-fcuda-approx-transcendentals",
        "-privileged",
    ],
)
def test_a_value_that_means_nothing_is_named(word: str) -> None:
    assert read_flags([word], "/b").unknown == (word,)


def notes(tmp_path: Path, *commands: str) -> list[str]:
    path = tmp_path / "compile_commands.json"
    entries = [
        {"directory": str(tmp_path), "command": command, "file": "k.cu"} for command in commands
    ]
    path.write_text(json.dumps(entries))
    return list(read_database(str(path)).notes)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("FOO=1 nvcc -c k.cu", "FOO=1"),
        ("env -u A FOO=1 BAR=2 nvcc -c k.cu", "FOO=1, BAR=2"),
        ("env -C elsewhere nvcc -c k.cu", "-C elsewhere"),
        ("nvcc $(flags) -c k.cu", "$(flags)"),
        ("nvcc -c k.cu `flags`", "`flags`"),
        ("nvcc -c k.cu && touch x.o", "&&, touch"),
        ("nvcc -c k.cu 2>&1 | tee log.txt", "2>&1, |, tee, log.txt"),
        ("nvcc -c k.cu FOO=1", "FOO=1"),
        ("nvcc -Xcompiler stray -c k.cu", "-Xcompiler stray"),
    ],
)
def test_what_was_written_for_a_shell_is_named(command: str, named: str, tmp_path: Path) -> None:
    assert notes(tmp_path, command) == [f"options not understood and left out: {named}"]


def test_variables_of_nvcc_in_front_are_arguments(tmp_path: Path) -> None:
    assert notes(tmp_path, "NVCC_APPEND_FLAGS='-run -DX' nvcc -c k.cu")[0].count("-run") == 1
    assert notes(tmp_path, "ccache nvcc -c k.cu a.o b.cpp libc.so.1 -o x") == []


def test_an_entry_that_compiles_as_another_does_names_what_it_leaves_out(tmp_path: Path) -> None:
    trusted, refused, unknown = notes(
        tmp_path, "nvcc -c k.cu", "nvcc -run -c k.cu", "nvcc -Xcicc -a -c k.cu", "nvcc --odd k.cu"
    )
    assert ": -Xcicc=-a" in trusted
    assert refused.endswith(": -run")
    assert unknown.endswith(": --odd")


def test_what_trust_would_take_is_told_apart(tmp_path: Path) -> None:
    taken, never = notes(tmp_path, "nvcc -run -ccbin g++ -Xcicc -a '-DX=$(y)' -Xptxas -o,z k.cu")
    assert ": -ccbin=g++, -Xcicc=-a; " in taken
    assert taken.endswith("; --trust-build takes them")
    assert never.endswith(", trusted or not: -run, -D=X=$(y), -Xptxas -o z")
    (note,) = notes(tmp_path, "nvcc -run k.cu")
    assert "--trust-build" not in note


def test_a_configurations_arguments_fall_no_more_silently() -> None:
    words = ("-dlto", "-arch=sm_80", "stray", "-o", "x", "-DA")
    kept, named = admitted("nvcc_args", words)
    assert kept == ("-DA",)
    assert [word.rpartition("/")[2] for word in named] == ["-arch=sm_80", "-dlto", "stray"]


# --- entries that are none --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (1, "it is a number, not an object"),
        (None, "it is null, not an object"),
        ([], "it is a list, not an object"),
        ({}, "it has no directory"),
        ({"directory": "/"}, "it has no file"),
        (
            {"directory": 1, "file": "k.cu", "command": "nvcc"},
            "directory is a number, not a string",
        ),
        ({"directory": "/", "file": {}, "command": "nvcc"}, "file is an object, not a string"),
        ({"directory": "/", "file": "k.cu"}, "it has neither arguments nor a command"),
        ({"directory": "/", "file": "k.cu", "command": None}, "command is null, not a string"),
        ({"directory": "/", "file": "k.cu", "command": True}, "command is true, not a string"),
        (
            {"directory": "/", "file": "k.cu", "arguments": "nvcc"},
            "arguments is a string, not a list of strings",
        ),
        (
            {"directory": "/", "file": "k.cu", "arguments": ["nvcc", 1]},
            "arguments holds a number, not only strings",
        ),
        (
            {"directory": "/", "file": "k.cu", "command": "nvcc 'open"},
            "command cannot be split into words: no closing quotation",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_is_said_in_words(
    entry: object, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps([entry]))
    assert read_database(str(path)).notes == (f"entry 1: {said}",)

"""``bazel aquery`` for a build database: text, textproto and jsonproto of Bazel 4, 7 and 8."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmemscope.discover.build_database import Entry, read_database
from lmemscope.discover.locate import is_aquery, is_saved
from lmemscope.discover.walk import Globs, discover
from lmemscope.errors import InputError

WORDS = (
    (
        "/usr/local/cuda/bin/nvcc -x cu -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC "
        "-ccbin /usr/bin/gcc -I . -I bazel-out/k8-opt/bin -isystem external/cutlass+/include "
        '-DNAME="it\'s" -Xcompiler -iquote -Xcompiler external/fmt+ '
        "-c demo/blur.cu -o bazel-out/k8-opt/bin/demo/_objs/blur/blur.pic.o"
    )
    .replace('"', "")
    .split()
)
"""As rules_cuda writes a CudaCompile action."""

WRAPPED = (
    "external/local_config_cuda/crosstool/clang/bin/crosstool_wrapper_driver_is_not_gcc "
    "-MD -MF bazel-out/k8-opt/bin/demo/_objs/sum/sum.cu.d -fPIC -iquote . -DGOOGLE_CUDA=1 -O2 "
    "-std=c++17 -x cuda --cuda-include-ptx=sm_80 --cuda-gpu-arch=sm_80 --cuda-gpu-arch=sm_90 "
    "-nvcc_options=relaxed-constexpr -nvcc_options=ftz=true -U_FORTIFY_SOURCE -fstack-protector "
    "-Wall -Wunused-but-set-parameter -Wno-free-nonheap-object -fno-omit-frame-pointer -g0 "
    "-D_FORTIFY_SOURCE=1 -DNDEBUG -ffunction-sections -fdata-sections -no-canonical-prefixes "
    '-fno-canonical-system-headers -Wno-builtin-macro-redefined -D__DATE__="redacted" '
    "-c demo/sum.cu.cc -o bazel-out/k8-opt/bin/demo/_objs/sum/sum.cu.o"
).split()
"""As TensorFlow's toolchain writes a CppCompile action of a CUDA source."""

HOST = "/usr/bin/gcc -O2 -c demo/main.cc -o bazel-out/k8-opt/bin/demo/main.o".split()
LINK = "/usr/bin/gcc -o bazel-out/k8-opt/bin/demo/main demo/main.o".split()
ACTIONS = (("CudaCompile", WORDS), ("CppCompile", WRAPPED), ("CppCompile", HOST), ("CppLink", LINK))


def _quoted(word: str) -> str:
    plain = all(letter.isalnum() or letter in "@%-_+:,./" for letter in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _text() -> str:
    parts = []
    for mnemonic, words in ACTIONS:
        command = " \\\n    ".join(map(_quoted, words))
        parts.append(
            f"action 'Compiling {words[-3]}'\n  Mnemonic: {mnemonic}\n  Target: //demo:it\n"
            "  Configuration: k8-opt\n  Execution platform: @@platforms//host:host\n"
            "  ActionKey: 05f38b6989458694ca814bd46aa50a1d20d64fcf6b7bcd92af376500371c7888\n"
            f"  Inputs: [{words[-3]}, external/x/y.h]\n  Outputs: [{words[-1]}]\n"
            "  Environment: [NVCC_APPEND_FLAGS=-DLAST, PATH=/bin:/usr/bin]\n"
            f"  Command Line: (exec {command})\n"
            "# Configuration: cfcdc0c472480d5083db8bc3726bd13fed7c1092a36217c0\n"
            "# Execution platform: @@platforms//host:host\n"
            "  ExecutionInfo: {requires-worker-protocol: json}\n\n"
        )
    tree = (
        "action 'Creating runfiles tree'\n  Mnemonic: SymlinkTree\n  Inputs: []\n  Outputs: [a]\n\n"
    )
    return tree + "".join(parts)


def _textproto() -> str:
    def escaped(word: str) -> str:
        return word.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'")

    parts = ["artifacts {\n  id: 1\n  path_fragment_id: 1\n}\n"]
    for mnemonic, words in ACTIONS:
        lines = "".join(f'  arguments: "{escaped(word)}"\n' for word in words)
        parts.append(
            f'actions {{\n  target_id: 1\n  action_key: "05f3"\n  mnemonic: "{mnemonic}"\n'
            f"  configuration_id: 1\n{lines}"
            '  environment_variables {\n    key: "NVCC_APPEND_FLAGS"\n    value: "-DLAST"\n  }\n'
            '  execution_info {\n    key: "NVCC_PREPEND_FLAGS"\n    value: "-DNOT_THIS"\n  }\n'
            "  input_dep_set_ids: 1\n  output_ids: 2\n  primary_output_id: 2\n}\n"
        )
    return "".join(parts)


def _unindented() -> str:
    """As Bazel 4 prints it."""
    return "".join(line.lstrip() + "\n" for line in _textproto().splitlines())


def _jsonproto() -> str:
    actions = [
        {
            "targetId": 1,
            "actionKey": "05f3",
            "mnemonic": mnemonic,
            "configurationId": 1,
            "arguments": words,
            "environmentVariables": [
                {"key": "NVCC_APPEND_FLAGS", "value": "-DLAST"},
                {"key": "PWD"},
            ],
            "inputDepSetIds": [1],
            "outputIds": [2],
            "primaryOutputId": 2,
        }
        for mnemonic, words in ACTIONS
    ]
    actions.append({"targetId": 1, "mnemonic": "SymlinkTree"})
    fragments = [{"id": 1, "label": "demo"}]
    document = {"artifacts": [], "actions": actions, "pathFragments": fragments}
    return json.dumps(document, indent=2)


FORMS = {
    "aquery.txt": _text,
    "gpu.aquery": _textproto,
    "old.aquery": _unindented,
    "aquery.json": _jsonproto,
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace after a build, with the links that Bazel makes."""
    root = tmp_path / "cache" / "execroot" / "_main" / "bazel-out"
    root.mkdir(parents=True)
    space = tmp_path / "space"
    (space / "demo").mkdir(parents=True)
    (space / "MODULE.bazel").write_text("")
    (space / "bazel-out").symlink_to(root)
    for name in ("blur.cu", "sum.cu.cc", "main.cc"):
        (space / "demo" / name).write_text("")
    return space


def _entries(workspace: Path, name: str) -> tuple[Entry, ...]:
    path = workspace / name
    path.write_text(FORMS[name]())
    return read_database(str(path)).entries


@pytest.mark.parametrize("name", FORMS)
def test_each_form_says_how_cuda_is_compiled_and_from_where(workspace: Path, name: str) -> None:
    blur, _ = _entries(workspace, name)
    assert blur.path == str(workspace / "demo" / "blur.cu")
    assert blur.flags.archs == ("sm_90a",)
    # A quote is read as the shell or protobuf means it, and nvcc's own variable comes last.
    assert blur.flags.options.defines == ("NAME=it's", "LAST")
    external = workspace.parent / "cache" / "external"
    directories = blur.flags.options.include_dirs
    assert str(workspace) in directories
    assert str(workspace / "bazel-out" / "k8-opt" / "bin") in directories
    assert str(external / "cutlass+" / "include") in directories


@pytest.mark.parametrize("name", FORMS)
def test_a_source_in_tensorflows_wrapper_is_compiled_as_nvcc_would(
    workspace: Path, name: str
) -> None:
    _, total = _entries(workspace, name)
    assert total.path == str(workspace / "demo" / "sum.cu.cc")
    assert total.flags.archs == ("sm_80", "sm_90")
    options = total.flags.options
    assert options.std == "c++17"
    assert "GOOGLE_CUDA=1" in options.defines
    assert {"--relaxed-constexpr", "--ftz=true"} <= set(options.nvcc_args)
    path = workspace / name
    assert read_database(str(path)).unclear == ()


def test_sources_have_the_names_of_the_workspace(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = workspace / "ci"
    below.mkdir()
    (below / "aquery.json").write_text(_jsonproto())
    monkeypatch.chdir(workspace)
    found = discover(["ci/aquery.json"], Globs("/"))
    assert [one.file for one in found.inputs] == ["demo/blur.cu", "demo/sum.cu.cc"]


def test_without_bazels_links_paths_stay_below_the_workspace(workspace: Path) -> None:
    (workspace / "bazel-out").unlink()
    blur, _ = _entries(workspace, "aquery.json")
    assert str(workspace / "external" / "cutlass+" / "include") in blur.flags.options.include_dirs


def test_what_is_no_output_of_aquery_is_an_error_that_says_how_to_write_one(
    workspace: Path,
) -> None:
    path = workspace / "aquery.txt"
    for text in (
        "",
        "INFO: Analyzed 3 targets",
        '{"actions": 3}',
        '{"actions": [{"arguments": 1}]}',
    ):
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            read_database(str(path))
        assert "bazel aquery" in str(caught.value.hint)


def test_which_names_stand_for_it() -> None:
    for name in ("aquery.json", "gpu-aquery.textproto", "all.aquery", "a/aquery.json"):
        assert is_aquery(name)
        assert not is_saved(name)
    for name in ("report.json", "aquery.py", "aquery", "unaquery.json"):
        assert not is_aquery(name)

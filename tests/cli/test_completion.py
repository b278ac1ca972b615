"""What shells offer, through click's own classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.commands import completion
from lmemscope.commands.group import cli
from lmemscope.exporters.json import render_json
from tests.support.builders import facts, report_of, spilling
from tests.support.program import run_program

SOURCE = """
// __global__ void commented(int *x) {}
namespace ns { template <int N> __global__ void ring(float *x) { x[0] = N; } }
extern "C" __global__ void __launch_bounds__(32) rolled(float *x) { x[0] = 1; }
"""


def offered(*words: str) -> list[str]:
    shell = completion.Zsh(cli, {}, "lmemscope", "_LMEMSCOPE_COMPLETE")
    *args, incomplete = words
    return [
        "a file" if one.type == "file" else one.value
        for one in shell.get_completions(args, incomplete)
    ]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize("flag", [("scan", "--cause"), ("check", "--forbid"), ("check", "--allow")])
def test_causes(flag: tuple[str, ...]) -> None:
    assert offered(*flag, "dyn") == ["dynamic-index"]
    assert len(offered(*flag, "")) == 17


def test_rules_by_cause_and_by_number() -> None:
    assert offered("rules", "dyn") == ["dynamic-index"]
    assert "LM201" in offered("rules", "lm2")
    assert "LM201" not in offered("rules", "")


def test_architectures() -> None:
    assert offered("scan", "--arch", "all") == ["all-major"]
    assert offered("scan", "--arch", "sm_9") == ["sm_90"]
    assert offered("scan", "--arch", "sm_90") == ["sm_90", "sm_90a", "sm_90f"]
    assert "sm_120" in offered("dump", "--arch", "sm_1")


def test_kernels_of_a_source(here: Path) -> None:
    assert offered("explain", "a.cu::r") == ["a.cu::ring", "a.cu::rolled"]
    assert offered("explain", "a.cu") == ["a.cu::ring", "a.cu::rolled"]
    assert offered("explain", "a.cu::ns::") == ["a.cu::ns::ring"]
    assert offered("scan", "a.cu", "--kernel", "ro") == ["rolled"]
    assert offered("scan", ".", "--kernel", "ri") == ["ring"]
    assert offered("dump", "a.cu", "--ptx", "--kernel", "") == ["ring", "rolled"]


def test_kernels_of_a_saved_report(here: Path) -> None:
    odd = facts("void (anonymous namespace)::odd<(int)3>(int*)")
    (here / "r.json").write_text(render_json(report_of(spilling(), odd)))
    assert offered("explain", "r.json::") == ["r.json::odd", "r.json::spilling"]
    assert offered("scan", "r.json", "--kernel", "sp") == ["spilling"]


def test_kernels_of_python_and_ptx(here: Path) -> None:
    (here / "k.py").write_text(
        "import cupy\nfrom numba import cuda\n"
        "k = cupy.RawKernel('extern \"C\" __global__ void raw(int *x) {}', 'raw')\n"
        "@cuda.jit\ndef jitted(x):\n    x[0] = 1\n"
    )
    (here / "k.ptx").write_text(".visible .entry _ZN2ns2rmILi32EEEvPf(\n)\n{ ret; }\n")
    assert offered("explain", "k.py::") == ["k.py::jitted", "k.py::raw"]
    assert offered("explain", "k.ptx::") == ["k.ptx::rm"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"schema": 3'),
        ("b.json", b'{"units": [{"kernels": [{"demangled": null}]}]}'),
        ("c.py", b"def ("),
        ("d.py", b"\xff\0"),
        ("e.cubin", b"\x7fELF"),
        ("f.cu", b"\xff\xfe__global__ {"),
        ("g.txt", b"__global__ void k() {}"),
    ],
)
def test_what_cannot_be_read_offers_files(here: Path, name: str, content: bytes) -> None:
    (here / name).write_bytes(content)
    assert offered("explain", f"{name}::") == ["a file"]
    assert offered("explain", "missing.cu::k") == ["a file"]


def test_paths_are_left_to_the_shell(here: Path) -> None:
    assert offered("scan", "a") == ["a file"]
    assert offered("scan", "-o", "a") == ["a file"]
    assert offered("explain", "a.c") == ["a file"]


@pytest.mark.parametrize(
    ("line", "word", "answer"),
    [
        ("lmemscope explain a.cu::ri", "ri", "plain,ring"),
        ("lmemscope explain a.cu::", "", "plain,ring"),
        ("lmemscope explain 'a.cu::ri", "a.cu::ri", "plain,a.cu::ring"),
        ("lmemscope scan --cause=dyn", "dyn", "plain,dynamic-index"),
        ("lmemscope ru", "ru", "plain,rules"),
        ("lmemscope scan ", "", "file,"),
    ],
)
def test_bash_takes_a_colon_for_the_end_of_a_word(
    here: Path, line: str, word: str, answer: str
) -> None:
    done = run_program(
        cwd=here, COMP_LINE=line, COMP_WORD=word, _LMEMSCOPE_COMPLETE="bash_complete"
    )
    assert answer in done.out.splitlines()
    assert done.err == ""

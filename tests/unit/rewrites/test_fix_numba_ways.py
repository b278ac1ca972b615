"""The number that all launches of a Numba kernel pass."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.numba_rewriting import after, needs_numba, tried
from tests.support.program import run_program

MEANS = """\
import numpy
from numba import cuda, float32

LARGEST = 64


@cuda.jit("void(float32[:, ::1], int32, float32[:, ::1])")
def k(x, size, out):
    a = cuda.local.array(LARGEST, float32)
    column = cuda.grid(1)
    for i in range(size):
        a[i] = 0
    total = float32(0)
    for i in range(x.shape[0]):
        total += x[i, column] - a[i % size]
        a[i % size] = x[i, column]
        out[i, column] = total / size


def main(blocks, threads):
    x = numpy.random.default_rng(1).random((64, blocks * threads), dtype=numpy.float32)
    out = numpy.zeros_like(x)
    k[blocks, threads](x, 16, out)
    return out
"""


def test_a_number_that_all_launches_pass_is_told_the_kernel() -> None:
    made = after(MEANS, "constant-parameter", None)
    first = "    a = cuda.local.array(LARGEST, float32)\n"
    assert made == MEANS.replace(
        first, "    size = numpy.int32(16)\n    a = cuda.local.array(16, float32)\n"
    )
    found = tried(MEANS, None)[0]["constant-parameter"]
    assert found.applicability == "unsafe"
    assert found.caveat is not None
    assert found.caveat.startswith("every launch of it passes 16")


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("LARGEST = 64", "LARGEST = 8"),
        ("a[i % size] =", "a[i % 64] ="),
        ("a[i] = 0", "a[0] = 0"),
        ("in range(size)", "in range(64)"),
    ],
)
def test_an_index_that_may_be_beyond_it_keeps_the_array(before: str, behind: str) -> None:
    text = MEANS.replace(before, behind)
    made = after(text, "constant-parameter", None)
    assert made == text.replace("    a = cuda", "    size = numpy.int32(16)\n    a = cuda")


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("(x, 16, out)\n", "(x, 16, out)\n    k[1, 32](x, 8, out)\n", "no parameter"),
        ("(x, 16, out)", "(x, len(x), out)", "no parameter"),
        ("k[blocks", "list(map(k, []))\n    k[blocks", "in another way"),
        ("k[blocks, threads](x, 16, out)", "pass", "no launch in its file"),
        ("    column = cuda", "    size = 3\n    column = cuda", "another value"),
        ("k(x, size, out)", "k(x, size, out, *more)", "no plain list"),
        (", int32, ", ", float32, ", "an int32 or int64"),
        (", int32, ", ", uint8, ", "an int32 or int64"),
        ("total / size", "total ** size", "a power"),
        ("total / size", "pow(total, size)", "a power"),
        ("def main", "from fast import k\n\n\ndef main", "something else"),
        ("def main", "def timed(k, x):\n    k[1, 32](x, 8, x)\n\n\ndef main", "something else"),
        ("    k[", "    match x:\n        case k:\n            pass\n    k[", "something else"),
    ],
)
def test_what_launches_do_not_show_is_not_said(before: str, behind: str, why: str) -> None:
    found, reasons = tried(MEANS.replace(before, behind, 1), None)
    assert "constant-parameter" not in found
    assert why in reasons


@pytest.mark.parametrize(
    ("kinds", "at"),
    [
        ("float32[:, ::1], int32", 9),
        ("float32[:], int64", 7),
        ("float32[::1], int32", 7),
        ("float64, int32", 1),
        ("UniTuple(int32, 2), int32", None),
    ],
)
def test_the_number_is_that_of_a_ptx_parameter(kinds: str, at: int | None) -> None:
    text = MEANS.replace("float32[:, ::1], int32", kinds)
    taken = tried(text, None)[0]["constant-parameter"].takes
    assert [(parameter.rpartition("_param_")[2], number) for _, parameter, number in taken] == (
        [] if at is None else [(str(at), 16)]
    )


@pytest.mark.parametrize(
    ("before", "behind", "promise"),
    [
        ("    k[blocks, threads](x, 16", "    n = 16\n    k[blocks, threads](x, n", ""),
        ("(x, 16", "(x, MEAN", "; no other module gives MEAN another value"),
    ],
)
def test_a_number_may_have_a_name(before: str, behind: str, promise: str) -> None:
    text = MEANS.replace(before, behind).replace("LARGEST = 64\n", "LARGEST = 64\nMEAN = 16\n")
    found = tried(text, None)[0]["constant-parameter"]
    assert found.caveat == f"every launch of it passes 16{promise}"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("    k[blocks, threads](x, 16", "    for n in (16, 8):\n        k[blocks, threads](x, n"),
        ("    k[blocks, threads](x, 16", "    n = 16\n    n += 1\n    k[blocks, threads](x, n"),
        ("def main", "def other():\n    n = 16\n\n\ndef main"),
        ("LARGEST = 64\n", "LARGEST = 64\nn = 16\nfrom settings import *\n"),
    ],
)
def test_a_name_may_be_another_number(before: str, behind: str) -> None:
    text = MEANS.replace(before, behind).replace("(x, 16,", "(x, n,")
    found, reasons = tried(text, None)
    assert "constant-parameter" not in found
    assert "one known number" in reasons


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("total / size", "total / 2 ** size", "a power, whose type may depend on size"),
        ("total / size", "total / (1.5 if size == 16 else 2)", "asks for size, by which"),
        ("total / size", "total / (1.5 if size == 16 and column else 2)", "asks for size, by"),
        (
            "    total = ",
            "    m = size\n    if m == 16: x[0, 0] = 1\n    total = ",
            "asks for size, by",
        ),
        ("    total = ", "    if column == 16: x[0, 0] = 1\n    total = ", ""),
        ("LARGEST = 64", "LARGEST = 64\nglobals().update(LARGEST=8)", "does not name"),
        ("LARGEST = 64", "LARGEST = 64\nf = cuda.jit(inline='always')(len)", "that is inlined"),
        ('"void(float32', 'func_or_sig="void(float32', ""),
        ("int32, float32[", "uint8, float32[", "does not say that size is an int32 or int64"),
        ("    k[", "    n = 16\n    k[", ""),
        ("LARGEST = 64\n", "from cfg import *\nLARGEST = 64\nn = 16\n", ""),
        ("LARGEST = 64\n", "LARGEST = 64\nn = 16\nfrom cfg import *\n", "one known number"),
        (
            "LARGEST = 64\n",
            "LARGEST = 64\ntry:\n    from cfg import n\nexcept ImportError:\n    n = 16\n",
            "one known number",
        ),
    ],
)
def test_a_number_is_told_where_no_type_may_turn_on_it(before: str, behind: str, why: str) -> None:
    text = MEANS.replace(before, behind, 1)
    if "n = 16" in behind or "import n" in behind:
        text = text.replace("(x, 16,", "(x, n,")
    found, reasons = tried(text, None)
    assert ("constant-parameter" in found) == (not why)
    assert why in reasons


def test_what_an_int32_becomes_is_one_or_it_is_declined() -> None:
    text = MEANS.replace("import numpy\n", "")
    found, reasons = tried(text, None)
    assert "constant-parameter" not in found
    assert "size is an int32, which nothing that its file imports can make" in reasons
    made = after(text.replace("int32, float32[", "int64, float32["), "constant-parameter", None)
    assert "    size = 16\n" in made
    made = after(text.replace("import cuda,", "import int32, cuda,"), "constant-parameter", None)
    assert "    size = int32(16)\n" in made


SIMULATED = """\
import importlib, sys
for name in sys.argv[1:]:
    out = importlib.import_module(name).main(2, 64)
    print(out.any(), out.tobytes().hex())
"""


def simulated(directory: Path, names: Sequence[str]) -> list[str]:
    """What the program of each module computes, by one start of the simulator."""
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED, *names],
        cwd=directory,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith("True ") for line in lines)
    return lines


SIGNED = '("void(float32[:, ::1], int32, float32[:, ::1])")'


@needs_numba
@pytest.mark.toolchain
@pytest.mark.parametrize("is_signed", [True, False])
def test_they_are_compiled_and_compute_the_same(tmp_path: Path, is_signed: bool) -> None:
    text = MEANS if is_signed else MEANS.replace(SIGNED, "")
    (tmp_path / "k.py").write_text(text)
    given = ["--run-python", "--timeout", "300", "--format", "json", "--unsafe"]
    given += [] if is_signed else ["--signature", "k" + SIGNED[6:-2]]
    done = run_program("fix", "k.py", *given, cwd=tmp_path)
    assert done.code == 0, done.err
    (found,) = done.document["candidates"]
    assert (found["rewrite"], found["verdict"]) == ("constant-parameter", "removed")
    subprocess.run(["git", "apply"], cwd=tmp_path, input=found["patch"], text=True, check=True)
    (tmp_path / "k.py").rename(tmp_path / "told.py")
    (tmp_path / "k.py").write_text(text)
    wanted, computed = simulated(tmp_path, ["k", "told"])
    assert computed == wanted

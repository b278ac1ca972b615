"""Ways out of a Numba kernel's local array that change its launches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import run_program
from tests.numba_rewriting import after, needs_numba, tried

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
    assert made == MEANS.replace(first, "    size = 16\n    a = cuda.local.array(16, float32)\n")
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
    assert made == text.replace("    a = cuda", "    size = 16\n    a = cuda")


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("(x, 16, out)\n", "(x, 16, out)\n    k[1, 32](x, 8, out)\n", "no parameter"),
        ("(x, 16, out)", "(x, len(x), out)", "no parameter"),
        ("k[blocks", "list(map(k, []))\n    k[blocks", "in another way"),
        ("k[blocks, threads](x, 16, out)", "pass", "no launch in its file"),
        ("    column = cuda", "    size = 3\n    column = cuda", "another value"),
        ("k(x, size, out)", "k(x, size, out, *more)", "no plain list"),
    ],
)
def test_what_launches_do_not_show_is_not_said(before: str, behind: str, why: str) -> None:
    found, reasons = tried(MEANS.replace(before, behind, 1), None)
    assert "constant-parameter" not in found
    assert why in reasons


def test_launches_pass_an_array_with_a_column_for_each_thread() -> None:
    expected = (
        MEANS.replace("float32[:, ::1])", "float32[:, ::1], float32[:, ::1])")
        .replace("size, out):", "size, out, a_work):")
        .replace("a = cuda.local.array(LARGEST, float32)", "a_lane = cuda.grid(1)")
        .replace("a[i]", "a_work[i, a_lane]")
        .replace("a[i % size]", "a_work[i % size, a_lane]")
        .replace("16, out)", '16, out, cuda.device_array((64, blocks * threads), "float32"))')
    )
    assert after(MEANS, "global-memory", None) == expected
    text = MEANS.replace("k[blocks, threads]", "k[blocks + 1, 2 * threads, 0, 0]")
    assert "(64, (blocks + 1) * (2 * threads))" in after(text, "global-memory", None)


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("k[blocks, threads](x, 16, out)", "pass", "are in other files"),
        ("k[blocks,", "k[len(x),", "computes its grid"),
        ("k[blocks,", "k[(blocks, 1),", "computes its grid"),
        ("cuda.grid(1)", "cuda.grid(2)[0]", "several dimensions"),
        ("cuda.grid(1)", "cuda.threadIdx.y", "another dimension than x"),
        ("LARGEST, float32)", "LARGEST, mine)", "no type of numbers"),
        ('"void(float32[:, ::1], int32, float32[:, ::1])"', "[one, two]", "no text of one"),
        ("LARGEST = 64", "LARGEST = sizes()", "no number that launches know"),
        ("import numpy\n", "import numpy\na_work = 1\n", "a_work is taken"),
    ],
)
def test_what_cannot_be_passed_is_declined(before: str, behind: str, why: str) -> None:
    found, reasons = tried(MEANS.replace(before, behind, 1), None)
    assert "global-memory" not in found
    assert why in reasons


SIMULATED = """\
import sys
import simulated
out = simulated.main(2, 64)
print(out.any(), out.tobytes().hex())
"""


def simulated(where: Path) -> str:
    (where / "simulated.py").write_text((where / "k.py").read_text())
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        cwd=where,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True ")
    return done.stdout


@needs_numba
@pytest.mark.toolchain
def test_they_are_compiled_and_compute_the_same(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(MEANS)
    given = ("--run-python", "--timeout", "300", "--format", "json", "--unsafe")
    done = run_program("fix", "k.py", *given, cwd=tmp_path)
    assert done.code == 0, done.err
    found = {one["rewrite"]: one for one in done.document["candidates"]}
    assert {name: one["verdict"] for name, one in found.items()} == {
        "constant-parameter": "removed",
        "global-memory": "removed",
    }
    wanted = simulated(tmp_path)
    for name, one in found.items():
        where = tmp_path / name
        where.mkdir()
        (where / "k.py").write_text(MEANS)
        (where / "one.patch").write_text(one["patch"])
        subprocess.run(["git", "apply", "one.patch"], cwd=where, check=True)
        assert simulated(where) == wanted, name

"""Ways out of a Numba kernel's local array that change its launches."""

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


def test_launches_pass_an_array_with_a_column_for_each_thread() -> None:
    expected = (
        MEANS.replace("float32[:, ::1])", "float32[:, ::1], float32[:, ::1])")
        .replace("size, out):", "size, out, a_work):")
        .replace("a = cuda.local.array(LARGEST, float32)", "a_lane = cuda.grid(1)")
        .replace("a[i]", "a_work[i, a_lane]")
        .replace("a[i % size]", "a_work[i % size, a_lane]")
        .replace("16, out)", '16, out, cuda.device_array((LARGEST, blocks * threads), "float32"))')
    )
    assert after(MEANS, "global-memory", None) == expected
    for given, written in (
        ("blocks + 1, 2 * threads, 0, 0", "(blocks + 1) * (2 * threads)"),
        ("(blocks,), (threads, 1)", "blocks * threads"),
        ("self.blocks, threads", "self.blocks * threads"),
    ):
        text = f"{MEANS.replace('[blocks, threads]', f'[{given}]')}\n\nself.blocks = 2\n"
        assert f"(LARGEST, {written})" in after(text, "global-memory", None)


@pytest.mark.parametrize(
    "given", ["16, (out))", "16, ((out)),)", "16, (  # a )\n        out  # b )\n    )  # c\n)"]
)
def test_the_array_stands_behind_parentheses_of_the_last_argument(given: str) -> None:
    text = MEANS.replace("16, out)", given)
    made = after(text, "global-memory", None)
    column = ', cuda.device_array((LARGEST, blocks * threads), "float32")'
    at = text.index(given) + given.rindex(")", 0, given.rindex(")")) + 1
    assert made.endswith(column + text[at:])
    compile(made, "k.py", "exec")


def test_the_array_stands_behind_parentheses_of_an_annotation() -> None:
    made = after(MEANS.replace("size, out):", "size, out: (int)):"), "global-memory", None)
    assert "size, out: (int), a_work):" in made


def test_a_type_is_added_to_a_signature_that_is_given_elsewhere() -> None:
    found = tried(MEANS, None)[0]["global-memory"]
    assert [one.adds for one in found.edits if one.adds] == [("k", "float32[:, ::1]")]


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        ("k[blocks, threads](x, 16, out)", "pass", "are in other files"),
        ("k[blocks,", "k[len(x),", "computes its grid"),
        ("k[blocks,", "k[(blocks, 2),", "more than one dimension"),
        ("    k[", "    blocks = (2,)\n    k[", "may be a tuple"),
        ("    k[", "    blocks, b = (2,), (8,)\n    k[", "may be a tuple"),
        ("    k[", "    blocks: tuple = (2,)\n    k[", "may be a tuple"),
        ("    k[", "    for blocks in ((2,), (3,)):\n        k[", "may be a tuple"),
        ("k[blocks,", "k[my.blocks,", "my.blocks, which may be computed"),
        ("16, out)", "16, (blocks := out))", "a value in the launch"),
        (
            "    k[blocks, threads](x",
            "    my.blocks = 2\n    k[my.blocks, threads](f(x)",
            "may change its grid",
        ),
        ("LARGEST, float32)", "LARGEST, mine.float32)", "no type that launches"),
        ("def main(", "def main(cuda, ", "cuda may be something else"),
        ("LARGEST = 64", "LARGEST = 64\nfloat32 = numpy.float64", "another type"),
        ("cuda.grid(1)", "cuda.grid(2)[0]", "several dimensions"),
        ("cuda.grid(1)", "cuda.threadIdx.y", "another dimension than x"),
        ("LARGEST, float32)", "LARGEST, mine)", "no type that launches"),
        ('"void(float32[:, ::1], int32, float32[:, ::1])"', "[one, two]", "no text of one"),
        ("LARGEST = 64", "LARGEST = sizes()", "no number that launches know"),
        ("import numpy\n", "import numpy\na_work = 1\n", "a_work is taken"),
    ],
)
def test_what_cannot_be_passed_is_declined(before: str, behind: str, why: str) -> None:
    found, reasons = tried(MEANS.replace(before, behind, 1), None)
    assert "global-memory" not in found
    assert why in reasons


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


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("    k[", "    blocks = numpy.uint8(2)\n    k["),
        ("    k[", "    blocks = pair = (2,)\n    blocks = pair\n    k["),
        ("    k[", "    blocks = 2 if threads else (2, 1)\n    k["),
        ("    k[", "    blocks = grid()\n    k["),
        ("    k[", "    blocks = x[0]\n    k["),
        ("    k[", "    blocks = x.shape[1:]\n    k["),
        ("    k[", "    blocks = tuple(map(int, x))\n    k["),
        ("    k[", "    blocks = (lambda: 2)()\n    k["),
        ("    k[blocks,", "    my.blocks = (2, 1)\n    k[my.blocks,"),
        ("    k[blocks,", "    my.blocks = 2\n    k[my.blocks,"),
        ("import cuda, float32", "import cuda\nfrom mine import float32"),
        ("import cuda, float32", "import cuda\nfrom mine import *"),
    ],
)
def test_what_is_no_plain_number_of_its_type_is_not_computed_with(before: str, behind: str) -> None:
    text = MEANS.replace(before, behind, 1)
    text += "\n\nclass Mine:\n    blocks = property(lambda self: 2)\n"
    text += "\n\ndef grid():\n    return 2, 1\n"
    assert "global-memory" not in tried(text, None)[0]


@pytest.mark.parametrize(
    "given", ["(n + 7) // 8", "x.shape[1] // 8", "math.ceil(len(x) / 8)", "max(1, x.size)", "2"]
)
def test_plain_numbers_are_computed_with(given: str) -> None:
    text = MEANS.replace("    k[", f"    blocks = {given}\n    k[", 1)
    assert "global-memory" in tried(text, None)[0]


@pytest.mark.parametrize("passed", ["shrink(x)", "x"])
def test_a_call_may_change_a_variable_of_the_module(passed: str) -> None:
    text = MEANS.replace("def main(blocks,", "def main(b,").replace("(x, 16", f"({passed}, 16")
    text += "\n\nblocks = 2\n\n\ndef shrink(x):\n    global blocks\n    blocks = 1\n    return x\n"
    assert ("global-memory" in tried(text, None)[0]) == (passed == "x")


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
    found = {one["rewrite"]: one for one in done.document["candidates"]}
    assert {name: one["verdict"] for name, one in found.items()} == {
        "constant-parameter": "removed",
        "global-memory": "removed",
    }
    # The original of a kernel that is told its number is what runs with that number.
    assert found["constant-parameter"]["cost_before"] != found["global-memory"]["cost_before"]
    for name, one in found.items():
        subprocess.run(["git", "apply"], cwd=tmp_path, input=one["patch"], text=True, check=True)
        (tmp_path / "k.py").rename(tmp_path / f"{name.replace('-', '_')}.py")
        (tmp_path / "k.py").write_text(text)
    names = [name.replace("-", "_") for name in found]
    wanted, *computed = simulated(tmp_path, ["k", *names])
    assert dict.fromkeys(found, wanted) == dict(zip(found, computed, strict=True))
